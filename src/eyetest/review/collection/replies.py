"""What was replied, read from disk when somebody wants it: a few items' answers, or all texts for searching."""

import re
from collections.abc import Sequence
from functools import cached_property
from threading import Lock

import numpy as np
import polars as pl

from eyetest.measures.stats.intervals import Bools
from eyetest.records import Item, Response
from eyetest.results.cases import ItemCase, item_cases
from eyetest.review.collection.sources import RunSource
from eyetest.runs.parts import from_batch
from eyetest.runs.plan import PLAN, scan_table
from eyetest.runs.stored import every_response, one_line_if_damaged
from eyetest.scoring import Scorer

MOST_TEXT = 400 * 2**20
"""Bytes of replies that are kept in memory for searching; more of them are looked through on disk each time."""
_WORD = re.compile(r'"([^"]+)"|([^\s"]+)')


class RunReplies:
    """A run's plan and responses as they were when it was opened."""

    def __init__(self, source: RunSource, benchmark: str) -> None:
        self.benchmark = benchmark
        self._source = source

    @cached_property
    def _plan(self) -> pl.LazyFrame:
        return scan_table(self._source.run.path / PLAN)

    @cached_property
    def _responses(self) -> pl.LazyFrame:
        return every_response(self._source.run.path)

    def cases(self, items: Sequence[Item], scorer: Scorer) -> dict[str, tuple[list[ItemCase], int]]:
        """By item its answers, and how many calls have none yet. Many at once cost hardly more than one."""
        run, about = self._source
        if about is None:
            return {}
        with one_line_if_damaged(run.path):
            calls = self._plan.filter(_is_in("item", [item.id for item in items])).collect()
        responses = self._stored(calls.get_column("request"))
        by_item = {str(key[0]): rows for key, rows in calls.group_by("item", maintain_order=True)}
        told = {}
        for item in items:
            rows = by_item.get(item.id, calls.head(0))
            cases = item_cases(run, about, item, rows, lambda request: self._get(request, responses), scorer)
            told[item.id] = (cases, len(rows) - len(cases))
        return told

    def _get(self, request: str, known: dict[str, Response]) -> Response | None:
        """A response; of what was said in earlier turns of a dialogue nobody knew before that it would be needed."""
        if request not in known:
            known |= self._stored(pl.Series([request]))
        return known.get(request)

    def _stored(self, requests: pl.Series) -> dict[str, Response]:
        with one_line_if_damaged(self._source.run.path):
            rows = self._responses.filter(_is_in("request", requests)).collect()
        return {one.request: one for batch in rows.to_arrow().to_batches() for one in from_batch(batch)}

    def texts(self, items: pl.LazyFrame) -> pl.LazyFrame:
        """All replies in small letters, by ``position`` of their items: ``item, position``."""
        plan = self._plan.select("item", "request").join(items, on="item").select("position", "request")
        said = self._responses.select("request", "text").drop_nulls("text")
        return plan.join(said, on="request").select("position", pl.col("text").str.to_lowercase())

    def size(self) -> int:
        """Bytes of all replies."""
        with one_line_if_damaged(self._source.run.path):
            bytes_ = self._responses.select(pl.col("text").str.len_bytes().cast(pl.Int64).sum())
            return int(bytes_.collect(engine="streaming").item())


def _is_in(column: str, values: Sequence[str] | pl.Series) -> pl.Expr:
    return pl.col(column).is_in(pl.Series(values, dtype=pl.String).implode())


class SearchTexts:
    """Search in items and replies: words, in any case, all of them in one text. Replies are read at the first."""

    def __init__(self, items: pl.DataFrame, runs: Sequence[RunReplies]) -> None:
        options = pl.col("options").list.join("\n").fill_null("")
        own = pl.concat_str(pl.col("question").fill_null(""), options, separator="\n").str.to_lowercase()
        self._size, self._runs = len(items), runs
        self._items = items.select(pl.col("position").cast(pl.UInt32), "benchmark", "item")
        self._own = items.select(pl.col("position").cast(pl.UInt32), own.alias("text"))
        self._replies: pl.LazyFrame | None = None
        self._lock = Lock()

    def read_replies(self) -> pl.LazyFrame:
        """The replies, read once, whoever asks first: in memory, unless they are too many."""
        with self._lock:
            if self._replies is None:
                frames = [run.texts(self._of(run)) for run in self._runs]
                every = pl.concat([self._own.lazy().head(0), *frames])
                small = sum(run.size() for run in self._runs) <= MOST_TEXT
                self._replies = every.collect(engine="streaming").lazy() if small else every
        return self._replies

    def _of(self, run: RunReplies) -> pl.LazyFrame:
        return self._items.lazy().filter(pl.col("benchmark") == run.benchmark).select("item", "position")

    def having(self, words: str) -> Bools:
        """Which items have all of the words, or phrases in quotes, in their own text or in one reply."""
        mask = np.zeros(self._size, bool)
        wanted = [phrase or word for phrase, word in _WORD.findall(words.lower())]
        has = [pl.col("text").str.contains(word, literal=True) for word in wanted]
        for texts in (self._own.lazy(), self.read_replies()):
            rows = texts.filter(*has).select("position").collect(engine="streaming")
            mask[rows.get_column("position").to_numpy()] = True
        return mask
