"""A reply as it is weighed: its clean text cut into sentences, the marks, lists and echoes in it, and its cues."""

import re
from collections.abc import Iterator
from functools import cached_property

from eyetest.scoring.rules.cleaning import Body, lower
from eyetest.scoring.rules.cues import Cued, CueTable, Hit
from eyetest.scoring.rules.mentions import NOUNS, Mention, bare_marks_in, marks_in, runs, with_text
from eyetest.scoring.rules.options import Offer
from eyetest.scoring.rules.tokens import fold

_STOP = re.compile(r"[.!?;\n。！？；][.!?;\n]*[\"')\]]{0,3}")
_GOES_ON = re.compile(r"(?:(?:^|\W)[A-Za-z]|\b(?:e\.g|i\.e|vs|[Ff]ig|approx|[Nn]o|Dr|St|Mt|Eq))$")
_FAR = 200
_VERDICT = re.compile(
    r"[:→-]\s{0,3}(?:no|yes|wrong|right|correct|incorrect|true|false)\b\s{0,3}(?:[.;,]|$|\n)|[✓✔✅✗✘❌←]",
    re.IGNORECASE,
)
_LISTED = 3
_CUT = 400
_OPEN = frozenset("=+-*/(,_\\{[^:")
_ROOM = 15
"""So much more than the options themselves an item of an echoed list may have."""
_NUMBER = re.compile(r"\d+")
NO_WORD = re.compile(r"[\s.,;:!?()\[\]{}\"'*\-–—]+")


def stops(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Where sentences end; not inside a number, behind a mark or behind an abbreviation."""
    for stop in _STOP.finditer(text, start, end):
        at, after = stop.span()
        if text[at] in ".!?;" and "\n" not in stop.group():
            if after < len(text) and not text[after].isspace():
                continue
            if text[at] == "." and after - at == 1 and _GOES_ON.search(text, max(start, at - 6), at):
                continue
        yield stop


def sentence_end(text: str, at: int, end: int) -> int:
    """Where the sentence ends that goes on at an offset."""
    return next((stop.start() for stop in stops(text, at, end)), end)


def sentence_start(text: str, at: int) -> int:
    """Where the sentence begins that an offset is in, as far as it matters."""
    first = max(0, at - _FAR)
    return max((stop.end() for stop in stops(text, first, at)), default=first)


class Heard:
    """A reply as it is weighed: its clean text, the cues it has, and the options."""

    def __init__(self, body: Body, offer: Offer, cues: CueTable) -> None:
        self.body, self.text, self.offer = body, body.text, offer
        self.cued = Cued(lower(body.text), cues)
        self.weights = cues.weights

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The nouns for options that the reply uses."""
        return tuple(noun for noun in NOUNS if noun in self.cued.low)

    @cached_property
    def marks(self) -> list[Mention]:
        """Every mark that its dress shows to be one, with its own text where that follows."""
        marks = marks_in(self.text, 0, len(self.text), self.offer, self.nouns)
        return [with_text(mark, self.text, len(self.text), self.offer)[0] for mark in marks if mark.options != (-1,)]

    @cached_property
    def bare_marks(self) -> list[Mention]:
        """Every capital letter alone that may be one."""
        marks = bare_marks_in(self.text, 0, len(self.text), self.offer)
        return [with_text(mark, self.text, len(self.text), self.offer)[0] for mark in marks]

    @cached_property
    def lists(self) -> list[list[Mention]]:
        """Marks that begin the items of a list."""
        return runs(self.text, self.offer)

    @cached_property
    def listed(self) -> frozenset[int]:
        """Where these marks stand."""
        return frozenset(mark.start for run in self.lists for mark in run)

    @cached_property
    def cut_off(self) -> bool:
        """Whether a long reply stops in the middle of a sentence or formula."""
        tail = self.text.rstrip()[-1:]
        return (
            len(self.text) > _CUT
            and (tail.isalnum() or tail in _OPEN)
            and self.text.rstrip()[-2:-1] not in ("\n", "(")
        )

    @cached_property
    def echoes(self) -> list[tuple[int, int]]:
        """Stretches that only repeat the options: marks of a list, and hardly more than their texts."""
        offer, spans = self.offer, []
        for run in self.lists:
            if any(_VERDICT.search(self.text, mark.end, mark.end + offer.longest + _ROOM) for mark in run):
                continue
            whole = sum(len(offer.texts[mark.options[0]]) for mark in run[:-1] if mark.options[0] < offer.count)
            last = run[-1]
            if last.options[0] < offer.count:
                last = with_text(last, self.text, len(self.text), offer)[0]
            if not (
                len(run) >= offer.count
                or (len(run) >= _LISTED and not NO_WORD.sub("", self.text[last.end + _ROOM :]))
            ):
                continue
            if run[-1].start - run[0].end <= whole + _ROOM * len(run):
                line = self.text.find("\n", run[-1].end)
                line = len(self.text) if line < 0 else line
                answer = self.text.find("nswer", run[-1].end) - 1
                line = min(line, answer) if answer >= 0 else line
                spans.append((run[0].start, max(last.end, min(line, run[-1].end + _ROOM + offer.longest))))
        return spans

    def said(self, group: str) -> list[Hit]:
        """The cues of a group that the reply says itself."""
        hits = self.cued.hits(group)
        return [hit for hit in hits if not self.is_echo(hit.start)] if hits and self.lists else hits

    def is_echo(self, at: int) -> bool:
        """Whether an offset is in one of them."""
        return any(start <= at < end for start, end in self.echoes)

    @cached_property
    def openers(self) -> list[int]:
        """Where a word stands with which an option begins."""
        starts, low = self.offer.starts, self.cued.low
        positions = [at for word in self.cued.words if word and fold(word) in starts for at in self.cued.starts(word)]
        if any(not word[0].isalpha() for word in starts):
            positions += [number.start() for number in _NUMBER.finditer(low)]
        return sorted(positions)
