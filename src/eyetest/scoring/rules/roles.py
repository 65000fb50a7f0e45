"""The role of a mention: what its sentence says of the option that is named there.

A sentence asserts that an option is what the question asks for, or denies it, or does something else with it: it
measures another option against it, sets it apart from another one, supposes a condition that does not hold, reports
what others may say, or describes it. An assertion is a choice; in the other roles an option is no choice, however
often it is named. The cues of each role are data (``cues.yaml``); the first role with a cue beside the mention holds.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from eyetest.scoring.rules.cues import Hit, ReplyView
from eyetest.scoring.rules.mentions import Mention
from eyetest.scoring.rules.moods import Clause, find_mood


class Role(StrEnum):
    """What a sentence says of an option that it names."""

    ASSERTED = "asserted"
    DESCRIBED = "described"
    DENIED = "denied"
    LESSER = "lesser"
    COMPARED = "compared"
    CONTRASTED = "contrasted"
    SUPPOSED = "supposed"
    REPORTED = "reported"


STANDING = frozenset({Role.ASSERTED, Role.DESCRIBED})
"""The roles in which an option may be the choice."""
EXCLUDED = frozenset({Role.DENIED, Role.LESSER})
"""The roles that rule an option out."""


class Named(NamedTuple):
    """A mention, where its sentence begins, and where what is said of it ends: at the next mention."""

    mention: Mention
    start: int
    end: int


_OF_MOOD: dict[str | None, Role] = {"supposes": Role.SUPPOSED, "reports": Role.REPORTED}
_LEAD_IN = re.compile(r"[\s\"'(\[:,\-–—「『“]{0,5}(?:(?:option|choice|the|a|an)\s)?[\s\"'(\[]{0,3}")
_SUBJECT = re.compile(
    r"[\s\"'(\[,:\-–—]{0,5}(?:(?:option|choice|the|a|an|that|of|in|with|also|even|if)\s){0,4}[\s\"'(\[]{0,3}"
)
_ASKS_FOR_LESS = re.compile(r"\b(?:different|differs?|odd(?:est)?|dissimilar|least|less|unlikely|unlike|except)\b")
_LONGEST_MEASURE = 90
_NEXT = 8


def read_role(view: ReplyView, named: Named) -> tuple[Role, Hit | None]:
    """The role of a mention that is not denied, and the cue that shows it."""
    mention, _, end = named
    mood = find_mood(view, Clause(mention.start, end))
    if mood in _OF_MOOD:
        return _OF_MOOD[mood], None
    lesser = view.cued.between("lesser", mention.end, end)
    candidates = (
        (Role.COMPARED, stands_behind(view, "compares", named)),
        (Role.ASSERTED, view.cued.at("asserts", mention.end)),
        (_role_of_lesser(view), lesser[0] if lesser else None),
        (Role.ASSERTED, _exceeds(view, named) or stands_behind(view, "aims", named)),
        (Role.CONTRASTED, _find_contrast(view, named)),
    )
    return next(((role, hit) for role, hit in candidates if hit), (Role.DESCRIBED, None))


def _role_of_lesser(view: ReplyView) -> Role:
    """What it means that an option is less so or different: it is the answer where the question asks for that."""
    return Role.ASSERTED if _ASKS_FOR_LESS.search(view.question.casefold()) else Role.LESSER


def _find_contrast(view: ReplyView, named: Named) -> Hit | None:
    """The cue that sets the subject of a clause apart from the option of another clause."""
    contrasts = view.cued.between("contrasts", named.start, named.mention.start)
    if contrasts and _SUBJECT.fullmatch(view.cued.low, contrasts[-1].end, named.mention.start):
        return contrasts[-1]
    return None


def stands_behind(view: ReplyView, group: str, named: Named) -> Hit | None:
    """The cue of a group that ends where a mention begins, in the same sentence."""
    at = named.mention.start
    for hit in view.cued.before(group, at):
        lead_in = _LEAD_IN.match(view.text, hit.end, at)
        if hit.start >= named.start and lead_in and lead_in.end() >= at:
            return hit
    return None


def _exceeds(view: ReplyView, named: Named) -> Hit | None:
    """The comparative by which an option exceeds the next one: ``A has a higher temperature than B``."""
    mention, _, end = named
    for hit in view.cued.between("exceeds", mention.end, min(end, mention.end + _LONGEST_MEASURE)):
        if end - _NEXT <= hit.end <= end:
            return hit
    return None
