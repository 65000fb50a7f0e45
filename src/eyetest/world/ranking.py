"""Does a refined benchmark rank models as their true skill does, and better than the spoilt one it came from?

Skill is measured on fresh items without flaws. What fewer items cost is shown by random subsets of the same size.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, percentiles, resampled_means

Floats = NDArray[np.float64]
_FEWEST = 3


class Rankings(NamedTuple):
    """Kendall's τ with true skill: of the spoilt benchmark, the refined one, and random subsets as small."""

    models: int
    spoilt: IntervalEstimate
    refined: IntervalEstimate
    random: IntervalEstimate
    """The mean over random subsets, and the interval that holds the middle of them."""
    above_random: float
    """The share of random subsets that rank worse than the refined benchmark; those that rank as well count half."""


def rankings(
    scores: pl.DataFrame,
    fresh: Mapping[str, float] | pl.DataFrame,
    refined: Sequence[str],
    *,
    subsets: int = 200,
    resamples: int = 1_000,
    seed: int = 0,
) -> Rankings:
    """Compare rankings of models.

    ``scores`` has a row an item and model of the spoilt benchmark (columns item, model, score), ``refined`` names the
    items that were kept, and ``fresh`` is a table like ``scores`` on fresh items, or each model's skill. Intervals of
    the two benchmarks come from drawing their items again.
    """
    skill = dict(_mean(fresh).iter_rows()) if isinstance(fresh, pl.DataFrame) else dict(fresh)
    wide = (
        scores.filter(pl.col("model").is_in(list(skill)))
        .group_by("item", "model")
        .agg(pl.col("score").mean())
        .pivot("model", index="item", values="score")
        .sort("item")
    )
    models = sorted(column for column in wide.columns if column != "item")
    if len(models) < _FEWEST:
        raise InputError(
            f"a ranking takes at least {_FEWEST} models that answered both benchmarks, not {len(models)}"
        )
    table = wide.select(models).to_numpy().astype(float)
    true = np.array([skill[model] for model in models])
    kept = wide.get_column("item").is_in(list(refined)).to_numpy()
    if not kept.any():
        raise InputError("none of the refined items was answered")
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(len(table), int(kept.sum()), replace=False) for _ in range(subsets)]
    random = taus(np.array([np.nanmean(table[rows], axis=0) for rows in drawn]), true)
    best = _told(table[kept], true, resamples, seed)
    beaten = float(np.mean((random < (best.value or 0.0)) + 0.5 * (random == best.value)))
    low, high = percentiles(random)
    middle = IntervalEstimate(float(random.mean()), low, high, int(kept.sum()))
    return Rankings(len(models), _told(table, true, resamples, seed), best, middle, beaten)


def taus(scores: Floats, skill: Floats) -> Floats:
    """Kendall's τ-b of each row of scores with skill, all pairs of models at once; 0 where a row ranks nobody."""
    one, other = np.triu_indices(len(skill), 1)
    apart, order = (np.sign(values[..., one] - values[..., other]) for values in map(_rounded, (scores, skill)))
    ranked = np.sqrt((apart != 0).sum(axis=-1) * (order != 0).sum())
    with np.errstate(invalid="ignore"):
        return _rounded(np.nan_to_num((apart @ order) / ranked))


def _rounded(values: Floats) -> Floats:
    return np.round(values, 12)


def _mean(table: pl.DataFrame) -> pl.DataFrame:
    return table.group_by("model").agg(pl.col("score").mean()).drop_nulls()


def _told(table: Floats, true: Floats, resamples: int, seed: int) -> IntervalEstimate:
    if not len(table):
        return NOTHING
    replicates = resampled_means(table, np.arange(len(table)), resamples, seed)
    low, high = percentiles(taus(replicates, true))
    value = float(taus(np.nanmean(table, axis=0), true))
    return IntervalEstimate(
        value, None if low is None else min(low, value), None if high is None else max(high, value), len(table)
    )
