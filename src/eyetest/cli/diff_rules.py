"""``eyetest diff-rules``: on which answers two rule sets differ, and what that does to each model's score."""

from typing import Annotated

import polars as pl
from rich.table import Table
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import note, out, print_json, print_table, safe
from eyetest.jobs import diff_rules as job
from eyetest.measures.settings import as_written

_LONGEST = 70


def diff_rules(
    run: options.RunArgument,
    a: Annotated[str, option("--a", "One rule set.", "NAME")] = "eyetest",
    b: Annotated[str, option("--b", "The other.", "NAME")] = "mmmu",
    bench: options.BenchOption = None,
    metric: options.MetricOption = None,
    limit: Annotated[int, option("--limit -n", "How many answers to list.", min=0)] = 20,
    as_json: options.AllJsonOption = False,
) -> None:
    """List the answers that two rule sets read differently, and what it does to each model's score.

    Scores that others gave say nothing about either rule set: they stand apart, and only what the texts say counts.
    """
    read = job.diff_rules(run, a, b, bench=bench, metric=metric, observer=TERMINAL)
    both, different = read.both, read.different
    if as_json:
        print_json({"a": a, "b": b, "models": read.effect.to_dicts(), "answers": different.to_dicts()})
        return
    _show_effect(read, a, b)
    if given := both.get_column("given").count():
        silent = both.filter(pl.col("given").is_not_null() & pl.col("text").is_null()).height
        note(
            f"{given:,} answers have a score that others gave (given), which is no part of {a} or {b}"
            + (f"; of {silent:,} of them nobody knows the text" if silent else "")
        )
    out.print(Text(f"\n{len(different):,} of {len(both):,} answers are read differently"))
    if limit and len(different):
        print_table(_answers(different.head(limit), a, b))


def _show_effect(read: job.TwoReadings, a: str, b: str) -> None:
    groups = read.effect.to_dicts()
    means = {"a": a, "b": b} | ({"given": "given"} if any(row["given"] is not None for row in groups) else {})
    rows = [
        (
            *(as_written(row[name]) for name in read.axes),
            *("–" if row[name] is None else f"{row[name]:.3f}" for name in means),
            "–" if row["difference"] is None else f"{row['difference']:+.3f}",
            *(f"{row[name]:,}" for name in ("differ", "n")),
        )
        for row in groups
    ]
    show_table(read.axes, [*means.values(), "difference", "read differently", "of"], rows)


def _answers(rows: pl.DataFrame, a: str, b: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, expand=out.is_terminal)
    for name in ("item", "model", a, b):
        table.add_column(name, overflow="fold")
    table.add_column("the end of the reply", overflow="ellipsis", no_wrap=True, ratio=1)
    for row in rows.to_dicts():
        readings = (row["choice"] or row["reading"] or "–", row["choice_b"] or row["reading_b"] or "–")
        reply = " ".join(safe(row["text"] or "").split())
        end = reply if len(reply) <= _LONGEST else f"…{reply[-_LONGEST:]}"
        table.add_row(*(Text(safe(row[name])) for name in ("item", "model")), *readings, Text(end))
    return table
