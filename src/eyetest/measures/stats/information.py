"""Which items say most about the models that will be asked: Fisher information under the two-parameter model."""

import numpy as np
from numpy.typing import NDArray

from eyetest.measures.stats.item_response import SCALE, Floats, ItemFit, probabilities

_ITEMS_AT_ONCE = 4_096


def expected_information(fitted: ItemFit, placed: Floats | None = None) -> Floats:
    """Each item's information a²P(1 − P), averaged over where a panel's models stand.

    ``placed`` are their chances on `SCALE` (models × abilities), by default those of the panel that the fit rests on.
    """
    where = (fitted.panel if placed is None else placed).mean(axis=0)
    found = np.empty(len(fitted.slopes))
    for start in range(0, len(found), _ITEMS_AT_ONCE):
        some = slice(start, start + _ITEMS_AT_ONCE)
        chance = probabilities(fitted.slopes[some], fitted.intercepts[some], SCALE)
        found[some] = fitted.slopes[some] ** 2 * ((chance * (1 - chance)) @ where)
    return found


def choose_by_information(fitted: ItemFit, size: int, placed: Floats | None = None) -> NDArray[np.intp]:
    """Places of the items with the most expected information, the best first; of equals the earlier one.

    It suits models like the panel's: beyond their abilities a chosen item may say little.
    """
    return np.argsort(-expected_information(fitted, placed), kind="stable")[:size]
