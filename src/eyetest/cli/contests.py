"""What a comparison of models looks like: to people, spreadsheets, programs and papers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from eyetest.cli.estimates import FORMATS
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.measures import Measured, Settings
from eyetest.measures.compare import Contest
from eyetest.measures.printed import plain

_SAID_ELSEWHERE = ("a_mean", "b_mean", "test", "verdict")
"""Columns that the terminal's table can do without: a sentence or the ranking says it."""
_OF_ITEMS = ("item", "a_score", "b_score", "flips", "n")


@dataclass(frozen=True)
class Shown:
    """A comparison and how much of it is to be seen: ``few`` items for each model and pair, ``limit`` rows."""

    result: Contest
    flips: pl.DataFrame | None
    few: int
    settings: Settings
    notes: tuple[str, ...]
    limit: int


def print_terminal(shown: Shown) -> None:
    """The ranking, the pairs, a sentence for each, and items to read."""
    result, show = shown.result, FORMATS["terminal"]
    if len(result.ranking) > 2:
        first = [*result.families, "shared_rank", "model", "score"]
        ranking = result.ranking.rename({"tie": "shared_rank"})
        show("ranking", Measured(ranking.select(*first, pl.exclude(first))), shown.limit)
        out.print()
    of_many = {"detectable_adjusted": "detectable"} if result.together > 1 else {}
    hidden = ("detectable",) if of_many else ("p_adjusted", "detectable_adjusted")
    show("pairs", Measured(result.pairs.drop(*_SAID_ELSEWHERE, *hidden).rename(of_many)), shown.limit)
    out.print()
    for sentence in result.pairs.get_column("verdict").head(shown.limit or len(result.pairs)):
        out.print(safe(sentence), soft_wrap=True)
    if shown.flips is not None and len(shown.flips):
        alike = [name for name in shown.flips.columns if name not in _OF_ITEMS]
        out.print()
        show("flips", Measured(shown.flips.group_by(alike, maintain_order=True).head(shown.few)), 0)
    if len(result.ranking) > 2:
        note(f"rank intervals are from {shown.settings.resamples:,} resamples, seed {shown.settings.seed}")
    _say(shown)


def print_csv(shown: Shown) -> None:
    """The pairs, each with its verdict."""
    FORMATS["csv"]("pairs", Measured(shown.result.pairs), 0)
    _say(shown)


def print_latex(shown: Shown) -> None:
    """The ranking and the pairs, for a paper."""
    for table in (shown.result.ranking, shown.result.pairs.drop("verdict")):
        FORMATS["latex"]("compare", Measured(table), 0)
    _say(shown)


def print_as_json(shown: Shown) -> None:
    """Everything, for another program."""
    settings, result = shown.settings, shown.result
    said = {"level": settings.level, "resamples": settings.resamples, "seed": settings.seed, **settings.own}
    tables = {"ranking": result.ranking, "pairs": result.pairs}
    tables |= {} if shown.flips is None else {"flips": shown.flips}
    rows = {name: plain(table).to_dicts() for name, table in tables.items()}
    print_json({"settings": said, **rows, "notes": list(shown.notes)})


def _say(shown: Shown) -> None:
    for line in shown.notes:
        note(line)


SHAPES: Mapping[str, Callable[[Shown], None]] = {
    "terminal": print_terminal,
    "csv": print_csv,
    "json": print_as_json,
    "latex": print_latex,
}
