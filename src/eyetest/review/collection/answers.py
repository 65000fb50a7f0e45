"""Answers as arrays: what became of each item under each model and condition, so that a filter is a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.aligned import Protocol, like
from eyetest.measures.hits import HIT, mostly, strictest
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import Bools, ClusteredMeans, Floats, bounds
from eyetest.pages.item_links import ANSWER_KINDS, AnswerKind, AskedKind
from eyetest.records import BLIND_SIGHTS

SIGHTED = "image"
_UNREADABLE = ("unparsed", "ambiguous")
KEY = ("model", *PROTOCOL)
BIT: dict[AnswerKind, int] = {kind: 1 << number for number, kind in enumerate(ANSWER_KINDS)}
ASKED = 1 << len(ANSWER_KINDS)
"""The bit of every answer, whatever became of it."""
_SCORED = BIT["right"] | BIT["wrong"]
_BITS: Mapping[str, int] = {
    **{str(kind): bit for kind, bit in BIT.items()},
    **{"asked": ASKED, "scored": _SCORED, "unscored": _SCORED},
}


class AnswerSeries(NamedTuple):
    """One model, asked in one way; ``condition`` has the words in which the ways of this collection differ."""

    model: str
    condition: str
    protocol: Protocol


class ModelAccuracy(NamedTuple):
    """What one model came to under one condition on some items; value and bounds None where nothing was scored."""

    model: str
    condition: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    counts: Mapping[AnswerKind, int]
    """Items by what became of them. Whoever refuses is wrong too; who was asked several times may be several."""


@dataclass(frozen=True)
class AnswerArrays:
    """``scores``: series × items, the mean over tests, nan without one. ``kinds``: bits of `BIT`, and `ASKED`."""

    series: Sequence[AnswerSeries]
    scores: Floats
    binary: Bools
    """Whether all tests were simply right or wrong."""
    kinds: NDArray[np.uint8]
    clusters: NDArray[np.int64]

    @cached_property
    def _filled(self) -> tuple[Floats, Floats]:
        """Scores with 0 where there is none, and how many there are, in one row where none is missing."""
        there = ~np.isnan(self.scores)
        known = there[:1] if there.all() else there
        return np.where(there, self.scores, 0.0), known.astype(float)

    def matching(self, model: str, condition: str) -> list[int]:
        """The series of a model (any, if none is named) whose condition has all words that are named."""
        words = set(condition.split())
        return [
            number
            for number, one in enumerate(self.series)
            if (not model or one.model == model) and words <= {*one.condition.split(), *one.protocol}
        ]

    def having(self, series: Sequence[int], kind: AskedKind) -> Bools:
        """Items that one of some series answered so; ``unscored``: those that none of them has a score for."""
        bits = _BITS[kind]
        mask: Bools = np.any(self.kinds[series] & bits, axis=0)
        return ~mask if kind == "unscored" else mask

    def accuracy(self, positions: NDArray[np.int64], level: float = 0.95) -> list[ModelAccuracy]:
        """Means with clustered intervals, as the measure ``accuracy`` has them, on some items only."""
        if not self.series:
            return []
        order = positions[np.argsort(self.clusters[positions], kind="stable")]
        starts = np.flatnonzero(np.diff(self.clusters[order], prepend=-1))
        sums, sizes = (table[:, order] for table in self._filled)
        if len(starts) < len(order):
            sums, sizes = (np.add.reduceat(table, starts, axis=1) for table in (sums, sizes))
        binary: Bools = np.all(self.binary[:, order], axis=1)
        means = ClusteredMeans.of(sums, sizes, binary)
        n, (low, high) = means.n, bounds(means, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = means.total / n
        low, high = (np.where(n > 0, end, np.nan) for end in (low, high))
        kinds = self.kinds[:, order]
        counts = {kind: np.count_nonzero(kinds & bit, axis=1).tolist() for kind, bit in BIT.items()}
        rows = []
        for number, one in enumerate(self.series):
            ends = [
                None if not n[number] or np.isnan(end[number]) else float(end[number]) for end in (value, low, high)
            ]
            own = {kind: numbers[number] for kind, numbers in counts.items()}
            rows.append(ModelAccuracy(one.model, one.condition, ends[0], ends[1], ends[2], int(n[number]), own))
        return rows

    def of_items(self) -> dict[str, Floats]:
        """What models make of each item together: difficulty, gain, disagreement, how many answer it blind."""
        sighted = [number for number, one in enumerate(self.series) if one.protocol[0] == SIGHTED]
        usual = sighted or list(range(len(self.series)))
        asked = ~np.isnan(self.scores[usual])
        right = ((self.kinds[usual] & BIT["right"]) > 0).sum(axis=0)
        models = asked.sum(axis=0)
        pairs = models * (models - 1)
        blind = self._blind()
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "difficulty": 1 - _mean(self.scores[usual]),
                "gain": _mean(np.array([self.scores[a] - self.scores[b] for a, b in self._pairs(sighted)]), models),
                "disagreement": np.where(pairs > 0, 2 * right * (models - right) / pairs, np.nan),
                "blind_right": self._blind_hits(blind),
            }

    def blind_series(self, model: str) -> list[int]:
        """The series of a model without the picture; of several ways, that in which it answers most."""
        return [number for number in self._blind() if self.series[number].model == model]

    def _blind(self) -> list[int]:
        chosen = []
        ways: dict[tuple[str, Protocol], dict[str, int]] = {}
        for number, one in enumerate(self.series):
            if one.protocol[0] in BLIND_SIGHTS:
                ways.setdefault((one.model, one.protocol[1:]), {})[one.protocol[0]] = number
        for sights in ways.values():
            best = next(iter(sights))
            if len(sights) > 1:
                best = strictest({sight: self.scores[number] for sight, number in sights.items()})
            chosen.append(sights[best])
        return chosen

    def _pairs(self, sighted: Sequence[int]) -> list[tuple[int, int]]:
        """Each series with the picture, and the one of the same model without it."""
        pairs = []
        for number in sighted:
            one = self.series[number]
            blind = {self.series[other].protocol: other for other in self.blind_series(one.model)}
            ways = like(list(blind), one.protocol)
            pairs += [(number, blind[ways[0]])] if ways else []
        return pairs

    def _blind_hits(self, blind: Sequence[int]) -> Floats:
        if not blind:
            return np.full(self.scores.shape[1], np.nan)
        asked = (~np.isnan(self.scores[blind])).any(axis=0)
        return np.where(asked, ((self.kinds[blind] & BIT["right"]) > 0).sum(axis=0), np.nan)


def _mean(table: Floats, like_: NDArray[np.int64] | None = None) -> Floats:
    """The mean over series, nan where there is none."""
    if not len(table):
        return np.full(table.shape[1] if like_ is None else len(like_), np.nan)
    there = ~np.isnan(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0)
    return means


def read_scores_by_code(scores: pl.LazyFrame, places: pl.DataFrame, more: Sequence[str] = ()) -> pl.DataFrame:
    """The columns of scores that arrays are made of, texts as numbers of their categories.

    ``places`` says where each ``item`` stands: its ``position``, which is null here where it does not.
    """
    texts = pl.col(*KEY, "outcome", "reading").cast(pl.String).fill_null("").cast(pl.Categorical)
    named = scores.select(pl.col("item").cast(pl.String), texts, pl.col("score").cast(pl.Float64), *more)
    return named.join(places.lazy(), on="item", how="left").collect(engine="streaming")


class _Categories(NamedTuple):
    """A column of categories: what each row has, as a number, and the numbers' names."""

    rows: NDArray[np.uint32]
    codes: NDArray[np.uint32]
    names: list[str]

    @classmethod
    def of(cls, column: pl.Series) -> "_Categories":
        distinct = column.unique()
        codes = distinct.to_physical().to_numpy()
        return cls(column.to_physical().to_numpy(), codes, distinct.cast(pl.String).to_list())

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """To each row the value of its category."""
        table = np.zeros(int(self.codes.max()) + 1 if len(self.codes) else 1, values.dtype)
        table[self.codes] = values
        return table[self.rows]

    def are(self, *wanted: str) -> Bools:
        """Which rows have one of some names."""
        return self.spread(np.array([name in wanted for name in self.names], bool))


class _Coded(NamedTuple):
    """Each row's series as a number, and what the numbers stand for."""

    heads: list[tuple[str, ...]]
    rows: NDArray[np.int64]


def _series_codes(frame: pl.DataFrame) -> _Coded:
    """Which series each row belongs to; sorting texts of a million rows would take longer than all else."""
    columns = [_Categories.of(frame.get_column(name)) for name in KEY]
    combined = np.zeros(len(frame), np.int64)
    for column in columns:
        combined = combined * len(column.names) + column.spread(np.arange(len(column.names)))
    present = np.flatnonzero(np.bincount(combined))
    if not len(present):
        return _Coded([], combined)
    places = np.unravel_index(present, [len(column.names) for column in columns])
    heads = [
        tuple(column.names[i] for column, i in zip(columns, at, strict=True)) for at in zip(*places, strict=True)
    ]
    dense = np.zeros(present[-1] + 1, np.int64)
    dense[present] = np.arange(len(present))
    return _Coded(heads, dense[combined])


def answer_arrays(scores: Sequence[pl.DataFrame], clusters: NDArray[np.int64]) -> AnswerArrays:
    """Scores of runs (`read_scores_by_code`) as arrays."""
    coded = [_series_codes(frame) for frame in scores]
    heads = sorted({head for codes in coded for head in codes.heads})
    varied = [i for i, axis in enumerate(KEY) if axis == "sight" or (i and len({head[i] for head in heads}) > 1)]
    series = [AnswerSeries(head[0], " ".join(head[i] for i in varied), head[1:]) for head in heads]
    number = {head: index for index, head in enumerate(heads)}
    tally = _Tally((len(heads), len(clusters)))
    for frame, codes in zip(scores, coded, strict=True):
        own = np.array([number[head] for head in codes.heads], np.int64)
        tally.add(own[codes.rows] * len(clusters) + frame.get_column("position").to_numpy(), frame)
    return tally.arrays(series, clusters)


class _Tally:
    """Counts and sums by series and item, over all tests and all runs."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape, size = shape, shape[0] * shape[1]
        self._tests, self._hits, self._odd = (np.zeros(size, np.int64) for _ in range(3))
        self._total, self._kinds = np.zeros(size), np.zeros(size, np.uint8)

    def add(self, cells: NDArray[np.int64], frame: pl.DataFrame) -> None:
        """Count some scores; ``cells`` says where each belongs."""
        score, size = frame.get_column("score").to_numpy(), len(self._tests)
        there = ~np.isnan(score)
        placed, values = (cells, score) if there.all() else (cells[there], score[there])
        self._tests += np.bincount(placed, minlength=size)
        self._hits += np.bincount(placed[values >= HIT.value], minlength=size)
        self._odd += np.bincount(placed[(values != 0) & (values != 1)], minlength=size)
        self._total += np.bincount(placed, values, minlength=size)
        self._kinds[cells] |= ASKED
        reading, outcome = (_Categories.of(frame.get_column(name)) for name in ("reading", "outcome"))
        self._kinds[cells[reading.are("refused") | outcome.are("blocked")]] |= BIT["refused"]
        self._kinds[cells[reading.are(*_UNREADABLE)]] |= BIT["unparsed"]
        self._kinds[cells[outcome.are("failed")]] |= BIT["failed"]

    def arrays(self, series: Sequence[AnswerSeries], clusters: NDArray[np.int64]) -> AnswerArrays:
        """What it all comes to."""
        scored = self._tests > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(scored, self._total / self._tests, np.nan)
        right = mostly(self._hits, self._tests) & scored
        self._kinds[right] |= BIT["right"]
        self._kinds[scored & ~right] |= BIT["wrong"]
        binary: Bools = (self._odd == 0).reshape(self._shape)
        return AnswerArrays(series, means.reshape(self._shape), binary, self._kinds.reshape(self._shape), clusters)
