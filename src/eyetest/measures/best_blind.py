"""Whether a benchmark needs eyes: the best that anybody scores without the picture, beside guessing and the sighted.

Which blind one is the best is found by looking at the scores, and the best of many is partly the luckiest. So
whatever is said of it is adjusted for all that it was chosen from: Holm over every blind series where guessing is
beside it, over every pair of a sighted and a blind one where the sighted are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from eyetest.measures.aligned import SideBySide, protocol_label, side_by_side
from eyetest.measures.hits import BLIND_SETTING, blind_sights
from eyetest.measures.results import PROTOCOL, Measure, Measured, NotMeasurable, Own, Results, Settings, table_of
from eyetest.measures.stats.intervals import Floats, mean
from eyetest.measures.stats.paired import Paired, against, holm, paired

SIGHTED = "image,screenshot"
"""The sights that show the picture."""
_NEARLY_ALL = 0.9
"""Who answered fewer items than this share of what another did is not called the best."""
_TESTS: dict[str, type[pl.DataType]] = dict.fromkeys(("p", "p_adjusted"), pl.Float64)


class _BestBlind(NamedTuple):
    """The blind series of one part of the results that may be called the best, and which of them is."""

    part: SideBySide
    columns: Sequence[int]
    best: int

    def scores(self, column: int) -> Floats:
        return self.part.scores[:, column]

    def who(self, column: int) -> tuple[str, str | None]:
        model, *protocol = map(str, self.part.columns[column])
        return model, protocol_label(tuple(protocol))

    @classmethod
    def of(cls, part: SideBySide, sights: Sequence[str]) -> "_BestBlind | None":
        """None where nobody was blind."""
        blind = _with_sight(part, sights)
        known = {column: int((~np.isnan(part.scores[:, column])).sum()) for column in blind}
        rivals = [column for column, n in known.items() if n >= _NEARLY_ALL * max(known.values())]
        if not rivals:
            return None
        return cls(part, rivals, max(rivals, key=lambda column: float(np.nanmean(part.scores[:, column]))))


class BestBlind(Measure):
    """The best score without the picture, beside what guessing scores on the same items."""

    name = "best-blind"
    summary = "the best that any model scores without the picture, beside guessing; tested as the best of many"
    own: ClassVar[Own] = {"blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a benchmark and tag value; guessing is beside it where items have options."""
        rows = []
        for part in _parts(results, settings):
            blind = _BestBlind.of(part, blind_sights(settings.own["blind"]))
            if blind is None:
                continue
            guess = _guess(results, part)
            pairs = [paired(blind.scores(column), guess, part.clusters, settings.level) for column in blind.columns]
            tested = dict(zip(blind.columns, zip(pairs, holm([pair.p for pair in pairs]), strict=True), strict=True))
            (pair, adjusted), scores = tested[blind.best], blind.scores(blind.best)
            known = ~np.isnan(scores)
            row = {**part.key, **dict(zip(("model", "blind_by"), blind.who(blind.best), strict=True))}
            row |= mean(scores[known], part.clusters[known], settings.level).named("blind")
            row |= {"with_options": pair.a, "guessing": pair.b} | _gap(pair, 1, "above")
            row |= {"p": pair.p, "p_adjusted": adjusted, "n": int(known.sum())}
            rows.append(row | {"options_n": pair.n, "series": len(blind.columns)})
        if not rows:
            raise NotMeasurable("best-blind: nobody was asked without the picture")
        return Measured(table_of(rows, **_TESTS, with_options=pl.Float64, guessing=pl.Float64))


class AgainstBlind(Measure):
    """Each series that saw the picture against the best that did not, on the items that both answered."""

    name = "against-blind"
    summary = "every sighted model against the best blind one, paired: who needs the picture to do better?"
    own: ClassVar[Own] = {"sighted": (SIGHTED, "the sights that count as seeing"), "blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a sighted series: its score less that of the best blind one."""
        rows: list[dict[str, Any]] = []
        for part in _parts(results, settings):
            blind = _BestBlind.of(part, blind_sights(settings.own["blind"]))
            sighted = _with_sight(part, blind_sights(settings.own["sighted"]))
            if blind is not None and sighted:
                rows += _rivals(blind, sighted, settings.level)
        if not rows:
            raise NotMeasurable("against-blind: it takes answers with the picture and without it to the same items")
        return Measured(table_of(rows, **_TESTS))


def _parts(results: Results, settings: Settings) -> list[SideBySide]:
    around = [*results.varied(["benchmark"]), *results.by_tags(settings.by)]
    return side_by_side(results, around, ("model", *PROTOCOL))


def _with_sight(part: SideBySide, sights: Sequence[str]) -> list[int]:
    return [index for index, (_, sight, *_) in enumerate(part.columns) if sight in sights]


def _guess(results: Results, part: SideBySide) -> Floats:
    """What guessing scores on each item of a part; nan where there is nothing to choose from."""
    known = results.items.filter(pl.col("options") > 0)
    if "benchmark" in part.key:
        known = known.filter(pl.col("benchmark") == part.key["benchmark"])
    options: Mapping[str, int] = dict(known.select("item", "options").iter_rows())
    return np.array([1 / options[item] if item in options else np.nan for item in part.items], float)


def _rivals(blind: _BestBlind, sighted: Sequence[int], level: float) -> Iterator[dict[str, Any]]:
    """The rows of one part. All pairs of a blind and a sighted series are tested, those with the best are told."""
    others, clusters = blind.part.scores[:, list(sighted)], blind.part.clusters
    pairs = {column: against(blind.scores(column), others, clusters, level) for column in blind.columns}
    every = holm([pair.p for column in blind.columns for pair in pairs[column]])
    first = blind.columns.index(blind.best) * len(sighted)
    rival, blind_by = blind.who(blind.best)
    for place, (column, pair) in enumerate(zip(sighted, pairs[blind.best], strict=True)):
        if pair.n:
            model, sighted_by = blind.who(column)
            row = {**blind.part.key, "model": model, "sighted": pair.b, "rival": rival, "blind": pair.a}
            row |= _gap(pair, -1, "difference") | {"p": pair.p, "p_adjusted": every[first + place], "n": pair.n}
            yield row | {"sighted_by": sighted_by, "blind_by": blind_by}


def _gap(pair: Paired, sign: int, name: str) -> dict[str, float | None]:
    """A difference with its interval, seen from either side."""
    low, high = (None if bound is None else sign * bound for bound in (pair.low, pair.high))
    ends = (low, high) if sign > 0 else (high, low)
    value = None if pair.difference is None else 0.0 + sign * pair.difference
    return dict(zip((name, f"{name}_low", f"{name}_high"), (value, *ends), strict=True))


MEASURES = (BestBlind(), AgainstBlind())
