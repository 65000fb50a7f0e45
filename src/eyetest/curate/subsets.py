"""Small subsets of a benchmark by a panel's answers: drawn, tested on held-out models, and scores on the whole
estimated from them (p-IRT).

Panel models and their relatives are left out in turn and estimated from subsets drawn without them; intervals are
widened by the errors. To test a subset's ranking, two thirds of the models choose from half of the items; the others
(random, or the strongest, as future models will be) are compared on the choice, with the other half as reference.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.errors import InputError, counted, heading, listed, percent
from eyetest.measures import Results
from eyetest.measures.results import PROTOCOL, values_of
from eyetest.measures.stats.intervals import Floats, column_means, one_thread
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, abilities, fit, posterior_abilities, probabilities
from eyetest.measures.stats.paired import every_pair
from eyetest.measures.stats.ranking import METHODS, kendall
from eyetest.measures.stats.sets import group_folds
from eyetest.measures.tables import side_by_side
from eyetest.store import replacing_file

Places = NDArray[np.intp]
Seed = int | Sequence[int]
NONE: Places = np.empty(0, np.intp)
FEWEST_MODELS = 9  # three to hold out and twice as many to choose by
WHY_SO_MANY = "fewer cannot hold three out to try the choice on others"
CURVES, PANEL = "curves.parquet", "panel.parquet"
_ITEMS_AT_ONCE = 4_096
_CERTAIN = 1 - 1e-9
_ANCHORED = 0.5  # of a subset; anchors alone rank best, but scores are missed by more
_UNEXPLAINED = 0.02  # variance of an answer that even items with no wrong answer in the panel have
_FOLDS = 5
_DRAWS = 3
_TOLERANCE = 0.01  # how closely curves are fitted in tests of a subset; closer makes no difference to their results
_LEVEL = 0.95
_FAMILY = re.compile(r"[^\W\d_]+")
_FEWEST_ITEMS = 20
_SPLITS = 20
_ROUNDING = 1e-12
_PLAIN_WIDTH = 1.96  # how many stated errors an interval of 95 % reaches if the curves are true
_USUAL_MODALITY = "image"
_RANDOM_SUBSETS = 200
_FEWEST_CORRELATED = 3


class Subset(NamedTuple):
    """Positions of the drawn items, rising, and the inclusion probability of every item."""

    items: Places
    chances: Floats


def anchored(fitted: ItemFit, answers: Floats, size: int) -> Places:
    """Items for the certain half of a subset, chosen one by one to leave least doubt about the total. ``answers``:
    items × models; new models are taken to differ as the panel does, halfway between answers and curves.
    """
    mean = np.nan_to_num(column_means(answers.T), nan=0.5)
    curves = probabilities(fitted.slopes, fitted.intercepts, abilities(fitted.panel)[0])
    apart = np.nan_to_num(answers - mean[:, None]) + curves - curves.mean(axis=1, keepdims=True)
    loads = apart / (2 * np.sqrt(apart.shape[1]))
    noise, whole, left = mean * (1 - mean) + _UNEXPLAINED, loads.sum(axis=0), loads.copy()
    free, taken = np.ones(len(loads), bool), []
    with one_thread():
        for _ in range(round(min(size, len(loads)) * _ANCHORED)):
            doubt = noise + (left * loads).sum(axis=1)
            best = int(np.where(free, (left @ whole) ** 2 / doubt, -1.0).argmax())
            free[best] = False
            taken.append(best)
            known = left[best] / np.sqrt(doubt[best])
            left -= np.outer(loads @ known, known)
    return np.sort(np.array(taken, np.intp))


def pps(fitted: ItemFit, size: int, seed: Seed, certain: Places = NONE) -> Subset:
    """Draw with chances ∝ sqrt(mean P(1 − P)) · (.3 + a) over the panel, beside the ``certain`` items. No chance is
    near 0; scores on such a subset have to be estimated.
    """
    where = fitted.panel.mean(axis=0)
    right, spread = np.empty(len(fitted.slopes)), np.empty(len(fitted.slopes))
    for some, chance in _curve_blocks(fitted):
        right[some], spread[some] = chance @ where, (chance * (1 - chance)) @ where
    weights = np.sqrt(spread) * (0.3 + fitted.slopes)
    free = ~np.isin(np.arange(len(weights)), certain)
    chances = np.where(free, 0.0, 1.0)
    if len(certain) < size and free.any():
        chances[free] = inclusion(weights[free], size - len(certain))
    return systematic(chances, right, seed)


def inclusion(weights: Floats, size: int) -> Floats:
    """Inclusion probabilities in proportion to positive weights that sum to ``size``, none above 1."""
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


def _curve_blocks(fitted: ItemFit) -> Iterator[tuple[slice, Floats]]:
    """The chances of right answers, items × abilities on `SCALE`, for a few items at a time."""
    with one_thread():
        for start in range(0, len(fitted.slopes), _ITEMS_AT_ONCE):
            some = slice(start, start + _ITEMS_AT_ONCE)
            yield some, probabilities(fitted.slopes[some], fitted.intercepts[some], SCALE)


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
        for _, chance in _curve_blocks(fitted):
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
            part = ItemFit(
                self._fitted.slopes[positions], self._fitted.intercepts[positions], self._fitted.panel, 0, True
            )
            likely = posterior_abilities(part, known) * self._expected  # models like the panel's are the prior
            likely = np.asarray(likely / likely.sum(axis=1, keepdims=True), float)
            chance = probabilities(part.slopes, part.intercepts, SCALE)
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


def _like_the_panel(panel: Floats) -> Floats:
    """Density ratio of each ability on `SCALE`: models like the panel's over N(0, 1)."""
    where = panel.mean(axis=0)
    centre = where @ SCALE
    spread = max(float(np.sqrt(where @ (SCALE - centre) ** 2)), 1.0)
    logs = SCALE**2 / 2 - ((SCALE - centre) / spread) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()), float)


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
    folds = group_folds(kin, min(_FOLDS, len(set(kin))), np.random.default_rng([seed, _FOLDS]))
    errors = np.empty((table.shape[1], _DRAWS))
    true = column_means(table)
    for fold in np.unique(folds):
        out = folds == fold
        panel = table[:, ~out]
        fitted = fit(panel, _TOLERANCE)
        estimator, certain = Estimator(fitted), anchored(fitted, panel, size)
        for draw in range(_DRAWS):
            items = pps(fitted, size, (seed, int(fold), draw), certain).items
            found = estimator.estimate(items, table[np.ix_(items, np.flatnonzero(out))])
            errors[out, draw] = (found.scores - true[out]) / np.maximum(found.errors, np.finfo(float).tiny)
    return Missed(errors, list(kin), folds)


class Curves(NamedTuple):
    """Basis of a subset: items, models, fit, inclusion probabilities, and errors of left-out models."""

    items: Sequence[str]
    models: Sequence[str]
    fitted: ItemFit
    chances: Sequence[float]
    missed: Missed


def write_curves(folder: Path, drawn: Curves) -> None:
    """Write the basis of a subset into a folder."""
    columns = {"slope": drawn.fitted.slopes, "intercept": drawn.fitted.intercepts, "chance": drawn.chances}
    kinds = {"item": pl.String, "chance": pl.Float64}
    curves, missed = pl.DataFrame({"item": drawn.items, **columns}, schema_overrides=kinds), drawn.missed
    off = {"missed": missed.errors.tolist(), "fold": missed.folds.tolist()}
    panel = pl.DataFrame({"model": drawn.models, "abilities": drawn.fitted.panel.tolist(), **off})
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as path:
            table.write_parquet(path, compression="zstd")


def read_curves(folder: Path) -> Curves:
    """Read the basis of the subset in a folder."""
    try:
        curves, panel = (pl.read_parquet(folder / name, glob=False) for name in (CURVES, PANEL))
        items, slopes, intercepts, chances = curves.select("item", "slope", "intercept", "chance").get_columns()
        models, standing, errors, folds = panel.select("model", "abilities", "missed", "fold").get_columns()
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{folder} is no subset that eyetest drew from answers: {str(error).splitlines()[0]}"
        ) from None
    fitted = ItemFit(slopes.to_numpy(), intercepts.to_numpy(), np.array(standing.to_list(), float), 0, True)
    if fitted.panel.shape[1:] != SCALE.shape:
        raise InputError(f"{folder} was made by another version of eyetest; draw it again")
    missed = Missed(np.array(errors.to_list(), float), families(models.to_list()), folds.to_numpy())
    return Curves(items.to_list(), models.to_list(), fitted, chances.to_list(), missed)


class Separation(NamedTuple):
    """The result of subsets of one kind, over all splits. None where it cannot be computed."""

    apart: float | None  # the share of held-out pairs that a paired test at .05 separates
    rightly: float | None  # of those, the share ordered as on the held-out items
    tau: float | None  # Kendall's τ of held-out models between the subset and the items held out
    tau_stronger: float | None  # the same where the strongest models are held out


def separation(scores: ArrayLike, share: float, seed: int = 0) -> dict[str, Separation]:
    """Drawn (``chosen``) and ``random`` subsets of ``scores`` (items × models); empty with too few of either."""
    table = np.asarray(scores, float)
    items, models = table.shape
    if items < _FEWEST_ITEMS or models < FEWEST_MODELS:
        return {}
    found: dict[str, list[list[list[float]]]] = {"chosen": [], "random": []}  # by split: both ways to hold models out
    strongest_first = np.argsort(-column_means(table), kind="stable")
    for number in range(_SPLITS):
        rng = np.random.default_rng([seed, number])
        half, turn = rng.permutation(items), rng.permutation(models)
        pool, rest = table[half[: items // 2]], table[half[items // 2 :]]
        size = max(2, round(share * len(pool)))
        any_items = rng.permutation(len(pool))[:size]
        for rows in found.values():
            rows.append([])
        for order in (turn, strongest_first):
            targets, panel = order[: models // 3], order[models // 3 :]
            fitted, answers = fit(pool[:, panel], _TOLERANCE), pool[:, panel]
            drawn = pps(fitted, size, int(rng.integers(2**32)), anchored(fitted, answers, size)).items
            for way, places in (("chosen", drawn), ("random", any_items)):
                found[way][-1].append(_compared(pool[places][:, targets], rest[:, targets]))
    return {way: _summed(*np.moveaxis(np.array(each), 1, 0)) for way, each in found.items()}


def separation_notes(tried: Mapping[str, Separation]) -> list[str]:
    """Sentences on the value of a choice for held-out models."""
    if not tried:
        return ["too few items to test on held-out models and items how well the chosen items separate models"]
    forms = (".0%", ".0%", ".2f", ".2f")
    chosen, random = (
        ["–" if value is None else format(value, form) for value, form in zip(tried[way], forms, strict=True)]
        for way in ("chosen", "random")
    )
    return [
        f"of pairs of held-out models, items chosen so separate {chosen[0]} (random items: {random[0]}), "
        f"{chosen[1]} of these rightly ({random[1]}), by the order on held-out items",
        f"τ with the held-out items is {chosen[2]} (random items: {random[2]}) for models held out at random, and "
        f"{chosen[3]} ({random[3]}) for the strongest third, where only weaker models choose",
    ]


def _compared(part: Floats, truth: Floats) -> list[float]:
    """Pairs of models (columns), those separated and those rightly by ``truth``, and τ with it."""
    means, true = column_means(part), column_means(truth)
    pairs = [
        (first, second, pair) for first, second, pair in every_pair(part, np.arange(len(part)), _LEVEL) if pair.n > 1
    ]
    apart = [(first, second) for first, second, pair in pairs if pair.p is not None and pair.p < 1 - _LEVEL]
    rightly = [(means[i] - means[j]) * (true[i] - true[j]) > _ROUNDING for i, j in apart]
    tau = kendall(means, true).value
    return [len(pairs), len(apart), sum(rightly), np.nan if tau is None else tau]


def _summed(held_out: Floats, stronger: Floats) -> Separation:
    """The comparisons of all splits (splits × what `_compared` gives) together."""
    pairs, apart, rightly, _ = held_out.sum(axis=0).tolist()
    means = (float(column_means(rows[:, 3:])[0]) for rows in (held_out, stronger))
    tau, tau_stronger = (None if np.isnan(value) else value for value in means)
    return Separation(apart / pairs if pairs else None, rightly / apart if apart else None, tau, tau_stronger)


def usual_modality(results: Results) -> str:
    """The modality whose answers count: image, or the only one."""
    modalities = values_of(results, "modality")
    if _USUAL_MODALITY not in modalities and len(modalities) > 1:
        raise InputError(f"{heading('answers')}: several modalities, none is {_USUAL_MODALITY}: {listed(modalities)}")
    return _USUAL_MODALITY if _USUAL_MODALITY in modalities else modalities[0]


def draw_small(
    results: Results, items: Sequence[str], share: float, seed: int
) -> tuple[set[str], Curves, tuple[str, ...]]:
    """Fit a panel's answers and draw a share of the items they are about: the items, the curves, and notes."""
    modality = usual_modality(results)
    table, names, models = answered(results, items, modality)
    if len(models) < FEWEST_MODELS:
        there = f"{counted(len(models), 'model')} with modality {modality}"
        raise InputError(f"{heading('answers')}: {there}; a subset takes at least {FEWEST_MODELS} ({WHY_SO_MANY})")
    fitted = fit(table)
    size = max(1, round(share * len(names)))
    drawn = pps(fitted, size, seed, anchored(fitted, table, size))
    missed = left_out(table, size, families(models), seed)
    chosen = {names[position] for position in drawn.items}
    curves = Curves(names, models, fitted, drawn.chances.tolist(), missed)
    return chosen, curves, (_coverage(missed), *separation_notes(separation(table, share, seed)))


def estimate_scores(drawn: Curves, results: Results) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Scores on the whole benchmark from answers to a subset, with intervals (p-IRT), and notes."""
    table, names, models = answered(results, drawn.items, usual_modality(results))
    positions = {item: position for position, item in enumerate(drawn.items)}
    asked = np.array([positions[name] for name in names], np.intp)
    if not len(asked):
        raise InputError("the runs hold no answer to an item of the subset")
    estimated = Estimator(drawn.fitted).estimate(asked, table)
    width = drawn.missed.half_width()
    rows = pl.DataFrame(
        {
            "model": models,
            "full_score": estimated.scores,
            "full_score_low": np.clip(estimated.scores - width * estimated.errors, 0, 1),
            "full_score_high": np.clip(estimated.scores + width * estimated.errors, 0, 1),
            "part_score": np.nanmean(table, axis=0),
            "n": (~np.isnan(table)).sum(axis=0),
            "of": [len(drawn.items)] * len(models),
        }
    ).sort("full_score", descending=True)
    wider = f"{width / _PLAIN_WIDTH:.2f} times as wide as curves alone make them"
    notes = (f"intervals are {wider}: as far as models of the panel were missed", _coverage(drawn.missed))
    return rows, (*cautions(models, estimated), *notes, *results.notes)


def cautions(models: Sequence[str], estimated: Estimated) -> list[str]:
    """A line for each model that lies beyond the panel."""
    words = {1: "abler", -1: "less able"}
    return [
        f"{model} seems {words[side]} than every model of the panel: its score is a guess beyond what the panel "
        "shows, and that of a random part may be as good; better ask it the whole benchmark"
        for model, side in zip(models, estimated.beyond.tolist(), strict=True)
        if side
    ]


def against_random(
    results: Results, pool: Sequence[str], chosen: Set[str], external: Mapping[str, float], seed: int
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """How scores on chosen items, on all and on random subsets of the same size correlate with others, and notes."""
    table, names, models = answered(results, pool, usual_modality(results))
    known = [place for place, model in enumerate(models) if model in external]
    if len(known) < _FEWEST_CORRELATED:
        there = f"{counted(len(known), 'model')} with a score from elsewhere and answers"
        raise InputError(f"{heading('external')}: {there}; at least {_FEWEST_CORRELATED} are needed")
    table, outside = table[:, known], [external[models[place]] for place in known]
    rows = np.flatnonzero([name in chosen for name in names])
    rng, found = np.random.default_rng(seed), list[tuple[object, ...]]()
    lots = [rng.choice(len(table), len(rows), replace=False) for _ in range(_RANDOM_SUBSETS)]
    drawn = [column_means(table[places]) for places in lots]
    for method, correlate in METHODS.items():
        values = np.array([correlate(means, outside, _LEVEL).value or 0.0 for means in drawn])
        for subset, part in (("chosen", table[rows]), ("whole", table)):
            value, low, high, n, _ = correlate(column_means(part), outside, _LEVEL)
            above = None if value is None or subset == "whole" else float(np.mean(values < value))
            found.append((method, subset, value, low, high, above, len(part), n))
        ends = np.quantile(values, [0.025, 0.975]).tolist()
        found.append((method, "random", float(values.mean()), *ends, None, len(rows), len(known)))
    columns = ["method", "subset", "correlation", "correlation_low", "correlation_high", "above_random", "items", "n"]
    where = f"those of random are where 95 % of {_RANDOM_SUBSETS} random subsets of as many items lie"
    note = f"intervals of chosen and whole are over models; {where}; above_random is the share of them that are below"
    return pl.DataFrame(found, schema=columns, orient="row", infer_schema_length=None), (note,)


def _coverage(missed: Missed) -> str:
    """What intervals of estimates are worth, from panel models that were left out of the fit."""
    held = f"{percent(missed.covered())} of the full scores of {counted(len(missed.errors), 'model')}"
    return (
        f"95 % intervals, as wide as the rest of the panel sets them, held {held}, each left out of the fit in turn"
    )


def answered(results: Results, items: Sequence[str], modality: str) -> tuple[Floats, list[str], list[str]]:
    """Scores of items × models under one protocol, the answered items, and the models."""
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
    part = parts[0]
    known = np.asarray(~np.isnan(part.scores).all(axis=1), bool)
    names = [name for name, there in zip(part.items, known, strict=True) if there]
    return part.scores[known], names, [str(column[0]) for column in part.columns]
