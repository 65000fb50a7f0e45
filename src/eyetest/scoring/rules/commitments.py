"""Commitments: the reply as a whole, and what it boxes, announces, states on its last line or begins with.

Of several commitments the last one holds. One in a sentence that supposes what is not so holds only if nothing else
is said, and one that "would be" the answer only if nothing else is announced.
"""

import re

from eyetest.scoring.rules.claims import Claim, announced, closing, last_word, one_or_many, opening, structured
from eyetest.scoring.rules.conclusions import conclude
from eyetest.scoring.rules.cues import ReplyView
from eyetest.scoring.rules.judged_lists import opens_judged_list, read_list
from eyetest.scoring.rules.mentions import Mention, mark_at
from eyetest.scoring.rules.options import like_text, same_text, same_value
from eyetest.scoring.rules.remarks import Sentences

_LONGEST_WHOLE = 60
_SHORT_REPLY = 500
_EDGE = " .,;:!?()[]{}\"'*=\n-–—"
_START_EDGE = " .,;:!?)]{}\"'*=\n–—"
_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?\{[^{}]*\}\s*(?:```)?\s*")
"""A reply that is a JSON object: what its answer field holds is the answer, whatever its explanation says."""
_WHOLE = "whole reply"


def read_whole(view: ReplyView) -> Claim | None:
    """The reply is a mark, an option's text, or both, and nothing else."""
    text, offer = view.text, view.offer
    size = len(text.rstrip())
    start = len(text) - len(text.lstrip(_START_EDGE))
    if not view.weights[_WHOLE] or size - start > 2 * offer.longest + _LONGEST_WHOLE:
        return None
    mark = mark_at(text, start, size, offer)
    if mark and not text[mark.end : size].strip(_EDGE):
        return _read_mark(view, mark, start, size)
    index = same_text(text[start:size], offer)
    if index is not None and not _is_number_of(view, mark, size):
        return one_or_many(Mention((index,), start, size, "text"), _WHOLE)
    is_single = mark is not None and len(mark.options) == 1 and mark.options[0] >= 0
    if mark and is_single and (mark.dressed or text[mark.end : mark.end + 1] in ".:,- "):
        is_own = same_text(text[mark.end : size], offer) == mark.options[0]
        return one_or_many(Mention(mark.options, mark.start, size, "both"), _WHOLE) if is_own else None
    if "\n" in text[start:size] or mark or view.letters:
        return None
    index = like_text(text[start:size], offer)
    return None if index is None else one_or_many(Mention((index,), start, size, "text"), _WHOLE)


def _read_mark(view: ReplyView, mark: Mention, start: int, size: int) -> Claim:
    """A reply that is a mark; one that is not on offer may be the text of an option."""
    index = same_text(view.text, view.offer) if mark.options == (-1,) else None
    if index is None:
        return one_or_many(mark, _WHOLE)
    return one_or_many(Mention((index,), start, size, "text"), _WHOLE)


def _is_number_of(view: ReplyView, mark: Mention | None, size: int) -> bool:
    """Whether a reply is the number of an option and its text: ``1. 0`` is option 1 if that is 0, and no number."""
    if mark is None:
        return False
    behind = view.text[mark.end : size]
    return behind.startswith(". ") and mark.options == (view.offer.literal.get(behind[2:].strip()),)


def find_commitment(sentences: Sentences, since: int) -> Claim | None:
    """The last commitment behind an offset; unless it is empty, or the reply says that no option is right."""
    view = sentences.view
    claim = _find_last(view, since)
    if claim is None:
        return None
    if claim.mood == "would be":
        concluded = conclude(sentences, claim.end)
        claim = concluded if concluded.asserted else claim
    if claim.why == "not on offer":
        index = same_value(view.body.raw[claim.start : claim.end].strip(" *$.:"), view.offer)
        claim = claim if index is None else claim._replace(kind="chosen", options=(index,), why="")
    is_empty = claim.why in ("nothing announced", "not on offer") and claim.cue != "box"
    refusals = view.own_hits("refuses") if is_empty else []
    if refusals:
        return Claim("refused", (), refusals[0].start, refusals[0].end, refusals[0].cue.name)
    return _contradiction(sentences, claim) or _no_option(view, claim) or claim


def _contradiction(sentences: Sentences, claim: Claim) -> Claim | None:
    """A mark alone on the first line, and an explanation that asserts another option by its text."""
    view = sentences.view
    if claim.cue != "opening mark" or claim.kind != "chosen" or not view.text.startswith("\n", claim.end):
        return None
    if any(mark.start > claim.end for mark in (*view.letters, *view.bare_letters)):
        return None
    concluded = conclude(sentences, claim.end)
    if concluded.kind != "chosen" or not concluded.asserted or concluded.options == claim.options:
        return None
    options = (*claim.options, *concluded.options)
    return concluded._replace(kind="ambiguous", options=options, why="mark and text differ")


def _no_option(view: ReplyView, claim: Claim) -> Claim | None:
    """What says behind a commitment that no option is right."""
    if claim.kind == "refused" or view.offer.none:
        return None
    for hit in view.own_hits("nothing"):
        if hit.start > claim.start or claim.cue == "opening mark":
            return Claim("unparsed", (), hit.start, hit.end, hit.cue.name, why="none of the options")
    return None


def _find_last(view: ReplyView, since: int) -> Claim | None:
    """The last claim behind an offset; a claim that nothing on offer is meant yields to any other."""
    last = closing(view)
    is_cut_short = last is not None and view.cut_off and not last.marked
    box = structured(view)
    if box and box.start >= since and _OBJECT.fullmatch(view.body.raw):
        return box
    stated = [claim for claim in (box, None if is_cut_short else last) if claim and claim.start >= since]
    best = max(stated, key=lambda claim: claim.end, default=None)
    word = last_word(view) or (last if is_cut_short else None)
    if best is None and len(view.text) <= _SHORT_REPLY:
        best = word
    nothing: Claim | None = None
    hedged: Claim | None = None
    for claim in announced(view):
        if claim.start < since or (best and best.end >= claim.end):
            break
        if claim.mood == "would be":
            hedged = hedged or claim
        if claim.mood:
            continue
        if claim.kind != "unparsed" or claim.why in ("mark not on offer", "none of the options"):
            return claim
        nothing = nothing or claim
    if best:
        return best
    first = word or opening(view)
    if first and first.start >= since:
        return read_list(view) if opens_judged_list(view, first.start) else first
    return hedged or nothing


def find_supposition(view: ReplyView, since: int) -> Claim | None:
    """The only option that is announced under a condition, where nothing else is claimed."""
    claims = [claim for claim in announced(view) if claim.mood == "supposes" and claim.start >= since]
    options = {claim.options for claim in claims}
    return claims[0] if len(options) == 1 and claims[0].kind == "chosen" else None
