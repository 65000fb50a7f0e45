"""The effective number of independent models, from agreement that a wrong key does not explain.

Estimated for each pair of models is the correlation of their choices of the same wrong option, over
all wrong options but those that lead among the *other* models: where a key is wrong, models agree
on the right option, and this one leads. A pair that hardly ever chooses such an
option (copies of one model among copies) leaves no evidence of independence, so its correlation
over all wrong options enters with the weight of half a choice. Items whose difficulty or temptation
all models share relate all of them a little. So a base is subtracted: with c the correlations and n
the number of items, it is b = min(lower quartile of c, .2) + 2 / √n, from three models on, and 0 for
two. With r = (c − b) / (1 − b), cut to 0 … 1, and r = 1 of a model with itself, a model's weight is
1 / Σ r over all models (of eight copies an eighth), and the effective number is the sum of the
weights. Of large benchmarks a seeded sample of items is used.

Assumed: a quarter of the pairs is unrelated, or correlates no more than .2; the sample is like
the others; related models share wrong answers beyond those that lead among the others. If all models
have one origin and differ only at random, their shared errors look like wrong keys that independent
models contradict, and they count as independent: this cannot be told from the answers alone.
Independent check: tests/measures/stats/test_consensus.py (families of simulated models, with up to
20 % of wrong keys).
"""

import numpy as np

from eyetest.measures.stats.intervals import Bools, Floats, Ints

_CELLS = 20_000  # at most so many wrong options are used, since time grows with them
_FEWEST_CELLS = 2_000  # of many models at least so many: with fewer, correlations are noise
_WORK = 10_000_000  # pairs of models times wrong options: time grows with it
_SHARED = 0.5  # weight, in choices, of agreement that wrong keys may explain; with 0, copies would be 0/0
_UNRELATED = 0.25  # share of the pairs that is taken as unrelated
_AT_MOST = 0.2  # correlation of unrelated pairs: without a limit, models of one family would count as unrelated
_NOISE = 2.0  # standard errors: correlations of unrelated models that chance makes positive would reduce weights
_PAIRS = 3  # models: two have one pair, and none to compare it with


def independence(chosen: Ints, number: Ints, keys: Ints) -> Floats:
    """Return by model the share of its votes that is its own; the sum is the effective number of independent models.

    ``chosen``: items × models, the place of the chosen option, negative where unread; ``number``: how many options
    each item has; ``keys``: the place of each item's given key.
    """
    pairs = max(chosen.shape[1] * (chosen.shape[1] - 1) // 2, 1)
    cells = min(max(_WORK // pairs, _FEWEST_CELLS), _CELLS)
    wrong_options = int((number - 1).sum())
    part = _sample(len(keys), max(-(-wrong_options // cells), 1))  # rounded up
    correlations = _correlations(chosen[part], number[part], keys[part])
    models, items = len(correlations), len(keys[part])
    base = 0.0
    if models >= _PAIRS:
        of_pairs = correlations[~np.eye(models, dtype=bool)]
        standard_error = 1 / np.sqrt(max(items, 1))
        base = min(float(np.quantile(of_pairs, _UNRELATED)), _AT_MOST) + _NOISE * standard_error
    related = np.clip((correlations - base) / max(1 - base, 1e-9), 0.0, 1.0)
    np.fill_diagonal(related, 1.0)
    return np.asarray(1 / related.sum(axis=1))


def _sample(items: int, interval: int) -> Ints:
    """The places of one item in so many, at random: every n-th would follow templates that take turns in a file."""
    if interval == 1:
        return np.arange(items)
    return np.sort(np.random.default_rng(0).choice(items, -(-items // interval), replace=False))


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
            others = counts - pair[0] - pair[1]  # votes of all other models
            leading = (others > 0) & (others == others.max(axis=1, keepdims=True))
            candidates = wrong & both_read[:, None]
            related[first, second] = _pair_correlation(pair, candidates, candidates & ~leading)
            related[second, first] = related[first, second]
    return related


def _pair_correlation(pair: tuple[Bools, Bools], candidates: Bools, unexplained: Bools) -> float:
    """The correlation over options that a wrong key does not explain, and with little weight that over all."""
    choices = float(((pair[0] | pair[1]) & unexplained).sum())
    beyond, overall = _phi(pair, unexplained), _phi(pair, candidates)
    return (choices * beyond + _SHARED * overall) / (choices + _SHARED)


def _phi(pair: tuple[Bools, Bools], cells: Bools) -> float:
    """The correlation (φ) of two models' choices over some options; 0 where one of them chooses none or all."""
    total = float(cells.sum())
    first, second = float((pair[0] & cells).sum()), float((pair[1] & cells).sum())
    both = float((pair[0] & pair[1] & cells).sum())
    spread = first * second * (total - first) * (total - second)
    return (total * both - first * second) / np.sqrt(spread) if spread > 0 else 0.0
