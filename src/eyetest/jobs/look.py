"""Looking into a run: how far it is, and what became of one item."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.measure import find_benchmark, telling_axes
from eyetest.jobs.opening import AnyRun, Bench, open_run
from eyetest.jobs.views import card, item_card, lines_of, words_of
from eyetest.measures.results import as_written
from eyetest.records import Condition, Item
from eyetest.results.cases import ItemCase, item_cases, planned_calls
from eyetest.results.scores import changed_since
from eyetest.runs import Run, StoredResponses
from eyetest.runs.stored import (
    one_line_if_damaged,
    plan_frame,
    refuse_if_all_is_damaged,
    responses_frame,
    served_notes,
)
from eyetest.scoring import Scorer
from eyetest.wording import counted

_NO_ANSWER = ("open", "failed")
_FAILED = ("failed", "blocked")
_ROW = "number of the row"
_TOLD = ("outcome", "error", "detail", "given")


@dataclass(frozen=True, repr=False)
class Explained:
    """An item of a run, and every answer to it with how it is read."""

    benchmark: Benchmark
    item: Item
    cases: list[ItemCase]
    unanswered: int
    """Calls about it that have no answer yet."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row an answer: which model was asked how, the ``reply``, how it was read, by which rule, its score."""
        return pl.DataFrame(map(_answer, self.cases), infer_schema_length=None)

    def __repr__(self) -> str:
        more = [f"{counted(self.unanswered, 'call')} without an answer yet"] if self.unanswered else []
        return "\n".join([f"{self.item.id}: {self.item.question}", *lines_of(self.frame), *more])

    def _repr_html_(self) -> str:
        return item_card(self.item) + card("answers", words_of(self.frame))


def explain(
    run: AnyRun,
    item: str,
    *,
    model: str | None = None,
    sight: str | None = None,
    bench: Bench | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
) -> Explained:
    """Show an item, what each model said to it, how that is read, by which rule, and its score.

    ``model`` and ``sight`` keep to some answers; ``bench`` gives other golds. A score that others gave counts.

    >>> told = et.explain("run", "q07", model="seer", sight="image")
    >>> told.frame.select("model", "sight").unique().rows()
    [('seer', 'image')]
    """
    opened = open_run(run)
    benchmark = find_benchmark(opened, bench)
    record = benchmark[item]
    if item in changed_since(opened, benchmark).reworded:
        told = f"item {short(item)} was worded otherwise when {opened.path} asked it"
        raise InputError(f"{told}; leave {param('bench')} out to see what was asked")
    calls = _asked(opened, item, {"model": model, "sight": sight})
    refuse_if_all_is_damaged(opened.path)
    stored = StoredResponses(opened.path)
    cases = item_cases(opened, benchmark, record, calls, stored.get, Scorer(rules, metric))
    return Explained(benchmark, record, cases, len(calls) - len(cases))


def _answer(case: ItemCase) -> dict[str, Any]:
    said, scored = case.response, case.scored
    read = {name: getattr(scored, name) for name in ("reading", "choice", "rule", "why", "metric", "score")}
    return msgspec.structs.asdict(case.asked) | {"reply": said.text, "outcome": said.outcome} | read


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
    """The counts of a run, by model and sight; ``missing`` are items of the benchmark, whether planned or not.

    Plan and responses are joined as columns: of a million answers no value is made in Python.
    """
    plan, said = plan_frame(run.path), responses_frame(run.path, ("request", *_TOLD)).with_columns(is_stored=True)
    with one_line_if_damaged(run.path):
        different = plan.select(pl.col(*Condition.__struct_fields__).n_unique(), planned=pl.len())
        counts = different.collect(engine="streaming").row(0, named=True)
        axes = telling_axes(lambda axis: int(counts[axis]))
        calls = plan.select(*axes, "item", "request").with_row_index(_ROW).join(said, on="request", how="left")
        groups = _groups(calls, axes)
        has_failed = any(name in group.outcomes for group in groups for name in _FAILED)
        failures = _failures(calls) if has_failed else []
        about = run.manifest.benchmark
        there = about.items if about else 0
        there = there or int(plan.select(pl.col("item").n_unique()).collect(engine="streaming").item())
    last = run.manifest.steps[-1] if run.manifest.steps else None
    return {
        "run": str(run.path),
        "benchmark": about.name if about else None,
        "items": there,
        "writer": run.writer,
        "planned": int(counts["planned"]),
        "axes": axes,
        "groups": [group.told(axes, there) for group in groups],
        "given": sum(group.given for group in groups),
        "failures": failures,
        "served": served_notes(run.path, run.manifest.models),
        "not_needed": last.saved if last else 0,
        "not_applicable": last.not_applicable if last else {},
        "torn_lines": run.health.torn,
        "damaged": run.health.damaged,
    }


class _Group(NamedTuple):
    """Calls that were put in one way, and what came of them."""

    key: tuple[Any, ...]
    outcomes: dict[str, int]
    given: int
    answered_items: int

    def told(self, axes: list[str], items: int) -> dict[str, Any]:
        named = dict(zip(axes, map(as_written, self.key), strict=True))
        planned = sum(self.outcomes.values())
        return {**named, "planned": planned, **self.outcomes, "missing": items - self.answered_items}


def _groups(calls: pl.LazyFrame, axes: list[str]) -> list[_Group]:
    """By what tells calls apart, in the order of the plan."""
    outcome = pl.when("is_stored").then(pl.col("outcome").cast(pl.String)).otherwise(pl.lit("open"))
    answered = ~pl.col("outcome").is_in(_NO_ANSWER)
    rows = (
        calls.with_columns(outcome)
        .group_by(axes)
        .agg(
            pl.col(_ROW).min(),
            pl.col("outcome").value_counts(),
            ((pl.col("outcome") != "failed") & pl.col("given").is_not_null()).sum().alias("given"),
            pl.col("item").filter(answered).n_unique().alias("items"),
        )
        .sort(_ROW)
        .drop(_ROW)
        .collect(engine="streaming")
    )
    made = []
    for *key, outcomes, given, items in rows.iter_rows():
        made.append(_Group(tuple(key), {one["outcome"]: one["count"] for one in outcomes}, given, items))
    return made


def _failures(calls: pl.LazyFrame) -> list[tuple[str, int]]:
    """In which words requests failed or were blocked, the most frequent first."""
    words = pl.format("{}: {}", pl.col("error").fill_null("None"), pl.col("detail").fill_null("None"))
    failed = calls.filter(pl.col("outcome").is_in(_FAILED))
    counts = failed.group_by(words.alias("words")).agg(pl.col("request").n_unique(), pl.col(_ROW).min())
    rows = counts.sort("request", _ROW, descending=(True, False)).collect(engine="streaming")
    return list(rows.select("words", "request").iter_rows())


@dataclass(frozen=True, repr=False)
class RunStatus:
    """How far a run is, by model and by how it was asked.

    >>> status = et.status("run")
    >>> status.left
    0
    >>> status.frame.columns[:5]
    ['model', 'sight', 'ask', 'order', 'planned']
    """

    frame: pl.DataFrame
    """A row for each model and way of asking: calls by what became of them; ``missing`` items have no answer."""
    failures: pl.DataFrame
    """What was said of calls that failed, and of how many."""
    writer: int | str | None
    """The process that is writing to it meanwhile."""

    @property
    def left(self) -> int:
        """Planned calls that have no answer yet."""
        return int(self.frame["open"].sum())

    def __repr__(self) -> str:
        going = f"being written by process {self.writer}" if self.writer else "nobody is writing to it"
        failed = [f"{row['calls']:,} × {row['reason']}" for row in self.failures.to_dicts()]
        return "\n".join([going, *lines_of(self.frame), *failed])

    def _repr_html_(self) -> str:
        failed = [f"{row['calls']:,} × {row['reason']}" for row in self.failures.to_dicts()]
        return card("status", words_of(self.frame), failed)


_OUTCOMES = ("answered", "truncated", "blocked", "failed", "open")


def status(run: AnyRun) -> RunStatus:
    """Say how far a run is: what was answered, what failed and why, what is left. It may be going on meanwhile.

    >>> et.status("run").frame["answered"].sum()
    720
    """
    state = survey(open_run(run))
    counts = ("planned", *_OUTCOMES, "missing")
    rows = [
        [group[name] for name in state["axes"]] + [group.get(name, 0) for name in counts] for group in state["groups"]
    ]
    schema: dict[str, Any] = dict.fromkeys(state["axes"], pl.String) | dict.fromkeys(counts, pl.Int64)
    failures = pl.DataFrame(state["failures"], schema={"reason": pl.String, "calls": pl.Int64}, orient="row")
    return RunStatus(pl.DataFrame(rows, schema=schema, orient="row"), failures, state["writer"])
