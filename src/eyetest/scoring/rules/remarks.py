"""Remarks: what each sentence of a reply says of the options that it names, and how much that weighs.

A remark is a mention of an option with its role (``roles.py``), the cue that shows the role, and a weight: the sum
of the mention's form, its place in the reply and the cues beside it. Weights decide between remarks of one role.
"""

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from eyetest.scoring.rules.cues import ReplyView, stops
from eyetest.scoring.rules.mentions import Mention, is_whole, texts_in
from eyetest.scoring.rules.options import tokenise
from eyetest.scoring.rules.roles import (
    EXCLUDED,
    STANDING,
    Named,
    Role,
    read_role,
    stands_behind,
)

_LONGEST_SENTENCE = 2_000
_FIRST_SENTENCES = 20
_LAST_SENTENCES = 400
_ARTICLE = 5
_BESIDE = 30
_BUT = re.compile(r"\b(?:but|however|rather|instead)\b")
_JOINT = re.compile(
    r"[ ,()\"']{0,20}(?:as well as|and|or|nor|&)?(?: (?:also|either))?(?: ?\b(?:an?|the)\b)?[ ,()\"']{0,20}"
)
_SAID_OF = re.compile(r"(?:^|\b(?:is|are|be|was|say|answer|therefore|thus|so|hence|to|as)|[:=,→>])\W{0,4}$")
_SAID_BEFORE = 20  # characters, more than `_SAID_OF` can match
_FORMS = {"both": "mark and text", "mark": "dressed mark", "rank": "dressed mark", "text": "text"}
_STRONG = 10  # a cue of this weight beside a mention in a conclusion asserts the option


class Span(NamedTuple):
    """A sentence: where it begins and ends."""

    start: int
    end: int


class SentencePlace(NamedTuple):
    """A sentence as a place of mentions: the weight that each of them has for it, and the cue that gives it."""

    number: int
    span: Span
    weight: int
    cue: str
    concludes: bool
    but: int


class Remark(NamedTuple):
    """What a sentence says of an option."""

    mention: Mention
    weight: int
    cue: str
    role: Role
    sentence: int
    concludes: bool = False

    @property
    def stands(self) -> bool:
        """Whether the option may be the choice."""
        return self.role in STANDING

    @property
    def excludes(self) -> bool:
        """Whether the sentence rules the option out."""
        return self.role in EXCLUDED


class Sentences:
    """The sentences of a reply and what they state, found on demand and once."""

    def __init__(self, view: ReplyView) -> None:
        self.view = view

    @cached_property
    def spans(self) -> list[Span]:
        """The sentences of the reply."""
        return find_sentences(self.view.text)

    @cached_property
    def remarks(self) -> list[Remark]:
        """What the sentences say of the options that they name."""
        return read_remarks(self.view, self.spans)


def find_sentences(text: str) -> list[Span]:
    """The sentences of a reply; of very many only the first and the last ones."""
    spans: list[Span] = []
    start = 0
    for stop in stops(text, 0, len(text)):
        if text[start : stop.start()].strip():
            spans.append(Span(start, min(stop.end(), start + _LONGEST_SENTENCE)))
        start = stop.end()
    if text[start:].strip():
        spans.append(Span(start, min(len(text), start + _LONGEST_SENTENCE)))
    return spans[:_FIRST_SENTENCES] + spans[_FIRST_SENTENCES:][-_LAST_SENTENCES:]


def read_remarks(view: ReplyView, sentences: list[Span]) -> list[Remark]:
    """The remarks of a reply, in order."""
    listed = {mark.start for run in view.lists if len(run) > 2 for mark in run}
    remarks: list[Remark] = []
    for number, span in enumerate(sentences):
        mentions = _mentions_outside_echoes(view, span)
        if mentions:
            place = _find_place(view, number, span, is_last=number == len(sentences) - 1)
            remarks += _share_exclusion(view, _state(view, mentions, place, listed))
    return remarks


def _mentions_outside_echoes(view: ReplyView, span: Span) -> list[Mention]:
    spots = view.spots
    first = bisect_left(spots, span.start)
    if first == len(spots) or spots[first] >= span.end:
        return []
    return [mention for mention in find_mentions(view, span) if not view.is_echo(mention.start)]


def _find_place(view: ReplyView, number: int, span: Span, *, is_last: bool) -> SentencePlace:
    """The weight of a sentence: it is the first, the last, or it concludes."""
    weights = view.weights
    weight, cue = 0, ""
    concludes = False
    for hit in view.cued.between("concludes", span.start, span.end):
        is_conclusion = hit.cue.name == "therefore"
        if is_conclusion and hit.start != view.last_conclusion:
            continue
        concludes = concludes or is_conclusion
        weight, cue = max((weight, cue), (hit.cue.weight, hit.cue.name))
    if number == 0:
        weight += weights["first sentence"]
    if is_last and not view.cut_off:
        is_aside = number < 2 or view.text[span.start : span.end].lstrip().startswith("(")
        weight += weights["last sentence"]
        weight += 0 if is_aside else weights["last of many"]
        concludes = concludes or not is_aside
    turns = [match.end() for match in _BUT.finditer(view.cued.low, span.start, span.end)]
    return SentencePlace(number, span, weight, cue, concludes, max(turns, default=span.end))


def _state(view: ReplyView, mentions: list[Mention], place: SentencePlace, listed: set[int]) -> list[Remark]:
    """The remarks of one sentence."""
    remarks: list[Remark] = []
    ends = [*(mention.start for mention in mentions[1:]), place.span.end]
    for mention, end in zip(mentions, ends, strict=True):
        previous = remarks[-1] if remarks else None
        clause = Named(mention, place.span.start, end)
        remark = _weigh(view, clause, place, previous)
        if mention.start in listed:
            remark = remark._replace(weight=remark.weight - place.weight)
        remarks.append(remark)
    return remarks


def _weigh(view: ReplyView, clause: Named, place: SentencePlace, previous: Remark | None) -> Remark:
    """One remark: its role, and its weight by form, place and the cues beside it."""
    weights, mention = view.weights, clause.mention
    is_bare = mention.by == "mark" and not mention.dressed
    form = "bare mark" if is_bare else _FORMS[mention.by]
    role, weight, cue = _read_role(view, clause, place, previous)
    own = weights[form] + weight
    if mention.start >= place.but:
        own += weights["but"]
    if previous and joins(view, previous.mention, mention):
        own = max(own, previous.weight - place.weight)
    opens = mention.start - place.span.start <= _ARTICLE
    if place.number == 0 and mention.by == "text" and opens:
        own += weights["opening text"]
    named_cue = max((weight, cue), (place.weight, place.cue))[1]
    return Remark(mention, place.weight + own, named_cue or form, role, place.number, place.cue == "therefore")


def _read_role(
    view: ReplyView, clause: Named, place: SentencePlace, previous: Remark | None
) -> tuple[Role, int, str]:
    """The role of a mention, and the heaviest cue beside it with its weight."""
    weight, cue = _beside(view, clause)
    if _is_denied(view, clause, previous):
        return Role.DENIED, weight, cue
    if previous and previous.role is Role.ASSERTED and joins(view, previous.mention, clause.mention):
        return Role.ASSERTED, weight, previous.cue
    role, hit = read_role(view, clause)
    if role is Role.ASSERTED and hit:
        weight, cue = max((weight, cue), (hit.cue.weight, hit.cue.name))
    if role is Role.DESCRIBED and weight >= _STRONG and place.concludes:
        role = Role.ASSERTED
    return role, weight, cue


def _beside(view: ReplyView, clause: Named) -> tuple[int, str]:
    """The heaviest cue directly before or behind a mention."""
    hits = [stands_behind(view, "leads", clause), view.cued.at("behind", clause.mention.end)]
    return max(((hit.cue.weight, hit.cue.name) for hit in hits if hit), default=(0, ""))


def _is_denied(view: ReplyView, clause: Named, previous: Remark | None) -> bool:
    """Whether its clause, or what directly follows it, denies an option; a list is denied as one."""
    mention = clause.mention
    if previous and previous.role is Role.DENIED:
        low = view.cued.low
        is_so = low.endswith((" as are ", " as is "), previous.mention.end, mention.start)
        if is_so or joins(view, previous.mention, mention):
            return True
    return view.cued.denied(clause.start, mention.start, mention.end)


def _share_exclusion(view: ReplyView, remarks: list[Remark]) -> list[Remark]:
    """Give options that are named together the role of the last: ``A and B are wrong``."""
    for at in range(len(remarks) - 2, -1, -1):
        remark, following = remarks[at], remarks[at + 1]
        if following.excludes and joins(view, remark.mention, following.mention):
            remarks[at] = remark._replace(role=following.role)
    return remarks


def joins(view: ReplyView, first: Mention, second: Mention) -> bool:
    """Whether two mentions are coordinated."""
    return _JOINT.fullmatch(view.cued.low, first.end, second.start) is not None


def find_mentions(view: ReplyView, span: Span) -> list[Mention]:
    """The options that a sentence names, in order: a mark with its own text is one mention."""
    texts = _find_texts(view, span)
    text_cover = _Covered(texts)
    letters = [mark for mark in _between(view.letters, span) if not text_cover.has_part(mark)]
    letter_cover = _Covered(letters)
    bare = []
    for letter in _between(view.bare_letters, span):
        if not letter_cover.has_start(letter) and not text_cover.has_start(letter):
            bare.append(letter)
    texts = [text for text in texts if not letter_cover.has_start(text)]
    mentions = sorted([*letters, *bare, *texts], key=attrgetter("start"))
    return [mention for mention in mentions if not _is_every(view, mention)]


def _is_every(view: ReplyView, mention: Mention) -> bool:
    """Whether a mention lists all of three options or more, which names none: ``one of A, B, C, D``."""
    if len(mention.options) < 3 or len(mention.options) < view.offer.count:
        return False
    return _FROM.search(view.cued.low, max(0, mention.start - _BESIDE), mention.start) is not None


_FROM = re.compile(r"\b(?:from|of|among|between|choices?|options?)\W{0,4}$|[从在]\W{0,2}$")


def _between(mentions: list[Mention], span: Span) -> list[Mention]:
    """Those of ordered mentions that begin in a sentence."""
    first = bisect_left(mentions, span.start, key=attrgetter("start"))
    return mentions[first : bisect_left(mentions, span.end, first, key=attrgetter("start"))]


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


def _find_texts(view: ReplyView, span: Span) -> list[Mention]:
    """The options that a sentence names by their words; of numbers only the last, at the end also without unit."""
    text, offer = view.text, view.offer
    start, end = span
    place = bisect_left(view.openers, start)
    if place == len(view.openers) or view.openers[place] >= end:
        return []
    first = view.openers[place]
    start = max(start, text.rfind(" ", start, max(start, first - _BESIDE)))
    words = tokenise(text, start, end)
    numbers = [number for number, word in enumerate(words) if word.form[0].isdigit()]
    texts = [mention for mention in texts_in(text, words, offer) if _is_said(view, mention, span)]
    if numbers and "=" in text[start:end]:
        last_number = words[numbers[-1]].end
        texts = [mention for mention in texts if _is_result(text, mention, last_number)]
    is_last = end >= len(text.rstrip())
    if texts or not numbers or not offer.numbers or not is_last:
        return texts
    if not is_whole(text, words, numbers[-1], numbers[-1] + 1):
        return texts
    word = words[numbers[-1]]
    index = offer.numbers.get((word.form,))
    return [] if index is None else [Mention((index,), word.start, word.end, "text")]


def _is_result(text: str, mention: Mention, last_number: int) -> bool:
    """Whether a mention in a sentence with an equation is no number, or its last one."""
    bare = text[mention.start : mention.end].strip("-").replace(".", "")
    return last_number <= mention.end or not bare.isdigit()


def _is_said(view: ReplyView, mention: Mention, span: Span) -> bool:
    """Whether an everyday word (``yes``, ``left``) is given as an answer."""
    if mention.options[0] not in view.offer.everyday:
        return True
    low = view.cued.low
    before = low[max(span.start, mention.start - _SAID_BEFORE) : mention.start]
    after = low[mention.end : span.end].strip()
    if not after.strip(".!)\"'"):
        return True
    return bool(_SAID_OF.search(before)) and after[0] in ".,;:!?)"
