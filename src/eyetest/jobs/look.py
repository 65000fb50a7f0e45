"""Looking into a run: how far it is, and what became of one item."""

from collections import Counter
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading, nearest, short
from eyetest.jobs.opening import SILENT, AnyRun, Bench, Observer, open_run
from eyetest.jobs.score import find_benchmark, telling_axes
from eyetest.measures.results import as_written
from eyetest.prompts import CannotApply, build, tells_history
from eyetest.records import Asked, Item, Prompt, Response
from eyetest.running.dialogues import Dialogues
from eyetest.runs import Run, StoredResponses
from eyetest.runs.stored import refuse_if_all_is_damaged
from eyetest.scoring import Said, Scored, Scorer, quoted

_NO_ANSWER = ("open", "failed")


class ItemCase(NamedTuple):
    """One answer: who was asked how, what was sent (or why this version would not), what was said, how it is read."""

    asked: Asked
    prompt: Prompt | CannotApply
    response: Response
    scored: Scored


class ItemStory(NamedTuple):
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
) -> ItemStory:
    """Follow one item of a run from what was asked to what it was worth."""
    opened = open_run(run)
    benchmark = find_benchmark(opened, bench, observer)
    item = benchmark[item_id]
    rows = _asked(opened, item_id, {"model": model, "sight": sight})
    refuse_if_all_is_damaged(opened.path)
    stored = StoredResponses(opened.path)
    dialogues = _said_before(opened, benchmark, item, stored) if any(map(_is_own, rows)) else None
    cases = []
    for row in rows:
        asked, response = _key(row), stored.get(row["request"])
        if response is not None:
            scored = scorer.score(item, asked.condition, Said.by(response))
            cases.append(ItemCase(asked, _prompt(item, asked, dialogues), response, scored))
    return ItemStory(benchmark, item, cases, len(rows) - len(cases))


def _said_before(run: Run, benchmark: Benchmark, item: Item, stored: StoredResponses) -> Dialogues:
    """The dialogues of a benchmark, with what was said to the turns before an item."""
    dialogues = Dialogues(benchmark)
    for earlier in benchmark.take(sorted(dialogues.before([benchmark.position(item.id)]))):
        for row in filter(_is_own, _planned(run, earlier.id).to_dicts()):
            asked, response = _key(row), stored.get(row["request"])
            if response is not None:
                dialogues.said[asked] = quoted(earlier, asked.condition, response)
    return dialogues


def _prompt(item: Item, asked: Asked, dialogues: Dialogues | None) -> Prompt | CannotApply:
    try:
        answers = None
        if dialogues and asked.history == "own" and tells_history(item, asked.condition):
            answers = dialogues.answers(item, asked)
        return build(item, asked.condition, answers=answers)
    except CannotApply as reason:
        return reason


def _is_own(row: dict[str, Any]) -> bool:
    return bool(row["history"] == "own")


def _key(row: dict[str, Any]) -> Asked:
    return Asked(**{name: row[name] for name in Asked.__struct_fields__})


def _planned(run: Run, item_id: str) -> pl.DataFrame:
    plan = pl.from_arrow(run.plan())
    assert isinstance(plan, pl.DataFrame)
    return plan.filter(pl.col("item") == item_id)


def _asked(run: Run, item_id: str, only: dict[str, str | None]) -> list[dict[str, Any]]:
    rows = _planned(run, item_id)
    if rows.is_empty():
        raise InputError(f"{run.path} asked nothing about item {short(item_id)}")
    for name, value in only.items():
        if value is not None:
            known = rows.get_column(name).unique().to_list()
            if value not in known:
                raise InputError(f'{heading(name)}: nothing of "{value}" about this item; {nearest(value, known)}')
            rows = rows.filter(pl.col(name) == value)
    return rows.to_dicts()


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
