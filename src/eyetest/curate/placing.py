"""Place a new model among recorded ones from few items, the uncertain drawn sooner; predictions by curves narrow its
interval, which holds at every number of items, so stopping by width is allowed, and for wrong curves.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eyetest.curate.subsets import Estimator
from eyetest.errors import counted
from eyetest.measures.stats.intervals import Floats, column_means, one_thread
from eyetest.measures.stats.item_analysis import SCALE, fit, probabilities
from eyetest.measures.stats.sequential import LEAST_CHANCE, Draw, SequentialMean
from eyetest.records import Item
from eyetest.running.execution import Hits
from eyetest.running.planning import Plan

_COARSE = slice(None, None, 8)  # abilities of `SCALE` that are enough to predict answers by
_CERTAIN_ENOUGH = 1e-6


class RecordedPanel:
    """Recorded models: their scores, and the curves of items fitted to their answers (items × models)."""

    def __init__(self, items: Sequence[str], table: Floats, seed: int) -> None:
        self.items, self.seed, fitted = list(items), seed, fit(table)
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


class PlacedModel:
    """A model asked item by item, by its answers so far; none twice. Scores are counted as ±1; an item without a
    score counts as the recorded models' mean on it.
    """

    def __init__(self, panel: RecordedPanel, within: float) -> None:
        """``within``: target half width of the interval, as a share of 1."""
        self._panel, self.items, self.unknown = panel, len(panel.items), 0
        self._logs, self._left = panel.beforehand.copy(), np.arange(len(panel.items))
        self._rng, self._draws = np.random.default_rng(panel.seed), list[Draw]()
        self._mean = SequentialMean(self, leads=[2 * within])

    def next(self) -> int:
        """Draw an item, with chances by the standard deviation of its answer, none below half of the mean chance."""
        likely = np.exp(self._logs - self._logs.max())
        right = (self._panel.chance @ (likely / likely.sum()))[self._left]
        spread = np.sqrt(right * (1 - right))
        chances = np.maximum(spread / spread.mean(), LEAST_CHANCE)
        weights, predicted = chances.mean() / chances, 2 * right - 1
        place = int(np.searchsorted(ends := np.cumsum(chances), self._rng.random() * ends[-1], side="right"))
        rest = float(predicted.mean())
        extremes = float((weights * (1 + predicted)).max()), float((weights * (1 - predicted)).max())
        draw = Draw(float(weights[place]), float(predicted[place]), rest, rest - extremes[0], rest + extremes[1])
        self._draws.append(draw)
        item = int(self._left[place])
        self._left = np.delete(self._left, place)
        return item

    def draw(self, place: int, usual: float) -> Draw:
        """The draw at a place of the order."""
        return self._draws[place]

    def observe(self, item: int, score: float | None) -> None:
        """Take the score of the next item in the order of drawing, from 0 to 1."""
        self.unknown += score is None
        if score is not None:
            chance = self._panel.chance[item]
            self._logs = self._logs + score * np.log(chance) + (1 - score) * np.log1p(-chance)
        self._mean.observe(2 * (self._panel.item_means[item] if score is None else score) - 1)

    @property
    def observed(self) -> int:
        """How many items were asked, with a score or without."""
        return self._mean.observed

    @property
    def standing(self) -> ModelStanding:
        """Standing of the model so far: the interval holds at all looks together in 95 % of runs."""
        low, high = ((end + 1) / 2 for end in self._mean.bounds)
        score, among = (low + high) / 2, self._panel.scores
        rank, best, worst = (1 + int(ahead.sum()) for ahead in (among > score, among > high, among >= low))
        return ModelStanding(score, low, high, rank, best, worst)


class Placing:
    """The goal of a run that ranks a model: items at random, uncertain ones with higher probability."""

    def __init__(self, model: str, models: Sequence[str], panel: RecordedPanel, within: float) -> None:
        """``within``: half the width of the score's interval, in points, at which it ends."""
        self.words, self._model, self.panel = f"{model} within {within:g} points", model, panel
        self.models, self._within = list(models), within / 100
        self._placed, self._waiting = PlacedModel(panel, self._within), deque[int]()
        self.standing: ModelStanding | None = None

    def items(self, plan: Plan) -> Iterator[Item]:
        """Each item when it is needed, by the answers until then."""
        positions = plan.benchmark.positions(self.panel.items)
        for _ in positions:
            with one_thread():
                place = self._placed.next()
            self._waiting.append(place)
            yield from plan.taking([positions[place]])

    def observed(self, hits: Hits) -> None:
        """Record the result of the next item."""
        hit = hits.get(self._model)
        self._placed.observe(self._waiting.popleft(), None if hit is None else float(hit))
        self.standing = self._placed.standing

    @property
    def known(self) -> int:
        """How many items have a score."""
        return self._placed.observed - self._placed.unknown

    @property
    def items_in_all(self) -> int:
        """How many items the recorded models answered."""
        return len(self.panel.items)

    @property
    def is_over(self) -> bool:
        """Whether the score is known well enough, or nothing is left to ask."""
        now = self.standing
        is_known = now is not None and (now.high - now.low) / 2 <= self._within
        return is_known or self._placed.observed == self.items_in_all

    @property
    def finding(self) -> str:
        """Between which ranks the model lies, and how many items that took."""
        of_all = f"{self.known:,} of {counted(self.items_in_all, 'item')}"
        now, others = self.standing, len(self.models)
        if now is None:
            return f"the rank of {self._model} is not known yet: {of_all} have a score"
        score = f"a score between {100 * now.low:.1f} and {100 * now.high:.1f}"
        rank = f"{now.best:,}" if now.best == now.worst else f"{now.best:,} to {now.worst:,}"
        finding = f"{self._model} has rank {rank} of {others + 1:,}: {score}, from {of_all}"
        if now.worst == 1 or now.best == others + 1:
            end = "better than the best" if now.worst == 1 else "worse than the worst"
            finding += f"; it lies beyond the recorded models: {end}"
        return finding

    @property
    def notes(self) -> tuple[str, ...]:
        """How items without a score are counted."""
        if not (unknown := self._placed.unknown):
            return ()
        return (f"{counted(unknown, 'item')} without a score count as the mean of the recorded models on them",)
