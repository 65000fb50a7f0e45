"""Small subsets of a benchmark by a panel's answers: drawn, tested on held-out models, and scores on the whole
estimated from them.

New models are stronger than recorded ones, and differ on items that few of these solve. Such items are likelier to be
drawn, if that ranks the strongest models of the panel, chosen for by the others, better than random items do. Chances
are known, so scores on the whole are estimated without bias for any model, and intervals need no true curves.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.errors import InputError, counted, heading, listed
from eyetest.measures import Results
from eyetest.measures.results import PROTOCOL, values_of
from eyetest.measures.stats.intervals import Floats, IntervalEstimate, column_means
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, fit, posterior_abilities, probabilities
from eyetest.measures.tables import side_by_side
from eyetest.records import WITH_MEDIUM
from eyetest.runs.stored import scan_table
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum

Places = NDArray[np.intp]
Seed = int | Sequence[int]
FEWEST_MODELS = 9  # three to hold out and twice as many to choose by
WHY_SO_MANY = "fewer cannot hold three out to try the choice on others"
CURVES, PANEL = "curves.parquet", "panel.parquet"
_ITEMS_AT_ONCE = 4_096
_CERTAIN = 1 - 1e-9
_UNSOLVED = 0.125  # power of an item's ease: nearly all that no model solves stay as likely as hard ones
_LEVEL = 0.95
_FEWEST_ITEMS = 20
_SPLITS, _LEFT_OUT = 40, 4  # of the models, one in four is left out of each split
_DRAWS = 16
_ROUNDING = 1e-12
_TARGETS = {"at random": "models held out at random", "stronger": "models stronger than those that choose"}


class Subset(NamedTuple):
    """Positions of the drawn items, rising, and the inclusion probability of every item."""

    items: Places
    chances: Floats


def drawn(answers: Floats, size: int, seed: Seed, *, aimed: bool) -> Subset:
    """Draw a subset that is as varied in difficulty as all items (items × models). ``aimed``: an item's chance rises
    with the share of models that fail it, because stronger models differ there.
    """
    known = (~np.isnan(answers)).sum(axis=1)
    ease = (np.nan_to_num(answers).sum(axis=1) + 0.5) / (known + 1)
    return systematic(inclusion((1 - ease) * ease**_UNSOLVED if aimed else np.ones(len(ease)), size), ease, seed)


def inclusion(weights: Floats, size: int) -> Floats:
    """Inclusion probabilities in proportion to positive weights that sum to ``size``, none above 1."""
    chances, certain = np.ones(len(weights)), np.zeros(len(weights), bool)
    while certain.sum() < min(size, len(weights)):
        free = ~certain
        chances[free] = np.minimum((size - certain.sum()) * weights[free] / weights[free].sum(), 1.0)
        if not (chances[free] >= _CERTAIN).any():
            return chances
        certain = chances >= _CERTAIN
        chances[certain] = 1.0
    return np.where(certain, 1.0, 0.0)


def systematic(chances: Floats, keys: Floats, seed: Seed) -> Subset:
    """Systematic sampling: items in the order of their keys, each as long as its chance, one at every step."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(chances))
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    free = order[chances[order] < 1]
    ends = np.cumsum(chances[free])
    wanted = round(ends[-1]) if len(free) else 0
    steps = rng.random() + np.arange(wanted)
    drawn = free[np.minimum(np.searchsorted(ends, steps, side="right"), len(free) - 1)]
    return Subset(np.sort(np.concatenate([drawn, np.flatnonzero(chances >= 1)])), chances)


class Estimated(NamedTuple):
    """For each model: its score on the whole, the standard error, and how many of the drawn items it answered."""

    scores: Floats
    errors: Floats
    n: NDArray[np.intp]

    @property
    def half_widths(self) -> Floats:
        """Of 95 % intervals."""
        return np.asarray(special.stdtrit(np.maximum(self.n - 1, 1), (1 + _LEVEL) / 2) * self.errors, float)


def estimate(fitted: ItemFit, subset: Subset, answers: ArrayLike) -> Estimated:
    """Estimate scores from answers to a subset: items × models, from 0 to 1, nan where not asked. What the curves
    predict is corrected by what was missed, over the chances of the items: unbiased also for wrong curves.
    """
    if not len(fitted.slopes) or not len(fitted.panel):
        raise InputError("a score is estimated from items that a panel has answered; there are none")
    known, whole = np.asarray(answers, float), len(fitted.slopes)
    asked = ~np.isnan(known)
    n = asked.sum(axis=0)
    part = ItemFit(fitted.slopes[subset.items], fitted.intercepts[subset.items], fitted.panel, 0, True)
    likely = posterior_abilities(part, known) * _like_the_panel(fitted.panel)  # models like the panel's are the prior
    ability = likely / likely.sum(axis=1, keepdims=True) @ SCALE
    predicted = np.zeros(known.shape[1])
    for start in range(0, whole, _ITEMS_AT_ONCE):
        some = slice(start, start + _ITEMS_AT_ONCE)
        predicted += probabilities(fitted.slopes[some], fitted.intercepts[some], ability).sum(axis=0)
    curve = probabilities(part.slopes, part.intercepts, ability)
    chances = subset.chances[subset.items][:, None] * n / max(len(known), 1)
    open_ = np.where(asked, 1 - np.minimum(chances, 1.0), 0.0)
    weights = np.where(asked, 1 / np.maximum(chances, np.finfo(float).tiny), 0.0)
    missed = np.where(asked, np.nan_to_num(known) - curve, 0.0) * weights
    centre = (open_ * missed).sum(axis=0) / np.maximum(open_.sum(axis=0), _ROUNDING)
    spread = (open_ * (missed - centre) ** 2).sum(axis=0) * n / np.maximum(n - 1, 1)
    least = (open_ * weights**2 * curve * (1 - curve)).sum(axis=0)  # by the curves: few answers may all be alike
    errors = np.where(n > 0, np.sqrt(np.maximum(spread, least)) / whole, np.inf)
    return Estimated(np.clip((predicted + missed.sum(axis=0)) / whole, 0, 1), errors, n)


def _like_the_panel(panel: Floats) -> Floats:
    """Density ratio of each ability on `SCALE`: models like the panel's over N(0, 1)."""
    where = panel.mean(axis=0)
    centre = where @ SCALE
    spread = max(float(np.sqrt(where @ (SCALE - centre) ** 2)), 1.0)
    logs = SCALE**2 / 2 - ((SCALE - centre) / spread) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()), float)


class Curves(NamedTuple):
    """Basis of a subset: items, which of them are drawn with what chances, models, and fit."""

    items: Sequence[str]
    subset: Subset
    models: Sequence[str]
    fitted: ItemFit


def write_curves(folder: Path, basis: Curves) -> None:
    """Write the basis of a subset into a folder."""
    _, (taken, chances), models, fitted = basis
    columns = {"slope": fitted.slopes, "intercept": fitted.intercepts, "chance": chances}
    is_drawn = np.isin(np.arange(len(chances)), taken)
    curves = pl.DataFrame({"item": basis.items, **columns, "drawn": is_drawn}, schema_overrides={"item": pl.String})
    panel = pl.DataFrame({"model": models, "abilities": fitted.panel.tolist()})
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as path:
            table.write_parquet(path, compression="zstd")
            add_checksum(path)


def read_curves(folder: Path) -> Curves:
    """Read the basis of the subset in a folder."""
    try:
        curves, panel = (scan_table(folder / name, "draw the subset again").collect() for name in (CURVES, PANEL))
        items, slopes, intercepts, chances, taken = curves.select(
            "item", "slope", "intercept", "chance", "drawn"
        ).get_columns()
        models, standing = panel.select("model", "abilities").get_columns()
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{folder} is no subset that eyetest drew from answers: {str(error).splitlines()[0]}"
        ) from None
    fitted = ItemFit(slopes.to_numpy(), intercepts.to_numpy(), np.array(standing.to_list(), float), 0, True)
    if fitted.panel.shape[1:] != SCALE.shape:
        raise InputError(f"{folder} was made by another version of eyetest; draw it again")
    subset = Subset(np.flatnonzero(taken.to_numpy()), chances.to_numpy())
    return Curves(items.to_list(), subset, models.to_list(), fitted)


class Ranking(NamedTuple):
    """Kendall's τ with the ranking on all items: of aimed and random subsets, and the difference."""

    aimed: IntervalEstimate
    random: IntervalEstimate
    gain: IntervalEstimate


def validated(scores: ArrayLike, share: float, seed: int = 0) -> dict[str, Ranking]:
    """How well subsets rank a third of the models that the others chose for (items × models): models at random, and
    the strongest; empty with too few of either. Intervals: each split leaves out a quarter of the models.
    """
    table = np.asarray(scores, float)
    items, models = table.shape
    if items < _FEWEST_ITEMS or models < FEWEST_MODELS:
        return {}
    size, found = max(2, round(share * items)), np.empty((len(_TARGETS), _SPLITS, 2, _DRAWS))
    kept = models - models // _LEFT_OUT
    third = -(-kept // 3)
    for split in range(_SPLITS):
        rng = np.random.default_rng([seed, split])
        among = rng.permutation(models)[:kept]
        strongest_first = among[np.argsort(-column_means(table[:, among]), kind="stable")]
        for to, order in enumerate((among, strongest_first)):
            targets, panel = table[:, order[:third]], table[:, order[third:]]
            seeds = rng.integers(2**32, size=_DRAWS).tolist()
            subsets = [drawn(panel, size, seed, aimed=True).items for seed in seeds]
            subsets += [rng.permutation(items)[:size] for _ in seeds]
            means = np.array([column_means(targets[taken]) for taken in subsets])
            found[to, split] = _agreement(means, column_means(targets)).reshape(2, _DRAWS)
    return {
        name: Ranking(*(_over_splits(part.mean(axis=1), models) for part in (aimed, plain, aimed - plain)))
        for name, (aimed, plain) in zip(_TARGETS, np.moveaxis(found, 2, 1), strict=True)
    }


def _agreement(means: Floats, true: Floats) -> Floats:
    """Kendall's τ-b of each row with the true values; 0 where a row is all equal."""
    first, second = np.triu_indices(len(true), 1)
    rows, order = (
        np.sign(np.round(values[..., first] - values[..., second], 12)) for values in (np.nan_to_num(means), true)
    )
    untied = np.abs(rows).sum(axis=1) * np.abs(order).sum()
    return np.asarray((rows * order).sum(axis=1) / np.sqrt(np.maximum(untied, 1.0)), float)


def _over_splits(values: Floats, models: int) -> IntervalEstimate:
    """Mean of splits, and its interval for other such models: as splits differ, because all of them share models."""
    centre, spread = float(values.mean()), float(values.std(ddof=1))
    half = float(special.stdtrit(models - 1, (1 + _LEVEL) / 2)) * spread
    return IntervalEstimate(centre, max(centre - half, -1.0), min(centre + half, 1.0), len(values))


def validation_notes(tried: Mapping[str, Ranking]) -> list[str]:
    """Sentences on how subsets rank held-out models, beside random ones."""
    if not tried:
        return [f"random items: fewer than {_FEWEST_ITEMS} items or {FEWEST_MODELS} models cannot be validated"]
    notes = [
        f"τ with the ranking on all items, for {_TARGETS[name]}: {_with_ends(aimed)}, "
        f"random items {_with_ends(plain)}, difference {_with_ends(gain)}"
        for name, (aimed, plain, gain) in tried.items()
    ]
    if not is_better(tried):
        notes.append("items aimed at stronger models rank them no better than random items do: a random subset")
    return notes


def is_better(tried: Mapping[str, Ranking]) -> bool:
    """Whether aimed subsets rank stronger models better than random ones."""
    return bool(tried) and (tried["stronger"].gain.value or 0.0) > 0


def _with_ends(found: IntervalEstimate) -> str:
    value, low, high = (f"{number:.2f}" for number in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def usual_modality(results: Results) -> str:
    """The modality whose answers count: that with the medium, or the only one."""
    modalities = values_of(results, "modality")
    usual = next((modality for modality in WITH_MEDIUM if modality in modalities), None)
    if usual is None and len(modalities) > 1:
        raise InputError(f"{heading('answers')}: several modalities, none is {WITH_MEDIUM[0]}: {listed(modalities)}")
    return usual or modalities[0]


def draw_small(
    results: Results, items: Sequence[str], share: float, seed: int
) -> tuple[set[str], Curves, tuple[str, ...]]:
    """Fit a panel's answers and draw a share of the items they are about: the items, the curves, and notes."""
    modality = usual_modality(results)
    table, names, models = answered(results, items, modality)
    if len(models) < FEWEST_MODELS:
        there = f"{counted(len(models), 'model')} with modality {modality}"
        raise InputError(f"{heading('answers')}: {there}; a subset takes at least {FEWEST_MODELS} ({WHY_SO_MANY})")
    tried = validated(table, share, seed)
    subset = drawn(table, max(1, round(share * len(names))), seed, aimed=is_better(tried))
    chosen = {names[position] for position in subset.items}
    return chosen, Curves(names, subset, models, fit(table)), tuple(validation_notes(tried))


def estimate_scores(basis: Curves, results: Results) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Scores on the whole benchmark from answers to a subset, with intervals, and notes."""
    there = [basis.items[place] for place in basis.subset.items]
    table, names, models = answered(results, there, usual_modality(results))
    asked = dict(zip(names, table, strict=True))
    every = np.array([asked.get(name, np.full(len(models), np.nan)) for name in there])
    estimated = estimate(basis.fitted, basis.subset, every)
    width = estimated.half_widths
    rows = pl.DataFrame(
        {
            "model": models,
            "part_score": np.nanmean(table, axis=0),
            "full_score": estimated.scores,
            "full_score_low": np.clip(estimated.scores - width, 0, 1),
            "full_score_high": np.clip(estimated.scores + width, 0, 1),
            "n": estimated.n,
            "of": [len(basis.items)] * len(models),
        }
    ).sort("part_score", descending=True)
    order = "models are ordered by part_score, which ranks better; full_score estimates the score on all items"
    unscored = [model for model in values_of(results, "model") if model not in models]
    left_out = f"{listed(unscored)}: left out, no answer to an item of the subset is scored"
    return rows, (order, *([left_out] if unscored else []), *results.notes)


def answered(results: Results, items: Sequence[str], modality: str) -> tuple[Floats, list[str], list[str]]:
    """Scores of items × models under one protocol, the items with a score, and the models."""
    scores = results.scores.filter(
        (pl.col("modality") == modality) & pl.col("item").is_in(pl.Series(items).implode())
    )
    seen = Results(scores, results.items, results.models)
    if varied := seen.varied(PROTOCOL):
        ways = f"the models were asked in several ways ({', '.join(varied)} differ)"
        raise InputError(f"{heading('answers')}: {ways}; keep to one")
    parts = side_by_side(seen, [])
    if not parts:
        raise InputError(f"{heading('answers')}: no model was asked with modality {modality}")
    return parts[0].scores, list(parts[0].items), [str(model) for (model,) in parts[0].columns]
