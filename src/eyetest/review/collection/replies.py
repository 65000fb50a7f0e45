"""What was replied, read from disk when somebody wants it: a few items' answers, or all texts for searching."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Any

import msgspec
import numpy as np
import polars as pl

from eyetest.measures.stats.intervals import Bools
from eyetest.records import Asked, Item, Response, columns
from eyetest.results.cases import ItemCase, item_cases
from eyetest.results.scores import changed_since
from eyetest.review.collection.sources import RunSource
from eyetest.runs.parts import from_batch
from eyetest.runs.plan import PLAN, scan_table
from eyetest.runs.stored import every_response, one_line_if_damaged
from eyetest.scoring import Scorer

MOST_TEXT = 400 * 2**20
"""Bytes of replies that are kept in memory for searching; more of them are looked through on disk each time."""
_AT_ONCE = 200_000
_READ = ("reading", "choice", "rule", "metric", "score")
_POSITION = pl.col("position").cast(pl.UInt32)
_WORD = re.compile(r'"([^"]+)"|([^\s"]+)')


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
        reworded = changed_since(run, about).reworded
        for item in items:
            rows = calls.head(0) if item.id in reworded else by_item.get(item.id, calls.head(0))
            cases = item_cases(run, about, item, rows, lambda request: self._get(request, responses), scorer)
            told[item.id] = (cases, len(rows) - len(cases))
        unread = [item for item, (cases, _) in told.items() if any(map(_is_undecided, cases))]
        stored = self._stored_scores(unread) if unread else {}
        return {item: ([_as_stored(case, stored) for case in cases], left) for item, (cases, left) in told.items()}

    def _stored_scores(self, items: Sequence[str]) -> dict[Asked, dict[str, Any]]:
        with one_line_if_damaged(self._source.run.path):
            rows = self._scores.filter(_is_in("item", items)).collect().to_dicts()
        return {Asked(**{name: row.pop(name) for name in columns(Asked)}): row for row in rows}

    def _get(self, request: str, known: dict[str, Response]) -> Response | None:
        """A response; of what was said in earlier turns of a dialogue nobody knew before that it would be needed."""
        if request not in known:
            known |= self._stored(pl.Series([request]))
        return known.get(request)

    def _stored(self, requests: pl.Series) -> dict[str, Response]:
        with one_line_if_damaged(self._source.run.path):
            rows = self._responses.filter(_is_in("request", requests)).collect()
        return {one.request: one for batch in rows.to_arrow().to_batches() for one in from_batch(batch)}

    def texts(self, items: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """All replies in small letters, some at a time: ``position, text``; ``items`` has ``item, position``.

        Requests are met by hashes of 64 bits: their own letters would take more memory than most replies.
        """
        key = pl.col("request").hash().alias("key")
        with one_line_if_damaged(self._source.run.path):
            plan = self._plan.join(items.lazy(), on="item").select("position", key).collect(engine="streaming")
            keys = self._responses.select(key).collect(engine="streaming").to_series()
            counts = keys.is_last_distinct() if keys.n_unique() < len(keys) else None
            for start in range(0, len(keys), _AT_ONCE):
                some = self._responses.select(key, pl.col("text").str.to_lowercase()).slice(start, _AT_ONCE).collect()
                said = some if counts is None else some.filter(counts[start : start + _AT_ONCE])
                yield said.drop_nulls("text").join(plan, on="key").select("position", "text")

    def choices(self, key: Sequence[str], sight: str | None = None) -> pl.DataFrame:
        """Which option was chosen, wherever one was read and scored, under a sight or any; by what ``key`` names."""
        with one_line_if_damaged(self._source.run.path):
            said = self._scores.filter(pl.col("choice").is_not_null(), pl.col("score").is_not_null())
            if sight is not None:
                said = said.filter(pl.col("sight") == sight)
            return said.select(*key, pl.col("choice").cast(pl.String)).collect(engine="streaming")

    def size(self) -> int:
        """Bytes of all replies."""
        with one_line_if_damaged(self._source.run.path):
            size = self._responses.select(pl.col("text").str.len_bytes().cast(pl.Int64).sum())
            return int(size.collect(engine="streaming").item())


def _is_undecided(case: ItemCase) -> bool:
    """Whether the reply alone does not tell: a judge may have read it, or a metric weighs all replies together."""
    scored = case.scored
    return scored.reading == "unparsed" or (scored.score is None and case.response.outcome != "failed")


def _as_stored(case: ItemCase, stored: Mapping[Asked, Mapping[str, Any]]) -> ItemCase:
    """An answer with the score that counts, where that is not what its words alone come to."""
    row = stored.get(case.asked)
    if row is None or not _is_undecided(case) or all(row[name] == getattr(case.scored, name) for name in _READ):
        return case
    changed = {name: row[name] for name in _READ}
    return case._replace(scored=msgspec.structs.replace(case.scored, **changed, why="", span=None))


def _is_in(column: str, values: Sequence[str] | pl.Series) -> pl.Expr:
    return pl.col(column).is_in(pl.Series(values, dtype=pl.String).implode())


class SearchTexts:
    """Search in items and replies: words, in any case, all of them in one text. Replies are read at the first."""

    def __init__(self, items: pl.DataFrame, options: Callable[[], pl.Series], runs: Sequence[RunReplies]) -> None:
        self._items, self._options, self._runs = items, options, runs
        self._kept: list[pl.DataFrame] | None = None
        self._lock = Lock()

    @cached_property
    def own(self) -> pl.DataFrame:
        """What items say themselves, in small letters."""
        options = self._options().list.join("\n").fill_null("")
        own = pl.concat_str(pl.col("question").fill_null(""), options, separator="\n").str.to_lowercase()
        return self._items.select(_POSITION, own.alias("text"))

    def read_replies(self) -> Iterable[pl.DataFrame]:
        """The replies; whoever asks first has them read into memory, unless they are too many."""
        with self._lock:
            if self._kept is None and sum(run.size() for run in self._runs) <= MOST_TEXT:
                self._kept = list(self._read())
        return self._read() if self._kept is None else self._kept

    def _read(self) -> Iterator[pl.DataFrame]:
        for run in self._runs:
            mine = pl.col("benchmark") == run.benchmark
            yield from run.texts(self._items.filter(mine).select("item", _POSITION))

    def having(self, words: str) -> Bools:
        """Which items have all of the words, or phrases in quotes, in their own text or in one reply."""
        mask = np.zeros(len(self._items), bool)
        wanted = [phrase or word for phrase, word in _WORD.findall(words.lower())]
        has = [pl.col("text").str.contains(word, literal=True) for word in wanted]
        for texts in chain([self.own], self.read_replies()):
            rows = texts.lazy().filter(*has).select("position").collect(engine="streaming")
            mask[rows.get_column("position").to_numpy()] = True
        return mask
