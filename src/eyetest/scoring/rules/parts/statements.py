"""All statements of a reply weighed: the last firm one, unless a correction or a retraction follows."""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.closing import ticked
from eyetest.scoring.rules.parts.content import Content
from eyetest.scoring.rules.parts.cues import CORRECTS, TIES, retracts
from eyetest.scoring.rules.parts.doubted import contradicted, either_way
from eyetest.scoring.rules.parts.lines import alone_on_line, first_line, headed, last_line
from eyetest.scoring.rules.parts.lowered import cased
from eyetest.scoring.rules.parts.mentions import groups
from eyetest.scoring.rules.parts.misnamed import told_by_text
from eyetest.scoring.rules.parts.refusals import find_refusal
from eyetest.scoring.rules.parts.resolved import resolve
from eyetest.scoring.rules.parts.stated import statement
from eyetest.scoring.rules.parts.statement import FIRM, WEAK, Statement
from eyetest.scoring.rules.parts.structured import structured
from eyetest.scoring.rules.parts.together import answers_to_parts, listed_together, only_listed
from eyetest.scoring.rules.reading import Reading


def stated(case: Case) -> Reading | None:
    """What the reply states, read from its end: the last commitment wins."""
    reading = (
        answers_to_parts(case)
        or only_listed(case)
        or last_line(case)
        or ticked(case)
        or _both(case)
        or _Weighing(case).decide()
    )
    return reading and (contradicted(case, reading) or told_by_text(case, reading) or reading)


def _both(case: Case) -> Reading | None:
    """Two answers one after the other, and then: both are right."""
    tail = case.text[-_SHORT:].lower()
    if "oth" not in tail and "ither" not in tail and "two" not in tail:
        return None
    start, end = case.sentences[-1] if case.sentences else (0, 0)
    if end - start > _SHORT or not _BOTH.match(case.text, start, end) or not TIES.search(case.text, start, end):
        return None
    said = [found for s in case.sentences[-4:-1] if (found := statement(case, *s)) and found.content.what == "one"]
    if len({found.content.places for found in said}) < 2:
        return None
    return case.nothing("ambiguous", "tie", "several options", (start, end))


class _Weighing:
    """Goes through the sentences backwards and remembers what later ones said.

    A firm statement decides. A weak one decides if nothing firmer comes before it, or if a correction stands between
    the two. What is taken back later is gone.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.placed = [found for found in (structured(case), headed(case)) if found]
        self.weak: Statement | None = None
        self.corrected = self.retracted = False

    def decide(self) -> Reading | None:
        case = self.case
        for n in range(len(case.sentences) - 1, -1, -1):
            if reading := self._placed(n) or self._said(n):
                return reading
            self._remember(n)
        if self.weak:
            return self._outdone(self.weak) or self._reading(self.weak)
        if case.off_list:
            return case.nothing("unparsed", "stated", "none of the options")
        return None

    def _outdone(self, weak: Statement) -> Reading | None:
        """Another option that a later, last sentence turns to: ``this would be C. But the area is 16π``."""
        case = self.case
        start, end = case.sentences[-1]
        if start <= weak.content.start or not _TURNS.match(case.text, start, end):
            return None
        taken = [group for group in groups(case.text, start, end, case.offer) if group.stance == "taken"]
        places = {place for group in taken for place in group.places}
        if len(places) != 1 or places <= set(weak.content.places):
            return None
        return case.chosen(taken[-1].places[0], "turn", taken[-1].start, taken[-1].end)

    def _placed(self, n: int) -> Reading | None:
        """What stands in a box, below a heading or alone on its line."""
        start, end = self.case.sentences[n]
        for found in self.placed:
            if start <= found.content.start < end:
                return self._reading(found)
        return alone_on_line(self.case, n)

    def _said(self, n: int) -> Reading | None:
        case, (start, end) = self.case, self.case.sentences[n]
        if n == 0 and case.offer.lettered and not self.weak and (opening := first_line(case)):
            return opening
        found = listed_together(case, n) or statement(case, start, end)
        if n == 0 and (found is None or found.firm < FIRM or found.drops) and (opening := self._opening(found)):
            return opening
        if found is None or self._supposed(n, found):
            return None
        if _WITHDRAWN.search(case.text, found.content.end, end):
            self.retracted, case.taken_back = True, max(case.taken_back, start)
            return None
        if found.content.what == "nothing" and found.content.by != "colon":
            case.off_list = True
        elif found.drops:
            case.dropped.update(place for place in found.content.places if place >= 0)
        elif found.firm >= FIRM:
            return self._firm(found)
        else:
            self.weak = self.weak or found
        return None

    def _supposed(self, n: int, found: Statement) -> bool:
        """Whether an answer holds only under a condition, and another one under another."""
        either = either_way(self.case, n, found)
        if either:
            self.case.supposed = self.case.supposed or (found.content.start, found.content.end)
        return either

    def _firm(self, found: Statement) -> Reading:
        if self.weak and self.corrected:
            return self._reading(self.weak)
        if self.retracted:
            return self._taken_back()
        if other := self._besides(found):
            return other
        opening = first_line(self.case) if found.cue in _LOOSER and not self.corrected else None
        mended = opening and CORRECTS.search(self.case.text, 0, found.content.start)
        return opening if opening and not mended else self._reading(found)

    def _taken_back(self) -> Reading:
        """What is left of an answer that was taken back: a refusal, if the reply ends in one."""
        case = self.case
        if case.taken_back >= 0 and find_refusal(case, *case.sentences[-1]):
            return case.nothing("refused", "retraction", "declines", case.sentences[-1])
        start, end = case.sentences[-1]
        taken = [group for group in groups(case.text, start, end, case.offer) if group.stance == "taken"]
        near = case.sentences[-_MENDS:][0][0] <= case.taken_back
        if near and taken and (mended := resolve(case, (start, end), taken)):
            return mended
        return case.nothing("unparsed", "retraction", "taken back")

    def _besides(self, found: Statement) -> Reading | None:
        """``The answer is A. The answer is also C.``"""
        case, at = self.case, found.content.start
        too = _TOO.match(case.text, found.content.end)
        if found.content.what != "one" or not (too or _ALSO.search(case.text, max(0, at - _ROOM), at)):
            return None
        before = [s for s in case.sentences if s[1] <= at][-2:]
        said = [other for s in before if (other := statement(case, *s)) and other.firm >= FIRM]
        if not any(other.content.what == "one" and other.content.places != found.content.places for other in said):
            return None
        return case.nothing("ambiguous", found.cue, "several options", (at, found.content.end))

    def _opening(self, found: Statement | None) -> Reading | None:
        """The answer on the first line, unless something behind it mends or retracts it."""
        case = self.case
        opening = first_line(case)
        if opening is None:
            return None
        later = self.weak or (found if found and not found.drops else None)
        mended = self.corrected or CORRECTS.search(case.text, *case.sentences[0])
        if self.retracted and not self.weak:
            return self._taken_back()
        return None if mended and later else opening

    def _remember(self, n: int) -> None:
        """Whether this sentence corrects or retracts what stands before it."""
        case, (start, end) = self.case, self.case.sentences[n]
        words = case.words(start, end)
        if not words.isdisjoint(gates.CORRECT) and _LOW_CORRECTS.search(case.low, start, end):
            self.weak = self.weak or _corrected_text(case, n)
            self.corrected = True
        if not self.weak and not words.isdisjoint(gates.RETRACT) and retracts(case.text, start, end):
            self.retracted = True
            case.taken_back = max(case.taken_back, start)

    def _reading(self, found: Statement) -> Reading:
        case, content = self.case, found.content
        span = (content.start, content.end)
        if content.what == "many":
            why = "mark and text contradict" if content.by == "mark and text" else "several options"
            return case.nothing("ambiguous", found.cue, why, span)
        if content.what == "refused":
            return case.nothing("refused", found.cue, "declines", span)
        if content.what == "nothing":
            return case.nothing("unparsed", found.cue, "none of the options", span)
        if content.what == "dropped":
            return case.nothing("unparsed", found.cue, "only rules out", span)
        return case.chosen(content.places[0], found.cue, *span)


def _corrected_text(case: Case, n: int) -> Statement | None:
    """The option that is named last in or shortly behind a sentence that corrects."""
    for start, end in reversed(case.sentences[n : n + _REACH]):
        taken = [group for group in groups(case.text, start, end, case.offer) if group.stance == "taken"]
        if taken and len(taken[-1].places) == 1:
            last = taken[-1]
            return Statement(Content("one", last.places, last.start, last.end, "text"), WEAK, "correction")
    return None


_TURNS = re.compile(r"\s{0,6}(?:but|however|yet|in the end|so in the end|or rather|update)\b", re.IGNORECASE)
_WITHDRAWN = re.compile(r"\b(?:wait,? no|no,? wait|scratch that|never ?mind)\W{0,4}$", re.IGNORECASE)
_BOTH = re.compile(r"\s{0,6}(?:both|either|these two)\b", re.IGNORECASE)
_ALSO = re.compile(r"\b(?:is|be|are) (?:also|likewise|equally)\W{1,4}(?:option )?\W{0,2}$", re.IGNORECASE)
_TOO = re.compile(
    r"\)?\s(?:is|fits|works|holds|would be)\b[^.,;\n]{0,24}\b(?:too|as well|also|equally)\b", re.IGNORECASE
)
_ROOM = 24
_MENDS = 3
"""Of so many last sentences the first may take back what the last one mends."""
_LOW_CORRECTS = cased(CORRECTS)
_SHORT = 80
_LOOSER = ("verdict", "choice")
"""Cues that may also speak of something else; an answer on the first line outranks them."""
_REACH = 12
"""A correction names the new answer within so many sentences."""
