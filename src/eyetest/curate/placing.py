"""Place a new model among recorded ones from few random items: predictions by curves narrow its interval, which holds
at every number of items, so stopping by width is allowed, and for wrong curves.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eyetest.curate.subsets import Estimator
from eyetest.errors import counted
from eyetest.measures.stats.intervals import Floats, column_means
from eyetest.measures.stats.item_analysis import SCALE, fit, probabilities
from eyetest.measures.stats.sequential import SequentialMean
from eyetest.running.execution import Hits
from eyetest.running.planning import Plan

_COARSE = slice(None, None, 8)  # abilities of `SCALE` that are enough to predict answers by
_CERTAIN_ENOUGH = 1e-6


class RecordedPanel:
    """Recorded models: their scores, and the curves of items fitted to their answers (items × models)."""

    def __init__(self, models: Sequence[str], items: Sequence[str], table: Floats) -> None:
        self.models, self.items, fitted = list(models), list(items), fit(table)
        self.scores, self.item_means = column_means(table), np.nan_to_num(column_means(table.T), nan=0.5)
        self.beforehand = Estimator(fitted).beforehand[_COARSE]
        chance = probabilities(fitted.slopes, fitted.intercepts, SCALE[_COARSE])
        self.chance = np.clip(chance, _CERTAIN_ENOUGH, 1 - _CERTAIN_ENOUGH)


class ModelStanding(NamedTuple):
    """A model's score on the whole and its rank among the recorded ones, with bounds."""

    score: float
    low: float
    high: float
    rank: int
    best: int
    worst: int


class Placing:
    """The goal of a run that ranks a model: random items, until its score is known well enough. Scores count as ±1;
    an item without a score counts as the recorded models' mean on it.
    """

    def __init__(self, model: str, panel: RecordedPanel, within: float, seed: int) -> None:
        """``within``: half the width of the score's interval, in points, at which it ends."""
        self.words, self.model, self.panel = f"{model} within {within:g} points", model, panel
        self._within, self.unknown, self._logs = within / 100, 0, panel.beforehand
        self._mean = SequentialMean(len(panel.items), leads=[2 * self._within])
        self.order = np.random.default_rng(seed).permutation(len(panel.items))

    def draw(self, plan: Plan) -> None:
        """Put the plan into random order."""
        positions = plan.benchmark.positions(self.panel.items)
        plan.positions = [positions[place] for place in self.order.tolist()]

    def observed(self, hits: Hits) -> None:
        """Record the result of the next item."""
        left, hit, panel = self.order[self._mean.observed :], hits.get(self.model), self.panel
        likely = np.exp(self._logs - self._logs.max())
        predicted = 2 * (panel.chance[left] @ (likely / likely.sum())) - 1
        if hit is None:
            self.unknown += 1
        else:
            chance = panel.chance[left[0]]
            self._logs = self._logs + np.log(chance if hit else 1 - chance)
        self._mean.observe(2 * (panel.item_means[left[0]] if hit is None else float(hit)) - 1, predicted)

    @property
    def standing(self) -> ModelStanding | None:
        """Standing of the model so far: the interval holds at all stops together in 95 % of runs."""
        if not self._mean.observed:
            return None
        low, high = ((end + 1) / 2 for end in self._mean.bounds)
        score, among = (low + high) / 2, self.panel.scores
        rank, best, worst = (1 + int(ahead.sum()) for ahead in (among > score, among > high, among >= low))
        return ModelStanding(score, low, high, rank, best, worst)

    @property
    def is_over(self) -> bool:
        """Whether the score is known well enough, or nothing is left to ask."""
        low, high = self._mean.bounds
        return (high - low) / 4 <= self._within or self._mean.observed == len(self.order)

    @property
    def finding(self) -> str:
        """Between which ranks the model lies, and how many items that took."""
        of_all = f"{self._mean.observed - self.unknown:,} of {counted(len(self.order), 'item')}"
        now, others = self.standing, len(self.panel.models)
        if now is None:
            return f"the rank of {self.model} is not known yet: {of_all} have a score"
        score = f"a score between {100 * now.low:.1f} and {100 * now.high:.1f}"
        rank = f"{now.best:,}" if now.best == now.worst else f"{now.best:,} to {now.worst:,}"
        finding = f"{self.model} has rank {rank} of {others + 1:,}: {score}, from {of_all}"
        if now.worst == 1 or now.best == others + 1:
            end = "better than the best" if now.worst == 1 else "worse than the worst"
            finding += f"; it lies beyond the recorded models: {end}"
        if self.unknown:
            count = counted(self.unknown, "item")
            finding += f"; {count} without a score count as the mean of the recorded models on them"
        return finding
