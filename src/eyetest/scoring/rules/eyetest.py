"""Eyetest's rules: each option that a reply mentions is weighed by the cues beside it (``design/reading.md``)."""

import re
from typing import get_args

from eyetest.records.tables import Letters
from eyetest.scoring.rules.cleaning import NEXT_TURN, Body, clean, latin_letters
from eyetest.scoring.rules.cues import CueTable, ReplyView, load_cues
from eyetest.scoring.rules.options import Offer, prepare
from eyetest.scoring.rules.reading import Reading, Reply
from eyetest.scoring.rules.weighing import PROGRAM, weigh, weigh_end

_BARE = re.compile(
    r"[\s(\[*]{0,4}(?:(?:the\s)?(?:answer|option|choice)\s{0,3}(?:is\s|[:\s])[:\s]{0,2})?[\s(\[*]{0,3}"
    r"(?:(?:\\boxed\{)?([a-z])\}?|<answer>([a-z])</answer>)[)\].*\s]{0,6}",
    re.IGNORECASE | re.ASCII,
)  # most replies are a mark and little else: they are read before anything is cleaned or prepared
_LONGEST_BARE = 40
# The usual end of a chain of thought, which nothing before it can outweigh
_LAST_ANSWER = re.compile(r"\banswer\s{0,2}:\s{0,3}\*{0,2}\s{0,3}\(?([A-Z])\)?\*{0,2}\.?\s{0,4}$", re.IGNORECASE)
_LAST = 40
_TAIL = 300
STYLES: tuple[Letters, ...] = get_args(Letters)


class EyetestRules:
    """Eyetest's rule set; the table of cues is a parameter, so that a cue can be left out."""

    name = "eyetest"
    summary = "our own rules: the last commitment, in any dress; refusals and ambiguity are readings of their own"
    version = "eyetest/5"

    def __init__(self, cues: CueTable | None = None) -> None:
        self._cues = cues

    def read(self, reply: Reply) -> Reading:
        """Read the reply before any turn that it invents; with no commitment there, all of it."""
        if bare := _read_bare(reply) or _read_last(reply):
            return bare
        cues = self._cues or load_cues()
        style = next((style for style in STYLES if style == reply.letters), None)
        offer = prepare(reply.options, style or "upper")
        body = clean(reply.text)
        body.text = latin_letters(body.text, "" if style else reply.letters)
        if before := body.before_turn():
            reading = _read_body(before, offer, cues)
            if reading.kind not in ("unparsed", "cut off") or reading.why == "mark not on offer":
                return reading
        return _read_body(body, offer, cues, truncated=reply.truncated)


def _read_body(body: Body, offer: Offer, cues: CueTable, *, truncated: bool = False) -> Reading:
    """Read a text; where its last lines commit to an option, only those."""
    tail = None if PROGRAM.match(body.raw) else body.tail(_TAIL + 3 * offer.longest)
    concluded = weigh_end(ReplyView(tail, offer, cues)) if tail else None
    return concluded or weigh(ReplyView(body, offer, cues), truncated=truncated)


def _read_bare(reply: Reply) -> Reading | None:
    """Read a bare letter that is on offer; anything else needs the full rules."""
    text = reply.text
    if len(text) > _LONGEST_BARE or reply.letters not in ("upper", "lower") or not (match := _BARE.fullmatch(text)):
        return None
    at = match.start(match.lastindex or 1)
    index = ord(text[at].upper()) - ord("A")
    return Reading("chosen", index, "whole reply", (at, at + 1), marked=True) if index < len(reply.options) else None


def _read_last(reply: Reply) -> Reading | None:
    """Read a capital letter behind a last ``Answer:``, in a reply without tags or further turns."""
    text = reply.text
    start = max(0, len(text) - _LAST)
    match = _LAST_ANSWER.search(text, start) if reply.letters == "upper" else None
    if not match or match[1].islower() or "<" in text or "[" in text or NEXT_TURN.search(text):
        return None
    index = ord(match[1]) - ord("A")
    return Reading("chosen", index, "answer is", match.span(1), marked=True) if index < len(reply.options) else None


RULES = EyetestRules()
