"""``eyetest place``: where a new model ranks among recorded ones, from as few calls as it takes."""

from pathlib import Path
from typing import Annotated

import polars as pl

from eyetest.cli.asking import LimitOptions, OneByOneOptions, SamplingOptions, exit_as, report
from eyetest.cli.live import TERMINAL, estimate_table
from eyetest.cli.options import FileOptions, argument, option
from eyetest.cli.tables import print_table_as
from eyetest.cli.terminal import note, out, print_json, say
from eyetest.jobs import place as job
from eyetest.jobs.opening import open_bench
from eyetest.measures.printed import plain

_NEIGHBOURS = 2
"""Recorded models that are shown above and below those that the new one may lie among."""


def place(
    model: Annotated[str, argument("MODEL", "openai:MODEL@URL, NAME=SPEC, or a name of --models.")],
    on: Annotated[Path, option("--on", "The benchmark: a folder, or any file that eyetest can import.", "BENCH")],
    answers: Annotated[
        list[Path], option("--answers", "A run with answers of other models, at least nine; repeat it.", "RUN")
    ],
    within: Annotated[
        float, option("--within", "End when the score is known to so many points, up or down.", min=0.1, max=50)
    ] = 5.0,
    *,
    one_by_one: OneByOneOptions,
    answering: SamplingOptions,
    how_far: LimitOptions,
    file: FileOptions,
) -> None:
    """Say where a new model ranks among recorded ones, and ask it only as much as that takes.

    What is asked next depends on its answers so far. How wide the interval has to be is tried on recorded models that
    are left out. Kill it and call it again: it goes on where it stopped.
    """
    to, entries = one_by_one.folder, one_by_one.entries([model])
    asking = one_by_one.asking(answering, how_far)
    benchmark = open_bench(on, file.read(), TERMINAL)
    session, goal = job.start(benchmark, entries, asking, answers, within, TERMINAL)
    if to is None:
        out.print(estimate_table(session.estimate(one_by_one.to)))
        return
    placed = job.finish(session, goal, to, TERMINAL)
    if one_by_one.as_json:
        now = placed.standing._asdict() if placed.standing else None
        rows = plain(placed.table).to_dicts()
        print_json({"standing": now, "told": placed.told, "ranking": rows, "notes": list(placed.notes)})
        exit_as(placed.progress)
        return
    _print(placed)
    report(placed.progress, to)


def _print(placed: job.Placed) -> None:
    """The recorded models that the new one may lie among, with neighbours, and where it lies."""
    now = placed.standing
    if now is not None:
        first, last = max(0, now.best - 1 - _NEIGHBOURS), now.worst + _NEIGHBOURS
        print_table_as(
            "terminal", placed.table.slice(first, last - first).with_columns(pl.col("rank").cast(pl.String))
        )
        out.print()
    say(placed.told)
    for line in placed.notes:
        note(line)
