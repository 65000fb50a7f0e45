"""The options of a question, prepared once for all replies to it, and how a piece of text is compared with them."""

from functools import lru_cache
from string import ascii_letters, ascii_lowercase

import msgspec
from rapidfuzz.distance import OSA

from eyetest.records.tables import Marks
from eyetest.scoring.rules.cleaning import plain
from eyetest.scoring.rules.tokens import Word, fold, forms, stem, word_set

Forms = tuple[str, ...]

_EVERYDAY = word_set(
    "yes no not none both neither all may march will can us it is in on off go so as do be or if right he she "
    "they we you me true false same other more less any some 是 否 有 无 ja nein oui non si да нет"
)
"""Options that are everyday words: a mention in the middle of a sentence says nothing."""
_FUNCTION = word_set(
    "it they he she we you i is are was were be been being has have had do does did will would can could may "
    "might must should in on to for with by from as that this these those there its their his her because since "
    "than then so or but not all more most very which who what when where option image"
)
"""Words that tell options apart only by accident."""
_NOT = frozenset({"not", "no", "non", "never", "without", "neither", "nor", "none"})
_NONE = frozenset({"none", "neither", "nothing", "no"})
_ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "6": "sixth", "7": "seventh"}
_HALVES = {"half": "1/2", "one half": "1/2", "one third": "1/3", "two thirds": "2/3", "quarter": "1/4",
           "one quarter": "1/4", "three quarters": "3/4", "one fourth": "1/4", "three fourths": "3/4"}  # fmt: skip
_LONGEST_SLIP = 120


class Offer(msgspec.Struct):
    """What can be chosen, in the forms in which replies name it."""

    texts: tuple[str, ...]
    marks: Marks
    positions: dict[str, int]
    """The index that each mark names; -1 for marks that are not on offer."""
    forms: tuple[Forms, ...]
    literal: dict[str, int]
    """The texts as they are written: ``AA`` is not ``aa``."""
    exact: dict[Forms, int]
    joined: dict[str, int]
    """The same without blanks, so that ``non linear`` is ``nonlinear``."""
    starts: dict[str, list[tuple[Forms, int]]]
    """What begins with a token, longest first."""
    numbers: dict[Forms, int]
    """Numbers that say enough without their unit."""
    values: dict[str, int]
    """Fractions and decimals by value."""
    own: dict[str, int]
    """Stems of words that only one option has."""
    longest: int
    everyday: frozenset[int]
    """Options whose text is an everyday word."""
    lettered: frozenset[int]
    """Options whose text is a single letter."""
    labelled: bool
    """Whether an option speaks of things that have letters for names."""
    sequences: bool
    """Whether each option is a list of letters, as in ``B, D, A, C``."""
    none: bool
    """Whether an option says that none, or neither, is right."""

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.texts)


@lru_cache(maxsize=8_192)
def prepare(options: tuple[str, ...], marks: Marks) -> Offer:
    """Fold the options; texts that two options share point at neither."""
    texts = tuple(plain(option) for option in options)
    folded = tuple(forms(text) for text in texts)
    exact = _unique(folded)
    for index, tokens in enumerate(folded):
        for other in _otherwise(tokens):
            if other not in exact and other not in folded:
                exact[other] = index
    starts: dict[str, list[tuple[Forms, int]]] = {}
    for tokens, index in exact.items():
        starts.setdefault(tokens[0], []).append((tokens, index))
    for patterns in starts.values():
        patterns.sort(key=lambda pattern: -len(pattern[0]))
    single = {index: tokens[0] for index, tokens in enumerate(folded) if len(tokens) == 1}
    return Offer(
        texts,
        marks,
        _positions(len(texts), marks),
        folded,
        {text.strip(" ."): i for i, text in enumerate(texts) if text.strip(" .") and texts.count(text) == 1},
        exact,
        {"".join(tokens): index for tokens, index in exact.items()},
        starts,
        _numbers(folded),
        _values(folded),
        _own(folded),
        max(map(len, texts), default=0),
        frozenset(i for i, word in single.items() if word in _EVERYDAY and ("left",) not in folded),
        frozenset(i for i, word in single.items() if len(word) == 1 and word.isalpha() and word.isascii()),
        any(_names_another(tokens, index, marks) for index, tokens in enumerate(folded)),
        bool(folded)
        and all(len(tokens) > 1 and all(len(t) == 1 and t.isalpha() for t in tokens) for tokens in folded),
        any(_NONE & {*tokens} for tokens in folded),
    )


def _unique(folded: tuple[Forms, ...]) -> dict[Forms, int]:
    return {tokens: index for index, tokens in enumerate(folded) if tokens and folded.count(tokens) == 1}


def _otherwise(tokens: Forms) -> list[Forms]:
    """Other words for a numbered thing (``the second image``), a full hour and a half."""
    ways: list[Forms] = []
    if len(tokens) == 2 and len(tokens[0]) > 2 and tokens[0].isalpha() and tokens[1] in _ORDINALS:
        ways.append((_ORDINALS[tokens[1]], tokens[0]))
    if len(tokens) == 3 and tokens[1:] == (":", "0"):
        ways.append((tokens[0], "o", "clock"))
    if tokens and tokens[0].endswith(".5"):
        ways.append((tokens[0][:-2], "half", *tokens[1:]))
    return ways


def _numbers(folded: tuple[Forms, ...]) -> dict[Forms, int]:
    """The number of each option where all are numbers, most with one and the same unit: then it says enough."""
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
    """Where an amount stops being a number."""
    at = 0
    while at < len(tokens) and (tokens[at][0].isdigit() or tokens[at] in "-/:√π"):
        at += 1
    return (tokens[:at], tokens[at:]) if any(token[0].isdigit() for token in tokens[:at]) else ((), tokens)


def _value(tokens: Forms) -> str:
    """A fraction or decimal as one number."""
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


def _own(folded: tuple[Forms, ...]) -> dict[str, int]:
    own: dict[str, int] = {}
    for index, tokens in enumerate(folded):
        for word in {
            stem(token) for token in tokens if token not in _FUNCTION and len(token) > 1 and token.isalpha()
        }:
            own[word] = -1 if word in own else index
    return {word: index for word, index in own.items() if index >= 0}


def _names_another(tokens: Forms, index: int, marks: Marks) -> bool:
    """Whether an option of several words has a letter in it that is not its own mark: ``option B in the image``."""
    letters = {token for token in tokens if len(token) == 1 and token.isascii() and token.isalpha()}
    return len(tokens) > 1 and marks != "digit" and bool(letters - {ascii_lowercase[min(index, 25)]})


@lru_cache
def _positions(count: int, marks: Marks) -> dict[str, int]:
    if marks == "digit":
        return {str(n): n - 1 if 0 < n <= count else -1 for n in range(100)}
    letters = {letter: ascii_lowercase.index(letter.lower()) for letter in ascii_letters}
    return {letter: index if index < count else -1 for letter, index in letters.items()}


def same_text(text: str, offer: Offer) -> int | None:  # noqa: PLR0911 (one a way of writing)
    """The option that a piece of text is: word for word, or the same number written otherwise."""
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
    if (
        value
        and 0 < len(unit) <= 2
        and not offer.numbers
        and offer.exact.get(value) is not None
        and unit[0] not in "×+"
    ):
        return offer.exact[value]
    if (
        half := _HALVES.get(" ".join(text.strip(" .!,").lower().replace("-", " ").split()).removeprefix("a "))
    ) and offer.values:
        return offer.values.get(_value((half[0], "/", half[2])))
    return None


def like_text(text: str, offer: Offer) -> int | None:
    """The option that a piece of text must mean: a slip of a letter, a part that only one option has."""
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
    """The one option of which these words are a part, none of them idle: ``van Gogh``, ``hip hop dance``."""
    if all(token in _FUNCTION or len(token) < 3 for token in tokens):
        return None
    size = len(tokens)
    having = [
        index
        for index, words in enumerate(offer.forms)
        if size < len(words) and any(words[at : at + size] == tokens for at in range(len(words) - size + 1))
    ]
    telling = any(stem(token) in offer.own for token in tokens)
    return having[0] if len(having) == 1 and telling and 3 * size >= len(offer.forms[having[0]]) else None


def alike(words: list[Word], offer: Offer) -> int | None:
    """The option most of whose telling words a sentence has, while it has hardly any of another's."""
    said = {stem(word.form) for word in words}
    shares = []
    for index, tokens in enumerate(offer.forms):
        telling = {stem(token) for token in tokens if token not in _FUNCTION and len(token) > 1 and token.isalpha()}
        own = {word for word in telling if offer.own.get(word) == index}
        shares.append(
            (len(telling & said) / len(telling) if own & said and len(telling) > 1 else 0.0, len(own & said), index)
        )
    shares.sort(reverse=True)
    if not shares or shares[0][0] < 0.7 or shares[0][1] < 1:
        return None
    if len(shares) > 1 and shares[1][1] and shares[1][0] > 0.4:
        return None
    return shares[0][2]
