"""Does a subset rank models correctly? Two thirds of the models choose from half of the items; the others (random, or
the strongest, as future models will be) are compared on the choice, with the other half as the reference.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyetest.curate.drawing import Places
from eyetest.measures.stats.correlation import kendall
from eyetest.measures.stats.intervals import Floats, column_means
from eyetest.measures.stats.item_analysis import ItemFit, fit
from eyetest.measures.stats.paired import every_pair

FEWEST_MODELS = 9  # three to hold out and twice as many to choose by
WHY_SO_MANY = "fewer cannot hold three out to try the choice on others"
_FEWEST_ITEMS = 20
_SPLITS = 20
_TOLERANCE = 0.01  # how closely curves are fitted here; closer makes no difference to which items are taken
_LEVEL = 0.95
_ROUNDING = 1e-12

Choose = Callable[[ItemFit, Floats, int, np.random.Generator], Places]  # positions of so many of the fitted items


class Separation(NamedTuple):
    """The result of subsets of one kind, over all splits. None where it cannot be computed."""

    apart: float | None  # the share of held-out pairs that a paired test at .05 separates
    rightly: float | None  # of those, the share ordered as on the held-out items
    tau: float | None  # Kendall's τ of held-out models between the subset and the items held out
    tau_stronger: float | None  # the same where the strongest models are held out
    apart_own: float | None
    tau_own: float | None  # the same of the models that chose, on the items that they chose from: too favourable


def separation(scores: ArrayLike, share: float, choose: Choose, seed: int = 0) -> dict[str, Separation]:
    """``chosen`` and ``random`` subsets of ``scores`` (items × models); empty with too few of either."""
    table = np.asarray(scores, float)
    items, models = table.shape
    if items < _FEWEST_ITEMS or models < FEWEST_MODELS:
        return {}
    found: dict[str, list[list[list[float]]]] = {"chosen": [], "random": []}
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
            fitted = fit(pool[:, panel], _TOLERANCE)
            for way, places in (("chosen", choose(fitted, pool[:, panel], size, rng)), ("random", any_items)):
                part, row = pool[places], found[way][-1]
                row.append(_compared(part[:, targets], rest[:, targets]))
                if order is turn:
                    row.append(_compared(part[:, panel], pool[:, panel]))
    return {way: _summed(*np.moveaxis(np.array(each), 1, 0)) for way, each in found.items()}


def told(tried: Mapping[str, Separation]) -> list[str]:
    """Sentences on the value of a choice for held-out models, and for its own panel."""
    if not tried:
        return ["too few items to test on held-out models and items how well the chosen items separate models"]
    forms = (".0%", ".0%", ".2f", ".2f", ".0%", ".2f")
    chosen, random = (
        ["–" if value is None else format(value, form) for value, form in zip(tried[way], forms, strict=True)]
        for way in ("chosen", "random")
    )
    return [
        f"of pairs of held-out models, items chosen so separate {chosen[0]} (random items: {random[0]}), "
        f"{chosen[1]} of these rightly ({random[1]}), by the order on held-out items",
        f"τ with the held-out items is {chosen[2]} (random items: {random[2]}) for models held out at random, and "
        f"{chosen[3]} ({random[3]}) for the strongest third, where only weaker models choose",
        f"to the panel itself they seem to separate {chosen[4]}, with τ {chosen[5]}; do not quote these alone",
    ]


def _compared(part: Floats, truth: Floats) -> list[float]:
    """Pairs of models (columns), those separated and those rightly by ``truth``, and τ with it."""
    means, true = column_means(part), column_means(truth)
    pairs = [(one, other, pair) for one, other, pair in every_pair(part, np.arange(len(part)), _LEVEL) if pair.n > 1]
    apart = [(one, other) for one, other, pair in pairs if pair.p is not None and pair.p < 1 - _LEVEL]
    rightly = [(means[one] - means[other]) * (true[one] - true[other]) > _ROUNDING for one, other in apart]
    tau = kendall(means, true).value
    return [len(pairs), len(apart), sum(rightly), np.nan if tau is None else tau]


def _summed(held_out: Floats, own: Floats, stronger: Floats) -> Separation:
    """The comparisons of all splits (splits × what `_compared` gives) together."""
    (pairs, apart, rightly, _), (own_pairs, own_apart, *_) = held_out.sum(axis=0).tolist(), own.sum(axis=0).tolist()
    means = (float(column_means(rows[:, 3:])[0]) for rows in (held_out, stronger, own))
    tau, tau_stronger, tau_own = (None if np.isnan(value) else value for value in means)
    own_share = _ratio(own_apart, own_pairs)
    return Separation(_ratio(apart, pairs), _ratio(rightly, apart), tau, tau_stronger, own_share, tau_own)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
