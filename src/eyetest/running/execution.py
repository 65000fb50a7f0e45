"""Execution of a plan: all calls, panels until a stopping rule is settled, or items until one of two models leads.

A wave holds no call that asking one at a time would have saved. What is asked next depends only on earlier results.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, heading, nearest, short
from eyetest.models import Call
from eyetest.records import Condition, Item, Response, StoppingRule, Tally
from eyetest.running.limits import Progress
from eyetest.running.planning import Plan, Stored, open_rows
from eyetest.running.runner import NotAskedError, Runner

Hits = Mapping[str, bool | None]  # by model: whether its answer to an item is right; None without a score


class Race:
    """Puts items to two models in random order, until one leads on the whole benchmark with certainty."""

    def __init__(self, words: str, plan: Plan, seed: int) -> None:
        """``words``: the two models, as ``A>B``. The plan is put into random order."""
        from eyetest.measures.stats.sequential import SequentialMean  # noqa: PLC0415 (slow to load, few runs race)

        self._names = _two(words, [model.name for model in plan.models])
        self._unknown, items = 0, len(plan.positions)
        order = np.random.default_rng(seed).permutation(items)
        plan.positions = [plan.positions[place] for place in order.tolist()]
        self.lead, *self._scores = (SequentialMean(items) for _ in range(3))

    def observed(self, hits: Hits) -> None:
        """Record the result of the next item. Where either model has no score, they tie."""
        found = [hits.get(name) for name in self._names]
        is_known = None not in found
        self._unknown += not is_known
        self.lead.observe(float(bool(found[0])) - float(bool(found[1])) if is_known else 0.0)
        for score, hit in zip(self._scores, found, strict=True):
            score.observe(1.0 if hit else -1.0)

    @property
    def is_over(self) -> bool:
        """Whether the next item could not change anything."""
        return bool(self.lead.side) or self.lead.observed == self.lead.items

    @property
    def leader(self) -> str:
        """The certain leader; empty while open or where they tie."""
        return {1: self._names[0], -1: self._names[1]}.get(self.lead.side, "")

    @property
    def scores(self) -> list[tuple[str, float, float, float]]:
        """Each model, its score and the score's bounds; an item without one counts as wrong."""
        known = zip(self._names, self._scores, strict=True)
        return [
            (name, (score.centre + 1) / 2, *((end + 1) / 2 for end in score.bounds))  # type: ignore[misc]
            for name, score in known
        ]

    @property
    def finding(self) -> str:
        """The leader, the lead, and how many items it took."""
        lead, (first, second) = self.lead, self._names
        low, high = lead.bounds
        if lead.side < 0:
            first, second, low, high = second, first, -high, -low
        items = counted(lead.items, "item")
        between = f"between {_points(low)} and {_points(high)} points"
        if lead.observed == lead.items and lead.side:
            text = f"{first} leads {second} by {_points(low)} points on all {items}"
        elif lead.observed == lead.items:
            text = f"{first} and {second} are level on all {items}"
        elif lead.side:
            after = f"which {lead.observed:,} of {items} made certain at 95 %"
            text = f"{first} leads {second} on the whole benchmark, by {between}, {after}"
        else:
            text = (
                f"after {lead.observed:,} of {items} none leads for certain: {first} is {between} ahead of {second}"
            )
        unknown = f"; on {self._unknown:,} that one of both has no score on, they count as level"
        return text + unknown if self._unknown else text


def _two(words: str, models: Sequence[str]) -> tuple[str, str]:
    """The two models named by a text, of those that are asked."""
    names = [name.strip() for name in words.split(">")]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"{heading('until')}: found {short(words)}, expected two models, as A>B")
    for name in names:
        if name not in models:
            raise InputError(f"{heading('until')}: no model {short(name)} in this run; {nearest(name, models)}")
    if len(models) > 2:
        raise InputError(f"{heading('until')}: two models race, and {len(models)} are asked")
    return names[0], names[1]


def _points(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "−")


class Waves:
    """The next calls about an item, by model index and sample index."""

    def __init__(self, rule: StoppingRule, samples: Sequence[int]) -> None:
        """``samples``: the number per model, in the order of models."""
        self._rule, self._samples = rule, samples
        self.observed: list[list[bool | None]] = [[] for _ in samples]  # results by model: hit, miss, or none (None)

    @property
    def verdict(self) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        return self._rule.verdict(self.tallies)

    def wave(self) -> list[tuple[int, int]]:
        """The next calls, all at once; none when the verdict is settled or no call is left."""
        tallies = self.tallies
        if self._rule.verdict(tallies) is not None:
            return []
        wave: list[tuple[int, int]] = []
        models_left = max(1, self._rule.decisions_needed(tallies))
        for model, (samples, observed, tally) in enumerate(zip(self._samples, self.observed, tallies, strict=True)):
            if self._rule.model_answers(tally) is None and len(observed) < samples and models_left:
                needed = max(1, self._rule.samples_needed(tally))
                wave += [(model, sample) for sample in range(len(observed), min(len(observed) + needed, samples))]
                models_left -= 1
        return wave

    @property
    def tallies(self) -> list[Tally]:
        """The results of each model so far."""
        known = ([hit for hit in observed if hit is not None] for observed in self.observed)
        return [Tally(hits=sum(hits), unknown=self._rule.samples - len(hits)) for hits in known]


Hit = Callable[[Item, Condition, Response], bool | None]  # whether an answer is right; None without an answer
_Job = TypeVar("_Job")
_SPARE = 16  # calls kept ready beyond those in flight
_AHEAD = 50  # at most one in so many items is asked ahead of earlier results: more would be wasted


async def execute(plan: Plan, runner: Runner, left: pl.DataFrame) -> None:
    """Make every call of the plan that is left."""
    async with asyncio.TaskGroup() as lanes:
        for number, model in enumerate(plan.models):
            lanes.create_task(ask_all(runner, model.name, plan.chosen(open_rows(left, number), (model,))))


async def ask_all(runner: Runner, model: str, calls: Iterable[Call]) -> None:
    """Put calls to a model, as many at once as it takes, until they end or it is abandoned."""

    async def ask(call: Call) -> None:
        with suppress(NotAskedError):
            await runner.ask(call)

    endpoint = runner.endpoints[model]
    lanes = endpoint.throttle.most + _SPARE
    await _in_lanes(calls, ask, lanes, lambda: runner.stopping or bool(endpoint.abandoned))


async def _in_lanes(
    jobs: Iterable[_Job], work: Callable[[_Job], Coroutine[Any, Any, None]], lanes: int, is_over: Callable[[], bool]
) -> None:
    """Do jobs, at most so many at once; each is made when a lane is free, so that memory does not grow with them."""
    jobs = iter(jobs)

    async def lane() -> None:
        for job in jobs:
            if is_over():
                return
            await work(job)
            await asyncio.sleep(0)  # a model that never waits must not keep signals and other models waiting

    async with asyncio.TaskGroup() as tasks:
        for _ in range(lanes):
            tasks.create_task(lane())


class _Once:
    """Asks each request once, however many items lead to it; only shared results are kept."""

    def __init__(self, plan: Plan, runner: Runner, stored: Stored) -> None:
        self._several, self._runner, self._stored = plan.shared, runner, stored
        self.asked: dict[str, asyncio.Future[Response]] = {}

    async def respond(self, call: Call) -> Response:
        """The stored or new answer to a call."""
        if call.id not in self._several:
            return self._stored(call.id) or await self._runner.ask(call)
        if call.id not in self.asked:
            answer = self.asked[call.id] = asyncio.get_running_loop().create_future()
            try:
                answer.set_result(self._stored(call.id) or await self._runner.ask(call))
            except BaseException as error:
                answer.set_exception(error)
                answer.exception()
                raise
        return await self.asked[call.id]

    async def hits(self, calls: Sequence[Call], hit: Hit) -> list[bool | None] | None:
        """Whether the answers are right, each by its item's own gold; None where one of the calls was not made."""
        answers = await asyncio.gather(*map(self.respond, calls), return_exceptions=True)
        results: list[bool | None] = []
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, NotAskedError):
                return None
            if isinstance(answer, BaseException):
                raise answer
            results.append(hit(call.item, call.asked.condition, answer))
        return results


async def execute_until(plan: Plan, runner: Runner, race: Race, hit: Hit, stored: Stored) -> None:
    """Ask about items in the order of the plan until one model leads; calls in flight are awaited."""
    once, waiting = _Once(plan, runner, stored), deque[asyncio.Task[dict[str, bool | None] | None]]()
    ahead = max(1, min(len(plan.positions) // _AHEAD, *runner.most_in_flight))

    async def judge(item: Item) -> dict[str, bool | None] | None:
        calls = list(plan.applicable(item, plan.models))
        hits = await once.hits(calls, hit)
        return None if hits is None else dict(zip((call.asked.model for call in calls), hits, strict=True))

    async with asyncio.TaskGroup() as tasks:
        items = plan.items()
        while not (race.is_over or runner.stopping):
            while len(waiting) < ahead and (item := next(items, None)) is not None:
                waiting.append(tasks.create_task(judge(item)))
            if not waiting or (hits := await waiting.popleft()) is None:
                break
            race.observed(hits)
    if race.is_over:
        _count_saved(runner.progress)


async def execute_panels(plan: Plan, runner: Runner, rule: StoppingRule, hit: Hit, stored: Stored) -> None:
    """Ask about each item only until the rule's verdict on it is settled."""
    once = _Once(plan, runner, stored)

    async def settle(calls: Sequence[Sequence[Call]]) -> None:
        waves = Waves(rule, [len(of_model) for of_model in calls])
        while wave := waves.wave():
            hits = await once.hits([calls[model][sample] for model, sample in wave], hit)
            if hits is None:
                return
            for (model, _), result in zip(wave, hits, strict=True):
                waves.observed[model].append(result)

    together = rule.samples > plan.samples  # the rule counts answers under all conditions
    panels = (calls for item in plan.items() for calls in _panels(plan, item, together=together))
    await _in_lanes(panels, settle, sum(runner.most_in_flight) + _SPARE, lambda: runner.stopping)
    if not runner.stopping and not runner.progress.abandoned:
        _count_saved(runner.progress)


def _count_saved(progress: Progress) -> None:
    """Count what was not asked, because it could change nothing."""
    progress.saved = max(0, progress.to_ask - progress.done)


def _panels(plan: Plan, item: Item, *, together: bool) -> list[list[list[Call]]]:
    """An item's calls by model, for each condition or for all of them."""
    panels: dict[Condition | None, dict[str, list[Call]]] = {}
    for call in plan.applicable(item, plan.models):
        condition = None if together else call.asked.condition
        panels.setdefault(condition, {model.name: [] for model in plan.models})[call.asked.model].append(call)
    return [list(models.values()) for models in panels.values()]
