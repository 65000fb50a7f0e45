"""A refinement as one HTML file: how many items fell at which stage, which ones, and what is still answered blind."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_links import Query
from eyetest.pages.item_view import Album, lot, show_verdict
from eyetest.pages.page import write_page
from eyetest.records import Item, Panel, Verdict, VerdictKind, sorting_tags, tag_word
from eyetest.reports.refinements import Interval, Members, RefinementRecord, Residual, recipe_yaml

_FALLEN: Mapping[VerdictKind, tuple[str, str]] = {"drop": ("bad", "Dropped"), "review": ("suspect", "For review")}
_SHOWN = 6
_HELD_OUT = "held out"
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


class RefinedItems(NamedTuple):
    """The items of a refinement: by id those that went in, and those that are left.

    ``benchmarks`` hold the pictures: the one that went in, and those that were made of it.
    """

    into: Mapping[str, Item]
    kept: Sequence[Item]
    benchmarks: Sequence[Benchmark]


def write_refine_page(
    record: RefinementRecord, stages: Verdicts, refined: RefinedItems, to: Path, at: ItemsAt = NOWHERE
) -> None:
    """Write the page; ``at`` is where its numbers lead."""
    items, kept, album = refined.into, refined.kept, Album(*refined.benchmarks)
    blind = list(_blind(record.residual_blind))
    first = stages[0][0] if stages else ""
    into, left = at.count(len(items), Query(stage=first)), at.count(len(kept), Query(verdict="kept"))
    contents = {
        "record": record,
        "at": at,
        "headline": _headline(record, into, left, at.count(into.items - left.items, Query(verdict="fallen"))),
        "tiles": [] if record.paused else _tiles(stages, left, at),
        "total": len(items),
        "kept": left,
        "stages": [_stage(*stage, items, album, at) for stage in stages],
        "blind": blind,
        "blind_top": min(1.0, max((one.high for one in blind), default=1.0) * 1.15) or 1.0,
        "panels": [(name, _seated(who, record.recipe.panels[name])) for name, who in record.panels.items()],
        "tags": list(_by_tag(items, kept, Query(stage=first), at)),
        "recipe": recipe_yaml(record.recipe),
        "album": album.pictures,
    }
    write_page("refine.html.j2", contents, to, overwrite=True)


def _headline(record: RefinementRecord, into: ItemCount, left: ItemCount, fell: ItemCount) -> Markup:
    """What was removed, and whether what is left can still be answered without the image."""
    items = into.counted("item")
    if record.paused:
        return Markup("{} went in; the stage {} waits for people.").format(items, record.paused)
    told = Markup("{} of {} are left; {} {} removed on the way.").format(
        left, items, fell, "was" if fell.items == 1 else "were"
    )
    blind = _before_and_after(record.residual_blind)
    if not blind:
        return told + " How much can still be answered without the image was not measured."
    before, after = blind
    scores = [_percent(one.accuracy) for one in blind]
    apart = after.accuracy.high is not None and before.accuracy.low is not None
    unclear = apart and (after.accuracy.high or 0.0) >= (before.accuracy.low or 0.0)
    note = "; the intervals overlap" if unclear else ""
    who = (
        "models that were held out score"
        if before.who == _HELD_OUT
        else "the panel that screened, and so looks cleaner than others would, scores"
    )
    return told + f" Without the image, {who} {scores[0]} before and {scores[1]} on the items left{note}."


def _before_and_after(residuals: Sequence[Residual]) -> tuple[Residual, Residual] | None:
    """What is answered blind before and after: by models that were held out, if any were; else by the panel."""
    pairs: dict[tuple[str, str], dict[str, Residual]] = {}
    for one in residuals:
        if one.accuracy.value is not None:
            pairs.setdefault((one.panel, one.who), {})[one.when] = one
    whole = [pair for pair in pairs.values() if {"before", "after"} <= pair.keys()]
    best = next((pair for pair in whole if pair["before"].who == _HELD_OUT), whole[0] if whole else None)
    return (best["before"], best["after"]) if best else None


def _percent(share: Interval) -> str:
    bounds = "" if share.low is None or share.high is None else f" [{100 * share.low:.0f}, {100 * share.high:.0f}]"
    return f"{100 * (share.value or 0.0):.0f} %{bounds}"


def _tiles(stages: Verdicts, left: ItemCount, at: ItemsAt) -> list[tuple[str, Any, str]]:
    """The figures to remember: what is left, what fell, and where most did."""
    counts = [(name, Counter[str](one.verdict for one in verdicts)) for name, verdicts in stages]
    into = len(stages[0][1]) if stages else left.items
    told: list[tuple[str, Any, str]] = [("items left", left, f"of {into:,}")]
    for kind, words in (("drop", "dropped"), ("review", "left for review"), ("fix", "mended")):
        number = sum(count[kind] for _, count in counts)
        if number:
            most = max(counts, key=lambda one: one[1][kind])
            count = ItemCount(number) if kind == "fix" else at.count(number, Query(verdict=kind))
            told.append((words, count, f"most by {most[0]}: {most[1][kind]:,}"))
    return told


def _stage(
    name: str, verdicts: Sequence[Verdict], items: Mapping[str, Item], album: Album, at: ItemsAt
) -> dict[str, Any]:
    """One stage, ready to be laid out; by verdict: its colour, its word, how many items fell, some of them."""
    kinds: tuple[VerdictKind, ...] = ("drop", "fix", "review", "keep")
    said = Counter(verdict.verdict for verdict in verdicts)
    counts = {kind: at.count(said[kind], Query(stage=name, verdict=kind)) for kind in kinds}
    groups = []
    for kind, words in _FALLEN.items():
        fallen = sorted((verdict for verdict in verdicts if verdict.verdict == kind), key=lambda one: lot(one.item))
        shown = [show_verdict(verdict, items[verdict.item], album) for verdict in fallen[:_SHOWN]]
        if shown:
            groups.append((*words, counts[kind], shown))
    into = at.count(len(verdicts), Query(stage=name))
    return {"name": name, "into": into, "counts": list(counts.items()), "groups": groups}


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


def _by_tag(
    items: Mapping[str, Item], kept: Sequence[Item], into: Query, at: ItemsAt
) -> Iterator[tuple[str, list[tuple[str, ItemCount, ItemCount]]]]:
    """Each tag: its values, how many of the items that went ``into`` it had each, and how many of these are left."""
    for tag in sorting_tags(items.values()):
        words = {name: tag_word(item.tags.get(tag)) or "" for name, item in items.items()}
        before, left = Counter(words.values()), Counter(words[item.id] for item in kept)
        rows = []
        for value, number in before.most_common(_MOST_VALUES):
            having = {"tags": ((tag, value),)} if value else {"untagged": (tag,)}
            there = at.count(number, msgspec.structs.replace(into, **having))
            rows.append((value, there, at.count(left[value], Query(verdict="kept", **having))))
        yield tag, rows
