"""The effective number of independent models, from agreement that a wrong key does not explain.

Estimated for each pair of models is the correlation of their choices of the same wrong option, over
all wrong options but those that most of the *other* models prefer: where a key is wrong, models
agree on the right option, and this is what they prefer. A pair that hardly ever chooses such an
option (copies of one model among copies) leaves no evidence of independence, so its correlation
over all wrong options enters with the weight of half a choice. A quarter of the pairs is taken as
unrelated, unless these correlate more than .2: items whose difficulty or temptation all models
share relate all of them a little. With r the correlations beyond that, a model's weight is 1 / Σ r
over all models (of eight copies an eighth), and the effective number is the sum of the weights.

Assumed: related models share answers beyond what the majority of the others choose. If all models
have one origin and differ only at random, their shared errors look like wrong keys that independent
models contradict, and they count as independent: this cannot be told from the answers alone.
Independent check: tests/measures/stats/test_consensus.py (families of simulated models, with up to
20 % of wrong keys).
"""

import numpy as np

from eyetest.measures.stats.intervals import Bools, Floats, Ints

_CELLS = 20_000  # options from which the relations of models are estimated; of many models fewer
_FEWEST_CELLS, _WORK = 2_000, 10_000_000  # pairs of models times options
_SHARED = 0.5  # weight, in choices, of agreement that wrong keys may explain
_UNRELATED, _AT_MOST = 0.25, 0.2  # a quarter of the pairs is unrelated, or correlates no more than this
_NOISE = 2.0  # standard errors that are no relation
_PAIRS = 3  # two models have no other pair to compare with


def independence(chosen: Ints, number: Ints, keys: Ints) -> Floats:
    """By model the share of its votes that is its own; their sum is the effective number of independent models."""
    pairs = max(chosen.shape[1] * (chosen.shape[1] - 1) // 2, 1)
    cells = min(max(_WORK // pairs, _FEWEST_CELLS), _CELLS)
    interval = max(-(-int((number - 1).sum()) // cells), 1)
    part = slice(None, None, interval)
    related = _correlations(chosen[part], number[part], keys[part])
    models, items = len(related), len(keys[part])
    base = 0.0
    if models >= _PAIRS:
        correlations = related[~np.eye(models, dtype=bool)]
        base = min(float(np.quantile(correlations, _UNRELATED)), _AT_MOST) + _NOISE / np.sqrt(max(items, 1))
    related = np.clip((related - base) / max(1 - base, 1e-9), 0.0, 1.0)
    np.fill_diagonal(related, 1.0)
    return np.asarray(1 / related.sum(axis=1))


def _correlations(chosen: Ints, number: Ints, keys: Ints) -> Floats:
    """Models × models: how choices of the same wrong option correlate."""
    places = np.arange(max(int(number.max(initial=2)), 2))
    wrong = (places < number[:, None]) & (places != keys[:, None])
    choices = chosen[:, None, :] == places[:, None]
    counts = choices.sum(axis=2)
    models = chosen.shape[1]
    related = np.eye(models)
    for first in range(models):
        for second in range(first):
            both_read = (chosen[:, first] >= 0) & (chosen[:, second] >= 0)
            pair = choices[:, :, first], choices[:, :, second]
            others = counts - pair[0] - pair[1]
            preferred = (others > 0) & (others == others.max(axis=1, keepdims=True))
            candidates = wrong & both_read[:, None]
            related[first, second] = _pair_correlation(pair, candidates, candidates & ~preferred)
            related[second, first] = related[first, second]
    return related


def _pair_correlation(pair: tuple[Bools, Bools], candidates: Bools, unexplained: Bools) -> float:
    """The correlation over options that a wrong key does not explain, and with little weight that over all."""
    number = float(((pair[0] | pair[1]) & unexplained).sum())
    beyond, overall = _phi(pair, unexplained), _phi(pair, candidates)
    return (number * beyond + _SHARED * overall) / (number + _SHARED)


def _phi(pair: tuple[Bools, Bools], cells: Bools) -> float:
    """The correlation of two models' choices over some options; 0 where one of them chooses none or all."""
    total = float(cells.sum())
    first, second = float((pair[0] & cells).sum()), float((pair[1] & cells).sum())
    both = float((pair[0] & pair[1] & cells).sum())
    spread = first * second * (total - first) * (total - second)
    return (total * both - first * second) / np.sqrt(spread) if spread > 0 else 0.0
