"""Answers of models to items: accuracies and statistics from a table, and replies that are read on demand."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, nearest, short
from eyetest.measures.hits import HIT, mostly
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import ClusteredMeans, bounds
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.tables import Protocol, strictest
from eyetest.pages.item_links import ANSWER_KINDS, AnswerFilter, AnswerKind
from eyetest.records import BLIND_MODALITIES, WITH_MEDIUM

KEY = ("model", *PROTOCOL)  # what identifies a series
_LEVEL = 0.95  # of intervals
ASKED, GRADED = 1 << len(ANSWER_KINDS), 2 << len(ANSWER_KINDS)  # bits of any answer, of a score besides 0 and 1
ANSWER_BITS: dict[str, int] = {kind: 1 << at for at, kind in enumerate(ANSWER_KINDS)} | {"asked": ASKED}
ANSWER_BITS |= dict.fromkeys(("scored", "unscored"), ANSWER_BITS["right"] | ANSWER_BITS["wrong"])


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


class Answers:
    """The series of some scores (rows), and the answer of each to each item (columns) over all tests.

    ``scores``: means over tests, nan where there is none; ``kinds``: bits of the kinds of answers. An answer is
    *right* if more than half of its tests have a full score, as in the measure ``blind-hits``.
    """

    def __init__(self, items: pl.DataFrame, scores: pl.DataFrame, clusters: NDArray[np.int64]) -> None:
        heads = scores.select(KEY).unique().sort(pl.col(KEY).cast(pl.String))
        words = heads.cast(pl.String)
        varied = [axis for axis in PROTOCOL if axis == "modality" or words.get_column(axis).n_unique() > 1]
        conditions = words.select(pl.concat_str(varied, separator=" ")).to_series() if len(words) else ()
        known = zip(words.rows(), conditions, strict=True)
        self.series = [AnswerSeries(head[0], how, head[1:]) for head, how in known]
        score, reading, outcome = pl.col("score"), pl.col("reading"), pl.col("outcome")
        right = mostly((score >= HIT.value).sum(), score.count())
        flags = {
            "right": right,
            "wrong": (score.count() > 0) & ~right,
            "refused": ((reading == "refused") | (outcome == "blocked")).any(),
            "unparsed": reading.is_in(["unparsed", "ambiguous", "cut off"]).any(),
            "failed": (outcome == "failed").any(),
        }
        bits = (flag.cast(pl.Int16) * ANSWER_BITS[kind] for kind, flag in flags.items())
        graded = (~is_verdict(score).all()).cast(pl.Int16) * GRADED
        answers = (
            scores.lazy()
            .join(heads.lazy().select(KEY, series=pl.int_range(pl.len(), dtype=pl.Int64)), on=KEY)
            .join(items.lazy().select("benchmark", "item", "position"), on=("benchmark", "item"))
            .group_by("series", "position")
            .agg(score.mean(), kinds=pl.sum_horizontal(*bits, graded, pl.lit(ASKED, pl.Int16)))
        ).collect(engine="streaming")
        shape = len(self.series), len(items)
        self.scores, self.kinds, self.clusters = np.full(shape, np.nan), np.zeros(shape, np.int16), clusters
        cells = tuple(answers.get_column(name).to_numpy() for name in ("series", "position"))
        self.scores[cells], self.kinds[cells] = (answers.get_column(name).to_numpy() for name in ("score", "kinds"))

    @property
    def models(self) -> list[str]:
        """The models that were asked."""
        return list(dict.fromkeys(one.model for one in self.series))

    def condition(self, wanted: AnswerFilter) -> pl.Expr:
        """Items that one of some series answered so; ``unscored``: those for which none of them has a score."""
        words = set(wanted.condition.split())
        named = [(at, one) for at, one in enumerate(self.series) if wanted.model in ("", one.model)]
        series = [at for at, one in named if words <= {*one.condition.split(), *one.protocol}]
        if not series:
            asked = [one.condition for _, one in named]
            who = f"{wanted.model} was not" if wanted.model else "no model was"
            raise InputError(f"answer: {who} asked {short(wanted.condition)}; {nearest(wanted.condition, asked)}")
        having = np.flatnonzero((self.kinds[series] & ANSWER_BITS[wanted.kind]).any(axis=0))
        found = pl.col("position").is_in(pl.Series(having, dtype=pl.Int64).implode())
        return ~found if wanted.kind == "unscored" else found

    def accuracy(self, positions: NDArray[np.int64]) -> list[ModelAccuracy]:
        """Means with clustered intervals, as in the measure ``accuracy``, on some items."""
        if not self.series or not len(positions):
            nothing = dict.fromkeys(ANSWER_KINDS, 0)
            return [ModelAccuracy(one.model, one.condition, None, None, None, 0, nothing) for one in self.series]
        ordered = positions[np.argsort(self.clusters[positions], kind="stable")]
        starts = np.flatnonzero(np.diff(self.clusters[ordered], prepend=-1))
        scores, kinds = self.scores.take(ordered, axis=1), self.kinds.take(ordered, axis=1)  # rows stay contiguous
        scored = ~np.isnan(scores)
        if scored.all():  # one row for all series
            scored = scored[:1]
        else:
            scores[~scored] = 0.0
        sums, sizes = (np.add.reduceat(values, starts, axis=1, dtype=float) for values in (scores, scored))
        binary = [not (row & GRADED).any() for row in kinds]
        means = ClusteredMeans.of(sums, sizes, binary)
        low, high = bounds(means, _LEVEL)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = zip(means.total / means.n, low, high, means.n, strict=True)
        rows = []
        for one, row, (*values, n) in zip(self.series, kinds, ends, strict=True):
            value, least, most = (None if np.isnan(end) or not n else float(end) for end in values)
            counts = {kind: int(np.count_nonzero(row & ANSWER_BITS[kind])) for kind in ANSWER_KINDS}
            rows.append(ModelAccuracy(one.model, one.condition, value, least, most, int(n), counts))
        return rows

    def statistics(self) -> pl.DataFrame:
        """Statistics of each item over models: its difficulty, and how many are right without the image."""
        sighted = [number for number, one in enumerate(self.series) if one.protocol[0] in WITH_MEDIUM]
        usual = sighted or list(range(len(self.series)))
        ways: dict[tuple[str, ...], dict[str, int]] = {}
        for number, one in enumerate(self.series):
            modality, *others = one.protocol
            if modality in BLIND_MODALITIES:
                ways.setdefault((one.model, *others), {})[modality] = number
        blind = sorted(own[strictest({name: self.scores[at] for name, at in own.items()})] for own in ways.values())
        scored = ~np.isnan(self.scores)
        right = (self.kinds[blind] & ANSWER_BITS["right"] > 0).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = {
                "difficulty": 1 - np.nansum(self.scores[usual], axis=0) / scored[usual].sum(axis=0),
                "blind_right": np.where(scored[blind].any(axis=0), right, np.nan),
                "blind_asked": scored[blind].sum(axis=0),
            }
        return pl.DataFrame(columns).fill_nan(None).with_columns(pl.col("blind_right", "blind_asked").cast(pl.Int64))
