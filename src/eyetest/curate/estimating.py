"""Scores on a whole benchmark from answers to a small subset (p-IRT), and their errors. Panel models and their
relatives are left out in turn and estimated from subsets drawn without them; intervals are widened by the errors.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.curate.drawing import anchored, pps
from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Floats, column_means, one_thread
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, abilities, fit, posterior_abilities, probabilities
from eyetest.measures.stats.sets import group_folds
from eyetest.store import replacing_file

_ITEMS_AT_ONCE = 4_096


class Estimated(NamedTuple):
    """For each model: its score on the whole, the standard error if the curves are true, and its ability."""

    scores: Floats
    errors: Floats
    abilities: Floats
    beyond: NDArray[np.int8]  # 1 where the model seems abler than the whole panel, −1 where less able, else 0


class Estimator:
    """Estimates scores on the whole benchmark that a panel was fitted on."""

    def __init__(self, fitted: ItemFit) -> None:
        if not len(fitted.slopes) or not len(fitted.panel):
            raise InputError("a score is estimated from items that a panel has answered; there are none")
        self._fitted = fitted
        self._right, self._noise = np.zeros(len(SCALE)), np.zeros(len(SCALE))
        for start in range(0, len(fitted.slopes), _ITEMS_AT_ONCE):
            chance = self._chances(np.arange(start, min(start + _ITEMS_AT_ONCE, len(fitted.slopes))))
            self._right += chance.sum(axis=0)
            self._noise += (chance * (1 - chance)).sum(axis=0)
        standing = abilities(fitted.panel)[0]
        self._range = standing.min(), standing.max()
        self._expected = _like_the_panel(fitted.panel)

    @property
    def beforehand(self) -> Floats:
        """Log prior of each ability on `SCALE` for a model without answers."""
        return np.asarray(np.log(np.maximum(self._expected, 1e-300)) - SCALE**2 / 2, float)

    def estimate(self, items: ArrayLike, answers: ArrayLike) -> Estimated:
        """Estimate scores from answers at these positions: items × models, from 0 to 1, nan where not asked."""
        positions, known = np.asarray(items, np.intp), np.asarray(answers, float)
        asked = ~np.isnan(known)
        whole = len(self._fitted.slopes)
        with one_thread():
            likely = self._posterior(positions, known)
            chance = self._chances(positions)
            expected = self._right - asked.T @ chance
            noise = self._noise - asked.T @ (chance * (1 - chance))
        rest = (likely * expected).sum(axis=1)
        doubt = (likely * (expected - rest[:, None]) ** 2).sum(axis=1)
        ability = abilities(likely)[0]
        weakest, ablest = self._range
        return Estimated(
            (np.where(asked, known, 0.0).sum(axis=0) + rest) / whole,
            np.sqrt(doubt + np.maximum((likely * noise).sum(axis=1), 0.0)) / whole,
            ability,
            (ability > ablest).astype(np.int8) - (ability < weakest).astype(np.int8),
        )

    def _chances(self, positions: NDArray[np.intp]) -> Floats:
        return probabilities(self._fitted.slopes[positions], self._fitted.intercepts[positions], SCALE)

    def _posterior(self, positions: NDArray[np.intp], known: Floats) -> Floats:
        """Posterior of abilities, with models like the panel's as the prior."""
        part = ItemFit(
            self._fitted.slopes[positions], self._fitted.intercepts[positions], self._fitted.panel, 0, True
        )
        likely = posterior_abilities(part, known) * self._expected
        return np.asarray(likely / likely.sum(axis=1, keepdims=True), float)


def cautions(models: Sequence[str], estimated: Estimated) -> list[str]:
    """A line for each model that lies beyond the panel."""
    words = {1: "abler", -1: "less able"}
    return [
        f"{model} seems {words[side]} than every model of the panel: its score is a guess beyond what the panel "
        "shows, and that of a random part may be as good; better ask it the whole benchmark"
        for model, side in zip(models, estimated.beyond.tolist(), strict=True)
        if side
    ]


def _like_the_panel(panel: Floats) -> Floats:
    """Density ratio of each ability on `SCALE`: models like the panel's over N(0, 1)."""
    where = panel.mean(axis=0)
    centre = where @ SCALE
    spread = max(float(np.sqrt(where @ (SCALE - centre) ** 2)), 1.0)
    logs = SCALE**2 / 2 - ((SCALE - centre) / spread) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()), float)


_FOLDS = 5
_DRAWS = 3
_TOLERANCE = 0.01  # how closely curves are fitted here; closer makes no difference to what is missed
_LEVEL = 0.95
_FAMILY = re.compile(r"[^\W\d_]+")


class Missed(NamedTuple):
    """Errors of each left-out panel model in stated errors, signed, models × draws."""

    errors: Floats
    kin: Sequence[str]
    folds: NDArray[np.intp]

    def half_width(self, of: NDArray[np.bool_] | None = None) -> float:
        """Half width of a 95 % interval in stated errors, from all models or some: Student's with one degree less
        than there are families, never narrower than by the curves alone.
        """
        some = np.ones(len(self.errors), bool) if of is None else of
        errors = self.errors[some]
        relatives = len({name for name, there in zip(self.kin, some, strict=True) if there})
        return float(special.stdtrit(relatives - 1, (1 + _LEVEL) / 2) * max(1.0, np.sqrt((errors**2).mean())))

    def covered(self) -> float:
        """Coverage of left-out models by intervals as wide as other folds give."""
        within = [
            np.abs(self.errors[self.folds == fold]) <= self.half_width(self.folds != fold)
            for fold in np.unique(self.folds)
        ]
        return float(np.concatenate(within).mean())


def families(models: Sequence[str]) -> list[str]:
    """Families by name, up to the first figure or sign: ``gpt-4o`` and ``GPT4V`` are one; singles if all are one."""
    names = [found[0].casefold() if (found := _FAMILY.search(model)) else model for model in models]
    return names if len(set(names)) >= _FOLDS else list(models)


def left_out(scores: ArrayLike, size: int, kin: Sequence[str], seed: int = 0) -> Missed:
    """Leave each fold of the panel (items × models) out, whole families, and estimate its scores from subsets."""
    table = np.asarray(scores, float)
    folds = family_folds(kin, np.random.default_rng([seed, _FOLDS]))
    errors = np.empty((table.shape[1], _DRAWS))
    true = column_means(table)
    for fold in np.unique(folds):
        out = folds == fold
        panel = table[:, ~out]
        fitted = fit(panel, _TOLERANCE)
        estimator, certain = Estimator(fitted), anchored(fitted, panel, size)
        for draw in range(_DRAWS):
            items = pps(fitted, size, (seed, int(fold), draw), certain).items
            said = estimator.estimate(items, table[np.ix_(items, np.flatnonzero(out))])
            errors[out, draw] = (said.scores - true[out]) / np.maximum(said.errors, np.finfo(float).tiny)
    return Missed(errors, list(kin), folds)


def family_folds(kin: Sequence[str], rng: np.random.Generator) -> NDArray[np.intp]:
    """Folds of nearly the same size that keep families together."""
    return group_folds(kin, min(_FOLDS, len(set(kin))), rng)


CURVES, PANEL = "curves.parquet", "panel.parquet"


class Curves(NamedTuple):
    """Basis of a subset: items, models, fit, inclusion probabilities, and errors of left-out models."""

    items: Sequence[str]
    models: Sequence[str]
    fitted: ItemFit
    chances: Sequence[float]
    missed: Missed


def write_curves(folder: Path, drawn: Curves) -> None:
    """Write the basis of a subset into a folder."""
    curves = pl.DataFrame(
        {
            "item": drawn.items,
            "slope": drawn.fitted.slopes,
            "intercept": drawn.fitted.intercepts,
            "chance": drawn.chances,
        },
        schema_overrides={"item": pl.String, "chance": pl.Float64},
    )
    abilities, missed = drawn.fitted.panel.tolist(), drawn.missed
    off = {"missed": missed.errors.tolist(), "fold": missed.folds.tolist()}
    panel = pl.DataFrame({"model": drawn.models, "abilities": abilities, **off})
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as path:
            table.write_parquet(path, compression="zstd")


def read_curves(folder: Path) -> Curves:
    """Read the basis of the subset in a folder."""
    try:
        curves, panel = (pl.read_parquet(folder / name, glob=False) for name in (CURVES, PANEL))
        items, slopes, intercepts, chances = curves.select("item", "slope", "intercept", "chance").get_columns()
        models, abilities, errors, folds = panel.select("model", "abilities", "missed", "fold").get_columns()
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{folder} is no subset that eyetest drew from answers: {str(error).splitlines()[0]}"
        ) from None
    fitted = ItemFit(slopes.to_numpy(), intercepts.to_numpy(), np.array(abilities.to_list(), float), 0, True)
    if fitted.panel.shape[1:] != SCALE.shape:
        raise InputError(f"{folder} was made by another version of eyetest; draw it again")
    missed = Missed(np.array(errors.to_list(), float), families(models.to_list()), folds.to_numpy())
    return Curves(items.to_list(), models.to_list(), fitted, chances.to_list(), missed)
