"""Whether a chosen part tells models apart, and rightly: tried on models and on items that had no say in the choice.

A part that was chosen because it tells its panel apart looks good on that panel's own answers. So models and items
are split again and again: the answers of two thirds of the models choose from one half of the items, the other third
is compared on what was chosen, and the other half of the items says who is really ahead.
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

FEWEST_MODELS = 9
"""Three to hold out and twice as many to choose by: with fewer, nothing tells whether a choice holds for others."""
WHY_SO_MANY = "fewer cannot hold three out to try the choice on others"
_FEWEST_ITEMS = 20
_SPLITS = 20
_TOLERANCE = 0.01
"""How closely curves are fitted here; closer makes no difference to which items are taken."""
_LEVEL = 0.95
_ROUNDING = 1e-12

Choose = Callable[[ItemFit, Floats, int, np.random.Generator], Places]
"""From a fit and the answers that were fitted, positions of so many of their items."""


class Separation(NamedTuple):
    """What parts of one kind came to, over all splits. None where nothing could be told."""

    apart: float | None
    """The share of pairs of held-out models that a paired test at .05, each for itself, tells apart."""
    rightly: float | None
    """Of those, the share in which the model that is ahead on the part is also ahead on the items held out."""
    tau: float | None
    """Kendall's τ of held-out models between the part and the items held out."""
    apart_own: float | None
    tau_own: float | None
    """The same of the models that chose, against the items that they chose from: what flatters."""


class _Compared(NamedTuple):
    pairs: int
    apart: int
    rightly: int
    tau: float


def separation(scores: ArrayLike, share: float, choose: Choose, seed: int = 0) -> dict[str, Separation]:
    """``chosen`` parts, and ``random`` ones of the same size; nothing where items or models are too few.

    ``scores`` has a row an item and a column a model, from 0 to 1, nan where not asked.
    """
    table = np.asarray(scores, float)
    items, models = table.shape
    if items < _FEWEST_ITEMS or models < FEWEST_MODELS:
        return {}
    told: dict[str, list[tuple[_Compared, _Compared]]] = {"chosen": [], "random": []}
    for number in range(_SPLITS):
        rng = np.random.default_rng([seed, number])
        half, turn = rng.permutation(items), rng.permutation(models)
        pool, rest = table[half[: items // 2]], table[half[items // 2 :]]
        targets, panel = turn[: models // 3], turn[models // 3 :]
        size = max(2, round(share * len(pool)))
        fitted = fit(pool[:, panel], _TOLERANCE)
        for way, places in (
            ("chosen", choose(fitted, pool[:, panel], size, rng)),
            ("random", rng.permutation(len(pool))[:size]),
        ):
            part = pool[places]
            told[way].append(
                (_compared(part[:, targets], rest[:, targets]), _compared(part[:, panel], pool[:, panel]))
            )
    return {way: _summed(*zip(*each, strict=True)) for way, each in told.items()}


def told(tried: Mapping[str, Separation]) -> list[str]:
    """What a choice is worth to models that had no say, beside what it seems to its panel."""
    if not tried:
        return ["too few items to try on models and items held out how well chosen ones tell models apart"]
    chosen, random = tried["chosen"], tried["random"]
    return [
        f"of pairs of models held out, items chosen so tell {_percent(chosen.apart)} apart (random ones: "
        f"{_percent(random.apart)}), {_percent(chosen.rightly)} of these rightly ({_percent(random.rightly)}): as "
        f"items held out order them; τ with those items {_figure(chosen.tau)} ({_figure(random.tau)})",
        f"to the panel itself they seem to tell {_percent(chosen.apart_own)} apart, with τ "
        f"{_figure(chosen.tau_own)}; do not quote these alone",
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _compared(part: Floats, truth: Floats) -> _Compared:
    """How a part compares the models (columns), against their scores on the items of ``truth``."""
    means, true = column_means(part), column_means(truth)
    pairs = [(one, other, pair) for one, other, pair in every_pair(part, np.arange(len(part)), _LEVEL) if pair.n > 1]
    apart = [(one, other) for one, other, pair in pairs if pair.p is not None and pair.p < 1 - _LEVEL]
    rightly = [(means[one] - means[other]) * (true[one] - true[other]) > _ROUNDING for one, other in apart]
    tau = kendall(means, true).value
    return _Compared(len(pairs), len(apart), sum(rightly), np.nan if tau is None else tau)


def _summed(held_out: tuple[_Compared, ...], own: tuple[_Compared, ...]) -> Separation:
    return Separation(
        _ratio(sum(one.apart for one in held_out), sum(one.pairs for one in held_out)),
        _ratio(sum(one.rightly for one in held_out), sum(one.apart for one in held_out)),
        _known_mean([one.tau for one in held_out]),
        _ratio(sum(one.apart for one in own), sum(one.pairs for one in own)),
        _known_mean([one.tau for one in own]),
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _known_mean(values: list[float]) -> float | None:
    mean = float(column_means(np.array(values)[:, None])[0])
    return None if np.isnan(mean) else mean
