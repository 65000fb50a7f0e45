"""A world whose flaws are known as one HTML file: what was planted, what was found, what was missed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from altair.typing import ChartType
from markupsafe import Markup

from eyetest.demo import figures as world_figures
from eyetest.demo.gallery import exhibits
from eyetest.demo.story import Cell, Column, WorldStory
from eyetest.measures.stats.correlation import CorrelationEstimate
from eyetest.measures.stats.intervals import Estimate
from eyetest.models.embedded import cards
from eyetest.pages import palette
from eyetest.pages.album import Album
from eyetest.pages.charts import as_svg, for_page
from eyetest.pages.page import write_page
from eyetest.pages.plots import dressed
from eyetest.probes.subject import percent
from eyetest.version import __version__
from eyetest.wording import counted
from eyetest.world import FLAWS

_FIGURES: Mapping[str, tuple[str, Callable[[WorldStory], ChartType]]] = {
    "planted": ("Planted flaws, found and missed", world_figures.planted),
    "leakage": ("Measured leakage and what truly leaked", world_figures.leakage),
    "eyes": ("Blind, sighted, and true skill", world_figures.eyes),
    "gains": ("Gain against true skill, before and after", world_figures.gains),
    "ranking": ("How well each benchmark ranks models", world_figures.ranking),
}
_PALEST, _STRONGEST = 4, 62
"""How much colour a cell has, in per cent."""


def write_world_page(story: WorldStory, about: Mapping[str, str], to: Path, *, overwrite: bool = False) -> None:
    """Write the page; ``about`` says how it was made: names and values."""
    album = Album(story.benchmark)
    columns = list(story.columns())
    contents = {
        "headline": headline(story),
        "tiles": _tiles(story),
        "figures": {name: for_page(as_svg(dressed(draw(story))), title) for name, (title, draw) in _FIGURES.items()},
        "flaws": [(flaw, FLAWS[flaw]) for flaw in story.flaws],
        "columns": [_column(one) for one in columns],
        "rows": [
            (flaw, FLAWS[flaw], [_cell(one.cells[place]) for one in columns])
            for place, flaw in enumerate(story.flaws)
        ],
        "agreements": _agreements(story),
        "rankings": story.rankings,
        "items": len(story.truths),
        "kept": len(story.kept),
        "doubted": _told(story.doubts.get("wrong-gold")),
        "exhibits": exhibits(story, album),
        "recipes": [(one.title, one.about, one.recipe) for one in story.tried if one.recipe],
        "models": list(cards().values()),
        "about": about,
        "album": album.pictures,
        "dark": Markup(palette.dark_rules()),  # noqa: S704 (constants of ours)
        "version": __version__,
    }
    write_page("world.html.j2", contents, to, overwrite=overwrite)


def headline(story: WorldStory) -> str:
    """The whole story in two sentences."""
    whole = story.graded.overall
    blamed = whole.flagged - whole.right
    return (
        f"{whole.planted:,} of {counted(len(story.truths), 'item')} were spoilt on purpose. "
        f"{len(cards())} small models answered them with and without the picture, and eyetest, which was not told, "
        f"found {whole.found:,} of the spoilt ones, missed {whole.planted - whole.found:,}, "
        f"and blamed {counted(blamed, 'good one')}."
    )


def _tiles(story: WorldStory) -> list[tuple[str, str, str]]:
    whole, found = story.graded.overall, story.rankings
    leaks, gain = _agreements(story)["leakage"], _agreements(story)["gain_after"]
    return [
        ("spoilt items found", _share(whole.recall), f"{whole.found:,} of {whole.planted:,} {_bounds(whole.recall)}"),
        (
            "rightly taken out",
            _share(whole.precision),
            f"{whole.right:,} of {whole.flagged:,} {_bounds(whole.precision)}",
        ),
        ("items left", f"{len(story.kept):,}", f"of {len(story.truths):,}"),
        ("leakage ranks models", _two(leaks), f"as what truly leaked {_bounds(leaks)}"),
        ("gain ranks models", _two(gain), f"as true skill, once refined {_bounds(gain)}"),
        ("ranking", f"{_two(found.spoilt)} → {_two(found.refined)}", "τ with true skill, spoilt and refined"),
    ]


def _agreements(story: WorldStory) -> dict[str, CorrelationEstimate]:
    return {
        "leakage": story.agreement(story.birds, "unclipped", "told"),
        "gain": story.agreement(story.birds, "gain", "skill"),
        "gain_after": story.agreement(story.refined_birds, "gain", "skill"),
    }


def _column(one: Column) -> dict[str, Any]:
    wrong = one.flagged - one.right
    luck = one.tried.by_luck
    return {
        "title": one.tried.title,
        "about": one.tried.about,
        "flagged": f"{one.flagged:,}",
        "wrong": f"{wrong:,}",
        "luck": "" if luck is None else f"{luck:.0f}",
        "precision": _share(one.precision),
        "bounds": _bounds(one.precision),
        "strength": _strength(one.precision.value),
    }


def _cell(one: Cell) -> dict[str, Any]:
    return {
        "sought": one.looked_for,
        "share": _share(one.recall),
        "bounds": _bounds(one.recall),
        "count": f"{one.found:,} of {one.planted:,}",
        "strength": _strength(one.recall.value),
    }


def _strength(value: float | None) -> int:
    return round(_PALEST + (_STRONGEST - _PALEST) * (value or 0.0))


def _share(one: Estimate) -> str:
    return "–" if one.value is None else percent(one.value)


def _two(one: Estimate | CorrelationEstimate) -> str:
    return "–" if one.value is None else f"{one.value:.2f}"


def _bounds(one: Estimate | CorrelationEstimate) -> str:
    return "" if one.low is None or one.high is None else f"[{one.low:.2f}, {one.high:.2f}]"


def _told(one: Estimate | None) -> str:
    return "" if one is None else f"{_two(one)} {_bounds(one)}"
