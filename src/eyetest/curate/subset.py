"""A small part of a benchmark on which new models are asked, and what they would score on the whole (p-IRT).

Every drawing is random, of a fixed size, the same for the same seed, and knows each item's chance to be in it. What
was asked counts as answered; what was not, as the model's ability lets expect, over all that it may be. Abilities far
from the panel's are guessed from curves that nobody was there to bend: such models are marked.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Floats, one_thread
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, abilities, posterior_abilities, probabilities
from eyetest.store import replacing_file

Places = NDArray[np.intp]
Seed = int | Sequence[int]
_ITEMS_AT_ONCE = 4_096
_CERTAIN = 1 - 1e-9
CURVES, PANEL = "curves.parquet", "panel.parquet"


class Subset(NamedTuple):
    """The positions of the items that were drawn, rising, and the chance that each item of the whole had."""

    items: Places
    chances: Floats


def pps(fitted: ItemFit, size: int, seed: Seed) -> Subset:
    """Items that tell the panel's models apart are likelier: chances go with sqrt(mean P(1 − P)) · (.3 + a).

    The mean is over the panel's models, wherever they may stand. No item's chance comes near 0, because what sets new
    models apart may be what the panel could not show. Scores on such a part are not those of the whole: they have to
    be estimated from it.
    """
    right, spread = _seen_by_panel(fitted)
    return _systematic(inclusion(np.sqrt(spread) * (0.3 + fitted.slopes), size), right, seed)


def stratified(difficulty: ArrayLike, size: int, seed: Seed) -> Subset:
    """Every item is as likely as any other, and the part is as difficult as the whole (ties in random order)."""
    keys = np.asarray(difficulty, float)
    return _systematic(inclusion(np.ones(len(keys)), size), keys, seed)


def at_random(count: int, size: int, seed: Seed) -> Subset:
    """Every part of this size is as likely as any other."""
    return stratified(np.zeros(count), size, seed)


def inclusion(weights: Floats, size: int) -> Floats:
    """Chances in proportion to positive weights that sum to ``size``. None is above 1: the rest has more then."""
    if size < 1:
        raise InputError(f"a part has at least 1 item, not {size}")
    chances, certain = np.ones(len(weights)), np.zeros(len(weights), bool)
    while certain.sum() < min(size, len(weights)):
        free = ~certain
        chances[free] = np.minimum((size - certain.sum()) * weights[free] / weights[free].sum(), 1.0)
        if not (chances[free] >= _CERTAIN).any():
            return chances
        certain = chances >= _CERTAIN
        chances[certain] = 1.0
    return np.where(certain, 1.0, 0.0)


def _systematic(chances: Floats, keys: Floats, seed: Seed) -> Subset:
    """Lay items end to end in the order of their keys, each as long as its chance, and take one at every whole step.

    So every stretch of the order gets its share, and an item is drawn as often as its chance says.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(chances))
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    free = order[chances[order] < 1]
    ends = np.cumsum(chances[free])
    wanted = round(ends[-1]) if len(free) else 0
    steps = rng.random() + np.arange(wanted)
    drawn = free[np.minimum(np.searchsorted(ends, steps, side="right"), len(free) - 1)]
    return Subset(np.sort(np.concatenate([drawn, np.flatnonzero(chances >= 1)])), chances)


def _seen_by_panel(fitted: ItemFit) -> tuple[Floats, Floats]:
    """Each item's expected share of right answers in the panel, and its mean P(1 − P)."""
    where = fitted.panel.mean(axis=0)
    right, spread = np.empty(len(fitted.slopes)), np.empty(len(fitted.slopes))
    with one_thread():
        for start in range(0, len(right), _ITEMS_AT_ONCE):
            some = slice(start, start + _ITEMS_AT_ONCE)
            chance = probabilities(fitted.slopes[some], fitted.intercepts[some], SCALE)
            right[some], spread[some] = chance @ where, (chance * (1 - chance)) @ where
    return right, spread


class Estimated(NamedTuple):
    """For each model: its score on the whole, the standard error of that, and its ability.

    The error is that of answers not given by a model whose ability is not quite known. It takes the curves of items
    for true, which those of a small panel are not: `validation` shows by how much scores are really missed.
    """

    scores: Floats
    errors: Floats
    abilities: Floats
    beyond: NDArray[np.int8]
    """1 where the model seems abler than the whole panel, −1 where it seems less able, else 0."""


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

    def estimate(self, items: ArrayLike, answers: ArrayLike) -> Estimated:
        """Estimate scores from answers to the items at these positions: items × models, from 0 to 1, nan if missing.

        An item whose answer is missing counts as not asked.
        """
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
        """Where models may stand, taken before any answer to be models such as the panel's."""
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
    """How much likelier each ability on `SCALE` is among models such as the panel's than under the fit's N(0, 1).

    Items settle the scale of abilities, so the panel may stand far from 0 and wide, and models that were asked
    little would be drawn to a place where no model is. A narrow panel is no proof that others are as alike.
    """
    where = panel.mean(axis=0)
    centre = where @ SCALE
    spread = max(float(np.sqrt(where @ (SCALE - centre) ** 2)), 1.0)
    logs = SCALE**2 / 2 - ((SCALE - centre) / spread) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()), float)


def write_curves(
    folder: Path, items: Sequence[str], models: Sequence[str], fitted: ItemFit, chances: Sequence[float]
) -> None:
    """Write a fit into a folder, with each item's chance to be drawn."""
    curves = pl.DataFrame(
        {"item": items, "slope": fitted.slopes, "intercept": fitted.intercepts, "chance": chances},
        schema_overrides={"item": pl.String, "chance": pl.Float64},
    )
    panel = pl.DataFrame({"model": models, "abilities": fitted.panel.tolist()})
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as path:
            table.write_parquet(path, compression="zstd")


def read_curves(folder: Path) -> tuple[list[str], ItemFit]:
    """The items of the whole benchmark, in order, and the fit."""
    try:
        curves, panel = (pl.read_parquet(folder / name, glob=False) for name in (CURVES, PANEL))
        fitted = ItemFit(
            curves.get_column("slope").to_numpy(),
            curves.get_column("intercept").to_numpy(),
            np.array(panel.get_column("abilities").to_list(), float),
            0,
            True,
        )
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{folder} is no subset that eyetest drew from answers: {str(error).splitlines()[0]}"
        ) from None
    if fitted.panel.shape[1:] != SCALE.shape:
        raise InputError(f"{folder} was made by another version of eyetest; draw it again")
    return curves.get_column("item").to_list(), fitted
