"""Yes or no by content: a reply that states what a question asks, or something that excludes it.

The content words of the question are looked for in each sentence of the reply. A word is met where it stands there in
any form, and excluded where another value of its kind stands in its place: *right* for *left*, *four* for *three*,
*the same length* for *longer*. A sentence answers the question

- with no, where it denies a word of the question, excludes one, changes the places of what is compared or ordered, or
  puts another word in the place of the last;
- with yes, where it meets all of them, or most of them and the last.

A number behind *more than*, *at least*, *under* and the like is compared with the only number of the sentence. A
denial of another value (*not white*) says nothing of *black*, but *not closed* says *open*; what then stands in its
place (*not white, it is black*) is read with the beginning of that sentence. *No doubt* and *not only* deny nothing.
A sentence that does neither says nothing. English only; the words are in ``verdicts.yaml``.
"""

import operator
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from eyetest.store.handwritten import parse_yaml
from eyetest.text import NUMBER_WORDS

_ENOUGH = 0.6
_ENOUGH_FOR_YES = 0.8
_LONGEST_QUESTION = 4_000
_LONGEST_SENTENCE = 600
_SENTENCES_AT_ENDS = 4  # those between are the argument
_MOST_ADDED_WORDS = 3
_NEIGHBOURS = 3
_BEFORE_BOUND = 3  # words between a comparison and its number: "more than about 2"
_BEFORE_DENIED = 4  # words between a denial and the value that it denies: "not on the far right"
_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?|[<>=≤≥]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z]\b)")
_SENTENCE = re.compile(
    r"(?<=[.!?;])\s+|\n+|,? (?:but|however|while|whereas|although|though)\b,?"
    r"|, (?=not (?:an?|the|on|in|at|by|to|under|behind)\b)",
    re.IGNORECASE,
)
_NO_DENIAL = re.compile(
    r"\b(?:there(?:'s| is) )?(?:no doubt|little doubt|no question (?=that\b)"
    r"|without (?:(?:a|any) )?(?:doubt|question)\b|no denying|no reason to doubt)(?: about it)?,?(?: that\b)?"
    r"|\bnot (?:only|just|merely|simply)\b|\b(?:nothing|none) (?:but|other than)\b",
    re.IGNORECASE,
)
_DENIED_FIRST = re.compile(
    r"(\b(?:not|[a-z]+n't)\b[^,.;!?\n]{1,60}), "
    r"(?=(?:it|they|he|she)\b|(?:this|that|these|those) (?:is|are|was|were)\b)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[^?.!\n]{1,400}\?")

Verdict = Literal["yes", "no"]


class RestatedValue(NamedTuple):
    """What a word says of its kind: *left* and *right* are values of one kind."""

    kind: str
    value: str


class RestatedWords(NamedTuple):
    """The words of ``verdicts.yaml`` by their part in a sentence."""

    auxiliaries: frozenset[str]
    pronouns: frozenset[str]
    concluding: frozenset[str]
    idle: frozenset[str]
    denials: frozenset[str]
    predicates: frozenset[str]
    values: dict[str, list[RestatedValue]]
    directed: frozenset[str]
    complements: frozenset[str]
    places: frozenset[str]
    bounds: dict[str, str]
    bounds_alone: frozenset[str]


class Restatement(NamedTuple):
    """What a sentence says to a question, and whether it meets all of its words or excludes one.

    Without a verdict it denies another value than the one asked for: *The cat is not white* to *Is the cat black?*
    ``is_denied_in_part``: what stands behind the denial is not all that was asked, so a later sentence may say more.
    """

    verdict: Verdict | None
    is_certain: bool = True
    is_denied_in_part: bool = False


class Sentence(NamedTuple):
    """The words of a sentence in lower case, and their stems."""

    words: list[str]
    stems: list[str]


class WordMatch(NamedTuple):
    """The places of a question's words that a sentence meets and excludes; ``turned`` are met by *not closed* for
    *open*. ``is_other_denied``: the sentence denies another value or place than the one asked for.
    """

    met: set[int]
    excluded: set[int]
    turned: set[int]
    is_other_denied: bool

    @property
    def answered(self) -> set[int]:
        """The places that a sentence meets or excludes."""
        return self.met | self.excluded


class Bound(NamedTuple):
    """A number that a question compares with: *more than 2* is ``>``, 2 and the places of *more* and *2*.

    The sign is empty where the question has several numbers.
    """

    sign: str
    number: int
    cue: int
    place: int


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    ">": operator.gt,
    "≥": operator.ge,
    "<": operator.lt,
    "≤": operator.le,
}


@cache
def read_table() -> dict[str, str | list[str]]:
    """The table ``verdicts.yaml``."""
    table: dict[str, str | list[str]] = parse_yaml(
        (files(__package__) / "verdicts.yaml").read_text("utf-8"), "verdicts.yaml"
    )
    return table


def words_of(name: str) -> list[str]:
    """The words of one line of the table."""
    return str(read_table()[name]).split()


@cache
def _words() -> RestatedWords:
    directed = {f"{group} {place}" for group in ("compared", "directed") for place in range(len(read_table()[group]))}
    auxiliaries = frozenset(words_of("auxiliaries"))
    return RestatedWords(
        auxiliaries=auxiliaries | {f"{word}n't" for word in auxiliaries},
        pronouns=frozenset(words_of("pronouns")),
        concluding=frozenset(words_of("concluding")),
        idle=auxiliaries | frozenset(words_of("idle")),
        denials=frozenset(words_of("denials")),
        predicates=frozenset(words_of("predicates")),
        values=_read_values(),
        directed=frozenset(directed),
        complements=frozenset(f"complements {place}" for place in range(len(read_table()["complements"]))),
        places=frozenset(words_of("places")),
        bounds=_read_bounds("bounds_than") | _read_bounds("bounds"),
        bounds_alone=frozenset(_read_bounds("bounds")),
    )


def _read_bounds(name: str) -> dict[str, str]:
    """The sign of each word that makes a number a bound."""
    lines = [line.split() for line in read_table()[name]]
    return {word: line[0] for line in lines for word in line[1:]}


def _read_values() -> dict[str, list[RestatedValue]]:
    """The values of each word that has some."""
    values: dict[str, list[RestatedValue]] = {}
    for group in ("compared", "directed", "opposites", "complements"):
        for place, line in enumerate(read_table()[group]):
            for side, words in zip("+-", line.split("|"), strict=True):
                for word in words.split():
                    values.setdefault(word, []).append(RestatedValue(f"{group} {place}", side))
    for sign, name in (("=", "equal"), ("≠", "unequal")):
        for word in words_of(name):
            values[word] = [
                RestatedValue(f"compared {place}", sign) for place in range(len(read_table()["compared"]))
            ]
    for colour in words_of("colours"):
        values[colour] = [RestatedValue("colour", colour.replace("grey", "gray").replace("golden", "gold"))]
    for word in words_of("pairs"):
        values[word] = [RestatedValue("number", "2")]
    for word, number in NUMBER_WORDS.items():
        values[word] = [RestatedValue("number", str(number))]
    return values


def _values_of(word: str) -> list[RestatedValue]:
    return (
        [RestatedValue("number", str(int(word)))]
        if word.isdecimal() and len(word) < 10
        else _words().values.get(word, [])
    )


def _read_sentence(text: str) -> Sentence:
    spelling = _CAMEL.sub(" ", text[:_LONGEST_SENTENCE]).casefold().replace("counter-clockwise", "counterclockwise")
    words = _WORD.findall(spelling)
    return Sentence(words, [_stem(word) for word in words])


def _stem(word: str) -> str:
    """A word without its ending: ``wearing`` and ``wears`` are ``wear``."""
    word = word.removesuffix("'s")
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word.removesuffix(ending)
            is_doubled = ending in ("ing", "ed") and stem[-1] == stem[-2] and stem[-1] not in "ls"
            return stem[:-1] if is_doubled else stem.removesuffix("i")
    return word


def answer_by_content(reply: str, question: str) -> Verdict | None:
    """The verdict of the first sentence that states or excludes the content of a question; None without one.

    A sentence that draws a conclusion (*So the lines are equal*) comes before all others. One that meets only most of
    the words counts where it is the first of the reply and no other says anything.
    """
    asked = _read_question(question)
    if asked is None:
        return None
    if _NO_DENIAL.search(question) is None and "doubt" not in asked.words:
        reply = _NO_DENIAL.sub(" ", reply)
    claims = _read_claims(_DENIED_FIRST.sub(r"\1. ", reply), asked)
    certain = [claim for claim in claims if claim.is_certain] or claims
    if not certain:
        return None
    if certain[0].is_denied_in_part:
        return next((claim.verdict for claim in certain if claim == Restatement("yes")), "no")
    return certain[0].verdict


def _read_claims(reply: str, asked: Sentence) -> list[Restatement]:
    """What the sentences of a reply say to a question, in order; of one that draws a conclusion that alone."""
    claims: list[Restatement] = []
    beginning: list[str] = []
    sentences = _SENTENCE.split(reply)
    if len(sentences) > 2 * _SENTENCES_AT_ENDS:
        sentences = sentences[:_SENTENCES_AT_ENDS] + sentences[-_SENTENCES_AT_ENDS:]
    for place, text in enumerate(sentences):
        sentence = _read_sentence(text)
        whole = _continue(beginning, sentence)
        claim = _judge(whole, asked)
        beginning = _before_denial(sentence) if claim is not None and claim.is_denied_in_part else []
        counts_in_part = place == 0 or whole is not sentence
        if claim is None or claim.verdict is None or not (claim.is_certain or counts_in_part):
            continue
        if sentence.words[0] in _words().concluding:
            return [claim]
        claims.append(claim)
    return claims


def _continue(beginning: list[str], sentence: Sentence) -> Sentence:
    """A sentence with the beginning of the one before, where it has no subject of its own: *It is black*."""
    if not beginning or not sentence.words:
        return sentence
    is_fragment = _words().auxiliaries.isdisjoint(sentence.words)
    if sentence.words[0].partition("'")[0] not in _words().pronouns and not is_fragment:
        return sentence
    words = beginning + sentence.words
    return Sentence(words, [_stem(word) for word in words])


def _before_denial(sentence: Sentence) -> list[str]:
    """The words of a sentence before its first denial."""
    places = [place for place, word in enumerate(sentence.words) if word in _words().denials]
    return sentence.words[: places[0]] if places else []


def _read_question(question: str) -> Sentence | None:
    """The last question to be answered with yes or no; None where there is none, or one with *or* or a denial."""
    questions = _QUESTION.findall(question[-_LONGEST_QUESTION:])
    if not questions:
        return None
    for clause in (questions[-1].rsplit(", ", 1)[-1], questions[-1]):
        sentence = _read_sentence(clause)
        if sentence.words and sentence.words[0] in _words().auxiliaries:
            is_plain = "or" not in sentence.words and _words().denials.isdisjoint(sentence.words)
            return sentence if is_plain else None
    return None


def _judge(sentence: Sentence, asked: Sentence) -> Restatement | None:
    """What a sentence says to a question; None where it says nothing."""
    places = [place for place, word in enumerate(asked.words) if place > 0 and word not in _words().idle]
    if not places or not sentence.words or not {"whether", "if"}.isdisjoint(sentence.words):
        return None
    match = _match(sentence, asked, places)
    answered = match.answered
    is_about_subject = sentence.words[0] in _words().pronouns and _has_predicate(asked, places, answered)
    is_compared = bool(match.met) and any(_asks_for_equality(asked.words[place]) for place in match.excluded)
    if len(answered) < _ENOUGH * len(places) and not is_about_subject and not is_compared:
        return None
    if match.is_other_denied:
        return Restatement(None, is_denied_in_part=True)
    return _judge_denial(sentence, asked, places, match) or _judge_in_part(
        sentence, asked, places, match.met, is_about_subject
    )


def _judge_denial(sentence: Sentence, asked: Sentence, places: list[int], match: WordMatch) -> Restatement | None:
    """What a sentence says that denies or excludes a word of a question, or meets all of them."""
    met, excluded = match.met, match.excluded
    if not match.turned and _is_denied(sentence, {asked.stems[place] for place in met}):
        return Restatement("no", is_denied_in_part=len(met) < len(places))
    is_turned = _is_turned(sentence, asked)
    if is_turned or excluded:
        is_opposite = any(_is_opposite(asked.words[place], sentence) for place in excluded)
        return Restatement("yes" if is_turned and is_opposite else "no")
    return Restatement("yes") if len(met) == len(places) else None


def _match(sentence: Sentence, asked: Sentence, places: list[int]) -> WordMatch:
    """What a sentence does with each content word of a question."""
    excluded = {place for place in places if _is_excluded(asked.words[place], sentence)}
    opposed = {place for place in excluded if _is_other_value_denied(asked.words[place], sentence)}
    turned = {place for place in opposed if _has_complement(asked.words[place])}
    met = {place for place in places if _is_met(asked, place, sentence)} - excluded | turned
    is_other_denied = bool(opposed - turned) or _is_another_place_denied(sentence, asked, places, met)
    match = WordMatch(met, excluded - turned, turned, is_other_denied)
    bound = _read_bound(asked)
    return match if bound is None else _match_bound(match, bound, sentence, asked)


def _match_bound(match: WordMatch, bound: Bound, sentence: Sentence, asked: Sentence) -> WordMatch:
    """The same, where the numbers of a sentence are compared with a bound instead of equated with it."""
    numbers = {_number(word) for word in sentence.words if _is_number(word)}
    if not numbers:
        return match
    holds = _compare(bound, sentence)
    excluded = {place for place in match.excluded if not _is_number(asked.words[place])}
    if holds is None:
        is_repeated = bound.number in numbers
        return match._replace(excluded=excluded if is_repeated else excluded - {bound.cue}, is_other_denied=False)
    excluded -= {bound.cue}
    if holds:
        return match._replace(met=match.met | {bound.cue, bound.place}, excluded=excluded, is_other_denied=False)
    met = match.met - {bound.cue, bound.place}
    return match._replace(met=met, excluded=excluded | {bound.place}, is_other_denied=False)


def _judge_in_part(
    sentence: Sentence, asked: Sentence, places: list[int], met: set[int], is_about_subject: bool
) -> Restatement | None:
    """What a sentence says that meets some words of a question and excludes none."""
    if is_about_subject or (places[-1] in met and len(met) >= _ENOUGH_FOR_YES * len(places)):
        return Restatement("yes", is_certain=False)
    return Restatement("no") if _is_replaced(sentence, asked, places, met) else None


def _has_predicate(asked: Sentence, places: list[int], answered: set[int]) -> bool:
    """Whether a sentence with a pronoun for its subject answers the last word or a value that a question asks for."""
    return any(place == places[-1] or _values_of(asked.words[place]) for place in answered)


def _is_met(asked: Sentence, place: int, sentence: Sentence) -> bool:
    """Whether a sentence has a word of the question in any form, or another word with its value: *both* for *two*."""
    if asked.stems[place] in sentence.stems:
        return True
    return not set(_values_of(asked.words[place])).isdisjoint(_values_in(sentence))


def _is_excluded(word: str, sentence: Sentence) -> bool:
    """Whether a sentence has another value of a word's kind and not the word's own."""
    for kind, value in _values_of(word):
        values = {found.value for found in _values_in(sentence) if found.kind == kind}
        if values and value not in values:
            return True
    return False


def _is_other_value_denied(word: str, sentence: Sentence) -> bool:
    """Whether a denial stands before each word of a sentence that has another value of a word's kind."""
    kinds = {kind for kind, _ in _values_of(word)}
    places = [
        place for place, other in enumerate(sentence.words) if any(kind in kinds for kind, _ in _values_of(other))
    ]
    denials = _words().denials
    return all(not denials.isdisjoint(sentence.words[max(0, place - _BEFORE_DENIED) : place]) for place in places)


def _has_complement(word: str) -> bool:
    """Whether what is not the one value of a word's kind is the other: *not closed* is *open*."""
    return any(kind in _words().complements for kind, _ in _values_of(word))


def _is_another_place_denied(sentence: Sentence, asked: Sentence, places: list[int], met: set[int]) -> bool:
    """Whether a sentence denies another place than the one that a question ends with: *not on the floor*."""
    ends = [place for place, word in enumerate(sentence.words) if word in _words().denials]
    if not ends or places[-1] in met:
        return False
    stems = {asked.stems[place] for place in met}
    denied = [
        place for place in range(ends[-1] + 1, len(sentence.words)) if sentence.words[place] not in _words().idle
    ]
    repeated = {sentence.words[place] for place in denied if sentence.stems[place] in stems}
    is_new = bool(denied) and sentence.stems[denied[-1]] not in asked.stems
    is_predicate = bool(denied) and sentence.words[denied[-1]] in _words().predicates
    return is_new and not is_predicate and bool(repeated) and repeated <= _words().places


def _read_bound(asked: Sentence) -> Bound | None:
    """The number that a question compares with; None where it compares with none."""
    places = [place for place, word in enumerate(asked.words) if _is_number(word)]
    for place in places:
        cue = _find_cue(asked, place)
        if cue is not None:
            sign = _words().bounds[asked.words[cue]] if len(places) == 1 else ""
            return Bound(sign, _number(asked.words[place]), cue, place)
    return None


def _find_cue(sentence: Sentence, place: int) -> int | None:
    """The place of the word that makes a number a bound: *more* in *more than 2*, *over* in *over 30*."""
    for cue in range(place - 1, max(-1, place - 2 - _BEFORE_BOUND), -1):
        if sentence.words[cue] not in _words().bounds:
            continue
        is_comparative = "than" in sentence.words[cue + 1 : place]
        if is_comparative or sentence.words[cue] in _words().bounds_alone:
            return cue
    return None


def _compare(bound: Bound, sentence: Sentence) -> bool | None:
    """Whether the only number of a sentence is on the side of a bound that is asked for; None where it is unclear."""
    places = [place for place, word in enumerate(sentence.words) if _is_number(word)]
    is_plain = len(places) == 1 and _find_cue(sentence, places[0]) is None
    if bound.sign not in _COMPARISONS or not is_plain or not _words().denials.isdisjoint(sentence.words):
        return None
    return _COMPARISONS[bound.sign](_number(sentence.words[places[0]]), bound.number)


def _is_number(word: str) -> bool:
    return any(kind == "number" for kind, _ in _values_of(word))


def _number(word: str) -> int:
    return next(int(value) for kind, value in _values_of(word) if kind == "number")


def _asks_for_equality(word: str) -> bool:
    """Whether a word asks if things are equal, which *The top line is longer* denies."""
    return any(value == "=" for _, value in _values_of(word))


def _is_opposite(word: str, sentence: Sentence) -> bool:
    """Whether a sentence has the opposite of a directed word: *smaller* of *larger*."""
    sides = {"+": "-", "-": "+"}
    opposites = {
        RestatedValue(kind, sides.get(value, "")) for kind, value in _values_of(word) if kind in _words().directed
    }
    return not opposites.isdisjoint(_values_in(sentence))


def _values_in(sentence: Sentence) -> list[RestatedValue]:
    return [value for word in sentence.words for value in _values_of(word)]


def _is_denied(sentence: Sentence, stems: set[str]) -> bool:
    """Whether a denial stands before a word of the question, or before a word such as *visible*."""
    for place, word in enumerate(sentence.words):
        if word not in _words().denials:
            continue
        is_predicate = not _words().predicates.isdisjoint(sentence.words[place + 1 : place + 3])
        if is_predicate or not stems.isdisjoint(sentence.stems[place + 1 :]):
            return True
    return False


def _is_replaced(sentence: Sentence, asked: Sentence, places: list[int], met: set[int]) -> bool:
    """Whether another word stands in the place of the last one of a question: *pool* for *football*."""
    is_only_one = met == set(places[:-1]) and len(met) > 1
    is_short = len(sentence.words) <= len(asked.words) + _MOST_ADDED_WORDS
    is_new = sentence.words[-1] not in _words().idle and sentence.stems[-1] not in asked.stems
    return is_only_one and is_short and is_new


def _is_turned(sentence: Sentence, asked: Sentence) -> bool:
    """Whether the things on both sides of a directed word, or of *to*, have changed places: *B is larger than A*."""
    asked_sides, stated_sides = _sides(asked), _sides(sentence)
    kinds = asked_sides.keys() & stated_sides.keys()
    return any(_have_changed_places(asked_sides[kind], stated_sides[kind]) for kind in kinds)


_Sides = tuple[set[str], set[str]]


def _have_changed_places(asked: _Sides, stated: _Sides) -> bool:
    first, second = asked[0] - asked[1], asked[1] - asked[0]
    moved = len(first & stated[1]) + len(second & stated[0])
    stayed = len(first & stated[0]) + len(second & stated[1])
    return bool(first & stated[1]) and bool(second & stated[0]) and moved > stayed


def _sides(sentence: Sentence) -> dict[str, _Sides]:
    """The content words on both sides of *than* and of the first directed word of each kind, and near *to*."""
    sides: dict[str, _Sides] = {}
    for place, word in enumerate(sentence.words):
        kinds = {kind for kind, _ in _values_of(word) if kind in _words().directed}
        for kind in kinds | ({word} & {"than"}):
            if kind not in sides:
                sides[kind] = _content(sentence, 0, place), _content(sentence, place + 1, len(sentence.words))
        if word in ("to", "into") and "to" not in sides:
            start = max(0, place - _NEIGHBOURS)
            sides["to"] = _content(sentence, start, place), _content(sentence, place + 1, place + 1 + _NEIGHBOURS)
    return sides


def _content(sentence: Sentence, start: int, end: int) -> set[str]:
    pairs = zip(sentence.words[start:end], sentence.stems[start:end], strict=True)
    return {stem for word, stem in pairs if word not in _words().idle}
