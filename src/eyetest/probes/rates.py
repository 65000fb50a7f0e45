"""How often a rule or a learner picks the key of an item, beside chance.

Estimated: the rate r, which is the mean over items of the credit for the key (1 where it is picked, a share where it
ties, else 0), and the gain r − c, where c is the mean over items of what random choice gets. Both are about the
benchmark as a whole: a rule that is right more often than chance is right by chance in many of these items.
Formula: Wilson's interval of r for the effective number of items (Korn and Graubard 1998), with the variance by
leaving out one group of items after the other; that of the gain is the same less c, which the numbers of options fix.
Assumptions: groups, of items that share an image or another medium, are independent draws, and the rule was fixed
beforehand. A learner is scored on folds that it was not trained on; its interval is that of its score at this size of
training.
Independent check: tests/probes/test_rates.py (coverage, by generators that share no code with this module).
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from eyetest.errors import percent
from eyetest.measures.stats.intervals import ClusteredMeans, Floats, IntervalEstimate, bounds


class Rate(NamedTuple):
    """A rate of a whole benchmark with its interval, and how far it is above chance."""

    share: IntervalEstimate
    chance: float

    @property
    def gain(self) -> IntervalEstimate:
        """How far the rate is above chance."""
        value, low, high = (None if bound is None else bound - self.chance for bound in self.share[:3])
        return IntervalEstimate(value, low, high, self.share.n)

    @property
    def sentence(self) -> str:
        """The rate as text: ``35.4 % [32.3, 38.6]``."""
        return f"{percent(self.share.value or 0.0)}{_bracket(self.share)}"

    @property
    def above_chance(self) -> str:
        """The gain as text: ``+7.1 points [4.0, 10.3]``."""
        return f"{100 * (self.gain.value or 0.0):+.1f} points{_bracket(self.gain)}"

    @property
    def numbers(self) -> dict[str, float | None]:
        """The figures for programs."""
        return {"chance": self.chance} | self.share.named("rate") | self.gain.named("gain")


def rate_of(picked: Floats, chances: Floats, groups: Sequence[Hashable]) -> Rate:
    """The rate and the gain of some items; items of one group may depend on each other."""
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    sums = np.asarray(np.bincount(codes, picked), float)
    sizes = np.bincount(codes).astype(float)
    low, high = bounds(ClusteredMeans.of(sums[None], sizes[None], [True]))
    share = IntervalEstimate(float(picked.mean()), float(low[0]), float(high[0]), len(picked))
    return Rate(share, float(chances.mean()))


def _bracket(estimate: IntervalEstimate) -> str:
    """The interval as text; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
