"""A reply on the table: its clean text, cut into sentences, and the question's options."""

import re
from collections.abc import Iterator
from functools import cached_property

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.cleaning import Body
from eyetest.scoring.rules.parts.lowered import lower
from eyetest.scoring.rules.parts.marks import carries
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.naming import counts_options
from eyetest.scoring.rules.parts.offer import Offer
from eyetest.scoring.rules.reading import Kind, Reading

_END = re.compile(r"[\n.!?;。！？；।]+[\"')\]]{0,3}")
_HARD = frozenset("\n。！？；।")
LONGEST_SENTENCE = 2_000
"""Beyond this it is no sentence, and work that is done for each pair of its words would not end."""
_LONE = re.compile(r"(?<!\w)[A-Za-z](?!\w)")
_WORDS = re.compile(r"[a-z']+|[=\-]")
_STARTLED = re.compile(
    r"\s{1,3}\(?(?:never ?mind|update|wait|no|nope|hmm|actually|sorry|oh|oops|hold on|hang on|let me|on second|but|"
    r"however|scratch|correction|edit|or rather|i made|i was|that is wrong|that's wrong)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\d\s{1,3}[A-Za-z]$")
_NEXT = re.compile(r"\s{1,3}[A-Z][a-z]")
"""How the next sentence begins behind ``v_1.``, which is no mark where options carry letters."""
_OPEN_ENDS = frozenset(",:(=+-[{/")
_WHOLE = 60
_SHORT_LINE = 80
_ASIDE = 120
_LABEL = re.compile(r"[:=→⇒>]")
_ABBREVIATED = gates.words("St Mt Dr Mr Mrs Ms vs Fig fig Eq approx etc ca cf al U.S i.e e.g z.B d.h")


def _goes_on(text: str, start: int, at: int, digit_marks: bool) -> bool:
    """Whether a point stands behind a mark, a number or an abbreviation rather than at the end of a sentence."""
    if text[at - 4 : at].isalpha() and text[at - 4 : at] != "prox":
        return False
    word = text[max(start, text.rfind(" ", start, at) + 1, text.rfind("\n", start, at) + 1) : at].lstrip("([\"'")
    if len(word) < 2 and (_STARTLED.match(text, at + 1) or _UNIT.search(text, max(start, at - 6), at)):
        return False
    if word.isdigit() and not digit_marks and text[start:at].strip() != word and _NEXT.match(text, at + 1):
        return False
    if word == "No":
        return text[at + 1 : at + 4].strip()[:1].isdigit()
    return len(word) < 2 or (len(word) == 2 and word.isdigit()) or word in _ABBREVIATED


def _in_brackets(text: str, start: int, at: int) -> bool:
    """Whether a semicolon stands between brackets of its line: ``option H (θ = 48°; P = 14 N) fits``."""
    opened = text.rfind("(", max(start, at - _ASIDE), at)
    if opened < 0 or text.find(")", opened, at) >= 0:
        return False
    closed = text.find(")", at, at + _ASIDE)
    return closed >= 0 and text.find("\n", at, closed) < 0


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence, cut up if it is longer than any sentence is."""
    while end - start > LONGEST_SENTENCE:
        yield start, start + LONGEST_SENTENCE
        start += LONGEST_SENTENCE
    yield start, end


class Case:
    """What the rules are handed, so that no rule looks for the same thing twice."""

    def __init__(self, body: Body, offer: Offer) -> None:
        self.body, self.offer, self.text = body, offer, body.text
        self.dropped: set[int] = set()
        self.off_list = False
        self.taken_back = -1
        """Where the last sentence begins that retracts what stands before it."""
        self.supposed: tuple[int, int] | None = None
        """Where the last of several answers stands that are given under conditions."""
        self._words: dict[int, set[str]] = {}
        self._promising: dict[int, bool] = {}

    @cached_property
    def low(self) -> str:
        """The text in lower case, for patterns that are tried on every sentence."""
        return lower(self.text)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Where sentences and lines begin and end. The point behind a mark or a number ends none."""
        text, start = self.text, 0
        digits = self.offer.marks == "digit"
        found: list[tuple[int, int]] = []
        for stop in _END.finditer(text):
            at, end = stop.span()
            soft = end < len(text) and not text[end].isspace() and _HARD.isdisjoint(stop.group())
            if (
                soft
                or (text[at] == ";" and _in_brackets(text, start, at))
                or (text[at] == "." and end - at == 1 and _goes_on(text, start, at, digits))
            ):
                continue
            if end - start > 8 or text[start:end].strip():
                if end - start > LONGEST_SENTENCE:
                    found.extend(_pieces(start, end))
                else:
                    found.append((start, end))
            start = end
        if text[start:].strip():
            found.extend(_pieces(start, len(text)))
        return found

    def words(self, start: int, end: int) -> set[str]:
        """The words of a sentence in lower case, with stand-ins for what is not English (see ``gates``)."""
        found = self._words.get(start)
        if found is None:
            text = self.text[start:end].lower()
            found = self._words[start] = set(_WORDS.findall(text))
            if not text.isascii():
                found.add(gates.FOREIGN)
            if "n't" in text:
                found.add(gates.NEGATION)
        return found

    @cached_property
    def all_words(self) -> set[str]:
        """The words of all sentences, for what need not be looked for at all."""
        return set().union(*(self.words(*sentence) for sentence in self.sentences))

    def promising(self, start: int, end: int) -> bool:
        """Whether a sentence can name an option at all: by a mark, or by a word with which an option begins."""
        found = self._promising.get(start)
        if found is None:
            words = self.words(start, end)
            found = self._promising[start] = (
                self.offer.unspelt
                or gates.FOREIGN in words
                or not words.isdisjoint(self.offer.first_words)
                or not (words.isdisjoint(gates.ORDINAL) or words.isdisjoint(gates.COUNTED))
                or self.text.find('"', start, end) >= 0
                or self.offer.maybe_mark.search(self.text, start, end) is not None
            )
        return found

    @cached_property
    def nameable(self) -> int:
        """How many options the reply can name at all, at most: often too few to rule out all but one."""
        offer, words = self.offer, self.all_words
        if offer.unspelt or offer.marks == "digit" or gates.FOREIGN in words or '"' in self.text:
            return offer.count
        if not (words.isdisjoint(gates.ORDINAL) or words.isdisjoint(gates.COUNTED)) and counts_options(self.low):
            return offer.count
        letters = {offer.place(mark) for mark in set(_LONE.findall(self.text))}
        return len(letters.union(*(offer.openers[word] for word in words & offer.first_words)) - {None, -1})

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Where lines begin and end that are not empty."""
        found, start = [], 0
        while start < len(self.text):
            stop = self.text.find("\n", start)
            stop = len(self.text) if stop < 0 else stop
            if self.text[start:stop].strip():
                found.append((start, stop))
            start = stop + 1
        return found

    @cached_property
    def cut_off(self) -> bool:
        """Whether the reply stops in the middle of a sentence."""
        text = self.text.rstrip()
        tail = text[-1:]
        if not tail or len(text) <= _WHOLE or not (tail.isalnum() or tail in _OPEN_ENDS):
            return False
        return tail in _OPEN_ENDS or self.in_formula or not self._telegraphic(text)

    @property
    def in_formula(self) -> bool:
        """Whether a formula that was opened is never closed."""
        raw = self.body.raw
        return raw.count("\\[") > raw.count("\\]") or raw.count("\\(") > raw.count("\\)") or raw.count("$$") % 2 == 1

    def _telegraphic(self, text: str) -> bool:
        """Whether the last line is an option's text, or a short line among others that end without a point."""
        before, _, last = text.rpartition("\n")
        if not before.strip() or len(last) > _SHORT_LINE:
            return False
        above = [line for line in before.split("\n") if line.strip()]
        pointless = sum(line.rstrip()[-1:].isalnum() or line.rstrip()[-1:] in ")%°" for line in above)
        return 2 * pointless >= len(above) or exactly(_LABEL.split(last)[-1], self.offer) is not None

    def chosen(self, place: int, rule: str, start: int, end: int) -> Reading:
        """The reading that an option was chosen; a mark that is not on offer chooses nothing."""
        if place < 0:
            return Reading("unparsed", None, rule, self.body.span(start, end), "mark not on offer")
        marked = carries(self.text, start, end, place, self.offer)
        return Reading("chosen", place, rule, self.body.span(start, end), marked=marked)

    def nothing(self, kind: Kind, rule: str, why: str, span: tuple[int, int] | None = None) -> Reading:
        """The reading that no single option was chosen."""
        return Reading(kind, None, rule, self.body.span(*span) if span else None, why)
