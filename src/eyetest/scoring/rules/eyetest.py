"""Eyetest's rules: each option that a reply mentions is weighed by the cues beside it (``design/reading.md``).

The commitment of a reply: its whole, what it announces, boxes or confirms last, its first mark, or mentions.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple, get_args

from eyetest.records.tables import Letters
from eyetest.scoring.rules import Reading, Reply
from eyetest.scoring.rules.claims import Claim, announced, closing, last_word, one_or_many, opening, structured
from eyetest.scoring.rules.cleaning import NEXT_TURN, Body, clean
from eyetest.scoring.rules.cues import CueTable, Hit, ReplyView, load_cues, sentence_start, stops
from eyetest.scoring.rules.mentions import Mention, is_whole, mark_at, text_at, texts_in
from eyetest.scoring.rules.options import Offer, alike, like_text, prepare, same_text, same_value, tokenise

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
        body = clean(reply.text, "" if style else reply.letters)
        if before := body.before_turn():
            reading = _read_body(before, offer, cues)
            if reading.kind not in ("unparsed", "cut off") or reading.why == "mark not on offer":
                return reading
        return _read_body(body, offer, cues, truncated=reply.truncated)


def _read_body(body: Body, offer: Offer, cues: CueTable, *, truncated: bool = False) -> Reading:
    """Read a text; where its last lines commit to an option, only those."""
    tail = None if _PROGRAM.match(body.raw) else body.tail(_TAIL + 3 * offer.longest)
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


_LONGEST_WHOLE = 60
_TURNS = 3
_LONGEST_PAIR = 200
_LEAD = re.compile(r"[\s,:.]{0,4}")
_ARTICLE = 5
_BESIDE = 30
_SHORT_REPLY = 500
_EDGE = " .,;:!?()[]{}\"'*=\n-–—"
_SAID_OF = re.compile(r"(?:^|\b(?:is|are|be|was|say|answer|therefore|thus|so|hence|to|as)|[:=,→>])\W{0,4}$")
_SAID_BEFORE = 20  # characters, more than `_SAID_OF` can match
_BUT = re.compile(r"\b(?:but|however|rather|instead)\b")
_BETWEEN = re.compile(r"[\s\"'(\[:,\-–—]{0,5}(?:(?:option|choice|the|a|an)\s)?[\s\"'(\[]{0,3}")
_JOINT = re.compile(
    r"[ ,()\"']{0,20}(?:as well as|and|or|nor|&)?(?: (?:also|either))?(?: ?\b(?:an?|the)\b)?[ ,()\"']{0,20}"
)
_PROGRAM = re.compile(
    r"\s{0,9}(?:import |from \w+ import |def |#|python\b|\w+ = [\[{\d\"'])[\s\S]{0,6000}?\n\s{0,9}(?:print\(|return )"
)
"""A program may compute an answer, but does not state it."""
# Reasons to choose nothing that hold whatever follows
_SETTLED = ("mark not on offer", "none of the options", "not on offer", "a program")
_LONGEST_SENTENCE = 2_000
_MOST_SENTENCES = 400


class Weighed(NamedTuple):
    """A mention in a sentence, its weight and its main cue."""

    mention: Mention
    weight: int
    cue: str
    denied: bool


def weigh(view: ReplyView, *, truncated: bool) -> Reading:
    """The commitment of a reply; cut off where there is none and the reply stops in the middle."""
    reading = _weigh(view)
    if reading.kind != "unparsed" or reading.why in _SETTLED or not (truncated or view.cut_off or view.body.why):
        return reading
    return Reading("cut off", None, reading.rule, reading.span, view.body.why or "cut off")


def weigh_end(view: ReplyView) -> Reading | None:
    """The option that the end of a reply states, boxes or announces; None where that is undecided."""
    claims = [claim for claim in (structured(view), closing(view), next(announced(view), None)) if claim]
    best = max(claims, key=lambda claim: claim.end, default=None)
    if not best or best.kind != "chosen" or (view.cut_off and not best.marked):
        return None
    doubts = any(view.cued.hits(group) for group in ("corrects", "retracts", "ties", "nothing", "refuses"))
    return None if doubts else _reading(view, best)


def _weigh(view: ReplyView) -> Reading:
    if not view.text.strip():
        return Reading("unparsed", None, "nothing there", None, view.body.why or "empty")
    if claim := _whole(view):
        return _reading(view, claim)
    if view.weights["program"] and _PROGRAM.match(view.body.raw):
        return Reading("unparsed", None, "program", None, "a program")
    taken = max((hit.end for hit in view.cued.hits("retracts")), default=0)
    short = len(view.text) <= _SHORT_REPLY
    turns = view.cued.hits("corrects")[-_TURNS if short else -1 :]
    for turn in [hit.end for hit in reversed(turns) if hit.end > taken]:
        claim = _committed(view, turn) or ((_at_once(view, turn) or _named(view, turn)) if short else None)
        if claim and claim.kind != "unparsed":
            return _reading(view, claim)
    return _reading(view, _committed(view, taken) or _named(view, taken))


def _at_once(view: ReplyView, at: int) -> Claim | None:
    """The option with which a correction begins."""
    end = len(view.text)
    at = lead.end() if (lead := _LEAD.match(view.text, at)) else at
    mention = mark_at(view.text, at, end, view.offer) or text_at(view.text, at, end, view.offer)
    if not mention or mention.options == (-1,) or view.cued.at("refutes", mention.end):
        return None
    return one_or_many(mention, "on second thought")


def _settled(view: ReplyView, claim: Claim) -> Claim:
    """Options stated as equally good are both meant; of two named ones, one may be preferred later."""
    size = len(view.text)
    ties = view.own_hits("ties") if size <= _SHORT_REPLY else []
    if ties and claim.kind != "ambiguous" and (claim.kind != "chosen" or claim.start < ties[-1].end):
        held = [entry.mention for entry in _weigh_sentences(view, _sentences(view.text)) if not entry.denied]
        options = tuple(dict.fromkeys(option for mention in held for option in mention.options))
        return claim._replace(kind="ambiguous", options=options, why="several options") if len(options) > 1 else claim
    for hit in view.own_hits("prefers") if claim.kind == "ambiguous" and len(claim.options) > 1 else ():
        word = view.cued.low[hit.start : hit.end]
        mention = mark_at(view.text, hit.end, size, view.offer) or text_at(view.text, hit.end, size, view.offer)
        pair = {"former": claim.options[:1], "latter": claim.options[-1:]}
        options = mention.options if mention else pair.get(word, ())
        if hit.start >= claim.start and len(options) == 1 and options[0] in claim.options:
            return claim._replace(kind="chosen", options=options, cue=hit.cue.name)
    return claim


def _reading(view: ReplyView, claim: Claim) -> Reading:
    claim = _settled(view, claim)
    span = view.body.span(claim.start, claim.end) if claim.end else None
    if claim.kind == "chosen":
        return Reading("chosen", claim.options[0], claim.cue, span, marked=claim.marked)
    return Reading(claim.kind, None, claim.cue, span, claim.why or claim.cue)


def _whole(view: ReplyView) -> Claim | None:  # noqa: PLR0911 (one a form)
    """The reply is a mark, an option's text, or both, and nothing else."""
    text, offer, weight = view.text, view.offer, view.weights["whole reply"]
    size = len(text.rstrip())
    start = len(text) - len(text.lstrip(_EDGE.replace("-", "").replace("(", "").replace("[", "")))
    if not weight or size - start > 2 * offer.longest + _LONGEST_WHOLE:
        return None
    mark = mark_at(text, start, size, offer)
    if mark and not text[mark.end : size].strip(_EDGE):
        if mark.options != (-1,) or (index := same_text(text, offer)) is None:
            return one_or_many(mark, "whole reply")
        return one_or_many(Mention((index,), start, size, "text"), "whole reply")
    index, after = same_text(text[start:size], offer), text[mark.end : size] if mark else ""
    is_shown = after[:2] == ". " and mark and mark.options == (offer.literal.get(after[2:].strip()),)
    if index is not None and not is_shown:  # "1. 0" is option 1 if that is 0, and no number
        return one_or_many(Mention((index,), start, size, "text"), "whole reply")
    alone = mark and len(mark.options) == 1 and mark.options[0] >= 0
    if mark and alone and (mark.dressed or text[mark.end : mark.end + 1] in ".:,- "):
        both = same_text(text[mark.end : size], offer) == mark.options[0]
        return one_or_many(Mention(mark.options, mark.start, size, "both"), "whole reply") if both else None
    may_slip = "\n" not in text[start:size] and not mark and not view.letters
    if may_slip and (index := like_text(text[start:size], offer)) is not None:
        return one_or_many(Mention((index,), start, size, "text"), "whole reply")
    return None


def _committed(view: ReplyView, since: int) -> Claim | None:
    """The last claim; unless no option is claimed right, or the claim is that none can be chosen."""
    best = _last(view, since)
    if best and best.why == "not on offer":
        index = same_value(view.body.raw[best.start : best.end].strip(" *$.:"), view.offer)
        best = best if index is None else best._replace(kind="chosen", options=(index,), why="")
    empty = best and best.why in ("nothing announced", "not on offer") and best.cue != "box"
    if empty and (refusals := view.own_hits("refuses")):
        return Claim("refused", (), refusals[0].start, refusals[0].end, refusals[0].cue.name)
    if best and best.cue == "opening mark" and best.kind == "chosen" and view.text[best.end : best.end + 1] == "\n":
        named = _named(view, best.end)
        letters = any(mark.start > best.end for mark in (*view.letters, *view.bare_letters))
        if named.kind == "chosen" and not letters and named.options != best.options:
            options = (*best.options, *named.options)
            return named._replace(kind="ambiguous", options=options, why="mark and text differ")
    if best and best.kind != "refused" and not view.offer.none:
        for hit in view.own_hits("nothing"):
            if hit.start > best.start or best.cue == "opening mark":
                return Claim("unparsed", (), hit.start, hit.end, hit.cue.name, why="none of the options")
    return best


def _last(view: ReplyView, since: int) -> Claim | None:
    """The last claim behind an offset; a claim that nothing on offer is meant yields to any other."""
    last = closing(view)
    stops_short = last and view.cut_off and not last.marked
    claims = [claim for claim in (structured(view), None if stops_short else last) if claim and claim.start >= since]
    best = max(claims, key=lambda claim: claim.end, default=None)
    nothing: Claim | None = None
    word = last_word(view) or (last if stops_short else None)
    best = best or (word if len(view.text) <= _SHORT_REPLY else None)
    for claim in announced(view):
        if claim.start < since or (best and best.end >= claim.end):
            break
        if claim.kind != "unparsed" or claim.why in ("mark not on offer", "none of the options"):
            return claim
        nothing = nothing or claim
    if best:
        return best
    first = word or opening(view)
    return first if first and first.start >= since else nothing


def _sentences(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = 0
    for stop in stops(text, 0, len(text)):
        if text[start : stop.start()].strip():
            spans.append((start, min(stop.end(), start + _LONGEST_SENTENCE)))
        start = stop.end()
    if text[start:].strip():
        spans.append((start, min(len(text), start + _LONGEST_SENTENCE)))
    return spans[:20] + spans[20:][-_MOST_SENTENCES:]


def _named(view: ReplyView, since: int) -> Claim:
    """The choice by mentions in sentences, where nothing is announced."""
    weights = view.weights
    if not view.offer.none and (none := view.own_hits("nothing")):
        return Claim("unparsed", (), none[0].start, none[0].end, none[0].cue.name, why="none of the options")
    if view.echoes and view.echoes[-1][1] >= len(view.text.rstrip()):
        return Claim("unparsed", (), *view.echoes[-1], "echo", why="only repeats the options")
    sentences = _sentences(view.text)
    weighed = [entry for entry in _weigh_sentences(view, sentences) if entry.mention.start >= since]
    held = [entry for entry in weighed if not entry.denied]
    if len({entry.mention.options for entry in held}) == 1:
        held = [entry._replace(weight=entry.weight + weights["only one"]) for entry in held]
    held = [entry for entry in held if entry.weight >= weights["enough"]]
    if refusals := view.own_hits("refuses"):
        refusal = max(refusals, key=lambda hit: hit.cue.weight)
        held = [entry for entry in held if all(_outweighs(view, entry, hit) for hit in refusals)]
        if not held:
            near = [w.mention for w in weighed if w.mention.end <= refusal.start <= _LONGEST_PAIR and not w.denied]
            joined = any(len(m.options) > 1 for m in near) or any(_joins(view, *pair) for pair in pairwise(near))
            at = ((), refusal.start, refusal.end, refusal.cue.name)
            return Claim("ambiguous", *at, why="several options") if joined else Claim("refused", *at)
    if held:
        return _heaviest(view, held)
    if since:
        return Claim("unparsed", (), 0, 0, "taken back", why="taken back")
    return _otherwise(view, sentences, weighed)


def _outweighs(view: ReplyView, weighed: Weighed, refusal: Hit) -> bool:
    """Whether a mention holds despite a refusal: part of it, a mark before it, or heavier and later."""
    mention = weighed.mention
    if len(mention.options) > 1:
        return False
    if mention.start < refusal.end and mention.end > refusal.start:
        return True
    if mention.end <= refusal.start:
        return mention.by != "text" or weighed.weight > refusal.cue.weight + view.weights["last sentence"]
    if view.cued.between("goes_on", refusal.end, mention.start):
        return weighed.weight + view.weights["guess"] > refusal.cue.weight
    return weighed.weight > refusal.cue.weight and sentence_start(view.text, mention.start) >= refusal.end


def _heaviest(view: ReplyView, held: list[Weighed]) -> Claim:
    """The heaviest mention, the last of equals; another option that weighs nearly as much makes it ambiguous."""
    best = max(held, key=lambda entry: (entry.weight, entry.mention.start))
    for other in held:
        if other.mention.options != best.mention.options and other.weight > best.weight - view.weights["margin"]:
            options = tuple(dict.fromkeys((*other.mention.options, *best.mention.options)))
            return Claim("ambiguous", options, *best.mention[1:3], best.cue, why="several options")
    return one_or_many(best.mention, best.cue)


def _otherwise(view: ReplyView, sentences: list[tuple[int, int]], weighed: list[Weighed]) -> Claim:
    """The option left by ruling out all others; words that can only mean one option; or nothing."""
    offer, weights = view.offer, view.weights
    denied = {option for entry in weighed if entry.denied for option in entry.mention.options}
    left = [index for index in range(offer.count) if index not in denied]
    if weights["ruled out"] and denied and len(left) == 1 and offer.count > 1:
        last = max(entry.mention for entry in weighed if entry.denied)
        return Claim("chosen", (left[0],), last.start, last.end, "ruled out")
    if len(view.text) <= _SHORT_REPLY and not weighed and sentences and not view.lists:
        for start, end in dict.fromkeys((sentences[0], sentences[-1])):
            index = alike(tokenise(view.text, start, end), offer) if weights["alike"] else None
            if index is not None:
                return Claim("chosen", (index,), start, end, "alike")
    return Claim("unparsed", (), 0, 0, "none", why="no commitment")


def _weigh_sentences(view: ReplyView, sentences: list[tuple[int, int]]) -> Iterator[Weighed]:
    weights, cued = view.weights, view.cued
    listed = {mark.start for run in view.lists if len(run) > 2 for mark in run}
    last_conclusion = max((hit.start for hit in cued.hits("concludes") if hit.cue.name == "therefore"), default=-1)
    for number, (start, end) in enumerate(sentences):
        named = view.spots[-1:] >= [start] and view.spots[bisect_left(view.spots, start)] < end
        mentions = [m for m in _mentions(view, start, end) if not view.is_echo(m.start)] if named else []
        if not mentions:
            continue
        concluding = [
            (hit.cue.weight, hit.cue.name)
            for hit in cued.between("concludes", start, end)
            if hit.cue.name != "therefore" or hit.start == last_conclusion
        ]
        weight, cue = max(concluding, default=(0, ""))
        weight += weights["first sentence"] if number == 0 else 0
        if number == len(sentences) - 1 and not view.cut_off:
            aside = number < 2 or view.text[start:end].lstrip().startswith("(")
            weight += weights["last sentence"] + (0 if aside else weights["last of many"])
        but = max((match.end() for match in _BUT.finditer(cued.low, start, end)), default=end)
        before: Weighed | None = None
        weighed: list[Weighed] = []
        for mention in mentions:
            form = _FORMS[mention.by] if mention.dressed or mention.by != "mark" else "bare mark"
            beside = _beside(view, mention, start)
            own = weights[form] + beside[0] + (weights["but"] if mention.start >= but else 0)
            if before and _joins(view, before.mention, mention):
                own = max(own, before.weight - weight)
            if number == 0 and mention.by == "text" and mention.start - start <= _ARTICLE:
                own += weights["opening text"]
            if mention.start in listed:
                own -= weight
            denied = _is_denied(view, mention, start, before)
            before = Weighed(mention, weight + own, max((beside, (weight, cue)))[1] or form, denied)
            weighed.append(before)
        yield from _denied_together(view, weighed)


def _denied_together(view: ReplyView, weighed: list[Weighed]) -> list[Weighed]:
    """Options denied together by words behind a list: ``A and B are wrong``."""
    for at in range(len(weighed) - 2, -1, -1):
        if weighed[at + 1].denied and _joins(view, weighed[at].mention, weighed[at + 1].mention):
            weighed[at] = weighed[at]._replace(denied=True)
    return weighed


_FORMS = {"both": "mark and text", "mark": "dressed mark", "rank": "dressed mark", "text": "text"}


def _beside(view: ReplyView, mention: Mention, start: int) -> tuple[int, str]:
    """The cue directly before or behind a mention."""
    best = (0, "")
    for hit in view.cued.leads(mention.start):
        if hit.start < start:
            continue
        between = _BETWEEN.match(view.text, hit.end, mention.start)
        if between and between.end() >= mention.start:
            best = max(best, (hit.cue.weight, hit.cue.name))
    if behind := view.cued.at("behind", mention.end):
        best = max(best, (behind.cue.weight, behind.cue.name))
    return best


def _mentions(view: ReplyView, start: int, end: int) -> list[Mention]:
    """The options that a sentence names, in order: a mark with its own text is one mention."""
    texts = _texts(view, start, end)
    inside = _Covered(texts)
    letters = [mark for mark in _between(view.letters, start, end) if not inside.has_part(mark)]
    dressed = _Covered(letters)
    bare = [
        letter
        for letter in _between(view.bare_letters, start, end)
        if not dressed.has_start(letter) and not inside.has_start(letter)
    ]
    texts = [text for text in texts if not dressed.has_start(text)]
    return sorted([*letters, *bare, *texts], key=attrgetter("start"))


def _between(mentions: list[Mention], start: int, end: int) -> list[Mention]:
    """Those of ordered mentions that begin in a stretch."""
    first = bisect_left(mentions, start, key=attrgetter("start"))
    return mentions[first : bisect_left(mentions, end, first, key=attrgetter("start"))]


class _Covered:
    """Mentions in order, none of which overlaps another, as the stretches that they cover."""

    def __init__(self, mentions: list[Mention]) -> None:
        self._mentions = mentions

    def _at(self, start: int) -> Mention | None:
        last = bisect_right(self._mentions, start, key=attrgetter("start")) - 1
        return self._mentions[last] if last >= 0 and start < self._mentions[last].end else None

    def has_start(self, mention: Mention) -> bool:
        """Whether one of them covers the start of a mention."""
        return self._at(mention.start) is not None

    def has_part(self, mention: Mention) -> bool:
        """Whether a mention is a part of a longer one: ``option B`` of ``option B in the image``."""
        cover = self._at(mention.start)
        if cover is None or mention.end > cover.end:
            return False
        return cover.end - cover.start > mention.end - mention.start


def _texts(view: ReplyView, start: int, end: int) -> list[Mention]:
    """The options that a sentence names by their words; of numbers only the last, at the end also without unit."""
    text, offer = view.text, view.offer
    place = bisect_left(view.openers, start)
    if place == len(view.openers) or view.openers[place] >= end:
        return []
    first = view.openers[place]
    start = max(start, text.rfind(" ", start, max(start, first - _BESIDE)))
    words = tokenise(text, start, end)
    last = max((word.end for word in words if word.form[0].isdigit()), default=0) if "=" in text[start:end] else 0
    texts = [m for m in texts_in(text, words, offer) if _says(view, m, start, end)]
    if last:
        is_number = [text[m.start : m.end].strip("-").replace(".", "").isdigit() for m in texts]
        texts = [m for m, number in zip(texts, is_number, strict=True) if last <= m.end or not number]
    amounts = [n for n, word in enumerate(words) if word.form[0].isdigit()] if offer.numbers else []
    if not texts and amounts and end >= len(text.rstrip()) and is_whole(text, words, amounts[-1], amounts[-1] + 1):
        word = words[amounts[-1]]
        index = offer.numbers.get((word.form,))
        return [] if index is None else [Mention((index,), word.start, word.end, "text")]
    return texts


def _says(view: ReplyView, mention: Mention, start: int, end: int) -> bool:
    """Whether an everyday word (``yes``, ``left``) is given as an answer."""
    if mention.options[0] not in view.offer.everyday:
        return True
    before = view.cued.low[max(start, mention.start - _SAID_BEFORE) : mention.start]
    after = view.cued.low[mention.end : end].strip()
    return not after.strip(".!)\"'") or (bool(_SAID_OF.search(before)) and after[0] in ".,;:!?)")


def _joins(view: ReplyView, first: Mention, other: Mention) -> bool:
    """Whether two mentions are coordinated."""
    return _JOINT.fullmatch(view.cued.low, first.end, other.start) is not None


def _is_denied(view: ReplyView, mention: Mention, start: int, before: Weighed | None) -> bool:
    """Whether its clause, or what directly follows it, denies an option; a list is denied as one."""
    so = view.cued.low.endswith((" as are ", " as is "), before.mention.end, mention.start) if before else False
    if before and before.denied and (so or _joins(view, before.mention, mention)):
        return True
    return view.cued.denied(start, mention.start, mention.end)


RULES = EyetestRules()
