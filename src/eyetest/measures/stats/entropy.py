"""How widely repeated answers scatter: the entropy of counts, plain, corrected for few tests, and normalised.

Vectorised: a row of counts for each question, a column for each choice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

Floats = NDArray[np.float64]


class Entropies(NamedTuple):
    """One entry a row of counts, in nats; nan where undefined."""

    plain: Floats
    """−Σ p ln p, which is low by about (choices − 1) / (2 × tests)."""
    corrected: Floats
    """Miller and Madow's: plain + (choices seen − 1) / (2 × tests), but never more than ln(options)."""
    normalised: Floats
    """Plain over ln(options): 0 is always the same choice, 1 all choices equally often."""


class Entropy(NamedTuple):
    """The entropies of one question. None where undefined."""

    plain: float | None
    corrected: float | None
    normalised: float | None


def entropies(counts: ArrayLike, options: ArrayLike | None = None) -> Entropies:
    """The entropies of many rows of counts. ``options`` says how many choices each row had, nan where nobody knows.

    A row without a count has no entropy. The correction is capped because no distribution over so many choices has a
    larger entropy, and at two tests that differ it would promise one. Where options are unknown nothing is capped and
    nothing can be normalised; with fewer than two there is nothing to normalise by.
    """
    table = np.asarray(counts, float)
    known = np.full(len(table), np.nan) if options is None else np.asarray(options, float)
    total, seen = table.sum(axis=1), (table > 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = entr(table / total[:, None]).sum(axis=1)
        most = np.log(known)
        corrected = np.fmin(plain + (seen - 1) / (2 * total), most)
        normalised = np.where(known >= 2, plain / most, np.nan)
    return Entropies(plain, np.where(total > 0, corrected, np.nan), normalised)


def entropy(counts: ArrayLike, options: int | None = None) -> Entropy:
    """The entropies of one question's answers, counted by choice."""
    row = np.asarray(counts, float)[None, :]
    found = entropies(row, None if options is None else [options])
    return Entropy(*(None if np.isnan(part[0]) else float(part[0]) for part in found))
