"""``eyetest world new|grade``: a world with known flaws, and how well verdicts found them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from eyetest.cli import options
from eyetest.cli.terminal import note, out, print_json, print_table, safe
from eyetest.errors import InputError, nearest
from eyetest.measures.stats.intervals import Estimate
from eyetest.wording import counted
from eyetest.world.building import new_world
from eyetest.world.calibration import calibrations, read_scores
from eyetest.world.flaws import load_rates
from eyetest.world.grading import Found, Grade, grade, read_verdicts
from eyetest.world.rendering import SIZE
from eyetest.world.truth import read_truth

_ACTIONS = ("new", "grade")
_NEW, _GRADE = "A new world", "Grading"


def world(
    action: Annotated[str, typer.Argument(metavar="new|grade", help="What to do.")],
    place: Annotated[Path | None, typer.Argument(metavar="WORLD", help="grade: the folder of a world.")] = None,
    verdicts: Annotated[
        Path | None,
        typer.Argument(metavar="VERDICTS", help="grade: a table of verdicts, or the folder of a refinement."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Where the world goes.", rich_help_panel=_NEW)
    ] = None,
    items: Annotated[int, typer.Option("--items", min=1, help="How many items.", rich_help_panel=_NEW)] = 1200,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, another world.", rich_help_panel=_NEW)] = 7,
    flaws: Annotated[
        str,
        typer.Option(
            "--flaws",
            metavar="FILE",
            help="Which flaws, and how many: default, none, or a file.",
            rich_help_panel=_NEW,
        ),
    ] = "default",
    size: Annotated[
        int, typer.Option("--size", min=1, help="Pixels a side of its pictures.", rich_help_panel=_NEW)
    ] = SIZE,
    overwrite: options.OverwriteOption = False,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="CSV",
            help="Scores of items (item, score): how well they tell flawed items from others.",
            rich_help_panel=_GRADE,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=_GRADE)] = False,
) -> None:
    """Draw a benchmark whose flaws are known, or grade what a refinement or an audit found of them.

    DIR/benchmark is for everybody. What is true of it lies beside it, in DIR/truth.parquet; grade alone reads it.
    """
    if action not in _ACTIONS:
        raise InputError(f'no such thing as "{action}"; {nearest(action, _ACTIONS)}')
    if action == "new":
        if to is None or place is not None:
            raise InputError("where does the world go? eyetest world new --to DIR")
        made = new_world(to, load_rates(flaws), items=items, seed=seed, size=size, overwrite=overwrite)
        flawed = sum(bool(truth.flaws) for truth in read_truth(to))
        told = f"{counted(len(made), 'item')}, {flawed:,} of them with a flaw → {to}"
        out.print(safe(told), soft_wrap=True)
        return
    if place is None or (verdicts is None and scores is None):
        raise InputError("what is graded? eyetest world grade WORLD VERDICTS [--scores CSV]")
    truths = read_truth(place)
    graded = grade(truths, read_verdicts(verdicts)) if verdicts else None
    told_apart = calibrations(truths, read_scores(scores)) if scores else {}
    if as_json:
        print_json(_as_json(graded, told_apart))
        return
    if graded:
        _report(graded)
    if told_apart:
        print_table(_calibration_table(told_apart))
    if not any(truth.flaws for truth in truths):
        note("this world has no flaws: whatever was flagged was flagged wrongly")


def _as_json(graded: Grade | None, told_apart: dict[str, Estimate]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if graded:
        found["overall"] = _plain(graded.overall)
        found["flaws"] = [_plain(one) for one in graded.flaws]
        found["stages"] = [_plain(one) for one in graded.stages]
    if told_apart:
        found["auroc"] = {flaw: one._asdict() for flaw, one in told_apart.items()}
    return found


def _plain(one: Found) -> dict[str, Any]:
    return one._asdict() | {"recall": one.recall._asdict(), "precision": one.precision._asdict()}


def _report(graded: Grade) -> None:
    print_table(_table("all stages together", [graded.overall, *graded.flaws]))
    for stage in dict.fromkeys(one.stage for one in graded.stages):
        out.print()
        print_table(_table(stage, [one for one in graded.stages if one.stage == stage]))


def _table(title: str, rows: list[Found]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, title=safe(title), title_justify="left")
    table.add_column("flaw", no_wrap=True)
    for name in ("planted", "reached", "found", "recall", "flagged", "right", "precision"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in rows:
        counts = (one.planted, one.reached, one.found)
        flagged = (f"{one.flagged:,}", f"{one.right:,}", _share(one.precision))
        table.add_row(one.flaw, *(f"{count:,}" for count in counts), _share(one.recall), *flagged)
    return table


def _calibration_table(told_apart: dict[str, Estimate]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, title="scores of items", title_justify="left")
    table.add_column("flaw")
    table.add_column("AUROC", justify="right", no_wrap=True)
    for flaw, one in told_apart.items():
        table.add_row(flaw, _share(one))
    return table


def _share(one: Estimate) -> str:
    return (
        "–"
        if one.value is None
        else f"{one.value:.3f} [{one.low or 0:.3f}, {1 if one.high is None else one.high:.3f}]"
    )
