"""How uncertain the estimated share of wrong keys is, and whether a panel of models identifies it.

The estimate of `wrong_share` extrapolates the scores of right keys by a line, so it can be wrong by
more than its likelihood says. Three quantities say how much:

- **Half panels.** The models that answered any item are split at random into two halves, four
  times, and the share π is estimated from each half. The standard deviation s of these estimates
  is the delete-half jackknife standard error over models (Shao and Tu 1995). Their mean less the
  estimate from all models is the trend t: where more models change the estimate, still more would
  change it further.
- **The interval** has as its ends, with l and h those of the profile likelihood over several forms of
  the line (`wrong_share.interval_of_forms`), p the estimate, t⁺ and t⁻ the positive and the negative
  part of t,

      p − √((p − l)² + (1.96 s)² + (2 t⁺)²)  and  p + √((h − p)² + (1.96 s)² + (2 t⁻)²).

- **Recognition.** A tenth of the keys is moved at random, the share is estimated again, and the mean
  probability of being wrong is taken over the most suspect items, a fifth as many as were moved. If
  it is below `IDENTIFIED`, not even the most suspect of many keys that certainly are wrong can be
  told from right ones: the share is an extrapolation, and is not identified by this panel. Then the
  interval reaches from 0 to the largest share that scores of no form exclude
  (`wrong_share.largest_share`).

Assumed: as in `wrong_share`; the models are a sample of those that one could have asked. Errors that
nearly all models share look like wrong keys to each half as well, and are not found by any of the
three. Large benchmarks are judged by a seeded sample of items. Independent check:
tests/measures/stats/test_share_interval.py (coverage in simulations), figures in design/refining.md.
"""

from typing import NamedTuple

import numpy as np

from eyetest.measures.stats.intervals import Floats, Ints
from eyetest.measures.stats.key_evidence import Votes, move_keys, weigh_options
from eyetest.measures.stats.wrong_share import (
    LARGEST_SHARE,
    KeyScores,
    estimate_share,
    interval_of_forms,
    largest_share,
)

RECOGNISED = 0.7  # in simulations and files, panels that estimate the share have .81 and more, others .53 and less
WIDEST = 0.1  # of all keys: an interval from none to more than a tenth of them gives no number to act on
_SPLITS = 4  # of the models in two halves
_MOST_ITEMS = 2_000  # estimates of large benchmarks from all items would take minutes
_MOVED, _FEWEST_MOVED = 0.1, 10  # share of the keys that are moved, and the least number
_MOST_SUSPECT = 0.2  # of the number of moved keys: so many items lead even where only some of them can be seen
_QUANTILE = 1.96  # of the normal distribution, for 95 %
_TRENDS = 2.0  # as many more models as there are would change the estimate by less than half of them did


class ShareInterval(NamedTuple):
    """The interval of the share of wrong keys, and how surely moved keys are recognised."""

    low: float
    high: float
    recognition: float  # mean probability of being wrong of the most suspect items, a tenth of the keys being moved
    is_identified: bool  # whether the share can be estimated from these models' answers


def scores_of_keys(votes: Votes) -> KeyScores:
    """Return the scores of the given keys, and of all other options, by votes on items that were read."""
    evidence = weigh_options(votes)
    rows = np.arange(len(votes.keys))
    is_other = votes.is_open
    is_other[rows, votes.keys] = False
    moves_back = 1 / (votes.number - 1)
    weights = (is_other * moves_back[:, None])[is_other]
    scores_of_given = evidence[rows, votes.keys]
    return KeyScores(scores_of_given, evidence[is_other], weights, float(moves_back.mean()))


def find_interval(votes: Votes, scores: KeyScores, share: float, bound: float) -> ShareInterval:
    """Return the interval of a share that was estimated from these votes, all of items that were read.

    ``scores``: of the keys by these votes; ``share``: the estimate; ``bound``: the largest share that is possible, as
    in `wrong_share.estimate_share`.
    """
    rng = np.random.default_rng(0)
    part = votes.only(_sample(len(votes.keys), rng)).of_answering_models
    recognition = _recognition(part, rng)
    low, high = 0.0, 0.0
    if recognition >= RECOGNISED:
        ends = interval_of_forms(scores, bound)
        differences = _shares_of_halves(part, bound, rng) - estimate_share(scores_of_keys(part), bound).mean
        low, high = _widened(share, ends, differences)
        high = min(high, bound)
        if low > 0 or high <= WIDEST:
            return ShareInterval(low, high, recognition, is_identified=True)
    largest = largest_share(scores, bound)
    return ShareInterval(0.0, max(largest, high), recognition, is_identified=False)


def _widened(share: float, ends: tuple[float, float], differences: Floats) -> tuple[float, float]:
    """The ends of the interval of a share, with what halves of the models add to them.

    ``differences``: shares that halves of the models give, less the share that all give.
    """
    trend = float(differences.mean())
    spread = _QUANTILE * float(differences.std(ddof=1))
    below = np.hypot(np.hypot(share - min(ends[0], share), spread), _TRENDS * max(trend, 0.0))
    above = np.hypot(np.hypot(max(ends[1], share) - share, spread), _TRENDS * max(-trend, 0.0))
    return max(share - float(below), 0.0), share + float(above)


def _sample(items: int, rng: np.random.Generator) -> Ints:
    """The places of the items by which a benchmark is judged."""
    if items <= _MOST_ITEMS:
        return np.arange(items)
    return np.sort(rng.choice(items, _MOST_ITEMS, replace=False))


def _recognition(votes: Votes, rng: np.random.Generator) -> float:
    """The mean probability of being wrong of the most suspect items after a tenth of the keys was moved."""
    items = len(votes.keys)
    number = min(max(round(_MOVED * items), _FEWEST_MOVED), items)
    moved = move_keys(votes, rng.choice(items, number, replace=False), rng)
    probabilities = np.sort(estimate_share(scores_of_keys(moved), LARGEST_SHARE).probabilities)
    leading = max(round(_MOST_SUSPECT * number), 1)
    return float(probabilities[-leading:].mean())


def _shares_of_halves(votes: Votes, bound: float, rng: np.random.Generator) -> Floats:
    """The shares of wrong keys that halves of the models give, two for each random split."""
    models = votes.chosen.shape[1]
    shares = []
    for _ in range(_SPLITS):
        order = rng.permutation(models)
        for half in (order[: models // 2], order[models // 2 :]):
            of_half = votes._replace(chosen=votes.chosen[:, np.sort(half)])
            read_votes = of_half.only(of_half.is_read)
            shares.append(estimate_share(scores_of_keys(read_votes), bound).mean)
    return np.array(shares)
