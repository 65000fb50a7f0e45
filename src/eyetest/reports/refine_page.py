"""A refinement as one HTML file: how many items fell at which stage, which ones, and what is still answered blind."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_view import Album, lot, show_verdict
from eyetest.pages.page import write_page
from eyetest.records import Item, Panel, Verdict, sorting_tags, tag_word
from eyetest.reports.refinements import Members, RefinementRecord, Residual, recipe_yaml
from eyetest.wording import counted

_FALLEN = {"drop": ("bad", "Dropped"), "review": ("suspect", "For people")}
_SHOWN = 6
_MOST_VALUES = 24
Verdicts = Sequence[tuple[str, Sequence[Verdict]]]
"""Each stage with its verdicts."""


class _Blind(NamedTuple):
    """How much is answered blind, by whom and when."""

    who: str
    models: int
    value: float
    low: float
    high: float


def write_refine_page(
    record: RefinementRecord,
    stages: Verdicts,
    items: Mapping[str, Item],
    kept: Sequence[Item],
    benchmarks: Sequence[Benchmark],
    to: Path,
) -> None:
    """Write the page; ``items`` are those that went in, ``kept`` those that are left.

    ``benchmarks`` hold the pictures: the one that went in, and those that were made of it.
    """
    album = Album(*benchmarks)
    blind = list(_blind(record.residual_blind))
    contents = {
        "record": record,
        "headline": _headline(record, len(items), len(kept)),
        "total": len(items),
        "kept": len(kept),
        "stages": [_stage(*stage, items, album) for stage in stages],
        "blind": blind,
        "blind_top": min(1.0, max((one.high for one in blind), default=1.0) * 1.15) or 1.0,
        "panels": [(name, _seated(who, record.recipe.panels[name])) for name, who in record.panels.items()],
        "tags": list(_by_tag(list(items.values()), kept)),
        "recipe": recipe_yaml(record.recipe),
        "album": album.pictures,
    }
    write_page("refine.html.j2", contents, to, overwrite=True)


def _headline(record: RefinementRecord, items: int, kept: int) -> str:
    if record.paused:
        return f"{counted(items, 'item')} went in; the stage {record.paused} waits for people."
    return f"{kept:,} of {counted(items, 'item')} are left; {items - kept:,} fell on the way."


def _stage(name: str, verdicts: Sequence[Verdict], items: Mapping[str, Item], album: Album) -> dict[str, Any]:
    """One stage, ready to be laid out; by verdict: its colour, its word, how many items fell, some of them."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    groups = []
    for kind, words in _FALLEN.items():
        fallen = sorted((verdict for verdict in verdicts if verdict.verdict == kind), key=lambda one: lot(one.item))
        shown = [show_verdict(verdict, items[verdict.item], album) for verdict in fallen[:_SHOWN]]
        if shown:
            groups.append((*words, len(fallen), shown))
    ordered = [(kind, counts[kind]) for kind in ("drop", "fix", "review", "keep")]
    return {"name": name, "into": len(verdicts), "counts": ordered, "groups": groups}


def _blind(residuals: Sequence[Residual]) -> Iterator[_Blind]:
    """The figures of the page's chart, each with its interval."""
    for one in residuals:
        value, low, high = one.accuracy.value, one.accuracy.low, one.accuracy.high
        if value is not None:
            who = f"{one.who} ({one.part})" if one.part else one.who
            bounds = (value if low is None else low, value if high is None else high)
            yield _Blind(f"{one.panel}, {who}, {one.when}", one.models, value, *bounds)


def _seated(members: Members, panel: Panel) -> str:
    asked = f"{panel.sight}, {panel.ask}, {panel.trials * panel.orders} × an item"
    told = f"{', '.join(members.seats) or 'nobody'} ({asked})"
    return f"{told}; held out: {', '.join(members.held_out)}" if members.held_out else told


def _by_tag(items: Sequence[Item], kept: Sequence[Item]) -> Iterator[tuple[str, list[tuple[str, int, int]]]]:
    """Each tag: its values, how many items each had, and how many are left."""
    for tag in sorting_tags(items):
        before, left = (Counter(tag_word(item.tags.get(tag)) or "" for item in some) for some in (items, kept))
        yield tag, [(value, count, left[value]) for value, count in before.most_common(_MOST_VALUES)]
