"""A commitment that a sentence makes, and which of two counts."""

import msgspec

from eyetest.scoring.rules.parts.content import Content, What
from eyetest.scoring.rules.parts.marks import Found

FIRM = 3
"""States the answer outright; weaker ones conclude or hint and count only where nothing firm is said."""
WEAK = 2


class Statement(msgspec.Struct):
    """What a sentence commits to, how firmly, and by which cue."""

    content: Content
    firm: int
    cue: str

    @property
    def drops(self) -> bool:
        """Whether it only rules options out."""
        return self.content.what == "dropped"


def by_mark(found: Found, firm: int, cue: str) -> Statement:
    """The statement that a mark, or a list of marks, makes."""
    what: What = "one" if len(found.places) == 1 else "many"
    return Statement(Content(what, found.places, found.start, found.end, "mark"), firm, cue)


def _inside(inner: Content, outer: Content) -> bool:
    shared = len(outer.places) > 1 and set(inner.places) <= set(outer.places)
    return shared and outer.start <= inner.start < outer.end


def better(best: Statement | None, other: Statement | None) -> Statement | None:
    """The later one, but what is ruled out never hides what is chosen."""
    if other is None or (best and not best.drops and other.drops):
        return best
    if best and other.firm < best.firm and (not best.drops or _inside(other.content, best.content)):
        return best
    if (
        best
        and best.content.what == "many"
        and set(other.content.places) <= set(best.content.places)
        and other.content.start < best.content.end
    ):
        return best
    return other
