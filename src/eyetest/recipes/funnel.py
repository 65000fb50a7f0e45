"""Items in and out of each stage, in all and by tag."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eyetest.records import Item, Verdict, sorting_tags, tag_word
from eyetest.store.replacing import replacing_file
from eyetest.tabular.sheets import SheetWriter

KINDS = ("keep", "drop", "fix", "review")


class Step(NamedTuple):
    """What one stage did to some items: those of a tag's value, or all."""

    stage: str
    tag: str
    value: str
    into: int
    keep: int
    drop: int
    fix: int
    review: int


def funnel(stages: Sequence[tuple[str, Sequence[Verdict]]], items: Mapping[str, Item]) -> list[Step]:
    """The counts of every stage: first all items, then each value of each tag that sorts them into a few groups."""
    steps = []
    tags = sorting_tags(list(items.values()))
    for stage, verdicts in stages:
        steps.append(_step(stage, "", "", verdicts))
        for tag in tags:
            groups: dict[str, list[Verdict]] = {}
            for verdict in verdicts:
                groups.setdefault(tag_word(items[verdict.item].tags.get(tag)) or "", []).append(verdict)
            steps += [_step(stage, tag, value, groups[value]) for value in sorted(groups)]
    return steps


def write_funnel(path: Path, steps: Sequence[Step]) -> None:
    """``funnel.csv``."""
    with replacing_file(path) as place, place.open("w", newline="", encoding="utf-8") as file:
        SheetWriter(file, Step._fields).write(steps)


def _step(stage: str, tag: str, value: str, verdicts: Sequence[Verdict]) -> Step:
    counts: Counter[str] = Counter(verdict.verdict for verdict in verdicts)
    return Step(stage, tag, value, len(verdicts), *(counts[kind] for kind in KINDS))
