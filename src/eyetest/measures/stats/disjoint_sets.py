"""Things that share something, directly or through others, end in one set, as items on one picture do."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)


class DisjointSets(Generic[Member]):
    """Sets that can be joined (union-find). What was never joined is a set of its own."""

    def __init__(self) -> None:
        self._above: dict[Member, Member] = {}

    def root(self, member: Member) -> Member:
        """The one that stands for all of its set."""
        while (above := self._above.get(member, member)) != member:
            self._above[member] = self._above.get(above, above)
            member = above
        return member

    def join(self, one: Member, other: Member) -> None:
        """Make two sets one, for which stands who stood for the first."""
        self._above[self.root(other)] = self.root(one)

    def groups(self, members: Iterable[Member]) -> list[list[Member]]:
        """Those of the members that are in one set with others of them, in order."""
        by_root: dict[Member, list[Member]] = {}
        for member in members:
            by_root.setdefault(self.root(member), []).append(member)
        return [group for group in by_root.values() if len(group) > 1]
