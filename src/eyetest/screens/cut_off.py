"""From which score on an answer is right, chosen from the data: where that tells a panel's models apart best (LIME).

Graded scores have no natural cut-off. LIME chose its own by how clearly they distinguish, and leaves open what that
means. Here it is the cut-off at which right and wrong answers to the same items differ most between models: McNemar's
χ², summed over all pairs.
"""

from collections.abc import Sequence

import numpy as np

from eyetest.measures.hits import HIT
from eyetest.measures.stats.intervals import Floats
from eyetest.records import Cut, Item
from eyetest.screens.base import Evidence

MOST_CUTS = 100
"""Of a metric with more different scores, so many are tried, evenly spread over them."""


def best_cut(scores: Floats) -> Cut:
    """The score that tells models apart best as a cut-off; the highest of equals, 1 where none is above 0.

    ``scores`` has a row an item and a column a model, nan where nothing was said.
    """
    known = ~np.isnan(scores)
    values = np.unique(scores[known & (scores > 0)])
    if not len(values):
        return HIT
    tried = values[np.unique(np.linspace(0, len(values) - 1, MOST_CUTS).round().astype(int))][::-1]
    apart = [_distinction((np.nan_to_num(scores) >= value).astype(float), known.astype(float)) for value in tried]
    return Cut(op=">=", value=float(tried[int(np.argmax(apart))]))


def _distinction(right: Floats, known: Floats) -> float:
    """McNemar's χ², summed over all pairs of models; 0 for a pair that never differs."""
    only = (right * known).T @ ((1 - right) * known)
    differing = only + only.T
    chi = np.divide((only - only.T) ** 2, differing, out=np.zeros_like(only), where=differing > 0)
    return float(chi.sum())


def panel_scores(items: Sequence[Item], evidence: Evidence, metric: str) -> Floats:
    """A panel's scores by one metric, averaged over tests: items × models."""
    table = np.full((len(items), len(evidence.seats)), np.nan)
    for row, item in enumerate(items):
        for column, said in enumerate(evidence.of(item.id)):
            scores = [one.score for one in said if one and one.metric == metric and one.score is not None]
            if scores:
                table[row, column] = np.mean(scores)
    return table
