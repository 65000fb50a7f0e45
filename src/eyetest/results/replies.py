"""Items of runs from the request to the score, read on demand, and the doubts of golds that follow from them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError
from eyetest.measures.results import AXES, PROTOCOL, NotMeasurable, Results, Settings
from eyetest.measures.stats.consensus import recurring
from eyetest.prompts import CannotApply, build, tells_history
from eyetest.prompts.sets import remember
from eyetest.records import MAX_CHOICES, WITH_MEDIUM, Asked, Item, Prompt, Response, columns, letter
from eyetest.results.scores import changed_since, chosen_scorer
from eyetest.running.planning import Dialogues
from eyetest.runs import Run
from eyetest.runs.journal import from_batch
from eyetest.runs.stored import PLAN, every_response, is_in, one_line_if_damaged, scan_plan, scan_table
from eyetest.scoring import Scored, Scorer, quoted

_ENOUGH_MODELS = 2  # that chose an option, for a doubt of its gold
_INDEXES = {letter(index): index for index in range(MAX_CHOICES)}
_READ = ("reading", "choice", "rule", "metric", "score")
Responses = Callable[[str], Response | None]  # the response to a request, if any


class ItemCase(NamedTuple):
    """An answer: the condition, what was sent (or why it would not be), the reply, and its reading."""

    asked: Asked
    prompt: Prompt | CannotApply
    response: Response
    scored: Scored


def planned_calls(run: Run, items: Sequence[str]) -> pl.DataFrame:
    """The rows of a run's plan about some items."""
    with one_line_if_damaged(run.path / PLAN):
        return scan_plan(run.path).filter(is_in("item", items)).collect()


def item_cases(
    run: Run, benchmark: Benchmark, item: Item, calls: pl.DataFrame, responses: Responses, scorer: Scorer
) -> list[ItemCase]:
    """The results of some planned calls about an item; calls without a response are left out."""
    rows = calls.to_dicts()
    for step in run.manifest.steps:
        remember(step.prompts)
    dialogues = _earlier_replies(run, benchmark, item, responses) if any(map(_is_own, rows)) else None
    cases = []
    for row in rows:
        asked, response = _key(row), responses(row["request"])
        if response is not None:
            scored = scorer.score(item, asked.condition, response)
            cases.append(ItemCase(asked, _prompt(item, asked, dialogues), response, scored))
    return cases


def _earlier_replies(run: Run, benchmark: Benchmark, item: Item, responses: Responses) -> Dialogues:
    """The dialogues of a benchmark, with the answers to the turns before an item."""
    dialogues = Dialogues(benchmark)
    for earlier in benchmark.take(sorted(dialogues.before([benchmark.position(item.id)]))):
        for row in filter(_is_own, planned_calls(run, [earlier.id]).to_dicts()):
            asked, response = _key(row), responses(row["request"])
            if response is not None:
                dialogues.replies[asked] = quoted(earlier, asked.condition, response)
    return dialogues


def _prompt(item: Item, asked: Asked, dialogues: Dialogues | None) -> Prompt | CannotApply:
    try:
        answers = None
        if dialogues and asked.history == "own" and tells_history(item, asked.condition):
            answers = dialogues.answers(item, asked)
        return build(item, asked.condition, answers=answers)
    except EyetestError as reason:  # imported answers may name prompts that are not stored
        return reason if isinstance(reason, CannotApply) else CannotApply(str(reason))


def _is_own(row: dict[str, Any]) -> bool:
    return bool(row["history"] == "own")


def _key(row: dict[str, Any]) -> Asked:
    return Asked(**{name: row[name] for name in columns(Asked)})


class RunReplies:
    """The replies and scores of a run; ``benchmark`` is the name of the benchmark in the collection."""

    def __init__(self, run: Run, about: Benchmark, benchmark: str, scores: pl.LazyFrame) -> None:
        self.run, self._about, self.benchmark, self.scores = run, about, benchmark, scores

    @cached_property
    def _responses(self) -> pl.LazyFrame:
        return every_response(self.run.path)

    def cases(self, items: Sequence[Item]) -> dict[str, tuple[list[ItemCase], int]]:
        """By item its answers, and the number of calls without one. Many at once cost hardly more than one."""
        calls = planned_calls(self.run, [item.id for item in items])
        responses = self._stored(calls.get_column("request"))
        by_item = {str(key[0]): rows for key, rows in calls.group_by("item", maintain_order=True)}
        scorer = chosen_scorer(self.run)
        found, reworded = {}, changed_since(self.run, self._about).reworded
        for item in items:
            rows = calls.head(0) if item.id in reworded else by_item.get(item.id, calls.head(0))
            cases = item_cases(
                self.run, self._about, item, rows, lambda request: self._response(request, responses), scorer
            )
            found[item.id] = (cases, len(rows) - len(cases))
        unread = [item for item, (cases, _) in found.items() if any(map(_is_undecided, cases))]
        stored = self._stored_scores(unread) if unread else {}
        return {item: ([_as_stored(case, stored) for case in cases], left) for item, (cases, left) in found.items()}

    def having(self, contains: pl.Expr) -> pl.Series:
        """Items with a reply that matches; of repeated calls, the last reply counts."""
        rows = self._responses.select("request", pl.col("text").str.to_lowercase()).with_row_index("row")
        with one_line_if_damaged(self.run.path):
            found = rows.filter(contains).select("request", "row").collect(engine="streaming")
            again = rows.filter(is_in("request", found.get_column("request"))).select("request", "row")
            last = again.group_by("request").agg(pl.col("row").max()).collect(engine="streaming")
            requests = found.join(last, on=("request", "row"), how="semi").get_column("request")
            plan = scan_table(self.run.path / PLAN).filter(is_in("request", requests))
            return plan.select("item").unique().collect().to_series()

    def _response(self, request: str, known: dict[str, Response]) -> Response | None:
        """A response; those to earlier turns of a dialogue are read on demand."""
        if request not in known:
            known |= self._stored(pl.Series([request]))
        return known.get(request)

    def _stored(self, requests: pl.Series) -> dict[str, Response]:
        with one_line_if_damaged(self.run.path):
            rows = self._responses.filter(is_in("request", requests)).collect()
        responses = (response for batch in rows.to_arrow().to_batches() for response in from_batch(batch))
        return {response.request: response for response in responses}

    def _stored_scores(self, items: Sequence[str]) -> dict[Asked, dict[str, Any]]:
        with one_line_if_damaged(self.run.path):
            rows = self.scores.filter(is_in("item", items)).collect().to_dicts()
        return {_key(row): row for row in rows}


def _is_undecided(case: ItemCase) -> bool:
    """Whether the reply alone does not decide: a judge may have read it, or a metric weighs all replies together."""
    scored = case.scored
    return scored.reading in ("unparsed", "cut off") or (scored.score is None and case.response.outcome != "failed")


def _as_stored(case: ItemCase, stored: Mapping[Asked, Mapping[str, Any]]) -> ItemCase:
    """An answer with its stored score, where that differs from what its text alone gives."""
    row = stored.get(case.asked)
    if row is None or not _is_undecided(case) or all(row[name] == getattr(case.scored, name) for name in _READ):
        return case
    changed = {name: row[name] for name in _READ}
    return case._replace(scored=msgspec.structs.replace(case.scored, **changed, why="", span=None))


def gold_doubts(items: pl.DataFrame, runs: Sequence[RunReplies]) -> pl.DataFrame:
    """``position, ratio`` of items of one benchmark: the log ratios of the measure ``wrong-golds``, over models that
    saw the image, or over all where none did. Column ``texts``: those of the items' options.
    """
    from eyetest.measures.items import wrong_golds  # noqa: PLC0415 (slow to load)

    key, scored = ("item", "model", *AXES), (pl.col("choice").is_not_null(), pl.col("score").is_not_null())
    rows = pl.concat([run.scores.filter(*scored).select(*key, "choice", "score") for run in runs])
    rows = rows.unique(key, keep="first", maintain_order=True) if len(runs) > 1 else rows
    for wanted in ([pl.col("modality").cast(pl.String).is_in(WITH_MEDIUM)], []):
        scores = rows.filter(*wanted).select("item", "model", "choice", "score").collect(engine="streaming")
        if len(scores):
            break
    alike = zip(recurring(items.get_column("texts").to_list()).tolist(), items.get_column("options"), strict=True)
    kinds = pl.Series("kinds", [own[:number] if any(own) else None for own, number in alike], pl.List(pl.Int64))
    gold = pl.col("asked_gold").str.split(", ").list.first().replace_strict(_INDEXES, return_dtype=pl.Int64)
    about = items.select("benchmark", "item", "options", kinds, position=gold)
    constant = {axis: pl.lit("") for axis in PROTOCOL} | {"benchmark": pl.lit(items.item(0, "benchmark"))}
    try:
        table = wrong_golds.measure(Results(scores.lazy().with_columns(**constant), about), Settings()).table
    except NotMeasurable:
        return pl.DataFrame(schema={"position": pl.Int64, "ratio": pl.Float64})
    enough = table.filter(pl.col("n") >= _ENOUGH_MODELS)
    return enough.join(items.select("item", "position"), on="item").select("position", "ratio")
