"""The options that a stretch of text names, gathered into lists, and what becomes of each."""

import re
from itertools import pairwise

import msgspec

from eyetest.scoring.rules.parts.naming import named
from eyetest.scoring.rules.parts.offer import Offer
from eyetest.scoring.rules.parts.stance import Stance, is_item, is_passed, stance_of
from eyetest.scoring.rules.parts.wording import Named

_JOIN = re.compile(
    r"(?:\s|,|/|&|\(|\)|\"|and/or|and|or|nor|perhaps|maybe|possibly|also|even|the|an?|either|both|as well as|of|"
    r"und|oder|et|ou|y|o|или|и|noch|ni|或|"
    r"和|、|と"
    r"|der|die|das|eine?|les?|la|el|los|las|options?|option)*",
    re.IGNORECASE,
)
_JOINED = re.compile(r",|/|&|\b(?:and|or|nor|und|oder|et|ou|y|o|или|и|noch|ni)\b|或|和|、|と", re.IGNORECASE)
_THOSE_NOT = re.compile(
    r"\b(?:(?:those|they|these|both|all three) (?:don't|do not|can't|cannot|aren't|won't|are (?:all )?(?:out|"
    r"wrong|incorrect|excluded|"
    r"ruled out|impossible))|(?:neither|none) of (?:these|them|those))\b",
    re.I,
)
"""``Monday and Tuesday are closed, so those don't work``."""
_BESIDE = re.compile(r"[\s.:(\"'–-]{1,6}")
"""What stands between a mark and its own text."""
_APART = 6
_SEQUENCES = (
    ("(A)", "(B)", "(C)"),
    ("(a)", "(b)", "(c)"),
    ("A)", " B)", " C)"),
    ("A. ", " B. ", " C. "),
    ("1) ", " 2) ", " 3) "),
    ("ption A: ", "ption B: ", "ption C: "),
)


class Group(msgspec.Struct):
    """Options named together, as in ``B or C``, and what becomes of them."""

    places: tuple[int, ...]
    start: int
    end: int
    stance: Stance
    marked: bool = False
    conflicting: bool = False


def groups(text: str, start: int, end: int, offer: Offer, words: set[str] | None = None) -> list[Group]:
    """The options named between two places, gathered into lists, each taken, dropped or passed by."""
    found: list[Group] = []
    run: list[Named] = []
    for one in named(text, start, end, offer, words):
        if run and (same := _same(text, run[-1], one)):
            run[-1] = same
            continue
        again = any(one.places == other.places for other in run) and not one.marked
        if run and (
            again
            or not _JOIN.fullmatch(text, run[-1].end, one.start)
            or (text[run[-1].end : one.start].strip() == "," and is_passed(text, start, run[0].start))
        ):
            found.append(_group(text, start, end, run, offer))
            run = []
        run.append(one)
    if run:
        found.append(_group(text, start, end, run, offer))
    if found and found[0].stance == "passed" and is_item(text, (start, end), found[0].start, found[0].end):
        for group in found[1:]:
            group.stance = "passed" if group.places == found[0].places and group.stance == "taken" else group.stance
    if found and lists_inline(text, start, end):
        for group in found:
            group.stance = "passed"
    if found and (those := _THOSE_NOT.search(text, start, end)):
        for group in found:
            if group.end <= those.start():
                group.stance = "dropped"
    return [group for group in found if group.places]


def _same(text: str, last: Named, one: Named) -> Named | None:
    """Two finds that are one mention: they overlap, or a mark stands beside its own text."""
    if one.start < last.end:
        return one if one.marked and not last.marked else last
    if last.marked and one.places == last.places and _BESIDE.fullmatch(text, last.end, one.start):
        return Named(one.places, last.start, one.end, True, last.bare)
    return None


def lists_inline(text: str, start: int, end: int) -> bool:
    """Whether a sentence quotes the options: ``(A) cat (B) dog (C) bird``."""
    for first, second, third in _SEQUENCES:
        one = text.find(first, start, end)
        if (
            one >= 0
            and (two := text.find(second, one, end)) >= one + _APART
            and text.find(third, two, end) >= two + _APART
        ):
            return True
    return False


def _together(places: tuple[int, ...], offer: Offer) -> int | None:
    """The option that is just these options together: ``cats as well as dogs`` is ``both cats and dogs``."""
    words = sorted(word for place in places for word in offer.words[place])
    whole = [
        place
        for place, option in enumerate(offer.words)
        if sorted(word for word in option if word != "both") == words
    ]
    return whole[0] if len(whole) == 1 else None


def _group(text: str, start: int, end: int, run: list[Named], offer: Offer) -> Group:
    places = tuple(dict.fromkeys(place for one in run for place in one.places))
    apart = any(_JOINED.search(text, left.end, right.start) for left, right in pairwise(run))
    stance = stance_of(text, (start, end), run[0].start, run[-1].end)
    if len(places) > 1 and (whole := _together(places, offer)) is not None:
        places = (whole,)
    apart = apart or any(len(one.places) > 1 for one in run)
    if stance != "dropped" and any(one.bare for one in run):
        places = tuple(dict.fromkeys(place for one in run if not one.bare for place in one.places))
    return Group(
        places, run[0].start, run[-1].end, stance, any(one.marked for one in run), len(places) > 1 and not apart
    )
