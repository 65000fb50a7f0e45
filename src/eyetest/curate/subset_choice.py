"""Which design of a subset is best for a purpose, by cross-validation, and how good the choice is for other models.

Estimated is, for models that had no part in drawing, Kendall's τ-b between the ranking on the subset and the
ranking on all items, or the mean absolute error of the score estimated for all items, beside simple random items of
the same number. Models are held out twice:

Each split leaves a quarter of its models out, so that splits differ, and holds a third of the rest out.

- Inner splits choose, within the panel. The models that are not held out give the weights of every design. Designs
  are tried in their order; each replaces the one taken so far if it is better by more than a standard error of the
  difference over splits. One item per stratum of ease is drawn if the design taken is no better than random items.
- Outer splits validate, over all models. All of the choice is made again by the models that are neither left out nor
  held out. So what is reported is free of the optimism of choosing (Varma and Simon 2006).

For models ``like`` those of the panel the held-out third is random, for ``stronger`` models it is the strongest
third. Intervals reach as far as outer splits differ, by Student's distribution for the number of models, because
splits share models. Inner splits compare errors without curves: the panel's ease takes their place. Checked with
other code on matrices and families of models that had no part in making the method (design/refining.md, "Subsets:
figures").
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from eyetest.curate.subset_designs import (
    DIVIDED,
    HARD,
    HARDER,
    MORE_TELLING,
    STRATIFIED,
    TELLING,
    Design,
    Subset,
    draw_random,
    draw_subset,
    ease_of_items,
)
from eyetest.curate.subset_estimates import LEVEL, estimate
from eyetest.measures.stats.intervals import Floats, IntervalEstimate, column_means
from eyetest.measures.stats.item_analysis import ItemFit, fit

FEWEST_MODELS = 9  # of which a split leaves two out and holds three out, and the other four can be split again
FEWEST_ITEMS = 20  # of fewer, a subset is one or two items, which tie most models
_OUTER_SPLITS, _INNER_SPLITS = 20, 10
_OUTER, _INNER = 1, 2  # end of a seed; without it inner splits would repeat the stream of their outer split
_FINAL = (
    1_000  # in the place of an outer split's number: the final choice has other splits than those that validate it
)
_OUTER_DRAWS, _INNER_DRAWS = 8, 4  # subsets by each design in a split, over which the luck of drawing averages out
_SPLITS_WITH_CURVES = 8  # curves are fitted again in each, which takes most of the time
_TOLERANCE = 0.05  # how closely they are fitted there; closer makes no difference
_LEFT_OUT = 4  # one model in four is left out of each split, or the strongest third would be the same in all splits
_FEWEST_SPLIT = 4  # models of which two can be held out and two can choose
_DECIMALS = 12  # means that differ less are equal but for rounding, which would break ties
_STRATIFIED = "one random item is drawn from each stratum of ease"
_TOO_FEW = f"fewer than {FEWEST_ITEMS} items or {FEWEST_MODELS} models cannot be validated"


class Aim(NamedTuple):
    """A purpose of a subset: models it is for, designs that are tried, and what makes one of them better."""

    name: str
    models: str
    designs: tuple[Design, ...]  # the first is taken unless another one is clearly better
    is_stronger: bool  # whether the strongest models are held out, not random ones
    by_error: bool  # whether designs are compared by errors of estimated scores, not by rankings


LIKE = Aim("like", "models like the panel's", (TELLING, MORE_TELLING, DIVIDED, STRATIFIED), False, False)
STRONGER = Aim("stronger", "models stronger than the panel's", (HARD, HARDER, STRATIFIED), True, False)
SCORES = Aim("scores", "models like the panel's", (DIVIDED, STRATIFIED), False, True)
AIMS = {aim.name: aim for aim in (LIKE, STRONGER, SCORES)}


class DesignComparison(NamedTuple):
    """A figure of the chosen design and of random items, and the difference in favour of the chosen one."""

    chosen: IntervalEstimate
    random: IntervalEstimate
    gain: IntervalEstimate


class Validated(NamedTuple):
    """How well the choice for an aim ranks held-out models (τ), and how far their estimated scores are off."""

    ranking: DesignComparison
    errors: DesignComparison


class _Split(NamedTuple):
    """Answers of held-out models and of the panel that chooses for them, and the size of the subset."""

    targets: Floats
    panel: Floats
    size: int


def choose_design(table: Floats, size: int, aim: Aim, seed: Sequence[int]) -> Design:
    """The design for an aim that the inner splits of a panel choose.

    ``table``: items × models, nan where not asked. It is `STRATIFIED` where the design gains nothing over random
    items, or where items or models are too few to be split.
    """
    if min(table.shape[0], size) < 2 or table.shape[1] < _FEWEST_SPLIT:
        return STRATIFIED
    gains = np.empty((_INNER_SPLITS, len(aim.designs)))
    for number in range(_INNER_SPLITS):
        rng = np.random.default_rng([*seed, number, _INNER])
        gains[number] = _gains_of_designs(_split(table, size, aim, rng), aim, rng)
    best = 0
    for place in range(1, len(aim.designs)):
        difference = gains[:, place] - gains[:, best]
        if difference.mean() > difference.std(ddof=1) / np.sqrt(_INNER_SPLITS):
            best = place
    return aim.designs[best] if gains[:, best].mean() > 0 else STRATIFIED


def _gains_of_designs(split: _Split, aim: Aim, rng: np.random.Generator) -> Floats:
    """By how much each design of an aim is better than random items in a split, in τ or mean absolute error."""
    figure = _closeness_by_ease if aim.by_error else ranking_agreement
    baseline = figure(split, _drawn(split, None, 2 * _INNER_DRAWS, rng))
    figures = [figure(split, _drawn(split, design, _INNER_DRAWS, rng)) for design in aim.designs]
    return np.array(figures) - baseline


def _split(table: Floats, size: int, aim: Aim, rng: np.random.Generator) -> _Split:
    """A split with a quarter of the models left out, and a third of the others held out, at least two."""
    models = table.shape[1]
    remaining = max(models - models // _LEFT_OUT, min(models, _FEWEST_SPLIT))
    order = rng.permutation(models)[:remaining]
    if aim.is_stronger:
        order = order[np.argsort(-column_means(table[:, order]), kind="stable")]
    third = max(2, -(-remaining // 3))  # rounded up
    return _Split(table[:, order[:third]], table[:, order[third:]], size)


def _drawn(split: _Split, design: Design | None, draws: int, rng: np.random.Generator) -> list[Subset]:
    """Subsets by a design from the panel's answers; without a design random ones."""
    seeds = rng.integers(2**32, size=draws).tolist()
    if design is None:
        return [draw_random(len(split.panel), split.size, seed) for seed in seeds]
    return [draw_subset(split.panel, design, split.size, seed) for seed in seeds]


def ranking_agreement(split: _Split, subsets: Sequence[Subset]) -> float:
    """Mean over subsets of Kendall's τ-b of the held-out models' ranking with that on all items.

    Models are ranked by their plain mean over a subset; one that answered none of its items is tied with all others.
    """
    truth = column_means(split.targets)
    means = np.array([column_means(split.targets[subset.items]) for subset in subsets])
    return float(kendall_rows(means, truth).mean())


def _closeness_by_ease(split: _Split, subsets: Sequence[Subset]) -> float:
    """Minus the mean absolute error of scores.

    A score is estimated as the panel's mean ease plus the weighted mean of the model's answers less the ease.
    """
    truth, ease = column_means(split.targets), ease_of_items(split.panel)
    errors = []
    for subset in subsets:
        weights = 1 / subset.chances[subset.items, None]
        differences = split.targets[subset.items] - ease[subset.items, None]
        is_answered = ~np.isnan(differences)
        weighted_sums = (np.nan_to_num(differences) * weights).sum(axis=0)
        answered_weights = np.maximum((is_answered * weights).sum(axis=0), np.finfo(float).tiny)
        estimates = ease.mean() + weighted_sums / answered_weights
        errors.append(np.nanmean(np.abs(estimates - truth)))
    return -float(np.mean(errors))


def kendall_rows(means: Floats, truth: Floats) -> Floats:
    """Kendall's τ-b of each row with the true values; 0 where either is all equal. A missing mean is a tie."""
    first, second = np.triu_indices(len(truth), 1)
    row_signs = np.nan_to_num(np.sign(np.round(means[:, first] - means[:, second], _DECIMALS)))
    true_signs = np.sign(np.round(truth[first] - truth[second], _DECIMALS))
    concordance = (row_signs * true_signs).sum(axis=1)
    untied = np.abs(row_signs).sum(axis=1) * np.abs(true_signs).sum()
    return np.asarray(concordance / np.sqrt(np.maximum(untied, 1.0)), float)


def validate(table: Floats, share: float, aim: Aim, seed: int = 0) -> Validated | None:
    """How good the choice for an aim is for models without a part in it; None with too few items or models.

    ``table``: items × models, nan where not asked; ``share``: of the items, how many the subset has.
    """
    ranking = validate_ranking(table, share, aim, seed)
    if ranking is None:
        return None
    errors = np.empty((_SPLITS_WITH_CURVES, 2))
    for number in range(_SPLITS_WITH_CURVES):
        split, chosen, random = _outer_split(table, share, aim, (seed, number))
        errors[number] = _errors_of_estimates(split, (chosen, random))
    return Validated(ranking, _compared(errors, table.shape[1], -1))


def validate_ranking(table: Floats, share: float, aim: Aim, seed: int = 0) -> DesignComparison | None:
    """How well the choice for an aim ranks models without a part in it; None with too few items or models.

    Parameters are those of `validate`.
    """
    items, models = table.shape
    if items < FEWEST_ITEMS or models < FEWEST_MODELS:
        return None
    agreements = np.empty((_OUTER_SPLITS, 2))
    for number in range(_OUTER_SPLITS):
        split, chosen, random = _outer_split(table, share, aim, (seed, number))
        agreements[number] = ranking_agreement(split, chosen), ranking_agreement(split, random)
    return _compared(agreements, models, 1)


def _outer_split(
    table: Floats, share: float, aim: Aim, seed: Sequence[int]
) -> tuple[_Split, list[Subset], list[Subset]]:
    """A split, and subsets for its held-out models: by the design that the others choose, and random ones."""
    rng = np.random.default_rng([*seed, _OUTER])
    split = _split(table, max(2, round(share * len(table))), aim, rng)
    design = choose_design(split.panel, split.size, aim, seed)
    return split, _drawn(split, design, _OUTER_DRAWS, rng), _drawn(split, None, _OUTER_DRAWS, rng)


def _errors_of_estimates(split: _Split, pair: Sequence[Sequence[Subset]]) -> list[float]:
    """Mean absolute errors of estimated scores of the held-out models, for each sequence of subsets."""
    truth, fitted = column_means(split.targets), fit(split.panel, _TOLERANCE)
    return [
        float(np.mean([np.abs(_scores(fitted, subset, split.targets) - truth) for subset in subsets]))
        for subsets in pair
    ]


def _scores(fitted: ItemFit, subset: Subset, targets: Floats) -> Floats:
    """Scores of the held-out models on all items, estimated from their answers to a subset."""
    return estimate(fitted, subset, targets[subset.items]).scores


def _compared(figures: Floats, models: int, sign: int) -> DesignComparison:
    """Figures of the chosen design and of random items (splits × 2); the sign says whether more is better."""
    chosen, random = figures.T
    return DesignComparison(
        _over_splits(chosen, models), _over_splits(random, models), _over_splits(sign * (chosen - random), models)
    )


def _over_splits(values: Floats, models: int) -> IntervalEstimate:
    """Mean of splits, and an interval for other such models.

    It reaches as far as single splits differ, not as their mean does, because splits share models. Its ends are kept
    within −1 and 1, between which τ and errors of scores lie.
    """
    centre, spread = float(values.mean()), float(values.std(ddof=1))
    half = float(special.stdtrit(models - 1, (1 + LEVEL) / 2)) * spread
    return IntervalEstimate(centre, max(centre - half, -1.0), min(centre + half, 1.0), len(values))


def final_design(table: Floats, size: int, aim: Aim, validated: Validated | None, seed: int) -> Design:
    """The design to draw by: that which all models choose.

    It is `STRATIFIED` where choosing gained nothing on held-out models, or was not validated.
    """
    if validated is None or not has_gain(validated, aim):
        return STRATIFIED
    return choose_design(table, size, aim, [seed, _FINAL])


def has_gain(validated: Validated, aim: Aim) -> bool:
    """Whether the choice is better than random items for what it is for."""
    comparison = validated.errors if aim.by_error else validated.ranking
    return (comparison.gain.value or 0.0) > 0


def choice_notes(design: Design, aim: Aim, validated: Validated | None) -> list[str]:
    """Sentences on the design that is drawn by, and how it fares with held-out models beside random items."""
    if validated is None:
        return [f"one random item per stratum of ease: {_TOO_FEW}"]
    notes = [f"likelier are {design.likelier}" if design.likelier else _STRATIFIED]
    ranking, errors = validated
    notes.append(
        f"τ with the ranking on all items, for {aim.models} held out: {_with_ends(ranking.chosen)}, "
        f"random items {_with_ends(ranking.random)}, difference {_with_ends(ranking.gain)}"
    )
    notes.append(
        f"estimated scores are off by {errors.chosen.value:.3f}, from random items by {errors.random.value:.3f}, "
        f"difference {_with_ends(errors.gain, 3)}"
    )
    if not has_gain(validated, aim):
        notes.append(f"not better than random items here for {aim.models}")
    return notes


def _with_ends(found: IntervalEstimate, digits: int = 2) -> str:
    value, low, high = (f"{number:.{digits}f}" for number in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"
