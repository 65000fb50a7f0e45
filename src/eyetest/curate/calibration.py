"""How far estimates really miss: the errors that curves give, held against panel models that were left out.

Curves say how far an estimate may be off if they are true. Models have skills that one ability does not tell, and
curves of a small panel are guesses, so estimates miss by more. Each panel model is therefore left out in its turn,
with its relatives, a part is drawn without it, and its full score is estimated: by how many of its stated errors that
is off is what intervals are widened by.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.curate.drawing import anchored, pps
from eyetest.curate.subset import Estimator
from eyetest.measures.stats.intervals import Floats, column_means
from eyetest.measures.stats.item_analysis import fit
from eyetest.measures.stats.sets import group_folds

_FOLDS = 5
_DRAWS = 3
_TOLERANCE = 0.01
"""How closely curves are fitted here; closer makes no difference to what is missed."""
_LEVEL = 0.95
_FAMILY = re.compile(r"[^\W\d_]+")


class Missed(NamedTuple):
    """For each panel model that was left out: by how many stated errors it was missed, signed, models × draws."""

    errors: Floats
    kin: Sequence[str]
    folds: NDArray[np.intp]

    def half_width(self, of: NDArray[np.bool_] | None = None) -> float:
        """By how many stated errors an interval of 95 % reaches to either side, from all models or from some.

        It is Student's, for as many independent models as there are families. A quantile of what was seen would
        need many more models than panels have, and depends on the oddest of them. It is never narrower than curves
        alone make it: where nearly every item was asked, hardly anything is missed, and nothing is learnt by it.
        """
        some = np.ones(len(self.errors), bool) if of is None else of
        errors = self.errors[some]
        relatives = len({name for name, there in zip(self.kin, some, strict=True) if there})
        return float(special.stdtrit(relatives - 1, (1 + _LEVEL) / 2) * max(1.0, np.sqrt((errors**2).mean())))

    def covered(self) -> float:
        """The share of left-out models that intervals hold, each as wide as the models of other folds say."""
        within = [
            np.abs(self.errors[self.folds == fold]) <= self.half_width(self.folds != fold)
            for fold in np.unique(self.folds)
        ]
        return float(np.concatenate(within).mean())


def families(models: Sequence[str]) -> list[str]:
    """Relatives by name, up to the first figure or sign: ``gpt-4o`` and ``GPT4V`` are; each its own if all are."""
    names = [found[0].casefold() if (found := _FAMILY.search(model)) else model for model in models]
    return names if len(set(names)) >= _FOLDS else list(models)


def left_out(scores: ArrayLike, size: int, kin: Sequence[str], seed: int = 0) -> Missed:
    """Leave each fold of the panel out, whole families at a time, and estimate its full scores from parts.

    ``scores`` has a row an item and a column a model, from 0 to 1, nan where not asked.
    """
    table = np.asarray(scores, float)
    folds = family_folds(kin, np.random.default_rng([seed, _FOLDS]))
    errors = np.empty((table.shape[1], _DRAWS))
    true = column_means(table)
    for fold in np.unique(folds):
        out = folds == fold
        panel = table[:, ~out]
        fitted = fit(panel, _TOLERANCE)
        estimator, certain = Estimator(fitted), anchored(fitted, panel, size)
        for draw in range(_DRAWS):
            items = pps(fitted, size, (seed, int(fold), draw), certain).items
            said = estimator.estimate(items, table[np.ix_(items, np.flatnonzero(out))])
            errors[out, draw] = (said.scores - true[out]) / np.maximum(said.errors, np.finfo(float).tiny)
    return Missed(errors, list(kin), folds)


def family_folds(kin: Sequence[str], rng: np.random.Generator) -> NDArray[np.intp]:
    """Folds of nearly the same size that tear no family apart."""
    return group_folds(kin, min(_FOLDS, len(set(kin))), rng)
