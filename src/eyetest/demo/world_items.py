"""Where the numbers of the world's page lead: short queries where they mean the very items, else one by one."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from eyetest.demo.story import WorldStory
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_links import Query

_FALLEN = ("drop", "review")


def planted_kind(flaw: str) -> str:
    """What a planted flaw is called among findings."""
    return f"planted {flaw}"


class WorldItems:
    """The items of a world by what was planted in them and what became of them."""

    def __init__(self, story: WorldStory, at: ItemsAt = NOWHERE) -> None:
        self._story, self.at = story, at

    def count(self, ids: Iterable[str]) -> ItemCount:
        """How many these are, and where they are shown."""
        items = frozenset(ids)
        query = self._queries.get(items)
        return self.at.named(sorted(items)) if query is None else self.at.count(len(items), query)

    @cached_property
    def _queries(self) -> Mapping[frozenset[str], Query]:
        story = self._story
        every = frozenset(truth.item for truth in story.truths)
        fallen = frozenset(item for item, row in story.flagged.items() if row.verdict in _FALLEN)
        ends = {"fallen": fallen, "kept": every - fallen}
        queries = {frozenset(items): Query(verdict=name) for name, items in ends.items()} | {every: Query()}
        for flaws in (story.flaws, *((flaw,) for flaw in story.flaws)):
            planted = frozenset(item for flaw in flaws for item in story.planted(flaw))
            kinds = tuple(map(planted_kind, flaws))
            for name, items in ends.items():
                queries.setdefault(planted & items, Query(findings=kinds, verdict=name))
            queries[planted] = Query(findings=kinds)
        return queries
