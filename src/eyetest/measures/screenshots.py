"""Effects of a screenshot's look (font, frame, angle …) on scores, and how well text is copied. Levels were assigned
at random, so they are compared within a look, adjusted for difficulty in other settings.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest
from eyetest.measures.linked import EVERYBODY
from eyetest.measures.results import (
    PROTOCOL,
    TAG,
    Measured,
    NotMeasurable,
    Results,
    Settings,
    measure,
    split,
    table_of,
)
from eyetest.measures.stats.correlation import pearson
from eyetest.measures.stats.intervals import Floats, IntervalEstimate, mean, resampled
from eyetest.measures.stats.paired import holm
from eyetest.measures.stats.regression import Design, level_effects

LOOK = "look"
_LOOK, _HARDNESS, _SCREENSHOT = TAG + LOOK, "hardness", "screenshot"
_ALONE = "few items: each factor is fitted by itself, as if the others did nothing"
_LEAST = 8  # items of a look needed to estimate its factors


@measure(
    "looks",
    "what each level of a screenshot's look does to the score, with its interval and a test for each factor",
    {"models": (False, "yes: each model by itself as well, not only all of them together")},
    by_tag=False,
)
def looks(results: Results, settings: Settings) -> Measured:
    """One row a level: ``effect`` is its score less the mean over the factor's levels; ``p`` is of the factor."""
    if LOOK not in results.tags:
        raise NotMeasurable("looks: no item has a look; `eyetest harden screenshot` gives items one")
    shown, others = _apart(results)
    keys = [column for column in ("benchmark", *PROTOCOL) if shown[column].n_unique() > 1]
    above = pl.col("score") - pl.col("score").mean().over("benchmark", "model", *PROTOCOL)
    hardness = others.with_columns(above).group_by("item").agg(pl.col("score").mean().alias(_HARDNESS)).sort("item")
    rows: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for key, part in split(shown.sort(*keys, "model", "item"), keys):
        models: list[str] = sorted(part["model"].unique()) if settings.own["models"] else []
        for model in (EVERYBODY, *models):
            of_model = part if model == EVERYBODY else part.filter(pl.col("model") == model)
            items = _by_item(of_model).join(hardness, on="item", how="left")
            rows += ({**key, "model": model, **row} for row in _rows(items, settings.level, notes))
    if not rows:
        raise NotMeasurable("looks: no factor has two levels with two items each")
    if len(hardness):
        shared = len(hardness.join(shown, on="item", how="semi"))
        told = f"adjusted for how hard items are in other settings ({shared:,} items asked there too)"
        notes = {told: None, **notes}
    return Measured(table_of(rows, p=pl.Float64, p_adjusted=pl.Float64), tuple(notes))


def _apart(results: Results) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The scores of screenshots, with the levels of their looks, and those of the same items in other settings."""
    looks = [TAG + tag for tag in results.tags if tag == LOOK or tag.startswith(f"{LOOK}_")]
    plain = pl.col("benchmark", "model", *PROTOCOL).cast(pl.String)
    scores = results.with_items("cluster", *looks).drop_nulls("score").with_columns(plain).collect(engine="streaming")
    has_look = pl.col(_LOOK).is_not_null()
    if not len(scores.filter(has_look)):
        raise NotMeasurable("looks: no item with a look has a score")
    is_shown = has_look & (pl.col("modality") == _SCREENSHOT)
    if not len(scores.filter(is_shown)):
        is_shown = has_look
    return scores.filter(is_shown), scores.filter(~is_shown)


def _by_item(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per item: its score and its excess over its models' means, over all models that answered it."""
    looks = [name for name in rows.columns if name.startswith(_LOOK)]
    above = (pl.col("score") - pl.col("score").mean().over("model")).alias("above")
    return (
        rows.with_columns(above)
        .group_by("item", "cluster", *looks)
        .agg(pl.col("score").mean(), pl.col("above").mean())
        .sort("item")
    )


def _rows(items: pl.DataFrame, level: float, notes: dict[str, None]) -> Iterator[dict[str, Any]]:
    """The look itself if there are several, then the factors of each."""
    factors = [name.removeprefix(TAG) for name in items.columns if name.startswith(f"{_LOOK}_")]
    found = list(_fitted("all", items, [LOOK], level, notes))
    for (look,), part in sorted(items.group_by(_LOOK), key=lambda group: str(group[0][0])):
        if len(part) >= _LEAST:
            found += _fitted(str(look), part, factors, level, notes)
    for adjusted, (p, rows) in zip(holm([p for p, _ in found]), found, strict=True):
        yield from (row | {"p": p, "p_adjusted": adjusted} for row in rows)


def _fitted(
    look: str, items: pl.DataFrame, factors: Sequence[str], level: float, notes: dict[str, None]
) -> Iterator[tuple[float | None, list[dict[str, Any]]]]:
    """For each factor that varies its p and the rows of its levels."""
    counts = {name: items[TAG + name].drop_nulls().value_counts(name="count") for name in factors}
    levels_of = {name: sorted(some.filter(pl.col("count") >= 2)[TAG + name]) for name, some in counts.items()}
    kept = {name: levels for name, levels in levels_of.items() if len(levels) > 1}
    codes = [
        items[TAG + name].replace_strict(levels, range(len(levels)), default=-1, return_dtype=pl.Int64).to_numpy()
        for name, levels in kept.items()
    ]
    if not codes:
        return
    known = items[_HARDNESS].fill_null(0.0).to_numpy()[:, None]
    design = Design(codes, known if items[_HARDNESS].count() else known[:, :0], items["cluster"].to_numpy())
    fitted, together = level_effects(items["above"].to_numpy(), design, level)
    if not together:
        notes[_ALONE] = None
    for (name, levels), (effects, p) in zip(kept.items(), fitted, strict=True):
        about = [items.filter(pl.col(TAG + name) == value) for value in levels]
        yield (
            p,
            [
                {"look": look, "factor": name, "level": value}
                | effect.named("effect")
                | {"score": part["score"].mean(), "n": len(part)}
                for value, effect, part in zip(levels, effects, about, strict=True)
            ],
        )


_SCORED = ("direct", "cot", "ocr")


@measure(
    "ocr-accuracy",
    "how faithfully screenshots are transcribed (ask ocr), and the correlation of that with the score",
    {"score": ("", "how answers were asked whose score is taken: direct, cot or ocr (default: the first there is)")},
    by_tag=False,
)
def ocr_accuracy(results: Results, settings: Settings) -> Measured:
    """One row a model, then all: ``correlation`` of ``accuracy`` and ``score`` over items, or over models."""
    rows, scored = _transcripts(results, str(settings.own["score"]))
    keys = ["benchmark"] if rows["benchmark"].n_unique() > 1 else []
    told = [row for key, part in split(rows, keys) for row in _transcript_rows(key, part, settings)]
    note = f"scores are of answers asked {scored} about the same screenshots"
    return Measured(table_of(told), (note,))


def _transcripts(results: Results, said: str) -> tuple[pl.DataFrame, str]:
    """``benchmark, model, item, cluster, copied, score``, and the protocol of the scored answers."""
    plain = pl.col("benchmark", "model", "modality", "ask", "request").cast(pl.String)
    shown = results.with_items("cluster").with_columns(plain).filter(pl.col("modality") == "screenshot")
    series = ["benchmark", "model", "item"]
    if "copied" not in results.replies.collect_schema():
        raise NotMeasurable("ocr-accuracy: no words of any reply are known")
    known = results.replies.select(pl.col("benchmark", "request").cast(pl.String), "copied").drop_nulls("copied")
    copied = shown.join(known, on=("benchmark", "request")).group_by(*series, "cluster").agg(pl.col("copied").mean())
    transcripts = copied.collect(engine="streaming")
    if transcripts.is_empty():
        raise NotMeasurable("ocr-accuracy: no model was asked for a transcript (modality screenshot, ask ocr)")
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


def _transcript_rows(key: dict[str, Any], rows: pl.DataFrame, settings: Settings) -> Iterator[dict[str, Any]]:
    models = [part for _, part in split(rows, ["model"])]
    for part in models:
        yield key | {"model": part["model"][0], "over": "items"} | _told([part], settings)
    if len(models) < 2:
        return
    yield key | {"model": EVERYBODY, "over": "items"} | _told(models, settings)
    copied, scores = ([float(part[name].to_numpy().mean()) for part in models] for name in ("copied", "score"))
    value, low, high, n, _ = pearson(copied, scores, settings.level)
    about = key | {"model": EVERYBODY, "over": "models"} | _means(rows, settings.level)
    yield about | IntervalEstimate(value, low, high).named("correlation") | {"n": n}


def _told(parts: Sequence[pl.DataFrame], settings: Settings) -> dict[str, Any]:
    """Means and the correlation over items, of one model or within each of several."""
    rows = pl.concat(parts)
    copied, scores = (
        np.concatenate([part[name].to_numpy() - part[name].to_numpy().mean() for part in parts])
        for name in ("copied", "score")
    )
    together = _correlated(copied, scores, rows["cluster"].to_numpy(), settings)
    return _means(rows, settings.level) | together.named("correlation") | {"n": len(rows)}


def _means(rows: pl.DataFrame, level: float) -> dict[str, Any]:
    copied, score = (mean(rows[name].to_numpy(), rows["cluster"].to_numpy(), level) for name in ("copied", "score"))
    return copied.named("accuracy") | score.named("score")


def _correlated(x: Floats, y: Floats, clusters: Any, settings: Settings) -> IntervalEstimate:
    """Pearson's r over items; the interval resamples whole clusters."""

    def r(sums: Floats) -> Floats:
        n, a, b, aa, bb, ab = sums.T
        spread = (aa - a * a / n) * (bb - b * b / n)
        return np.where(spread > 1e-12, (ab - a * b / n) / np.sqrt(np.clip(spread, 1e-30, None)), np.nan)

    products = np.column_stack((np.ones_like(x), x, y, x * x, y * y, x * y))
    return resampled(products, clusters, r, settings.level, settings.resamples, settings.seed)


MEASURES = (looks, ocr_accuracy)
