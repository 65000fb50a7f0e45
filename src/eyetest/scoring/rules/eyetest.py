"""Eyetest's rules: which option a reply commits to (``design/reading.md``).

A reply is read in this order, and the first step that decides ends it: the plain forms (``plain.py``), the reply as
a whole, what it announces, boxes or states last (``commitments.py``), and what its sentences say of the options that
they name (``conclusions.py``). What is said after a correction counts before what is said ahead of it.
"""

import re
from typing import get_args

import msgspec

from eyetest.records.tables import Letters
from eyetest.scoring.rules import Reading, Reply
from eyetest.scoring.rules.certainty import RatedRules
from eyetest.scoring.rules.claims import Claim, announced, closing, one_or_many, structured
from eyetest.scoring.rules.cleaning import Body, clean
from eyetest.scoring.rules.commitments import find_commitment, find_supposition, read_whole
from eyetest.scoring.rules.conclusions import conclude, settle
from eyetest.scoring.rules.cues import CueTable, ReplyView, load_cues
from eyetest.scoring.rules.mentions import mark_at, text_at
from eyetest.scoring.rules.options import Offer, prepare
from eyetest.scoring.rules.plain import read_plain
from eyetest.scoring.rules.remarks import Sentences

_TAIL = 300
_TURNS = 3
_SHORT_REPLY = 500
_LEAD = re.compile(r"[\s,:.]{0,4}")
_PROGRAM = re.compile(
    r"\s{0,9}(?:import |from \w+ import |def |#|python\b|\w+ = [\[{\d\"'])[\s\S]{0,6000}?\n\s{0,9}(?:print\(|return )"
)
"""A program may compute an answer, but does not state it."""
_SETTLED = ("mark not on offer", "none of the options", "not on offer", "a program")
"""Reasons to choose nothing that hold whatever follows."""
_DOUBTS = ("corrects", "retracts", "ties", "nothing", "refuses")
"""Cues by which the end of a reply does not decide alone."""
STYLES: tuple[Letters, ...] = get_args(Letters)


class EyetestRules:
    """Eyetest's rule set; the table of cues is a parameter, so that a cue can be left out."""

    name = "eyetest"
    summary = "our own rules: the last commitment, in any dress; refusals and ambiguity are readings of their own"
    version = "eyetest/6"

    def __init__(self, cues: CueTable | None = None) -> None:
        self._cues = cues

    def read(self, reply: Reply) -> Reading:
        """Read the reply before any turn that it invents; with no commitment there, all of it."""
        plain = read_plain(reply) if self._cues is None else None
        if plain is not None:
            return plain
        cues = self._cues or load_cues()
        style = next((style for style in STYLES if style == reply.letters), None)
        offer = prepare(reply.options, style or "upper")
        body = clean(reply.text, "" if style else reply.letters)
        before = body.before_turn()
        if before is not None:
            reading = _read_body(before, offer, cues, msgspec.structs.replace(reply, truncated=False))
            if reading.kind not in ("unparsed", "cut off") or reading.why == "mark not on offer":
                return reading
        return _read_body(body, offer, cues, reply)


def _read_body(body: Body, offer: Offer, cues: CueTable, reply: Reply) -> Reading:
    """Read a text; where its last lines commit to an option, only those."""
    tail = None if _PROGRAM.match(body.raw) else body.tail(_TAIL + 3 * offer.longest)
    reading = _read_end(ReplyView(tail, offer, cues)) if tail else None
    if reading is not None:
        return reading
    view = ReplyView(body, offer, cues, reply.question)
    reading = _read_view(view)
    if reading.kind != "unparsed" or reading.why in _SETTLED:
        return reading
    if reply.truncated or view.cut_off or view.body.why:
        return Reading("cut off", None, reading.rule, reading.span, view.body.why or "cut off")
    return reading


def _read_end(view: ReplyView) -> Reading | None:
    """The option that the end of a reply states, boxes or announces; None where that is undecided."""
    claims = [claim for claim in (structured(view), closing(view), next(announced(view), None)) if claim]
    best = max(claims, key=lambda claim: claim.end, default=None)
    if best is None or best.kind != "chosen" or best.mood:
        return None
    if view.cut_off and not best.marked:
        return None
    if any(view.cued.hits(group) for group in _DOUBTS):
        return None
    return _as_reading(Sentences(view), best)


def _read_view(view: ReplyView) -> Reading:
    """The reading of a text: its last correction first, then all that is not taken back."""
    if not view.text.strip():
        return Reading("unparsed", None, "nothing there", None, view.body.why or "empty")
    sentences = Sentences(view)
    whole = read_whole(view)
    if whole is not None:
        return _as_reading(sentences, whole)
    if view.weights["program"] and _PROGRAM.match(view.body.raw):
        return Reading("unparsed", None, "program", None, "a program")
    taken_back = max((hit.end for hit in view.cued.hits("retracts")), default=0)
    corrected = _read_corrections(sentences, taken_back)
    if corrected is not None:
        return _as_reading(sentences, corrected)
    claim = find_commitment(sentences, taken_back) or conclude(sentences, taken_back)
    if claim.kind == "unparsed" and claim.why not in _SETTLED:
        claim = find_supposition(view, taken_back) or claim
    return _as_reading(sentences, claim)


def _read_corrections(sentences: Sentences, since: int) -> Claim | None:
    """What follows the last correction behind an offset that says anything; None where none does."""
    view = sentences.view
    is_short = len(view.text) <= _SHORT_REPLY
    corrections = view.cued.hits("corrects")[-_TURNS if is_short else -1 :]
    for correction in reversed(corrections):
        if correction.end <= since:
            continue
        claim = find_commitment(sentences, correction.end)
        if claim is None and is_short:
            concluded = conclude(sentences, correction.end)
            claim = concluded if concluded.asserted else _read_at_once(view, correction.end) or concluded
        if claim and claim.kind != "unparsed":
            return claim
    return None


def _read_at_once(view: ReplyView, at: int) -> Claim | None:
    """The option with which a correction begins."""
    end = len(view.text)
    lead = _LEAD.match(view.text, at)
    at = lead.end() if lead else at
    mention = mark_at(view.text, at, end, view.offer) or text_at(view.text, at, end, view.offer)
    if not mention or mention.options == (-1,) or view.cued.at("refutes", mention.end):
        return None
    return one_or_many(mention, "on second thought")


def _as_reading(sentences: Sentences, claim: Claim) -> Reading:
    """A claim as a reading, after ties and preferences are settled."""
    claim = settle(sentences, claim)
    span = sentences.view.body.span(claim.start, claim.end) if claim.end else None
    if claim.kind == "chosen":
        return Reading("chosen", claim.options[0], claim.cue, span, marked=claim.marked)
    return Reading(claim.kind, None, claim.cue, span, claim.why or claim.cue)


RULES = RatedRules(EyetestRules())
