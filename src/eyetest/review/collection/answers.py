"""Answers as arrays: what became of each item under each model and condition, so that a filter is a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.aligned import Protocol, like
from eyetest.measures.hits import HIT, mostly, strictest
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import Bools, Floats, Moments, bounds
from eyetest.pages.item_links import ANSWER_KINDS, AnswerKind
from eyetest.records import BLIND_SIGHTS

_SIGHTED = "image"
_UNREADABLE = ("unparsed", "ambiguous")
KEY = ("model", *PROTOCOL)
BIT: dict[AnswerKind, int] = {kind: 1 << number for number, kind in enumerate(ANSWER_KINDS)}


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
    """``scores``: series × items, the mean over tests, nan without one. ``kinds``: bits of `BIT`."""

    series: Sequence[AnswerSeries]
    scores: Floats
    binary: Bools
    """Whether all tests were simply right or wrong."""
    kinds: NDArray[np.uint8]
    clusters: NDArray[np.int64]

    def matching(self, model: str, condition: str) -> list[int]:
        """The series of a model (any, if none is named) whose condition has all words that are named."""
        words = set(condition.split())
        return [
            number
            for number, one in enumerate(self.series)
            if (not model or one.model == model) and words <= {*one.condition.split(), *one.protocol}
        ]

    def accuracy(self, positions: NDArray[np.int64], level: float = 0.95) -> list[ModelAccuracy]:
        """Means with clustered intervals, as the measure ``accuracy`` has them, on some items only."""
        order = positions[np.argsort(self.clusters[positions], kind="stable")]
        starts = np.flatnonzero(np.diff(self.clusters[order], prepend=-1))
        rows = []
        for number, one in enumerate(self.series):
            values, kinds = self.scores[number, order], self.kinds[number, order]
            there = ~np.isnan(values)
            sums = _sums(np.where(there, values, 0.0), starts)
            sizes = _sums(there.astype(float), starts)
            binary = bool((self.binary[number, order] | ~there).all())
            total, n = sums.sum(), sizes.sum()
            moments = ((sums**2).sum(), (sums * sizes).sum(), (sizes**2).sum(), binary)
            parts = (total, n, np.count_nonzero(sizes), *moments)
            low, high = (float(end[0]) for end in bounds(Moments(*(np.array([part]) for part in parts)), level))
            known, mean = n > 0, float(total / n) if n else np.nan
            value, least, most = (None if not known or np.isnan(end) else end for end in (mean, low, high))
            counts = {kind: int(np.count_nonzero(kinds & bit)) for kind, bit in BIT.items()}
            rows.append(ModelAccuracy(one.model, one.condition, value, least, most, int(n), counts))
        return rows

    def of_items(self) -> dict[str, Floats]:
        """What models make of each item together: difficulty, gain, disagreement, how many answer it blind."""
        sighted = [number for number, one in enumerate(self.series) if one.protocol[0] == _SIGHTED]
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


def _sums(values: Floats, starts: NDArray[np.int64]) -> Floats:
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0)


def _mean(table: Floats, like_: NDArray[np.int64] | None = None) -> Floats:
    """The mean over series, nan where there is none."""
    if not len(table):
        return np.full(table.shape[1] if like_ is None else len(like_), np.nan)
    there = ~np.isnan(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0)
    return means


def answer_arrays(rows: pl.DataFrame, clusters: NDArray[np.int64]) -> AnswerArrays:
    """Scores, by ``position``, as arrays: ``position, model``, the protocol, ``outcome, reading, score``."""
    items = len(clusters)
    heads = rows.select(pl.col(KEY).cast(pl.String)).unique().sort(KEY)
    varied = [axis for axis in PROTOCOL if axis == "sight" or heads.get_column(axis).n_unique() > 1]
    series = [
        AnswerSeries(row["model"], " ".join(row[axis] for axis in varied), tuple(row[axis] for axis in PROTOCOL))
        for row in heads.to_dicts()
    ]
    placed = rows.with_columns(pl.col(KEY).cast(pl.String)).join(heads.with_row_index("series"), on=KEY)
    cells = placed.get_column("series").to_numpy().astype(np.int64) * items + placed.get_column("position").to_numpy()
    shape, size = (len(series), items), len(series) * items
    score = placed.get_column("score").cast(pl.Float64).to_numpy()
    reading, outcome = pl.col("reading").cast(pl.String), pl.col("outcome").cast(pl.String)
    refused = (reading == "refused").fill_null(value=False) | (outcome == "blocked")
    flags = placed.select(
        refused=refused, unparsed=reading.is_in(_UNREADABLE).fill_null(value=False), failed=outcome == "failed"
    )
    scored = ~np.isnan(score)
    tests = np.bincount(cells[scored], minlength=size)
    hits = np.bincount(cells[scored & (score >= HIT.value)], minlength=size)
    total = np.bincount(cells[scored], score[scored], minlength=size)
    odd = np.bincount(cells[scored & (score != 0) & (score != 1)], minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(tests > 0, total / tests, np.nan)
    kinds = np.zeros(size, np.uint8)
    is_right = mostly(hits, tests) & (tests > 0)
    kinds[is_right] |= BIT["right"]
    kinds[~is_right & (tests > 0)] |= BIT["wrong"]
    for name in ("refused", "unparsed", "failed"):
        kinds[cells[flags.get_column(name).to_numpy()]] |= BIT[name]
    return AnswerArrays(series, means.reshape(shape), (odd == 0).reshape(shape), kinds.reshape(shape), clusters)
