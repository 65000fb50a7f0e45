"""``eyetest compare``: who is better, by how much, and whether this benchmark can tell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from eyetest.cli import measure as measuring
from eyetest.cli.measure import shown, which
from eyetest.cli.options import LinksOption, OverwriteOption, RunsArgument, Words
from eyetest.cli.tables import print_table_as
from eyetest.cli.terminal import note, out, print_json, say
from eyetest.jobs import compare as job
from eyetest.measures.compare import flips_of
from eyetest.measures.printed import csv_text, plain
from eyetest.pages.item_counts import ItemsAt, items_at
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.wording import counted

_SAID_ELSEWHERE = ("a_mean", "b_mean", "test", "verdict")
"""Columns that the terminal's table can do without: a sentence or the ranking says it."""
_OF_ITEMS = ("item", "a_score", "b_score", "flips", "n")


def compare(
    runs: RunsArgument,
    model: Annotated[Words, which("--model -m", "Only these models, all pairs: A,B, or repeated.", "NAME")] = None,
    all_pairs: Annotated[bool, which("--all-pairs", "Not only neighbours in the ranking.")] = False,
    sight: Annotated[
        str | None,
        which(
            "--sight", "Under which sight, or several: image,blind (default: image, where there are several).", "NAME"
        ),
    ] = None,
    where: Annotated[Words, which("--where", "Only these: ask, a tag …", "COLUMN=A,B")] = None,
    *,
    scoring: measuring.ScoringOptions,
    level: measuring.LevelOption = 0.95,
    power: Annotated[float, which("--power", "Of the smallest difference that is told.")] = 0.8,
    flips: Annotated[
        int, shown("--flips", "List N items that only one of a pair has right, for each.", "N", min=0)
    ] = 0,
    links: LinksOption = None,
    flips_to: Annotated[Path | None, shown("--flips-to", "Write all of them as CSV.", "FILE")] = None,
    overwrite: OverwriteOption = False,
    limit: measuring.LimitOption = 100,
    as_csv: Annotated[bool, shown("--csv", "Print the pairs as CSV.")] = False,
    as_json: Annotated[bool, shown("--json", "Print everything as JSON.")] = False,
    as_latex: Annotated[bool, shown("--latex", "Print ranking and pairs for LaTeX.")] = False,
) -> None:
    """Compare models on the items that both answered: who leads, by how much, and whether that is more than chance.

    Without --model all are ranked, and neighbours in the ranking compared. A shared rank is 1 + the number of models
    that are significantly better.
    """
    shape = measuring.one_shape(as_csv, as_json, as_latex)
    if flips_to is not None:
        refuse_to_lose(flips_to, overwrite=overwrite, ours=None)
    places = [*runs, *([Path(scoring.bench)] if isinstance(scoring.bench, str | Path) else [])]
    at = items_at(links, Path("page"), places)
    told = job.compare(
        runs,
        model or (),
        sight=sight,
        where=where or (),
        all_pairs=all_pairs,
        level=level,
        power=power,
        scoring=scoring,
    )
    lists = flips_of(told.results, told.contest) if flips or flips_to is not None else None
    views = job.flips_views(told, lists, at) if flips and lists is not None else []
    if flips_to is not None and lists is not None:
        with replacing_file(flips_to, overwrite=overwrite) as path:
            path.write_bytes(csv_text(lists).encode("utf-8", "replace"))
    if shape == "json":
        _print_json(told, lists if flips else None, views)
        return
    if shape == "terminal":
        _print_terminal(told, lists, flips, limit)
        _print_views(views, at)
    elif shape == "csv":
        print_table_as("csv", told.contest.pairs)
    else:
        for table in (told.contest.ranking, told.contest.pairs.drop("verdict")):
            print_table_as("latex", table)
    for line in told.notes:
        note(line)


def _print_terminal(told: job.Compared, flips: pl.DataFrame | None, few: int, limit: int) -> None:
    """The ranking, the pairs, a sentence for each, and items to read: ``few`` for each model and pair."""
    result = told.contest
    if len(result.ranking) > 2:
        first = [*result.families, "shared_rank", "model", "score", "unread"]
        ranking = result.ranking.rename({"tie": "shared_rank"})
        print_table_as("terminal", ranking.select(*first, pl.exclude(first)), limit)
        out.print()
    of_many = {"detectable_adjusted": "detectable"} if result.together > 1 else {}
    hidden = ("detectable",) if of_many else ("p_adjusted", "detectable_adjusted")
    print_table_as("terminal", result.pairs.drop(*_SAID_ELSEWHERE, *hidden).rename(of_many), limit)
    out.print()
    for sentence in result.pairs.get_column("verdict").head(limit or len(result.pairs)):
        say(sentence)
    if few and flips is not None and len(flips):
        alike = [name for name in flips.columns if name not in _OF_ITEMS]
        out.print()
        print_table_as("terminal", flips.group_by(alike, maintain_order=True).head(few))


def _print_views(views: Sequence[job.FlipsView], at: ItemsAt) -> None:
    """The links under which all items of each pair are shown."""
    if views:
        out.print()
    for view in views:
        about = ", ".join([*view.about, f"only {view.only} of {view.only} and {view.other}"])
        say(f"{about}: {counted(view.items.items, 'item')} {view.items.href}".rstrip())
    if any(view.items.href for view in views) and at.command:
        note(f"{at.command} shows them")


def _print_json(told: job.Compared, flips: pl.DataFrame | None, views: Sequence[job.FlipsView]) -> None:
    """Everything, for another program."""
    how, tables = told.settings, {"ranking": told.contest.ranking, "pairs": told.contest.pairs}
    tables |= {} if flips is None else {"flips": flips}
    said = {"level": how.level, **how.own}
    rows = {name: plain(table).to_dicts() for name, table in tables.items()}
    if flips is not None:
        rows["views"] = [
            {"only": view.only, "other": view.other, "items": view.items.items, "link": view.items.href}
            | dict(zip(told.contest.families, view.about, strict=True))
            for view in views
        ]
    print_json({"settings": said, **rows, "notes": list(told.notes)})
