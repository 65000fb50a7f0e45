"""Replies of models, read from disk on demand: answers of a few items, a search, doubts of golds."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.results import AXES
from eyetest.measures.stats.consensus import recurring
from eyetest.measures.stats.intervals import Floats
from eyetest.records import MAX_CHOICES, Asked, Item, Response, columns, letter
from eyetest.results.cases import ItemCase, item_cases
from eyetest.results.scores import changed_since
from eyetest.runs.journal import from_batch
from eyetest.runs.plan import PLAN, scan_table
from eyetest.runs.stored import every_response, one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.studio.collection.answers import KEY, SIGHTED, TESTS
from eyetest.studio.collection.items import ItemColumns
from eyetest.studio.collection.sources import RunSource

_READ = ("reading", "choice", "rule", "metric", "score")
_WORD = re.compile(r'"([^"]+)"|([^\s"]+)')
_ENOUGH_MODELS = 2
_QUICK = 60_000  # items × models for which doubts take no noticeable time
_PLACES = {letter(place): place for place in range(MAX_CHOICES)}


class RunReplies:
    """A run's plan and responses as they were when it was opened."""

    def __init__(self, source: RunSource, benchmark: str, scores: pl.LazyFrame) -> None:
        self.benchmark = benchmark
        self._source, self._scores = source, scores

    @cached_property
    def _plan(self) -> pl.LazyFrame:
        return scan_table(self._source.run.path / PLAN)

    @cached_property
    def _responses(self) -> pl.LazyFrame:
        return every_response(self._source.run.path)

    def read_scores(self, places: Mapping[str, pl.DataFrame], *, several: bool) -> pl.DataFrame:
        """The scores with each item's ``position`` or null; of ``several`` runs with what identifies a test."""
        texts = pl.col(*KEY, "outcome", "reading").cast(pl.String).fill_null("").cast(pl.Categorical)
        score = pl.col("score").cast(pl.Float64)
        named = self._scores.select(pl.col("item").cast(pl.String), texts, score, *(TESTS if several else ()))
        none = pl.DataFrame(schema={"item": pl.String, "position": pl.Int64})
        with one_line_if_damaged(self._source.run.path):
            placed = named.join(places.get(self.benchmark, none).lazy(), on="item", how="left")
            return placed.collect(engine="streaming")

    def cases(self, items: Sequence[Item], scorer: Scorer) -> dict[str, tuple[list[ItemCase], int]]:
        """By item its answers, and the number of calls without one. Many at once cost hardly more than one."""
        run, about = self._source
        if about is None:
            return {}
        with one_line_if_damaged(run.path):
            calls = self._plan.filter(_is_in("item", [item.id for item in items])).collect()
        responses = self._stored(calls.get_column("request"))
        by_item = {str(key[0]): rows for key, rows in calls.group_by("item", maintain_order=True)}
        found, reworded = {}, changed_since(run, about).reworded
        for item in items:
            rows = calls.head(0) if item.id in reworded else by_item.get(item.id, calls.head(0))
            cases = item_cases(run, about, item, rows, lambda request: self._get(request, responses), scorer)
            found[item.id] = (cases, len(rows) - len(cases))
        unread = [item for item, (cases, _) in found.items() if any(map(_is_undecided, cases))]
        stored = self._stored_scores(unread) if unread else {}
        return {item: ([_as_stored(case, stored) for case in cases], left) for item, (cases, left) in found.items()}

    def _stored_scores(self, items: Sequence[str]) -> dict[Asked, dict[str, Any]]:
        with one_line_if_damaged(self._source.run.path):
            rows = self._scores.filter(_is_in("item", items)).collect().to_dicts()
        return {Asked(**{name: row.pop(name) for name in columns(Asked)}): row for row in rows}

    def _get(self, request: str, known: dict[str, Response]) -> Response | None:
        """A response; those to earlier turns of a dialogue are read on demand."""
        if request not in known:
            known |= self._stored(pl.Series([request]))
        return known.get(request)

    def _stored(self, requests: pl.Series) -> dict[str, Response]:
        with one_line_if_damaged(self._source.run.path):
            rows = self._responses.filter(_is_in("request", requests)).collect()
        return {one.request: one for batch in rows.to_arrow().to_batches() for one in from_batch(batch)}

    def having(self, contains: pl.Expr) -> pl.Series:
        """Items with a reply that matches; of repeated calls, the last reply counts."""
        rows = self._responses.select("request", pl.col("text").str.to_lowercase()).with_row_index("row")
        with one_line_if_damaged(self._source.run.path):
            found = rows.filter(contains).select("request", "row").collect(engine="streaming")
            again = rows.filter(_is_in("request", found.get_column("request"))).select("request", "row")
            last = again.group_by("request").agg(pl.col("row").max()).collect(engine="streaming")
            requests = found.join(last, on=("request", "row"), how="semi").get_column("request")
            return self._plan.filter(_is_in("request", requests)).select("item").unique().collect().to_series()

    def choices(self, key: Sequence[str], modality: str | None = None) -> pl.DataFrame:
        """The chosen option of each scored reply, under a modality or any; by the columns of ``key``."""
        with one_line_if_damaged(self._source.run.path):
            chosen = self._scores.filter(pl.col("choice").is_not_null(), pl.col("score").is_not_null())
            if modality is not None:
                chosen = chosen.filter(pl.col("modality") == modality)
            return chosen.select(*key, pl.col("choice").cast(pl.String)).collect(engine="streaming")


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


def _is_in(column: str, values: Sequence[str] | pl.Series) -> pl.Expr:
    return pl.col(column).is_in(pl.Series(values, dtype=pl.String).implode())


def search_terms(text: str) -> pl.Expr:
    """Whether the lower-case column ``text`` contains all words of a search, or quoted phrases."""
    wanted = [phrase or word for phrase, word in _WORD.findall(text.lower())]
    return pl.all_horizontal(True, *(pl.col("text").str.contains(word, literal=True) for word in wanted))


class GoldDoubts:
    """By item the log ratio of the measure ``wrong-golds``, computed on demand: it may take seconds."""

    def __init__(self, items: pl.DataFrame, columns: ItemColumns, runs: Sequence[RunReplies], models: int) -> None:
        self._items, self._columns, self._runs = items, columns, runs
        self._lock = Lock()
        self._column: pl.Series | None = None
        self.quick = len(items) * models <= _QUICK

    @property
    def known(self) -> bool:
        """Whether the result is computed, or can be at once."""
        return self._column is not None or self.quick

    def column(self) -> pl.Series:
        """By position the log likelihood ratio; null without options, a gold, and two models that chose."""
        with self._lock:
            if self._column is None:
                doubts = np.full(len(self._items), np.nan)
                for rows, own in self._weighed():
                    doubts[rows] = own
                self._column = pl.Series("doubt", doubts, nan_to_null=True)
        return self._column

    def _weighed(self) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Compute each benchmark separately, since a model's skill may differ between them."""
        from eyetest.measures.stats.consensus import suspicion  # noqa: PLC0415 (slow to load)

        asked = pl.col("options").list.len() > 1
        golden = self._items.with_columns(self._columns.options).filter(asked, pl.col("gold").is_not_null())
        for (name,), items in golden.group_by("benchmark", maintain_order=True):
            golds = [[_PLACES[mark] for mark in gold.split(", ")] for gold in items.get_column("gold")]
            chosen = _majorities(self._choices(str(name), items, golds), len(items))
            enough = (chosen >= 0).sum(axis=1) >= _ENOUGH_MODELS
            if not enough.any():
                continue
            texts = items.get_column("options").to_list()
            first, sizes = np.array([gold[0] for gold in golds]), np.array([len(options) for options in texts])
            doubts = suspicion(chosen, sizes, first, recurring(texts)).ratios
            yield items.get_column("position").to_numpy()[enough], doubts[enough]

    def _choices(self, benchmark: str, items: pl.DataFrame, golds: Sequence[Sequence[int]]) -> pl.DataFrame:
        """``row, model, place`` of all choices; several golds count as one."""
        rows = items.select("item", pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))
        same = [(row, other, gold[0]) for row, gold in enumerate(golds) for other in gold[1:]]
        alike = pl.DataFrame(same, schema={"row": pl.Int64, "place": pl.Int64, "gold": pl.Int64}, orient="row")
        runs = [run for run in self._runs if run.benchmark == benchmark]
        if not runs:
            return pl.DataFrame(schema={"row": pl.Int64, "model": pl.String, "place": pl.Int64})
        key = ("item", "model", *(AXES if len(runs) > 1 else ()))  # within one run nothing is there twice
        for modality in (SIGHTED, None):
            every = pl.concat([run.choices(key, modality) for run in runs])
            if len(every):
                break
        if len(runs) > 1:
            every = every.unique(key, keep="first", maintain_order=True)
        place = pl.col("choice").replace_strict(_PLACES, default=None, return_dtype=pl.Int64)
        return (
            every.select("item", "model", "choice")
            .join(rows, on="item")
            .select("row", "model", place.alias("place"))
            .drop_nulls()
            .join(alike, on=("row", "place"), how="left")
            .select("row", "model", pl.coalesce("gold", "place").alias("place"))
        )


def _majorities(choices: pl.DataFrame, size: int) -> NDArray[np.int64]:
    """Items × models: the option that each chose most; -1 where none was read or two are tied."""
    most = pl.col("place").mode()
    most_chosen = choices.group_by("row", "model").agg(most.first().alias("place"), most.len().alias("leading"))
    models = choices.get_column("model").unique().sort()
    chosen = np.full((size, max(len(models), 1)), -1, np.int64)
    column = pl.DataFrame({"model": models, "column": np.arange(len(models))})
    clear = most_chosen.filter(pl.col("leading") == 1).join(column, on="model")
    at = clear.select("row", "column").to_numpy().T
    chosen[at[0], at[1]] = clear.get_column("place").to_numpy()
    return chosen
