"""Whether a small part says about new models what the whole would: tried on models that had no say in the drawing.

Models are split again and again into a panel, on which items are fitted and drawn, and targets, of which the part has
to say the score on the whole. The same figures of the panel's own models show how much better a part looks to those
that it was made for: the optimism.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.curate.subsets import Estimator, Places, Seed, Subset, anchored, inclusion, pps, systematic
from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Floats, column_means
from eyetest.measures.stats.item_analysis import fit
from eyetest.measures.stats.ranking import kendall

METHODS = (
    ("random", "mean"),
    ("random", "p-irt"),
    ("stratified", "mean"),
    ("stratified", "p-irt"),
    ("pps", "p-irt"),
    ("anchored", "p-irt"),
)
"""How a part is drawn, and how it is scored. The first is what the others are held against."""
_FIGURES = ("tau", "mae", "tau_panel", "mae_panel", "covered", "beyond")
_FEWEST = 3


@dataclass(frozen=True)
class SplitPlan:
    """What to try: parts of ``size`` items on ``held_out`` targets, with ``panel`` of the other models or with all.

    In each of ``splits`` every method draws ``draws`` parts.
    """

    size: int
    held_out: int
    panel: int | None = None
    splits: int = 20
    draws: int = 3
    seed: int = 0


def validate(scores: ArrayLike, plan: SplitPlan, families: Sequence[str] | None = None) -> pl.DataFrame:
    """A row for each of `METHODS`: Kendall's τ and mean absolute error of the targets, against their full scores.

    ``scores`` has a row an item and a column a model, from 0 to 1, nan where not asked. With ``families``, a name for
    each model, no target has a relative in the panel. ``tau_gain`` and ``mae_gain`` are the paired gains over plain
    random parts, ``tau_panel`` and ``mae_panel`` the figures of the panel's own models, ``tau_optimism`` how much
    higher τ seems there; ``covered`` is the share of targets whose full score lies within 1.96 standard errors, and
    ``beyond`` the share that seems to lie beyond the panel.
    """
    table = np.asarray(scores, float)
    if np.isnan(table).all(axis=0).any():
        raise InputError("a model has no score at all, so nothing can be held against it: leave it out")
    kin = np.arange(table.shape[1]) if families is None else np.unique(families, return_inverse=True)[1]
    tried, ratios = [], []
    for number in range(plan.splits):
        targets, panel = _split(kin, plan, np.random.default_rng([plan.seed, number]))
        tried.append(_try(table[:, targets], table[:, panel], plan, number))
        ratios.append(len(targets) / len(panel))
    return _summary(np.array(tried), float(np.mean(ratios)))


def _split(kin: NDArray[np.intp], plan: SplitPlan, rng: np.random.Generator) -> tuple[Places, Places]:
    """Targets, whole families at a time and as many as fit, and a panel from the families that are left."""
    targets: list[int] = []
    for family in rng.permutation(np.unique(kin)):
        members = np.flatnonzero(kin == family).tolist()
        targets += members if len(targets) + len(members) <= plan.held_out else []
    others = rng.permutation(np.flatnonzero(~np.isin(kin, kin[targets])))
    wanted = max(plan.panel or 0, _FEWEST)
    if len(targets) < _FEWEST or len(others) < wanted:
        raise InputError(
            f"holding out {plan.held_out} of {len(kin)} models leaves {len(targets)} targets and a panel of "
            f"{len(others)}; {_FEWEST} and {wanted} are needed"
        )
    return np.array(targets), others[: plan.panel]


def _try(targets: Floats, panel: Floats, plan: SplitPlan, number: int) -> list[list[list[float]]]:
    """Fit one panel and try every method: methods × draws × figures. Two scorings share the parts they score."""
    fitted, shares = fit(panel), column_means(panel.T)
    estimator, certain = Estimator(fitted), anchored(fitted, panel, plan.size)
    drawings: dict[str, Callable[[Seed], Subset]] = {
        "random": lambda seed: at_random(len(shares), plan.size, seed),
        "stratified": lambda seed: stratified(shares, plan.size, seed),
        "pps": lambda seed: pps(fitted, plan.size, seed),
        "anchored": lambda seed: pps(fitted, plan.size, seed, certain),
    }
    everyone, held = np.hstack([targets, panel]), np.arange(targets.shape[1] + panel.shape[1]) < targets.shape[1]
    tried: dict[tuple[str, str], list[list[float]]] = {method: [] for method in METHODS}
    for way, (drawing, draw) in enumerate(drawings.items()):
        for again in range(plan.draws):
            items = draw((plan.seed, number, way, again)).items
            answers = everyone[items]
            estimated = estimator.estimate(items, answers)
            off = np.abs(estimated.scores - column_means(everyone))[held]
            trust = [
                float((off <= 1.96 * estimated.errors[held]).mean()),
                float((estimated.beyond[held] != 0).mean()),
            ]
            scored = (("mean", column_means(answers), [np.nan] * 2), ("p-irt", estimated.scores, trust))
            for scoring, said, more in scored:
                if (drawing, scoring) in tried:
                    figures = [_agreement(said[who], column_means(everyone[:, who])) for who in (held, ~held)]
                    tried[drawing, scoring].append([*figures[0], *figures[1], *more])
    return list(tried.values())


def stratified(difficulty: ArrayLike, size: int, seed: Seed) -> Subset:
    """Every item is as likely as any other, and the part is as difficult as the whole (ties in random order)."""
    keys = np.asarray(difficulty, float)
    return systematic(inclusion(np.ones(len(keys)), size), keys, seed)


def at_random(count: int, size: int, seed: Seed) -> Subset:
    """Every part of this size is as likely as any other."""
    return stratified(np.zeros(count), size, seed)


def _agreement(said: Floats, true: Floats) -> tuple[float, float]:
    """Kendall's τ and the mean absolute error."""
    tau = kendall(said, true).value
    return np.nan if tau is None else tau, _mean(np.abs(said - true))


def _summary(tried: Floats, ratio: float) -> pl.DataFrame:
    """From splits × methods × draws × figures, a row a method."""
    rows = []
    for method, (drawing, scoring) in enumerate(METHODS):
        means = {name: _mean(tried[:, method, :, figure]) for figure, name in enumerate(_FIGURES)}
        better = tried[:, method] - tried[:, 0]
        tau, mae = _gain(better[..., 0], ratio, "tau_gain"), _gain(-better[..., 1], ratio, "mae_gain")
        optimism = {"tau_optimism": means["tau_panel"] - means["tau"]}
        rows.append(
            {"draw": drawing, "score": scoring} | means | optimism | tau | mae | {"splits": float(len(tried))}
        )
    order = ["draw", "score", "tau", *tau, "mae", *mae, *_FIGURES[2:4], "tau_optimism", *_FIGURES[4:], "splits"]
    return pl.DataFrame(rows).select(order).with_columns(pl.col(pl.Float64).fill_nan(None)).cast({"splits": pl.Int64})


def _gain(gains: Floats, ratio: float, name: str) -> dict[str, float]:
    """The mean of splits × draws and its 95 % interval, for other models such as these.

    Splits share models, so their mean varies more than if each were of new ones: what splits differ by, beyond the
    chance of drawing, counts as Nadeau and Bengio's correction has it, with ``ratio`` of targets to panel.
    """
    by_split = gains.mean(axis=1)
    known = ~np.isnan(by_split)
    centre, count, draws = _mean(by_split), int(known.sum()), gains.shape[1]
    half = np.nan
    if count > 1:
        spread = by_split[known].var(ddof=1)
        chance = gains[known].var(axis=1, ddof=1).mean() / draws if draws > 1 else 0.0
        variance = spread / count + ratio * max(spread - chance, 0.0)
        half = float(special.stdtrit(count - 1, 0.975)) * float(np.sqrt(variance))
    return {name: centre, f"{name}_low": centre - half, f"{name}_high": centre + half}


def _mean(values: Floats) -> float:
    return float(column_means(values.reshape(-1, 1))[0])
