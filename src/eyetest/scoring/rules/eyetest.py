"""The rules we believe in: what a careful person would read who sees the options and the reply.

A reply is cleaned, the options it mentions are found, and each mention is weighed by the cues beside it:
``cues.yaml`` is the table, ``weighing`` the scorer. ``design/reading.md`` is the guide.
"""

import re

from eyetest.scoring.rules.cleaning import clean, has_further_turn
from eyetest.scoring.rules.cues import CueTable, load_cues
from eyetest.scoring.rules.heard import Heard
from eyetest.scoring.rules.options import prepare
from eyetest.scoring.rules.reading import Reading, Reply
from eyetest.scoring.rules.weighing import weigh

_BARE = re.compile(
    r"[\s(\[*]{0,4}(?:(?:the\s)?(?:answer|option|choice)\s{0,3}(?:is\s|[:\s])[:\s]{0,2})?[\s(\[*]{0,3}"
    r"(?:(?:\\boxed\{)?([a-z])\}?|<answer>([a-z])</answer>)[)\].*\s]{0,6}",
    re.IGNORECASE | re.ASCII,
)
"""Most replies are a mark and little else: they are read before anything is cleaned or prepared."""
_LONGEST_BARE = 40
_LAST_ANSWER = re.compile(r"\banswer\s{0,2}:\s{0,3}\*{0,2}\s{0,3}\(?([A-Z])\)?\*{0,2}\.?\s{0,4}$", re.IGNORECASE)
"""And most chains of thought end as they were told to: nothing that is said before can outweigh that."""
_LAST = 40


class EyetestRules:
    """Our rule set; the table of cues is handed in, so that a cue can be tried without."""

    name = "eyetest"
    summary = "our own rules: the last commitment, in any dress; refusals and ambiguity are readings of their own"
    version = "eyetest/3"

    def __init__(self, cues: CueTable | None = None) -> None:
        self._cues = cues

    def read(self, reply: Reply) -> Reading:
        """Read the reply before any turn that it invents; with no commitment there, all of it."""
        if bare := _read_bare(reply) or _read_last(reply):
            return bare
        cues = self._cues or load_cues()
        offer = prepare(reply.options, reply.marks)
        body = clean(reply.text)
        if before := body.before_turn():
            reading = weigh(Heard(before, offer, cues))
            if reading.kind != "unparsed" or reading.why == "mark not on offer":
                return reading
        return weigh(Heard(body, offer, cues))


def _read_bare(reply: Reply) -> Reading | None:
    """The reading of a bare letter that is on offer; all else is read with care."""
    text = reply.text
    if len(text) > _LONGEST_BARE or reply.marks == "digit" or not (match := _BARE.fullmatch(text)):
        return None
    at = match.start(match.lastindex or 1)
    index = ord(text[at].upper()) - ord("A")
    return Reading("chosen", index, "whole reply", (at, at + 1), marked=True) if index < len(reply.options) else None


def _read_last(reply: Reply) -> Reading | None:
    """The reading of a capital letter behind a last ``Answer:``, in a reply without tags or further turns."""
    text = reply.text
    start = max(0, len(text) - _LAST)
    match = _LAST_ANSWER.search(text, start) if reply.marks == "upper" else None
    if not match or match[1].islower() or "<" in text or "[" in text or has_further_turn(text):
        return None
    index = ord(match[1]) - ord("A")
    return Reading("chosen", index, "answer is", match.span(1), marked=True) if index < len(reply.options) else None


RULES = EyetestRules()
