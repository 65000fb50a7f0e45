"""The counts of every stage: in all, and by tags that sort items into a few groups."""

import pytest

from eyetest.recipes.refining import funnel
from eyetest.records import Item, Verdict, VerdictKind

pytestmark = pytest.mark.journey


def verdicts(stage: str, **found: VerdictKind) -> tuple[str, list[Verdict]]:
    return stage, [Verdict(item=item, stage=stage, verdict=verdict) for item, verdict in found.items()]


ITEMS = {
    name: Item(id=name, question="?", tags=tags)
    for name, tags in {
        "a": {"core": "x", "level": 1, "unique": "1", "list": [1], "same": "s"},
        "b": {"core": "y", "level": 2, "unique": "2", "list": [2], "same": "s"},
        "c": {"core": "x", "level": 2, "unique": "3", "same": "s"},
        "d": {"level": 1, "unique": "4", "same": "s"},
    }.items()
}
STAGES = [verdicts("one", a="keep", b="drop", c="review", d="fix"), verdicts("two", a="drop", d="keep")]


def test_counts_in_all_and_by_tag() -> None:
    found = {(step.stage, step.tag, step.value): tuple(step[3:]) for step in funnel(STAGES, ITEMS)}
    assert found["one", "", ""] == (4, 1, 1, 1, 1)
    assert found["two", "", ""] == (2, 1, 1, 0, 0)
    assert found["one", "core", "x"] == (2, 1, 0, 0, 1)
    assert found["one", "core", ""] == (1, 0, 0, 1, 0), "an item without the tag is counted too"
    assert found["one", "level", "2"] == (2, 0, 1, 0, 1)
    assert {tag for _, tag, _ in found} == {"", "core", "level", "list", "unique"}, "not what all have alike"
    for step in funnel(STAGES, ITEMS):
        assert step.into == sum(step[4:])
