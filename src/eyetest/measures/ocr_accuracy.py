"""How well models copy what stands in a screenshot, and whether who reads better scores better (MMMU-Pro)."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest
from eyetest.measures.results import (
    Measure,
    Measured,
    NotMeasurable,
    Own,
    Results,
    Settings,
    refuse_tags,
    split,
    table_of,
)
from eyetest.measures.stats.correlation import pearson
from eyetest.measures.stats.intervals import (
    Floats,
    IntervalEstimate,
    cluster_sums,
    effective_clusters,
    mean,
    percentiles,
    weights,
)
from eyetest.measures.three_settings import EVERYBODY

_SCORED = ("direct", "cot", "ocr")
_ENDED = "how answers were asked for whose score is taken"


class OcrAccuracy(Measure):
    """The likeness of transcripts to the text, and how it goes together with scores, over items and over models."""

    name = "ocr-accuracy"
    summary = "how faithfully screenshots are transcribed (ask ocr), and the correlation of that with the score"
    own: ClassVar[Own] = {"score": ("", f"{_ENDED}: direct, cot or ocr; the first of them that there are answers to")}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a model, then all models: ``correlation`` is over items, within models, or over models.

        ``accuracy`` and ``score`` are means over the same items, those that have both.
        """
        refuse_tags(self.name, settings)
        rows, scored = _by_item(results, str(settings.own.get("score", "")))
        keys = ["benchmark"] if rows["benchmark"].n_unique() > 1 else []
        told = [row for key, part in split(rows, keys) for row in _rows(key, part, settings)]
        note = f"scores are of answers asked {scored} about the same screenshots"
        return Measured(table_of(told), (note,))


def _by_item(results: Results, said: str) -> tuple[pl.DataFrame, str]:
    """``benchmark, model, item, cluster, copied, score``, and how the answers were asked whose score it is."""
    plain = pl.col("benchmark", "model", "sight", "ask", "request").cast(pl.String)
    shown = results.with_items("cluster").with_columns(plain).filter(pl.col("sight") == "screenshot")
    series = ["benchmark", "model", "item"]
    if "copied" not in results.replies.collect_schema():
        raise NotMeasurable("ocr-accuracy: no words of any reply are known")
    known = results.replies.select(pl.col("benchmark", "request").cast(pl.String), "copied").drop_nulls("copied")
    copied = shown.join(known, on=("benchmark", "request")).group_by(*series, "cluster").agg(pl.col("copied").mean())
    transcripts = copied.collect(engine="streaming")
    if transcripts.is_empty():
        raise NotMeasurable("ocr-accuracy: nobody was asked for a transcript (sight screenshot, ask ocr)")
    scores = (
        shown.drop_nulls("score").group_by(*series, "ask").agg(pl.col("score").mean()).collect(engine="streaming")
    )
    there = [ask for ask in _SCORED if ask in set(scores["ask"])]
    if said and said not in there:
        raise InputError(f"score: no answers asked {said}; {nearest(said, there)}")
    scored = said or there[0]
    rows = transcripts.join(scores.filter(pl.col("ask") == scored).drop("ask"), on=series).sort(series)
    if rows.is_empty():
        raise NotMeasurable(f"ocr-accuracy: no item has both a transcript and an answer asked {scored}")
    return rows, scored


def _rows(key: dict[str, Any], rows: pl.DataFrame, settings: Settings) -> Iterator[dict[str, Any]]:
    models = [part for _, part in split(rows, ["model"])]
    for part in models:
        yield key | {"model": part["model"][0], "over": "items"} | _told([part], settings)
    if len(models) < 2:
        return
    yield key | {"model": EVERYBODY, "over": "items"} | _told(models, settings)
    copied, scores = ([float(part[name].to_numpy().mean()) for part in models] for name in ("copied", "score"))
    value, low, high, n, _ = pearson(copied, scores, settings.level)
    means = [_mean_of_models(rows, name, settings.level) for name in ("copied", "score")]
    yield (
        key
        | {"model": EVERYBODY, "over": "models"}
        | means[0].named("accuracy")
        | means[1].named("score")
        | IntervalEstimate(value, low, high).named("correlation")
        | {"n": n}
    )


def _told(parts: Sequence[pl.DataFrame], settings: Settings) -> dict[str, Any]:
    """Means and the correlation over items, of one model or within each of several."""
    rows = pl.concat(parts)
    means = [_mean_of_models(rows, name, settings.level) for name in ("copied", "score")]
    copied, scores = (
        np.concatenate([part[name].to_numpy() - part[name].to_numpy().mean() for part in parts])
        for name in ("copied", "score")
    )
    together = _correlated(copied, scores, rows["cluster"].to_numpy(), settings)
    return means[0].named("accuracy") | means[1].named("score") | together.named("correlation") | {"n": len(rows)}


def _mean_of_models(rows: pl.DataFrame, name: str, level: float) -> IntervalEstimate:
    return mean(rows[name].to_numpy(), rows["cluster"].to_numpy(), level)


def _correlated(x: Floats, y: Floats, clusters: Any, settings: Settings) -> IntervalEstimate:
    """Pearson's r over items; the interval draws whole clusters again."""
    products = np.column_stack((np.ones_like(x), x, y, x * x, y * y, x * y))
    sums = cluster_sums(products, clusters)
    (value,) = _r(sums.sum(axis=0, keepdims=True))
    if np.isnan(value):
        return IntervalEstimate(None, None, None, len(x))
    effective = float(effective_clusters(sums[:, 0]))
    drawn = np.concatenate([_r(part @ sums) for part in weights(len(sums), settings.resamples, settings.seed)])
    return IntervalEstimate(float(value), *percentiles(drawn, settings.level, effective), len(x))


def _r(sums: Floats) -> Floats:
    """Pearson's r from counts, sums and sums of products; nan where one side does not vary."""
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        r: Floats = np.where(spread > 1e-12, (xy - x * y / n) / np.sqrt(np.clip(spread, 1e-30, None)), np.nan)
    return r


MEASURES = (OcrAccuracy(),)
