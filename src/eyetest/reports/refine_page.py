"""A refinement as one HTML file: how many items fell at which stage, which ones, and what is still answered blind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.pages.album import Album
from eyetest.pages.item_view import Shown, lot, show_item
from eyetest.pages.page import write_page
from eyetest.pages.texts import clip
from eyetest.records import Item, Verdict
from eyetest.version import __version__
from eyetest.wording import counted

_FALLEN = ("drop", "review")
_WORDS = {"drop": ("bad", "Dropped"), "review": ("suspect", "For people"), "fix": ("note", "Mended")}
_SHOWN = 6
_MOST_VALUES = 24


class Blind(msgspec.Struct, frozen=True):
    """How much is answered blind, by whom and when."""

    who: str
    models: int
    value: float
    low: float
    high: float


class Refinement(msgspec.Struct, frozen=True, kw_only=True):
    """What the page tells."""

    name: str
    recipe: str
    """The recipe as YAML."""
    about: str
    stages: Sequence[tuple[str, Sequence[Verdict]]]
    items: Mapping[str, Item]
    kept: int
    paused: str = ""
    blind: Sequence[Blind] = ()
    panels: Sequence[tuple[str, str]] = ()
    """Each panel and who sits on it."""
    tags: Sequence[tuple[str, Sequence[tuple[str, int, int]]]] = ()
    """Each tag: its values, how many items each had, and how many are left."""
    notes: Sequence[str] = ()
    seed: int = 0


class StageShown(msgspec.Struct, frozen=True, kw_only=True):
    """One stage, ready to be laid out."""

    anchor: str
    name: str
    into: int
    counts: list[tuple[str, int]]
    groups: list[tuple[str, str, int, list[Shown]]]
    """By verdict: its colour, its word, how many items, some of them."""


def write_refine_page(refinement: Refinement, benchmark: Benchmark, to: Path) -> None:
    """Write the page."""
    album = Album(benchmark)
    stages = [_stage(i, name, verdicts, refinement, album) for i, (name, verdicts) in enumerate(refinement.stages)]
    most = max((one.high for one in refinement.blind), default=1.0)
    contents = {
        "refinement": refinement,
        "headline": _headline(refinement),
        "total": len(refinement.items),
        "stages": stages,
        "blind_top": min(1.0, most * 1.15) or 1.0,
        "tags": [(tag, values[:_MOST_VALUES]) for tag, values in refinement.tags if values],
        "album": album.pictures,
        "version": __version__,
    }
    write_page("refine.html.j2", contents, to, overwrite=True)


def _headline(refinement: Refinement) -> str:
    total = counted(len(refinement.items), "item")
    if refinement.paused:
        return f"{total} went in; the stage {refinement.paused} waits for people."
    fallen = len(refinement.items) - refinement.kept
    return f"{refinement.kept:,} of {total} are left; {fallen:,} fell on the way."


def _stage(place: int, name: str, verdicts: Sequence[Verdict], refinement: Refinement, album: Album) -> StageShown:
    counts = {
        kind: sum(verdict.verdict == kind for verdict in verdicts) for kind in ("drop", "fix", "review", "keep")
    }
    groups = []
    for kind in _FALLEN:
        fallen = [verdict for verdict in verdicts if verdict.verdict == kind]
        some = sorted(fallen, key=lambda verdict: lot(verdict.item))[:_SHOWN]
        shown = [_card(verdict, refinement.items[verdict.item], album) for verdict in some]
        if shown:
            groups.append((*_WORDS[kind], len(fallen), shown))
    return StageShown(
        anchor=f"stage-{place + 1}", name=name, into=len(verdicts), counts=list(counts.items()), groups=groups
    )


def _card(verdict: Verdict, item: Item, album: Album) -> Shown:
    scores: list[tuple[str, Any]] = [("hits", str(verdict.hits))] if verdict.hits is not None else []
    if verdict.p is not None:
        scores.append(("p", f"{verdict.p:.2g}"))
    return show_item(item.id, clip(verdict.reason, 300), scores, item, album)
