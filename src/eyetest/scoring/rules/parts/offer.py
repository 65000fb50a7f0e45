"""The options of a question, prepared once for all replies to it."""

import re
from functools import lru_cache
from string import ascii_letters

import msgspec

from eyetest.records.condition import Marks
from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.cleaning import plain
from eyetest.scoring.rules.parts.spoken import bare_numbers, ways_to_say
from eyetest.scoring.rules.parts.tokens import spellings, stem, words

_FRACTIONS = {
    "one half": "1 2", "half": "1 2", "one third": "1 3", "third": "1 3", "two thirds": "2 3", "quarter": "1 4",
    "one quarter": "1 4", "one fourth": "1 4", "three quarters": "3 4", "three fourths": "3 4", "one fifth": "1 5",
}  # fmt: skip
COMMON = gates.words(
    "yes no not none both neither all may march will can us it is in on up down off go so as do be or if "
    "right left he she they we you me one true false same other more less even odd any some "
    "是 否 有 无 ja nein oui non si sí да нет"
)
"""Options that are everyday words: a mention in the middle of a sentence says nothing."""

_FUNCTION = gates.words(
    "it they he she we you i is are was were be been been being has have had do does did will would can could "
    "may might "
    "must should in on to for with by from as that this these those there its their his her because since than "
    "then so "
    "or but not all more most very which who what when where"
)
"""Words that tell options apart only by accident."""


_LETTERS = frozenset(ascii_letters)


class Offer(msgspec.Struct):
    """What can be chosen, in the forms in which replies name it."""

    texts: tuple[str, ...]
    marks: Marks
    places: dict[str, int]
    """Which place each mark names; -1 for marks that are not on offer."""
    words: tuple[tuple[str, ...], ...]
    joined: tuple[str, ...]
    """The words of each option as one string."""
    exact: dict[tuple[str, ...], int]
    values: dict[tuple[str, ...], int]
    starts: dict[str, list[tuple[tuple[str, ...], int]]]
    maybe_mark: re.Pattern[str]
    """Where this finds nothing there is no mark."""
    own: dict[str, int]
    """Stems of words that only one option has."""
    stems: tuple[frozenset[str], ...]
    """Each option's own ones."""
    first_words: frozenset[str]
    """How the options' first words may be written."""
    openers: dict[str, frozenset[int]]
    """Which options begin with each of these words."""
    unspelt: bool
    """Whether some option does not begin with a plain word, so that no list of words shows that it is absent."""
    numbers: dict[str, int]
    """Numbers that say enough without their unit."""
    longest: int
    lettered: bool
    """Whether an option's text speaks of marks, as in ``both A and B``."""
    sequences: bool
    """Whether each option is a list of letters, as in ``B, D, A, C``."""

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.texts)

    def place(self, mark: str) -> int | None:
        """The place that a mark names, -1 for a mark that is not on offer, None for what is no mark here."""
        return self.places.get(mark)


def value(tokens: tuple[str, ...]) -> tuple[str, ...] | None:
    """A number with its unit as exact value: ``1/2`` and ``0.5`` are the same."""
    head = tokens[:2]
    try:
        if len(head) == 2 and head[0].isdigit() and head[1].isdigit() and int(head[1]):
            return (f"{int(head[0]) / int(head[1]):.12g}", *tokens[2:])
        return (f"{float(tokens[0]):.12g}", *tokens[1:]) if tokens else None
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=8_192)
def prepare(options: tuple[str, ...], marks: Marks) -> Offer:
    """Fold the options; texts that two options share point at neither."""
    texts = tuple(plain(option) for option in options)
    folded = tuple(words(text) for text in texts)
    exact, values = _unique(folded), _unique([value(tokens) or () for tokens in folded])
    numbers = bare_numbers(folded)
    for share in numbers.keys() - {tokens[0] for tokens in folded if tokens}:
        values.setdefault((share,), numbers[share])
    if any(folded.count(tokens) > 1 for tokens in exact):
        exact = {}
    _say_otherwise(exact)
    starts: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for tokens, place in exact.items():
        starts.setdefault(tokens[0], []).append((tokens, place))
    for patterns in starts.values():
        patterns.sort(key=lambda pattern: -len(pattern[0]))
    lettered = any(len(tokens) > 1 and any(len(word) == 1 and word.isalpha() for word in tokens) for tokens in folded)
    own = _own(folded)
    openers = {
        spelling: frozenset(place for _, place in patterns)
        for word, patterns in starts.items()
        for spelling in spellings(word)
    }
    unspelt = any(not (word.isascii() and word.isalpha()) or len(word) == 1 for word in starts)
    return Offer(
        texts,
        marks,
        _places(len(texts), marks),
        folded,
        tuple(" ".join(tokens) for tokens in folded),
        exact,
        values,
        starts,
        _maybe_mark(len(texts), marks),
        own,
        tuple(frozenset(stem for stem, at in own.items() if at == place) for place in range(len(texts))),
        frozenset(openers),
        openers,
        unspelt,
        numbers,
        max(map(len, texts), default=0),
        lettered,
        all(len(tokens) > 1 and _LETTERS.issuperset(tokens) for tokens in folded),
    )


def _own(folded: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    """Stems of telling words that only one option has."""
    own: dict[str, int] = {}
    for place, tokens in enumerate(folded):
        for word in {stem(token) for token in tokens if token not in _FUNCTION}:
            own[word] = -1 if word in own else place
    return {word: place for word, place in own.items() if place >= 0}


def _say_otherwise(exact: dict[tuple[str, ...], int]) -> None:
    """Add what only one option may be called."""
    said: dict[tuple[str, ...], set[int]] = {}
    for tokens, place in exact.items():
        for way in ways_to_say(tokens):
            said.setdefault(way, set()).add(place)
    for way, places in said.items():
        if len(places) == 1:
            exact.setdefault(way, places.pop())


@lru_cache
def _places(count: int, marks: Marks) -> dict[str, int]:
    if marks == "digit":
        numbers = {spelt: n for n in range(100) for spelt in (str(n), f"{n:02}")}
        return {spelt: n - 1 if 0 < n <= count else -1 for spelt, n in numbers.items()}
    letters = {letter: ord(letter.upper()) - ord("A") for letter in ascii_letters}
    return {letter: place if place < count else -1 for letter, place in letters.items()}


@lru_cache
def _maybe_mark(count: int, marks: Marks) -> re.Pattern[str]:
    if marks == "digit":
        return re.compile(r"(?<!\w)\d{1,2}(?!\w)|[^\x00-\x7f]")
    last = chr(ord("B") + max(0, min(count, 26) - 2))
    pronoun = r"|I(?!\s(?!is\b|because\b)[a-z])" if last >= "I" else ""
    capital = f"[A-{last}]" if last < "I" else f"[A-H{'J-' + last if last > 'I' else ''}]{pronoun}"
    return re.compile(rf"(?<!\w)(?:{capital}|[b-{last.lower()}]|a(?=[).,:]|\s{{0,3}}$))(?!\w)|[^\x00-\x7f]")


def _unique(forms: list[tuple[str, ...]] | tuple[tuple[str, ...], ...]) -> dict[tuple[str, ...], int]:
    return {form: place for place, form in enumerate(forms) if form and forms.count(form) == 1}


def spoken_fraction(text: str) -> tuple[str, ...] | None:
    """``one half`` as ``1/2`` would be folded."""
    said = _FRACTIONS.get(re.sub(r"[\s\-]+", " ", text.strip(" .!,").lower()[:40]).removeprefix("a "))
    return tuple(said.split()) if said else None
