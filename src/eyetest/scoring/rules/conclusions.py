"""Conclusions: the option that a reply commits to by what its sentences say, where it announces none.

In this order: an assertion, the last one; a list that judges each option; what is left over; the heaviest mention
that stands; a supposition; yes or no by content; the only option that is not excluded; a paraphrase. A refusal holds
unless a mention outweighs it.
"""

import re
from itertools import pairwise

from eyetest.scoring.restating import answer_by_content
from eyetest.scoring.rules.claims import Claim, one_or_many
from eyetest.scoring.rules.cues import Hit, ReplyView, sentence_start
from eyetest.scoring.rules.judged_lists import read_list
from eyetest.scoring.rules.mentions import mark_at, text_at
from eyetest.scoring.rules.options import alike, concluded, tokenise
from eyetest.scoring.rules.remarks import Remark, Sentences, Span, joins
from eyetest.scoring.rules.roles import Role
from eyetest.scoring.rules.verdict_words import find_verdicts, verdict_without_question

_LONGEST_PAIR = 200
_SHORT_REPLY = 500
_LEAST_ELIMINATED = 3
_ADDED = re.compile(r"[^.!?\n]{0,40}\b(?:too|also|as well|likewise)\b")
_STATES = "states what was asked"
_SO_IS = ("so is ", "so does ", "so are ", "so would ")


def conclude(sentences: Sentences, since: int) -> Claim:
    """The choice by what the sentences behind an offset say."""
    view = sentences.view
    nothing = [] if view.offer.none else view.own_hits("nothing")
    if nothing and not _is_asserted_behind(sentences, nothing[-1].end):
        return Claim("unparsed", (), nothing[0].start, nothing[0].end, nothing[0].cue.name, why="none of the options")
    if view.echoes and view.echoes[-1][1] >= len(view.text.rstrip()):
        echo = Claim("unparsed", (), *view.echoes[-1], "echo", why="only repeats the options")
        return read_list(view) or echo
    remarks = [entry for entry in sentences.remarks if entry.mention.start >= since]
    standing = _find_standing(view, remarks)
    refusals = view.own_hits("refuses")
    if refusals:
        standing = [entry for entry in standing if all(_outweighs(view, entry, hit) for hit in refusals)]
        if not standing:
            return _refuse(view, remarks, refusals)
    return _choose(sentences, standing, remarks, since)


def _is_asserted_behind(sentences: Sentences, at: int) -> bool:
    """Whether an option is asserted behind an offset: ``not among the options, so the closest is B``."""
    return any(entry.role is Role.ASSERTED and entry.mention.start >= at for entry in sentences.remarks)


def _find_standing(view: ReplyView, remarks: list[Remark]) -> list[Remark]:
    """The remarks in which an option may be the choice and that weigh enough."""
    standing = [entry for entry in remarks if entry.stands]
    if len({entry.mention.options for entry in standing}) == 1:
        bonus = view.weights["only one"]
        standing = [entry._replace(weight=entry.weight + bonus) for entry in standing]
    return [entry for entry in standing if entry.weight >= view.weights["enough"]]


def _choose(sentences: Sentences, standing: list[Remark], remarks: list[Remark], since: int) -> Claim:
    """The choice of remarks that no refusal outweighs."""
    view = sentences.view
    asserted = _find_last_assertion(view, standing)
    if asserted:
        return _find_heaviest(view, asserted)._replace(asserted=True)
    judged = None if any(entry.concludes for entry in standing) else read_list(view)
    claim = judged or _find_left_over(view, remarks)
    if claim is not None:
        return claim
    if standing:
        return _find_heaviest(view, standing)
    supposed = _find_only_supposed(view, remarks)
    if supposed is not None:
        return supposed
    if since:
        return Claim("unparsed", (), 0, 0, "taken back", why="taken back")
    claim = _read_verdict(sentences, remarks) or _exclude(view, remarks)
    claim = claim or _find_paraphrase(sentences, remarks)
    return claim or Claim("unparsed", (), 0, 0, "none", why="no commitment")


def _refuse(view: ReplyView, remarks: list[Remark], refusals: list[Hit]) -> Claim:
    """A refusal; several options where the words before it name two together."""
    refusal = max(refusals, key=lambda hit: hit.cue.weight)
    place = ((), refusal.start, refusal.end, refusal.cue.name)
    near = []
    for entry in remarks:
        if entry.mention.end <= refusal.start <= _LONGEST_PAIR and not entry.excludes:
            near.append(entry.mention)
    is_several = any(len(mention.options) > 1 for mention in near)
    if is_several or any(joins(view, first, second) for first, second in pairwise(near)):
        return Claim("ambiguous", *place, why="several options")
    return Claim("refused", *place)


def _outweighs(view: ReplyView, entry: Remark, refusal: Hit) -> bool:
    """Whether a mention holds despite a refusal: part of it, a mark before it, or heavier and later."""
    mention, weight = entry.mention, refusal.cue.weight
    if len(mention.options) > 1:
        return False
    if mention.start < refusal.end and mention.end > refusal.start:
        return True
    if mention.end <= refusal.start:
        return mention.by != "text" or entry.weight > weight + view.weights["last sentence"]
    if view.cued.between("goes_on", refusal.end, mention.start):
        return entry.weight + view.weights["guess"] > weight
    return entry.weight > weight and sentence_start(view.text, mention.start) >= refusal.end


def _find_last_assertion(view: ReplyView, standing: list[Remark]) -> list[Remark]:
    """The last assertion of a reply, with those that are joined to it: ``A or C``, ``A is right. B is right too.``"""
    asserted = [entry for entry in standing if entry.role is Role.ASSERTED]
    if not asserted:
        return []
    last = asserted[-1]
    is_added = _ADDED.match(view.cued.low, last.mention.end) is not None
    if is_added or view.cued.low.endswith(_SO_IS, 0, last.mention.start):
        return asserted
    chain = [last]
    for entry in reversed(asserted[:-1]):
        is_same = entry.sentence == last.sentence and entry.mention.options == last.mention.options
        if is_same or joins(view, entry.mention, chain[-1].mention):
            chain.append(entry)
    return chain[::-1]


def _find_heaviest(view: ReplyView, entries: list[Remark]) -> Claim:
    """The heaviest mention, the last of equals; another option that weighs nearly as much makes it ambiguous."""
    best = max(entries, key=lambda entry: (entry.weight, entry.mention.start))
    for other in entries:
        is_near = other.weight > best.weight - view.weights["margin"]
        if is_near and other.mention.options != best.mention.options:
            options = tuple(dict.fromkeys((*other.mention.options, *best.mention.options)))
            start, end = best.mention.start, best.mention.end
            return Claim("ambiguous", options, start, end, best.cue, why="several options")
    return one_or_many(best.mention, best.cue)


def _find_left_over(view: ReplyView, remarks: list[Remark]) -> Claim | None:
    """The option that is left where a reply says that only one is: the only one that it does not name."""
    hits = view.own_hits("elimination")
    if not hits or not view.weights["ruled out"] or view.offer.count < _LEAST_ELIMINATED:
        return None
    if any(entry.stands and entry.mention.start >= hits[-1].end for entry in remarks):
        return None
    options_named = {option for entry in remarks for option in entry.mention.options}
    left = [index for index in range(view.offer.count) if index not in options_named]
    return Claim("chosen", (left[0],), hits[-1].start, hits[-1].end, "ruled out") if len(left) == 1 else None


def _find_only_supposed(view: ReplyView, remarks: list[Remark]) -> Claim | None:
    """The only option that a reply names under a condition."""
    enough = view.weights["enough"]
    supposed = [entry for entry in remarks if entry.role is Role.SUPPOSED and entry.weight >= enough]
    if len({entry.mention.options for entry in supposed}) != 1:
        return None
    return one_or_many(supposed[-1].mention, supposed[-1].cue)


def _read_verdict(sentences: Sentences, remarks: list[Remark]) -> Claim | None:
    """Yes or no, where the options mean these and a sentence states or denies what was asked."""
    view = sentences.view
    verdicts = find_verdicts(view.offer)
    if verdicts is None:
        return None
    texts = [view.text[start:end] for start, end in sentences.spans]
    verdict = answer_by_content(view.text, view.question) if view.question else None
    is_yes = verdict == "yes" if verdict else None
    if is_yes is None and not remarks:
        is_yes = verdict_without_question(texts)
    if is_yes is None:
        return None
    return Claim("chosen", (verdicts.option_for(is_yes),), *sentences.spans[0], _STATES)


def _exclude(view: ReplyView, remarks: list[Remark]) -> Claim | None:
    """The only option that a reply does not rule out."""
    excluded = {option for entry in remarks if entry.excludes for option in entry.mention.options}
    left = [index for index in range(view.offer.count) if index not in excluded]
    if not view.weights["ruled out"] or not excluded or len(left) != 1 or view.offer.count < 2:
        return None
    last = max(entry.mention for entry in remarks if entry.excludes)
    return Claim("chosen", (left[0],), last.start, last.end, "ruled out")


def _find_paraphrase(sentences: Sentences, remarks: list[Remark]) -> Claim | None:
    """The option that a conclusion words otherwise, or to which a short reply without any mention is alike."""
    view, spans = sentences.view, sentences.spans
    if not spans or not view.weights["alike"]:
        return None
    conclusion = next((span for span in spans if span.start <= view.last_conclusion < span.end), None)
    if conclusion and _is_open(view, conclusion, remarks):
        index = concluded(tokenise(view.text, *conclusion), view.offer)
        if index is not None:
            return Claim("chosen", (index,), *conclusion, "alike")
    if len(view.text) > _SHORT_REPLY or remarks or view.lists:
        return None
    for span in dict.fromkeys((spans[0], spans[-1])):
        index = alike(tokenise(view.text, *span), view.offer)
        if index is not None:
            return Claim("chosen", (index,), *span, "alike")
    return None


def _is_open(view: ReplyView, span: Span, remarks: list[Remark]) -> bool:
    """Whether a sentence is no question and names no option."""
    if view.text[span.end - 1 : span.end] == "?":
        return False
    return not any(span.start <= entry.mention.start < span.end for entry in remarks)


def settle(sentences: Sentences, claim: Claim) -> Claim:
    """A claim after ties and preferences: of options stated as equally good both are meant; one may be preferred."""
    view = sentences.view
    ties = view.own_hits("ties") if len(view.text) <= _SHORT_REPLY else []
    is_before_tie = bool(ties) and (claim.kind != "chosen" or claim.start < ties[-1].end)
    if is_before_tie and claim.kind != "ambiguous":
        mentions = [entry.mention for entry in sentences.remarks if entry.stands]
        options = tuple(dict.fromkeys(option for mention in mentions for option in mention.options))
        return claim._replace(kind="ambiguous", options=options, why="several options") if len(options) > 1 else claim
    if claim.kind == "ambiguous" and len(claim.options) > 1:
        return _prefer(view, claim)
    return claim


def _prefer(view: ReplyView, claim: Claim) -> Claim:
    """The option of several that later words prefer; the claim as it is where they prefer none."""
    size = len(view.text)
    for hit in view.own_hits("prefers"):
        word = view.cued.low[hit.start : hit.end]
        mention = mark_at(view.text, hit.end, size, view.offer) or text_at(view.text, hit.end, size, view.offer)
        pair = {"former": claim.options[:1], "latter": claim.options[-1:]}
        options = mention.options if mention else pair.get(word, ())
        if hit.start >= claim.start and len(options) == 1 and options[0] in claim.options:
            return claim._replace(kind="chosen", options=options, cue=hit.cue.name)
    return claim
