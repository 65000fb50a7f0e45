"""How a score changes along something that is counted, within groups that go through it."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from eyetest.measures.stats.intervals import NOTHING, Floats, IntervalEstimate, Ints

_ROUNDING = 1e-12


def slope_within(
    x: ArrayLike, y: ArrayLike, groups: ArrayLike, clusters: ArrayLike, *, level: float = 0.95
) -> tuple[IntervalEstimate, int]:
    """The slope of y over x with a level of its own for each group, its interval, and how many groups it rests on.

    Groups of different lengths, or of which some end early, differ in level, and a slope through all of them would
    take that for a trend. The error is the sandwich over clusters, each of whole groups, with the usual factor
    g/(g−1), and Student's t with g−1 degrees; one cluster has none, nor have scores that never leave their line.
    """
    across, scores = np.asarray(x, float), np.asarray(y, float)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    across, scores = _centred(across, codes), _centred(scores, codes)
    spread = float(across @ across)
    if not spread:
        return NOTHING._replace(n=len(scores)), 0
    slope = float(across @ scores) / spread
    telling = np.bincount(codes, across**2) > 0
    kept = telling[codes]
    parts = across * (scores - slope * across)
    sums = np.bincount(np.unique(np.asarray(clusters)[kept], return_inverse=True)[1], parts[kept])
    count, g = int(telling.sum()), len(sums)
    if g < 2 or sums @ sums <= (_ROUNDING * spread) ** 2:
        return IntervalEstimate(slope, None, None, len(scores)), count
    error = float(np.sqrt(sums @ sums * g / (g - 1))) / spread
    reach = float(stats.t.ppf((1 + level) / 2, g - 1)) * error
    return IntervalEstimate(slope, slope - reach, slope + reach, len(scores)), count


def _centred(values: Floats, codes: Ints) -> Floats:
    """Each value less the mean of its group."""
    means = np.bincount(codes, values) / np.bincount(codes)
    return np.asarray(values - means[codes])
