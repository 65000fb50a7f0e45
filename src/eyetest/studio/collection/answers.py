"""Answers as arrays: the outcome of each item under each model and condition, so that a filter is a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.aligned import Protocol, like
from eyetest.measures.hits import HIT, mostly, strictest
from eyetest.measures.results import AXES, PROTOCOL
from eyetest.measures.stats.intervals import Bools, ClusteredMeans, Floats, bounds
from eyetest.pages.item_links import ANSWER_KINDS, AnswerKind, AskedKind
from eyetest.records import BLIND_MODALITIES

SIGHTED = "image"
KEY = ("model", *PROTOCOL)
TESTS = tuple(axis for axis in AXES if axis not in KEY)  # what identifies a test of a series
BIT: dict[AnswerKind, int] = {kind: 1 << number for number, kind in enumerate(ANSWER_KINDS)}
ASKED = 1 << len(ANSWER_KINDS)  # the bit of every answer
_KIND = (
    pl.lit(ASKED, pl.UInt8)
    | pl.when((pl.col("reading") == "refused") | (pl.col("outcome") == "blocked")).then(BIT["refused"]).otherwise(0)
    | pl.when(pl.col("reading").is_in(["unparsed", "ambiguous", "cut off"])).then(BIT["unparsed"]).otherwise(0)
    | pl.when(pl.col("outcome") == "failed").then(BIT["failed"]).otherwise(0)
).cast(pl.UInt8)
_SCORED = BIT["right"] | BIT["wrong"]
_BITS = dict[str, int](BIT.items()) | {"asked": ASKED, "scored": _SCORED, "unscored": _SCORED}


class AnswerSeries(NamedTuple):
    """One model under one condition; ``condition`` has the words in which conditions of this collection differ."""

    model: str
    condition: str
    protocol: Protocol


class ModelAccuracy(NamedTuple):
    """Accuracy of one model under one condition on some items; value and bounds None where nothing was scored."""

    model: str
    condition: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    counts: Mapping[AnswerKind, int]  # by outcome; refusals are wrong too; repeated items may count in several


@dataclass(frozen=True)
class AnswerArrays:
    """Series × items: mean scores over tests or nan, whether all tests are 0 or 1, bits of `BIT` and `ASKED`."""

    series: Sequence[AnswerSeries]
    scores: Floats
    binary: Bools
    kinds: NDArray[np.uint8]
    clusters: NDArray[np.int64]

    @cached_property
    def _filled(self) -> tuple[Floats, Floats]:
        """Scores with 0 where there is none, and their number, in one row where none is missing."""
        there = ~np.isnan(self.scores)
        known = there[:1] if there.all() else there
        return np.where(there, self.scores, 0.0), known.astype(float)

    def matching(self, model: str, condition: str) -> list[int]:
        """The series of a model (any, if empty) whose condition has all given words."""
        words = set(condition.split())
        return [
            number
            for number, one in enumerate(self.series)
            if (not model or one.model == model) and words <= {*one.condition.split(), *one.protocol}
        ]

    def having(self, series: Sequence[int], kind: AskedKind) -> Bools:
        """Items that one of some series answered so; ``unscored``: those for which none of them has a score."""
        mask: Bools = np.any(self.kinds[series] & _BITS[kind], axis=0)
        return ~mask if kind == "unscored" else mask

    def accuracy(self, positions: NDArray[np.int64], level: float = 0.95) -> list[ModelAccuracy]:
        """Means with clustered intervals, as in the measure ``accuracy``, on some items."""
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
        kinds = self.kinds[:, order]
        counts = {kind: np.count_nonzero(kinds & bit, axis=1).tolist() for kind, bit in BIT.items()}
        rows = []
        for number, one in enumerate(self.series):
            ends = (end[number] for end in (value, low, high))
            mean, least, most = (None if not n[number] or np.isnan(end) else float(end) for end in ends)
            own = {kind: numbers[number] for kind, numbers in counts.items()}
            rows.append(ModelAccuracy(one.model, one.condition, mean, least, most, int(n[number]), own))
        return rows

    def of_items(self) -> dict[str, Floats]:
        """Statistics of each item over models: difficulty, gain, disagreement, number of blind correct answers."""
        sighted = [number for number, one in enumerate(self.series) if one.protocol[0] == SIGHTED]
        usual = sighted or list(range(len(self.series)))
        asked = ~np.isnan(self.scores[usual])
        right = ((self.kinds[usual] & BIT["right"]) > 0).sum(axis=0)
        models = asked.sum(axis=0)
        pairs = models * (models - 1)
        blind = self._blind()
        known = (~np.isnan(self.scores[blind])).any(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "difficulty": 1 - _mean(self.scores[usual]),
                "gain": _mean(np.array([self.scores[a] - self.scores[b] for a, b in self._pairs(sighted)]), models),
                "disagreement": np.where(pairs > 0, 2 * right * (models - right) / pairs, np.nan),
                "blind_right": np.where(known, ((self.kinds[blind] & BIT["right"]) > 0).sum(axis=0), np.nan),
            }

    def blind_series(self, model: str) -> list[int]:
        """The series of a model without the image; of several conditions, the one with the most answers."""
        return [number for number in self._blind() if self.series[number].model == model]

    def _blind(self) -> list[int]:
        ways: dict[tuple[str, Protocol], dict[str, int]] = {}
        for number, one in enumerate(self.series):
            if one.protocol[0] in BLIND_MODALITIES:
                ways.setdefault((one.model, one.protocol[1:]), {})[one.protocol[0]] = number
        scores = (
            {modality: self.scores[number] for modality, number in modalities.items()} for modalities in ways.values()
        )
        best = (strictest(some) if len(some) > 1 else next(iter(some)) for some in scores)
        return [modalities[modality] for modalities, modality in zip(ways.values(), best, strict=True)]

    def _pairs(self, sighted: Sequence[int]) -> list[tuple[int, int]]:
        pairs = []
        for number in sighted:
            one = self.series[number]
            blind = {self.series[other].protocol: other for other in self.blind_series(one.model)}
            ways = like(list(blind), one.protocol)
            pairs += [(number, blind[ways[0]])] if ways else []
        return pairs


def _mean(table: Floats, like_: NDArray[np.int64] | None = None) -> Floats:
    if not len(table):
        return np.full(table.shape[1] if like_ is None else len(like_), np.nan)
    there = ~np.isnan(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0)
    return means


def answer_arrays(scores: Sequence[pl.DataFrame], clusters: NDArray[np.int64]) -> AnswerArrays:
    """Scores of runs (`RunReplies.read_scores`) as arrays: by series and item, over all tests and runs."""
    heads = sorted({head for frame in scores for head in frame.select(KEY).unique().cast(pl.String).iter_rows()})
    varied = [i for i, axis in enumerate(KEY) if axis == "modality" or (i and len({head[i] for head in heads}) > 1)]
    series = [AnswerSeries(head[0], " ".join(head[i] for i in varied), head[1:]) for head in heads]
    names = pl.DataFrame(heads, schema=dict.fromkeys(KEY, pl.String), orient="row")
    names = names.select(pl.all().cast(pl.Categorical), series=pl.int_range(pl.len(), dtype=pl.Int64))
    shape = (len(heads), len(clusters))
    size = len(heads) * len(clusters)
    tests, hits, graded = (np.zeros(size, np.int64) for _ in range(3))
    total, kinds = np.zeros(size), np.zeros(size, np.uint8)
    for frame in scores:
        cell = (pl.col("series") * len(clusters) + pl.col("position")).alias("cell")
        rows = frame.join(names, on=KEY).select(cell, "score", _KIND.alias("kind"))
        np.bitwise_or.at(kinds, rows.get_column("cell").to_numpy(), rows.get_column("kind").to_numpy())
        scored = rows.drop_nulls("score")
        cells, values = scored.get_column("cell").to_numpy(), scored.get_column("score").to_numpy()
        tests += np.bincount(cells, minlength=size)
        hits += np.bincount(cells[values >= HIT.value], minlength=size)
        graded += np.bincount(cells[(values != 0) & (values != 1)], minlength=size)
        total += np.bincount(cells, values, minlength=size)
    known = tests > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(known, total / tests, np.nan)
    right = mostly(hits, tests) & known
    kinds |= np.where(right, BIT["right"], np.where(known, BIT["wrong"], 0)).astype(np.uint8)
    binary: Bools = (graded == 0).reshape(shape)
    return AnswerArrays(series, means.reshape(shape), binary, kinds.reshape(shape), clusters)
