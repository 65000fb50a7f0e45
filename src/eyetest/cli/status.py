"""``eyetest status``: how far a run is, also while it is going."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from eyetest.cli.conditions import telling_axes
from eyetest.cli.terminal import note, out, print_json, print_table, safe
from eyetest.measures.settings import as_written
from eyetest.runs import Run

_WORDS_SHOWN = 5
_NO_ANSWER = ("open", "failed")


def status(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program.")] = False,
) -> None:
    """Say how far a run is: what was answered, what failed and why, what is left. It may be going on meanwhile."""
    found = Run(run)
    state = survey(found)
    if as_json:
        print_json(state)
        return
    about = found.manifest.benchmark
    title = safe(about.name) if about else "answers"
    going = f"being written by process {state['writer']}" if state["writer"] else "nobody is writing to it"
    out.print(Text.assemble((title, "bold"), f" · {going}"))
    print_table(_table(state["groups"], state["axes"]))
    if any(group["missing"] for group in state["groups"]):
        note(f"missing: items of the {state['items']:,} in the benchmark to which there is no answer")
    for words, count in state["failures"][:_WORDS_SHOWN]:
        out.print(Text.assemble((f"{count:,} × ", "red"), safe(words)), soft_wrap=True)
    if state["given"]:
        note(f"{state['given']:,} answers came with scores that others gave, which count in place of our own")
    if state["not_needed"]:
        note(f"{state['not_needed']:,} calls were not needed: a stopping rule had its verdict without them")
    for reason, count in state["not_applicable"].items():
        note(f"{count:,} could not be asked: {reason}")
    if state["torn_lines"]:
        note(f"{state['torn_lines']:,} journal lines were cut off by a kill or damaged; they are asked again")


def survey(run: Run) -> dict[str, Any]:
    """The counts of a run, by model and sight; ``missing`` are items of the benchmark, whether planned or not."""
    plan, responses = run.plan(), run.responses()
    rows = {r: i for i, r in enumerate(responses.column("request").to_pylist())}
    names = ("outcome", "error", "detail", "given")
    outcomes, errors, details, scores = (responses.column(name).to_pylist() for name in names)
    groups: dict[tuple[str, ...], Counter[str]] = {}
    failures: Counter[str] = Counter()
    told: set[str] = set()
    given = 0
    axes = telling_axes(lambda axis: len(plan.column(axis).unique()))
    items: dict[tuple[str, ...], set[str]] = {}
    keys = (plan.column(name).to_pylist() for name in (*axes, "item", "request"))
    for *values, item, request in zip(*keys, strict=True):
        row, group = rows.get(request), tuple(map(as_written, values))
        outcome = outcomes[row] if row is not None else "open"
        groups.setdefault(group, Counter())[outcome] += 1
        answered = items.setdefault(group, set())
        if outcome not in _NO_ANSWER:
            answered.add(item)
        given += row is not None and outcome != "failed" and scores[row] is not None
        if row is not None and outcome in ("failed", "blocked") and request not in told:
            told.add(request)
            failures[f"{errors[row]}: {details[row]}"] += 1
    last = run.manifest.steps[-1] if run.manifest.steps else None
    about = run.manifest.benchmark
    there = (about.items if about else 0) or len(plan.column("item").unique())
    return {
        "run": str(run.path),
        "benchmark": about.name if about else None,
        "items": there,
        "writer": run.writer,
        "planned": len(plan),
        "axes": axes,
        "groups": [
            dict(zip(axes, key, strict=True), planned=c.total(), **c, missing=there - len(items[key]))
            for key, c in groups.items()
        ],
        "given": given,
        "failures": failures.most_common(),
        "not_needed": last.saved if last else 0,
        "not_applicable": last.not_applicable if last else {},
        "torn_lines": run.torn,
        "damaged": run.damaged,
    }


def _table(groups: list[dict[str, Any]], axes: list[str]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    names = ("answered", "truncated", "blocked", "failed", "open", "missing")
    shown = [name for name in names if name == "answered" or any(group.get(name) for group in groups)]
    for name in axes:
        table.add_column(name)
    for name in ("planned", *shown):
        table.add_column(name, justify="right")
    for group in groups:
        counts = [f"{group.get(name, 0):,}" for name in ("planned", *shown)]
        table.add_row(*(Text(safe(group[name])) for name in axes), *counts)
    return table
