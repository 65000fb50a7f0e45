"""How much of what a model says is its own: of eight copies of one model each has an eighth of a voice.

Models that were made alike err alike. What they share shows in what the panel does not expect of them: the
correlation of their surprises, right answers where a miss was likely and the other way round (Yen's Q3). Models that
have nothing to do with each other are surprising independently, whatever their skill and however hard the items.
"""

import numpy as np

from eyetest.measures.stats.intervals import Floats

_UNRELATED, _AT_MOST = 0.25, 0.2
"""A quarter of the pairs is unrelated, or correlates no more than this."""
_NOISE = 2.0
"""Standard errors that are no kinship."""
_ENOUGH = 3
"""Of two models nobody can say whether they agree more than others do."""


def voices(surprises: Floats) -> Floats:
    """By model, from items × models: what was right less what was expected, 0 where nothing was said."""
    own, spoke = np.ones(surprises.shape[1]), np.flatnonzero(surprises.any(axis=0))
    if len(spoke) < _ENOUGH:
        return own
    said = surprises[:, spoke]
    size = np.sqrt((said**2).sum(axis=0))
    alike = said.T @ said / np.outer(size, size)
    pairs = alike[~np.eye(len(spoke), dtype=bool)]
    noise = _NOISE / np.sqrt(len(said))
    base = min(float(np.quantile(pairs, _UNRELATED)), _AT_MOST) + noise
    if base >= 1:  # so few items cannot tell kin from others
        return own
    kin = np.clip((alike - base) / (1 - base), 0.0, 1.0)
    np.fill_diagonal(kin, 1.0)
    own[spoke] = 1 / kin.sum(axis=1)
    return own
