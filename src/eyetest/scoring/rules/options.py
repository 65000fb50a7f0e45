"""Options and parts of a reply in comparable form: without case, accents, plural or number formats."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from string import ascii_letters, ascii_lowercase
from typing import NamedTuple

from rapidfuzz.distance import OSA

from eyetest.records.tables import Letters
from eyetest.scoring.rules.cleaning import plain
from eyetest.text import NUMBER_WORDS, Level, same
from eyetest.text.folding import SPELLINGS, without_accents
from eyetest.text.numbers import digits_for_words


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_TOKEN = re.compile(
    rf"[^\W\d_{_CJK}]+(?:'[^\W\d_]{{1,3}}(?![^\W\d_]))?|\d+(?:[.,]\d+)*|[{_CJK}]|\.\d+|[-–:/+=<>%°×÷√±≤≥≠≈∞∫∂π]"
)
_ASCII_TOKEN = re.compile(r"[A-Za-z]+(?:'[A-Za-z]{1,3}(?![A-Za-z]))?|[0-9]+(?:[.,][0-9]+)*|\.[0-9]+|[-:/+=<>%]")
_DASHES = frozenset("-–:/")
_ARTICLES = frozenset({"a", "an", "the", "and", "of", "at"})
_NUMBERS = {word: str(number) for word, number in NUMBER_WORDS.items() if word != "one"}
# Spellings of one word; units may be in full
_SAME = SPELLINGS | {
    "centimetre": "centimeter", "kilometre": "kilometer", "feet": "foot",
    "percent": "%", "degree": "°", "deg": "°", "circ": "°", "times": "×", "cdot": "×", "pi": "π", "sqrt": "√",
    "infty": "∞", "approx": "≈", "omega": "ω", "ohm": "ω", "mu": "μ", "alpha": "α", "beta": "β", "gamma": "γ",
    "delta": "δ", "theta": "θ", "lambda": "λ", "sigma": "σ", "phi": "φ", "leq": "≤", "geq": "≥", "le": "≤",
    "ge": "≥", "neq": "≠", "pm": "±", "frac": "", "dfrac": "", "tfrac": "", "text": "", "mathrm": "",
    "cm": "centimeter", "km": "kilometer", "mm": "millimeter", "kg": "kilogram", "m": "meter", "n": "newton",
    "hr": "hour",     "min": "minute", "ml": "milliliter", "ft": "foot", "lb": "pound", "hz": "hertz",
}  # fmt: skip
SIGNS = frozenset("+-<>×÷√±≤≥≠∞∫∂/:π")  # tokens that make a number beside them part of something larger


class Word(NamedTuple):
    """A token as compared, and where it stands."""

    form: str
    start: int
    end: int


@lru_cache(maxsize=50_000)
def fold(raw: str) -> str:
    """Comparable form of a token; empty for one that never decides."""
    if raw[0].isdigit() or (raw[0] == "." and len(raw) > 1):
        return _number(raw)
    if not raw[0].isalpha():
        return raw.strip().replace("–", "-")
    word = raw.casefold()
    word = word[:-2] if word.endswith("'s") else word.replace("'", "")
    word = without_accents(word)
    word = _NUMBERS.get(word, _SAME.get(word, word))
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = f"{word[:-3]}y" if word.endswith("ies") and len(word) > 4 else word[:-1]
        word = word[:-1] if word.endswith(("sse", "xe", "che", "she")) else word
        word = _NUMBERS.get(word, _SAME.get(word, word))
    return word


def _number(raw: str) -> str:
    """``1,000``, ``1000`` and ``1000.0`` are one number; ``0,5`` is ``0.5``."""
    if "," in raw:
        groups = raw.split(".", maxsplit=1)[0].split(",")
        thousands = all(len(group) == 3 for group in groups[1:]) and groups[0] != "0"
        raw = raw.replace(",", "") if thousands else raw.replace(",", ".") if raw.count(",") == 1 else raw
    if "." in raw:
        raw = raw.rstrip("0").rstrip(".")
        raw = f"0{raw}" if raw[:1] == "." else raw
    return (raw.lstrip("0") or "0") if raw.isdigit() else raw.lstrip("0") if raw[:2].isdigit() else raw or "0"


def tokens_in(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """All tokens between two offsets."""
    return (_ASCII_TOKEN if text.isascii() else _TOKEN).finditer(text, start, end)


def words_in(text: str, start: int, end: int) -> Iterator[Word]:
    """The tokens that count between two offsets, folded, read as they are needed; ``twenty-five`` is one number."""
    last: Word | None = None
    is_tens = False
    for token in tokens_in(text, start, end):
        raw = token.group()
        if raw[-2:] in ("'t", "ot") and (verb := _CONTRACTED.get(raw.casefold())):
            if last:
                yield last
            yield Word(verb, token.start(), token.end())
            last, is_tens = Word("not", token.start(), token.end()), False
            continue
        if raw in _DASHES and not _is_sign(text, token.start(), raw):
            continue
        form = fold(raw)
        joins = form in _ARTICLES and (len(raw) > 1 or (raw == "a" and text.startswith(" ", token.end())))
        if not form or joins:  # a capital letter alone may be a name
            continue
        if last and is_tens and len(form) == 1 and form.isdigit() and raw[0].isalpha():
            last = Word(last.form[:-1] + form, last.start, token.end())
            continue
        if last:
            yield last
        last = Word(form, token.start(), token.end())
        is_tens = form[-1] == "0" and raw[0].isalpha()
    if last:
        yield last


def tokenise(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """All tokens that count between two offsets."""
    return [*words_in(text, start, len(text) if end is None else end)]


class Beginning:
    """The words with which a stretch of text begins, read no further than they are compared.

    Options may be long and marks many: to read as much as the longest option behind every mark costs their product.
    """

    def __init__(self, words: Iterator[Word]) -> None:
        self._rest = words
        self.words: list[Word] = []

    def reach(self, count: int) -> bool:
        """Read on until there are so many words; whether there are."""
        self.words += islice(self._rest, max(0, count - len(self.words)))
        return len(self.words) >= count

    def equals(self, forms: "Forms") -> bool:
        """Whether the text begins with these words."""
        return all(self.reach(place + 1) and self.words[place].form == form for place, form in enumerate(forms))


_CONTRACTED = {f"{verb}n't": verb for verb in ("do", "does", "did", "is", "are", "was", "were", "has", "have", "had")}
_CONTRACTED |= {f"{verb}n't": verb for verb in ("could", "would", "should", "need", "must")}
_CONTRACTED |= {"can't": "can", "cannot": "can", "won't": "will"}
"""Negations that options may spell in two words: ``doesn't`` is ``does not``."""


def first_form(raw: str) -> str:
    """The first of the comparable forms of a token: ``doesn't`` begins with ``does``."""
    return _CONTRACTED.get(raw.casefold()) or fold(raw)


def _is_sign(text: str, at: int, sign: str) -> bool:
    """Whether a dash is a minus, a colon a ratio and a stroke a fraction, by its neighbours."""
    before, after = text[max(0, at - 9) : at].rstrip(), text[at + 1 : at + 8]
    left, right = before[-1:], after.lstrip()[:1]
    if sign == ":":
        return left.isdigit() and right.isdigit()
    if sign == "/":
        return left.isdigit() or right.isdigit() or right in ("√", "(")
    if (left and (left.isdigit() or left in ")π%°")) or (left.isalpha() and before[-2:-1].isdigit()):
        return right.isalnum() or right in ("(", "√")
    if text[at - 1 : at].isalnum() or text[at - 1 : at] == ")":
        return False
    if after[:1].isdigit() or after[:1] in (".", "√") or after.lstrip().startswith("sqrt"):
        return True
    return right.isdigit() and left != "" and left in "=(,:<>"


@lru_cache(maxsize=4_096)
def forms(text: str) -> tuple[str, ...]:
    """The folded tokens of a whole text; a leading capital ``A`` before a word is an article."""
    words = tokenise(text)
    end = words[0].end if len(words) > 1 else 0
    is_article = end and text[words[0].start : end] == "A" and text[end : end + 2].strip().isalpha()
    return tuple(word.form for word in words[bool(is_article) :])


def stem(word: str) -> str:
    """A folded word without the endings of verbs, so that ``removing`` is ``remove``."""
    for ending in ("ing", "ed", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


Forms = tuple[str, ...]

_EVERYDAY = word_set(
    "yes no not none both neither all may march will can us it is in on off go so as do be or if right he she "
    "they we you me true false same other more less any some 是 否 有 无 ja nein oui non si да нет"
)  # options that are everyday words: a mention in the middle of a sentence says nothing
_FUNCTION = word_set(
    "it they he she we you i is are was were be been being has have had do does did will would can could may "
    "might must should in on to for with by from as that this these those there its their his her because since "
    "than then so or but not all more most very which who what when where option image"
)  # words that tell options apart only by accident
_NOT = frozenset({"not", "no", "non", "never", "without", "neither", "nor", "none"})
_NONE = frozenset({"none", "neither", "nothing", "no"})
_ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "6": "sixth", "7": "seventh"}
_FRACTION = re.compile(r"(\d)/(\d)")
_LONGEST_SLIP = 120
_DIGITS = re.compile(r"\d+")


class Offer:
    """The options, in the forms in which replies name them; texts that two options share point at neither."""

    def __init__(self, options: tuple[str, ...], letters: Letters) -> None:
        self.raw, self.letters, self.count = options, letters, len(options)
        self.positions = _positions(len(options), letters)  # index that each mark names; -1 for letters not on offer
        self.texts = texts = tuple(plain(option) for option in options)
        self.forms = folded = tuple(forms(text) for text in texts)
        bare = [text.strip(" .") for text in texts]
        self.literal = {bare[i]: i for i, text in enumerate(texts) if bare[i] and texts.count(text) == 1}
        self.exact = {tokens: i for i, tokens in enumerate(folded) if tokens and folded.count(tokens) == 1}
        for index, tokens in enumerate(folded):
            for other in _otherwise(tokens):
                if other not in self.exact and other not in folded:
                    self.exact[other] = index
        for index, other in _by_own_word(folded).items():
            if other not in self.exact and other not in folded:
                self.exact[other] = index
        self.joined = {"".join(tokens): i for tokens, i in self.exact.items()}  # ``non linear`` is ``nonlinear``
        self.starts: dict[str, list[tuple[Forms, int]]] = {}
        for tokens, index in sorted(self.exact.items(), key=lambda option: -len(option[0])):
            self.starts.setdefault(tokens[0], []).append((tokens, index))
        self.numbers = _numbers(folded)  # those that suffice without their unit
        self.values, self.own = _values(folded), _own(folded)  # own: stems of words that only one option has
        self.longest = max(map(len, texts), default=0)
        single = {index: tokens[0] for index, tokens in enumerate(folded) if len(tokens) == 1}
        self.everyday = {i for i, word in single.items() if word in _EVERYDAY and ("left",) not in folded}
        self.lettered = {i for i, word in single.items() if len(word) == 1 and word.isalpha() and word.isascii()}
        # Whether an option names things by letters, each is a list of letters (``B, D, A, C``), one is none of them
        self.labelled = any(_names_another(tokens, index, letters) for index, tokens in enumerate(folded))
        lists = (len(tokens) > 1 and all(len(t) == 1 and t.isalpha() for t in tokens) for tokens in folded)
        self.sequences = bool(folded) and all(lists)
        self.none = any(_NONE & {*tokens} for tokens in folded)

    def may_begin(self, text: str, start: int, end: int) -> bool:
        """Whether the first two words of a stretch of text may be those of an option.

        A number always may. It is not read as a whole: ``1,1,1,…`` would be read again from each of its figures.
        """
        if text[start : start + 1].isdecimal():
            return True
        tokens = tokens_in(text, start, end)
        first = first_form(token[0]) if (token := next(tokens, None)) else ""
        if not first.isalpha() or first in _ARTICLES or not (patterns := self.starts.get(first)):
            return not first.isalpha() or first in _ARTICLES
        if token and token[0].casefold() in _CONTRACTED:
            return True
        second = first_form(token[0]) if (token := next(tokens, None)) else ""
        skipped = token is not None and token[0].casefold() in _CONTRACTED
        skipped = skipped or not second.isalpha() or second in _ARTICLES
        return skipped or any(len(option) == 1 or option[1] == second for option, _ in patterns)


prepare = lru_cache(maxsize=8_192)(Offer)


def _by_own_word(folded: tuple[Forms, ...]) -> dict[int, Forms]:
    """``the red one`` for the only option that has the word, where each option has such a word."""
    words: dict[int, Forms] = {}
    for index, tokens in enumerate(folded):
        others = {token for other, forms_ in enumerate(folded) if other != index for token in forms_}
        single = [token for token in tokens if token not in others and token.isalpha() and len(token) > 2]
        if len(single) == 1 and len(tokens) > 1:
            words[index] = (single[0], "one")
    return words if len(words) == len(folded) else {}


_VIEWS = frozenset({"image", "picture", "photo", "figure", "painting", "panel", "frame"})
_SIDES = frozenset({"left", "right", "top", "bottom", "middle", "center"})


def _otherwise(tokens: Forms) -> list[Forms]:
    """Other wordings of a numbered thing (``the second image``), a full hour and a half."""
    ways: list[Forms] = []
    if len(tokens) == 2 and len(tokens[0]) > 2 and tokens[0].isalpha() and tokens[1] in _ORDINALS:
        ways.append((_ORDINALS[tokens[1]], tokens[0]))
    if len(tokens) == 2 and tokens[0] in _VIEWS:
        rank = tokens[1] if tokens[1].isdigit() else str(ord(tokens[1][0]) - ord("a") + 1)
        is_label = tokens[1].isdigit() or len(tokens[1]) == 1
        ways += [(_ORDINALS[rank], view) for view in sorted(_VIEWS) if is_label and rank in _ORDINALS]
    if len(tokens) == 2 and tokens[0] in _SIDES:
        ways += [(tokens[1], between, tokens[0]) for between in ("on", "in", "to")]
    if len(tokens) == 3 and tokens[1] in ("on", "in", "to") and tokens[2] in _SIDES:
        ways.append((tokens[2], tokens[0]))
    if len(tokens) == 2 and tokens[0] in _ORDINALS.values() and tokens[1] in _VIEWS:
        number = next(number for number, ordinal in _ORDINALS.items() if ordinal == tokens[0])
        ways += [(view, number) for view in sorted(_VIEWS)]
        ways += [(tokens[0], view) for view in sorted(_VIEWS)]
    if len(tokens) == 3 and tokens[1:] == (":", "0"):
        ways.append((tokens[0], "o", "clock"))
    if tokens and tokens[0].endswith(".5"):
        ways.append((tokens[0][:-2], "half", *tokens[1:]))
    return ways


def _numbers(folded: tuple[Forms, ...]) -> dict[Forms, int]:
    """The number of each option where all are numbers, most with the same unit, which may then be omitted."""
    cut = [_value_and_unit(tokens) for tokens in folded]
    units = {unit for value, unit in cut if value and unit}
    heads = [value for value, _ in cut]
    if len(units) != 1:
        return {}
    numbers = {head: index for index, head in enumerate(heads) if head and heads.count(head) == 1}
    percent = units == {("%",)}
    shares = {head: value for head in numbers if percent and (value := _value(head))}
    return {(fold(f"{float(value) / 100:g}"),): numbers[head] for head, value in shares.items()} | numbers


def _value_and_unit(tokens: Forms) -> tuple[Forms, Forms]:
    """Split an amount into number and unit."""
    at = 0
    while at < len(tokens) and (tokens[at][0].isdigit() or tokens[at] in "-/:√π"):
        at += 1
    return (tokens[:at], tokens[at:]) if any(token[0].isdigit() for token in tokens[:at]) else ((), tokens)


def _value(tokens: Forms) -> str:
    sign = "-" if tokens[:1] == ("-",) else ""
    tokens = tokens[1:] if sign else tokens
    try:
        if len(tokens) == 3 and tokens[1] == "/":
            return f"{sign}{float(tokens[0]) / float(tokens[2]):.12g}"
        return f"{sign}{float(tokens[0]):.12g}" if len(tokens) == 1 else ""
    except (ValueError, ZeroDivisionError, OverflowError):
        return ""


def _values(folded: tuple[Forms, ...]) -> dict[str, int]:
    values = [_value(_value_and_unit(tokens)[0]) if not _value_and_unit(tokens)[1] else "" for tokens in folded]
    return {value: index for index, value in enumerate(values) if value and values.count(value) == 1}


def _content_words(tokens: Forms) -> set[str]:
    return {stem(token) for token in tokens if token not in _FUNCTION and len(token) > 1 and token.isalpha()}


def _own(folded: tuple[Forms, ...]) -> dict[str, int]:
    own: dict[str, int] = {}
    for index, tokens in enumerate(folded):
        for word in _content_words(tokens):
            own[word] = -1 if word in own else index
    return {word: index for word, index in own.items() if index >= 0}


def _names_another(tokens: Forms, index: int, letters: Letters) -> bool:
    """Whether an option of several words has a letter in it that is not its own mark: ``option B in the image``."""
    single = {token for token in tokens if len(token) == 1 and token.isascii() and token.isalpha()}
    return len(tokens) > 1 and letters != "digit" and bool(single - {ascii_lowercase[min(index, 25)]})


@lru_cache
def _positions(count: int, letters: Letters) -> dict[str, int]:
    if letters == "digit":
        return {str(n): n - 1 if 0 < n <= count else -1 for n in range(100)}
    indices = {letter: ascii_lowercase.index(letter.lower()) for letter in ascii_letters}
    return {letter: index if index < count else -1 for letter, index in indices.items()}


def same_text(text: str, offer: Offer) -> int | None:  # noqa: PLR0911 (one a way of writing)
    """The option equal to a piece of text: word for word, or the same number in another format."""
    if (index := offer.literal.get(text.strip(" .\n"))) is not None:
        return index
    tokens = forms(text)
    if not tokens:
        return None
    if (index := offer.exact.get(tokens)) is not None:
        return index
    if (index := offer.numbers.get(tokens)) is not None or (index := offer.joined.get("".join(tokens))) is not None:
        return index
    value, unit = _value_and_unit(tokens)
    if value and not unit and offer.values:
        return offer.values.get(_value(value))
    if value in offer.exact and 0 < len(unit) <= 2 and not offer.numbers and unit[0] not in "×+":
        return offer.exact[value]
    if offer.values and (half := _FRACTION.fullmatch(digits_for_words(text.strip(" .!,")))):
        return offer.values.get(_value((half[1], "/", half[2])))
    return None


def same_value(text: str, offer: Offer) -> int | None:
    """The only option that a formula, number, date or amount equals by value."""
    numbers = {*_DIGITS.findall(text)} if len(text) <= _LONGEST_SLIP else set()
    near = [index for index, option in enumerate(offer.raw) if not numbers.isdisjoint(_DIGITS.findall(option))]
    equal = [index for index in near if same(text, offer.raw[index], Level.VALUE)]
    return equal[0] if len(equal) == 1 else None


def like_text(text: str, offer: Offer) -> int | None:
    """The option that a piece of text must mean: a typo of a letter, a part that only one option has."""
    tokens = forms(text)
    if len(tokens) > 1 and any(token.isalpha() for token in tokens) and len(text) <= 2 * offer.longest:
        turned = [index for index, other in enumerate(offer.forms) if sorted(other) == sorted(tokens)]
        if len(turned) == 1:
            return turned[0]
    if not tokens or len(text) > 2 * offer.longest + 40 or any(token[0].isdigit() for token in tokens):
        return None
    joined = "".join(tokens)
    if 4 < len(joined) < _LONGEST_SLIP:
        near = [
            (OSA.distance(joined, other, score_cutoff=2), index)
            for other, index in offer.joined.items()
            if abs(len(other) - len(joined)) <= 2 and not any(c.isdigit() for c in other)
        ]
        near = [pair for pair in near if pair[0] <= (1 if len(joined) < 12 else 2)]
        if len(near) == 1 and not (_NOT & {*tokens} ^ _NOT & {*offer.forms[near[0][1]]}):
            return near[0][1]
    return _part(tokens, offer)


def _part(tokens: Forms, offer: Offer) -> int | None:
    """The only option of which these words are a part, all of them content words: ``van Gogh``, ``hip hop dance``."""
    if all(token in _FUNCTION or len(token) < 3 for token in tokens):
        return None
    size = len(tokens)
    having = [
        index
        for index, words in enumerate(offer.forms)
        if size < len(words) and any(words[at : at + size] == tokens for at in range(len(words) - size + 1))
    ]
    content_words = any(stem(token) in offer.own for token in tokens)
    return having[0] if len(having) == 1 and content_words and 3 * size >= len(offer.forms[having[0]]) else None


_LEAST_ALIKE = 0.7
_MOST_ALIKE_OTHER = 0.4
_LEAST_CONCLUDED = 0.5


class Likeness(NamedTuple):
    """How much of an option a sentence has: the share of its content words, and how many only it has."""

    share: float
    own: int
    matched: int
    option: int


def _likenesses(words: list[Word], offer: Offer) -> list[Likeness]:
    """The likeness of each option to a sentence, the greatest first."""
    stems = {stem(word.form) for word in words}
    likenesses = []
    for index, tokens in enumerate(offer.forms):
        option_words = _content_words(tokens)
        matched = option_words & stems
        own = sum(offer.own.get(word) == index for word in matched)
        share = len(matched) / len(option_words) if option_words else 0.0
        likenesses.append(Likeness(share, own, len(matched), index))
    return sorted(likenesses, reverse=True)


def _agrees(words: list[Word], tokens: Forms) -> bool:
    """Whether a sentence and an option both have a negation, or neither has."""
    return _NOT.isdisjoint(word.form for word in words) == _NOT.isdisjoint(tokens)


def alike(words: list[Word], offer: Offer) -> int | None:
    """The option most of whose content words a sentence has, while it has hardly any of another's."""
    several = [index for index, tokens in enumerate(offer.forms) if len(_content_words(tokens)) > 1]
    likenesses = [likeness for likeness in _likenesses(words, offer) if likeness.own and likeness.option in several]
    if not likenesses or likenesses[0].share < _LEAST_ALIKE:
        return None
    if len(likenesses) > 1 and likenesses[1].share > _MOST_ALIKE_OTHER:
        return None
    return likenesses[0].option if _agrees(words, offer.forms[likenesses[0].option]) else None


def concluded(words: list[Word], offer: Offer) -> int | None:
    """The option that a conclusion paraphrases: it has half of its content words or more, and fewer of any other."""
    likenesses = _likenesses(words, offer)
    if not likenesses or likenesses[0].share < _LEAST_CONCLUDED:
        return None
    best = likenesses[0]
    rivals = [other for other in likenesses[1:] if other.matched >= best.matched or other.own]
    if rivals or len(_content_words(offer.forms[best.option])) < 2:
        return None
    return best.option if _agrees(words, offer.forms[best.option]) else None
