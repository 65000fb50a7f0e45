"""Looking into a run: how far it is, and what became of one item."""

from collections import Counter
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import SILENT, AnyRun, Bench, Observer, open_run
from eyetest.jobs.score import find_benchmark, telling_axes
from eyetest.measures.results import as_written
from eyetest.records import Item
from eyetest.results.cases import ItemCase, item_cases, planned_calls
from eyetest.results.scores import changed_since
from eyetest.runs import Run, StoredResponses
from eyetest.runs.stored import refuse_if_all_is_damaged
from eyetest.scoring import Scorer

_NO_ANSWER = ("open", "failed")


class ExplainedItem(NamedTuple):
    """An item of a run, what was said to it, and how many calls have no answer yet."""

    benchmark: Benchmark
    item: Item
    cases: list[ItemCase]
    unanswered: int


def explain(
    run: AnyRun,
    item_id: str,
    scorer: Scorer,
    *,
    bench: Bench | None = None,
    model: str | None = None,
    sight: str | None = None,
    observer: Observer = SILENT,
) -> ExplainedItem:
    """Follow one item of a run from what was asked to what it was worth."""
    opened = open_run(run)
    benchmark = find_benchmark(opened, bench, observer)
    item = benchmark[item_id]
    if item_id in changed_since(opened, benchmark).reworded:
        told = f"item {short(item_id)} was worded otherwise when {opened.path} asked it"
        raise InputError(f"{told}; leave {param('bench')} out to see what was asked")
    calls = _asked(opened, item_id, {"model": model, "sight": sight})
    refuse_if_all_is_damaged(opened.path)
    stored = StoredResponses(opened.path)
    cases = item_cases(opened, benchmark, item, calls, stored.get, scorer)
    return ExplainedItem(benchmark, item, cases, len(calls) - len(cases))


def _asked(run: Run, item_id: str, only: dict[str, str | None]) -> pl.DataFrame:
    rows = planned_calls(run, [item_id])
    if rows.is_empty():
        raise InputError(f"{run.path} asked nothing about item {short(item_id)}")
    for name, value in only.items():
        if value is not None:
            known = rows.get_column(name).unique().to_list()
            words = [value] if value in known else [word.strip() for word in value.split(",")]
            if missing := [word for word in words if word not in known]:
                told = f'nothing of "{missing[0]}" about this item; {nearest(missing[0], known)}'
                raise InputError(f"{heading(name)}: {told}")
            rows = rows.filter(pl.col(name).is_in(words))
    return rows


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
