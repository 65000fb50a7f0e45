"""The one scorer: every mention of an option is weighed by its cues here, and here alone it is decided what counts.

From the strongest to the weakest: the whole reply; what is announced, boxed or confirmed, the last of it; the mark
with which it begins; and mentions in its sentences, by their form, their sentence and whether anything denies them.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from eyetest.scoring.rules.claims import Claim, announced, closing, last_word, one_or_many, opening, structured
from eyetest.scoring.rules.heard import Heard, stops
from eyetest.scoring.rules.mentions import Mention, is_whole, mark_at, text_at, texts_in
from eyetest.scoring.rules.options import Offer, alike, like_text, same_text
from eyetest.scoring.rules.reading import Reading
from eyetest.scoring.rules.tokens import tokenise

_LONGEST_WHOLE = 60
_TURNS = 3
_LONGEST_PAIR = 200
_LEAD = re.compile(r"[\s,:.]{0,4}")
_ARTICLE = 5
_SHORT_REPLY = 500
_EDGE = " .,;:!?()[]{}\"'*=\n-–—"
_SAID_OF = re.compile(r"(?:^|\b(?:is|are|be|was|say|answer|therefore|thus|so|hence|to|as)|[:=,→>])\W{0,4}$")
_BUT = re.compile(r"\b(?:but|however|rather|instead)\b")
_BETWEEN = re.compile(r"[\s\"'(\[:,\-–—]{0,5}(?:(?:option|choice|the|a|an)\s)?[\s\"'(\[]{0,3}")
_JOINT = re.compile(r"[ ,()\"']*(?:as well as|and|or|nor|&)?(?: (?:also|either))?(?: ?\b(?:an?|the)\b)?[ ,()\"']*")
_PROGRAM = re.compile(
    r"\s{0,9}(?:import |from \w+ import |def |#|python\b|\w+ = [\[{\d\"'])[\s\S]{0,6000}?\n\s{0,9}(?:print\(|return )"
)
"""Some are asked for a program: it may compute an answer, but does not say it."""
_HEAD = re.compile(r"[\s\-•|(\[\"']{0,6}(?:\w[).:]\s)?")
_VERDICT = re.compile(
    r"[^\n]{0,90}?(?:[.|→:,;>–—-]\s{0,3}(?:(?P<no>no|not\s\w+|out|wrong|incorrect|false|drop|[✗✘❌])|yes|correct|right|true|[✓✔✅]))"
    r"[\s.|!]{0,5}(?:\n|$)"
)
_LONGEST_SENTENCE = 2_000
_MOST_SENTENCES = 400


class Weighed(NamedTuple):
    """A mention in a sentence, what it weighs and by which cue most."""

    mention: Mention
    weight: int
    cue: str
    denied: bool


def weigh(heard: Heard) -> Reading:
    """What a reply commits to."""
    if not heard.text.strip():
        return Reading("unparsed", None, "nothing there", None, heard.body.why or "empty")
    if claim := _whole(heard):
        return _reading(heard, claim)
    if heard.weights["program"] and _PROGRAM.match(heard.body.raw):
        return Reading("unparsed", None, "program", None, "a program")
    taken = max((hit.end for hit in heard.cued.hits("retracts")), default=0)
    short = len(heard.text) <= _SHORT_REPLY
    turns = heard.cued.hits("corrects")[-_TURNS if short else -1 :]
    for turn in [hit.end for hit in reversed(turns) if hit.end > taken]:
        claim = _committed(heard, turn) or ((_at_once(heard, turn) or _named(heard, turn)) if short else None)
        if claim and claim.kind != "unparsed":
            return _reading(heard, claim)
    return _reading(heard, _committed(heard, taken) or _named(heard, taken))


def _at_once(heard: Heard, at: int) -> Claim | None:
    """The option with which a correction begins."""
    end = len(heard.text)
    at = lead.end() if (lead := _LEAD.match(heard.text, at)) else at
    mention = mark_at(heard.text, at, end, heard.offer) or text_at(heard.text, at, end, heard.offer)
    if not mention or mention.options == (-1,) or heard.cued.at("refutes", mention.end):
        return None
    return one_or_many(mention, "on second thought")


def _settled(heard: Heard, claim: Claim) -> Claim:
    """Two options that are said to be as good are both meant; of two that were named one may be preferred behind."""
    size = len(heard.text)
    ties = heard.said("ties") if size <= _SHORT_REPLY else []
    if ties and claim.kind != "ambiguous" and (claim.kind != "chosen" or claim.start < ties[-1].end):
        held = [one.mention for one in _weigh_sentences(heard, _sentences(heard.text)) if not one.denied]
        options = tuple(dict.fromkeys(option for mention in held for option in mention.options))
        return claim._replace(kind="ambiguous", options=options, why="several options") if len(options) > 1 else claim
    for hit in heard.said("prefers") if claim.kind == "ambiguous" and len(claim.options) > 1 else ():
        word = heard.cued.low[hit.start : hit.end]
        mention = mark_at(heard.text, hit.end, size, heard.offer) or text_at(heard.text, hit.end, size, heard.offer)
        pair = {"former": claim.options[:1], "latter": claim.options[-1:]}
        options = mention.options if mention else pair.get(word, ())
        if hit.start >= claim.start and len(options) == 1 and options[0] in claim.options:
            return claim._replace(kind="chosen", options=options, cue=hit.cue.name)
    return claim


def _reading(heard: Heard, claim: Claim) -> Reading:
    claim = _settled(heard, claim)
    span = heard.body.span(claim.start, claim.end) if claim.end else None
    if claim.kind == "chosen":
        return Reading("chosen", claim.options[0], claim.cue, span, marked=claim.marked)
    return Reading(claim.kind, None, claim.cue, span, claim.why or claim.cue)


def _whole(heard: Heard) -> Claim | None:  # noqa: PLR0911 (one a form)
    """The reply is a mark, an option's text, or both, and nothing else."""
    text, offer, weight = heard.text, heard.offer, heard.weights["whole reply"]
    size = len(text.rstrip())
    start = len(text) - len(text.lstrip(_EDGE.replace("-", "").replace("(", "").replace("[", "")))
    if not weight or size - start > 2 * offer.longest + _LONGEST_WHOLE:
        return None
    mark = mark_at(text, start, size, offer)
    if mark and not text[mark.end : size].strip(_EDGE):
        if mark.options != (-1,) or (index := same_text(text, offer)) is None:
            return one_or_many(mark, "whole reply")
        return one_or_many(Mention((index,), start, size, "text"), "whole reply")
    index = same_text(text[start:size], offer)
    if index is not None and not (mark and _is_shown(mark, text[mark.end : size], offer)):
        return one_or_many(Mention((index,), start, size, "text"), "whole reply")
    if (
        mark
        and len(mark.options) == 1
        and mark.options[0] >= 0
        and (mark.dressed or text[mark.end : mark.end + 1] in ".:,- ")
    ):
        if same_text(text[mark.end : size], offer) == mark.options[0]:
            return one_or_many(Mention(mark.options, mark.start, size, "both"), "whole reply")
        return None
    if (
        "\n" not in text[start:size]
        and not mark
        and not heard.marks
        and (index := like_text(text[start:size], offer)) is not None
    ):
        return one_or_many(Mention((index,), start, size, "text"), "whole reply")
    return None


def _is_shown(mark: Mention, after: str, offer: Offer) -> bool:
    """Whether an option stands there as it was shown: "1. 0" is option 1 if that is 0, and no number."""
    return len(mark.options) == 1 and after[:2] == ". " and offer.literal.get(after[2:].strip()) == mark.options[0]


def _committed(heard: Heard, since: int) -> Claim | None:
    """The last claim; unless no option is said to be right, or it is that one cannot say."""
    best = _last(heard, since)
    if (
        best
        and best.why in ("nothing announced", "not on offer")
        and best.cue != "box"
        and (refusals := heard.said("refuses"))
    ):
        return Claim("refused", (), refusals[0].start, refusals[0].end, refusals[0].cue.name)
    if best and best.cue == "opening mark" and best.kind == "chosen" and heard.text[best.end : best.end + 1] == "\n":
        told = _named(heard, best.end)
        marks = any(mark.start > best.end for mark in (*heard.marks, *heard.bare_marks))
        if told.kind == "chosen" and not marks and told.options != best.options:
            return told._replace(kind="ambiguous", options=(*best.options, *told.options), why="mark and text differ")
    if best and not heard.offer.none:
        for hit in heard.said("nothing"):
            if hit.start > best.start or best.cue == "opening mark":
                return Claim("unparsed", (), hit.start, hit.end, hit.cue.name, why="none of the options")
    return best


def _last(heard: Heard, since: int) -> Claim | None:
    """The last claim behind an offset; one that only says that nothing on offer is meant gives way to any other."""
    closed = closing(heard)
    filled = [claim for claim in structured(heard) if claim.start >= since]
    best = max(
        [*filled, closed] if closed and closed.start >= since else filled, key=lambda claim: claim.end, default=None
    )
    nothing: Claim | None = None
    word = last_word(heard)
    best = best or (word if len(heard.text) <= _SHORT_REPLY else None)
    for claim in announced(heard):
        if claim.start < since or (best and best.end >= claim.end):
            break
        if claim.kind != "unparsed" or claim.why in ("mark not on offer", "none of the options"):
            return claim
        nothing = nothing or claim
    if best:
        return best
    first = word or opening(heard)
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


def _named(heard: Heard, since: int) -> Claim:  # noqa: PLR0911 (one a kind)
    """What the sentences come down to, once nothing is announced."""
    weights = heard.weights
    if not heard.offer.none and (none := heard.said("nothing")):
        return Claim("unparsed", (), none[0].start, none[0].end, none[0].cue.name, why="none of the options")
    if heard.echoes and heard.echoes[-1][1] >= len(heard.text.rstrip()):
        return Claim("unparsed", (), *heard.echoes[-1], "echo", why="only repeats the options")
    sentences = _sentences(heard.text)
    weighed = [one for one in _weigh_sentences(heard, sentences) if one.mention.start >= since]
    held = [one for one in weighed if not one.denied]
    if len({one.mention.options for one in held}) == 1:
        held = [one._replace(weight=one.weight + weights["only one"]) for one in held]
    held = [one for one in held if one.weight >= weights["enough"]]
    if refusals := heard.said("refuses"):
        refusal = refusals[0]
        held = [one for one in held if _outlives(heard, one.mention, refusal.start, refusal.end)]
        before = [
            one.mention for one in weighed if one.mention.end <= refusal.start <= _LONGEST_PAIR and not one.denied
        ]
        if not held and (
            any(len(one.options) > 1 for one in before) or any(_joins(heard, *pair) for pair in pairwise(before))
        ):
            return Claim("ambiguous", (), refusal.start, refusal.end, refusal.cue.name, why="several options")
        if not held:
            return Claim("refused", (), refusal.start, refusal.end, refusal.cue.name)
    if held:
        return _heaviest(heard, held)
    if since:
        return Claim("unparsed", (), 0, 0, "taken back", why="taken back")
    return _otherwise(heard, sentences, weighed)


def _outlives(heard: Heard, mention: Mention, start: int, end: int) -> bool:
    """Whether a mention stands in spite of a refusal: it is part of it, a mark before it, or a guess behind it."""
    if len(mention.options) > 1:
        return False
    if (mention.start < end and mention.end > start) or (mention.by != "text" and mention.end < start):
        return True
    return bool(heard.cued.between("goes_on", end, mention.start))


def _heaviest(heard: Heard, held: list[Weighed]) -> Claim:
    """The heaviest mention, the last of equals; another option that weighs nearly as much makes it ambiguous."""
    best = max(held, key=lambda one: (one.weight, one.mention.start))
    for other in held:
        if other.mention.options != best.mention.options and other.weight > best.weight - heard.weights["margin"]:
            options = tuple(dict.fromkeys((*other.mention.options, *best.mention.options)))
            return Claim("ambiguous", options, *best.mention[1:3], best.cue, why="several options")
    return one_or_many(best.mention, best.cue)


def _otherwise(heard: Heard, sentences: list[tuple[int, int]], weighed: list[Weighed]) -> Claim:
    """Ruling out all but one; words that can only mean one option; or nothing."""
    offer, weights = heard.offer, heard.weights
    denied = {option for one in weighed if one.denied for option in one.mention.options}
    left = [index for index in range(offer.count) if index not in denied]
    if weights["ruled out"] and denied and len(left) == 1 and offer.count > 1:
        last = max(one.mention for one in weighed if one.denied)
        return Claim("chosen", (left[0],), last.start, last.end, "ruled out")
    if len(heard.text) <= _SHORT_REPLY and not weighed and sentences and not heard.lists:
        for start, end in dict.fromkeys((sentences[0], sentences[-1])):
            index = alike(tokenise(heard.text, start, end), offer) if weights["alike"] else None
            if index is not None:
                return Claim("chosen", (index,), start, end, "alike")
    return Claim("unparsed", (), 0, 0, "none", why="no commitment")


def _weigh_sentences(heard: Heard, sentences: list[tuple[int, int]]) -> Iterator[Weighed]:
    """Every mention in every sentence with its weight."""
    weights, cued = heard.weights, heard.cued
    listed = {mark.start for run in heard.lists if len(run) > 2 for mark in run}
    last_conclusion = max((hit.start for hit in cued.hits("concludes") if hit.cue.name == "therefore"), default=-1)
    for number, (start, end) in enumerate(sentences):
        mentions = [m for m in _mentions(heard, start, end) if not heard.is_echo(m.start)]
        if not mentions:
            continue
        concluding = [
            (hit.cue.weight, hit.cue.name)
            for hit in cued.between("concludes", start, end)
            if hit.cue.name != "therefore" or hit.start == last_conclusion
        ]
        weight, cue = max(concluding, default=(0, ""))
        weight += weights["first sentence"] if number == 0 else 0
        if number == len(sentences) - 1 and not heard.cut_off:
            aside = number < 2 or heard.text[start:end].lstrip().startswith("(")
            weight += weights["last sentence"] + (0 if aside else weights["last of many"])
        but = max((match.end() for match in _BUT.finditer(cued.low, start, end)), default=end)
        before: Weighed | None = None
        said: list[Weighed] = []
        for mention in mentions:
            form = _FORMS[mention.by] if mention.dressed or mention.by != "mark" else "bare mark"
            beside = _beside(heard, mention, start)
            own = weights[form] + beside[0] + (weights["but"] if mention.start >= but else 0)
            if before and _joins(heard, before.mention, mention):
                own = max(own, before.weight - weight)
            if number == 0 and mention.by == "text" and mention.start - start <= _ARTICLE:
                own += weights["opening text"]
            if mention.start in listed:
                own -= weight
            denied = _is_denied(heard, mention, start, before)
            before = Weighed(mention, weight + own, max((beside, (weight, cue)))[1] or form, denied)
            said.append(before)
        yield from _denied_together(heard, said)


def _denied_together(heard: Heard, said: list[Weighed]) -> list[Weighed]:
    """What is denied behind a list is denied of all that it names: ``A and B are wrong``."""
    for at in range(len(said) - 2, -1, -1):
        if said[at + 1].denied and _joins(heard, said[at].mention, said[at + 1].mention):
            said[at] = said[at]._replace(denied=True)
    return said


_FORMS = {"both": "mark and text", "mark": "dressed mark", "rank": "dressed mark", "text": "text"}


def _beside(heard: Heard, mention: Mention, start: int) -> tuple[int, str]:
    """The cue right before a mention or right behind it."""
    best = (0, "")
    for hit in heard.cued.before("leads", mention.start):
        if hit.start < start:
            continue
        between = _BETWEEN.match(heard.text, hit.end, mention.start)
        if between and between.end() >= mention.start:
            best = max(best, (hit.cue.weight, hit.cue.name))
    if (verdict := _verdict(heard, mention)) and not verdict["no"]:
        best = max(best, (heard.weights["verdict"], "verdict"))
    if behind := heard.cued.at("behind", mention.end):
        best = max(best, (behind.cue.weight, behind.cue.name))
    return best


def _verdict(heard: Heard, mention: Mention) -> re.Match[str] | None:
    """What the end of a line says of the option with which it begins."""
    line = heard.text.rfind("\n", 0, mention.start) + 1
    alone = _HEAD.fullmatch(heard.text, line, mention.start) and "\n" in heard.text
    return _VERDICT.match(heard.cued.low, mention.end) if alone else None


def _mentions(heard: Heard, start: int, end: int) -> list[Mention]:
    """The options that a sentence names, in their order: a mark with its own text is one mention."""
    texts = _texts(heard, start, end)
    marks = [m for m in heard.marks if start <= m.start < end and not any(_within(m, t) for t in texts)]
    bare = [
        b
        for b in heard.bare_marks
        if start <= b.start < end and not any(m.start <= b.start < m.end for m in (*marks, *texts))
    ]
    texts = [t for t in texts if not any(m.start <= t.start < m.end for m in marks)]
    return sorted([*marks, *bare, *texts], key=lambda mention: mention.start)


def _within(one: Mention, other: Mention) -> bool:
    """Whether a mention is a part of a longer one: ``option B`` of ``option B in the image``."""
    return other.start <= one.start and one.end <= other.end and other.end - other.start > one.end - one.start


def _texts(heard: Heard, start: int, end: int) -> list[Mention]:
    """The options that a sentence names by their words; of numbers only the last, for it is what they come to.

    In the last sentence of all a number says enough without its unit.
    """
    text, offer = heard.text, heard.offer
    if heard.cued.low.isascii() and not any(start <= at < end for at in heard.openers):
        return []
    words = tokenise(text, start, end)
    last = max((word.end for word in words if word.form[0].isdigit()), default=0) if "=" in text[start:end] else 0
    texts = [
        m
        for m in texts_in(text, words, offer)
        if _says(heard, m, start, end) and not (last > m.end and _is_number(text[m.start : m.end]))
    ]
    amounts = [n for n, word in enumerate(words) if word.form[0].isdigit()] if offer.numbers else []
    if not texts and amounts and end >= len(text.rstrip()) and is_whole(text, words, amounts[-1], amounts[-1] + 1):
        word = words[amounts[-1]]
        index = offer.numbers.get((word.form,))
        return [] if index is None else [Mention((index,), word.start, word.end, "text")]
    return texts


def _is_number(text: str) -> bool:
    return text.strip("-").replace(".", "").isdigit()


def _says(heard: Heard, mention: Mention, start: int, end: int) -> bool:
    """Whether an everyday word (``yes``, ``left``) is said as an answer."""
    if mention.options[0] not in heard.offer.everyday:
        return True
    before, after = heard.cued.low[start : mention.start], heard.cued.low[mention.end : end].strip()
    return not after.strip(".!)\"'") or (bool(_SAID_OF.search(before)) and after[0] in ".,;:!?)")


def _joins(heard: Heard, one: Mention, other: Mention) -> bool:
    """Whether two mentions are named in one breath."""
    return _JOINT.fullmatch(heard.cued.low, one.end, other.start) is not None


def _is_denied(heard: Heard, mention: Mention, start: int, before: Weighed | None) -> bool:
    """Whether anything in its clause, or right behind it, denies an option; a list is denied as one."""
    so = heard.cued.low.endswith((" as are ", " as is "), before.mention.end, mention.start) if before else False
    if before and before.denied and (so or _joins(heard, before.mention, mention)):
        return True
    if (verdict := _verdict(heard, mention)) and verdict["no"]:
        return True
    return heard.cued.denied(start, mention.start, mention.end)
