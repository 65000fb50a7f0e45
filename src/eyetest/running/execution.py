"""Execution of a plan: each model at its own pace, or, under a stopping rule, panels item by item.

Under a stopping rule calls go out in waves as small as can decide anything: a wave never holds a call that asking one
at a time, in the same order, would have saved. What is asked next depends only on earlier results.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import Any

from eyetest.models import Call, Model
from eyetest.records import Condition, Item, Response, StoppingRule, Tally
from eyetest.running.limits import Asking, Budget
from eyetest.running.planning import Left, Plan, is_asked_again
from eyetest.running.progress import Progress
from eyetest.running.race import Goal
from eyetest.running.runner import NotAskedError, Runner
from eyetest.runs import RunWriter, StoredResponses


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


class ItemPanel:
    """The calls about an item, by model in the order of asking."""

    def __init__(self, rule: StoppingRule, calls: Sequence[Sequence[Call]]) -> None:
        self._calls = calls
        self._waves = Waves(rule, [len(of_model) for of_model in calls])

    @property
    def verdict(self) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        return self._waves.verdict

    def unsent(self) -> Iterator[Call]:
        """Calls that were not made."""
        for calls, observed in zip(self._calls, self._waves.observed, strict=True):
            yield from calls[len(observed) :]

    def wave(self) -> list[Call]:
        """The next calls, all at once; none when the verdict is settled or no call is left."""
        return [self._calls[model][sample] for model, sample in self._waves.wave()]

    def observed(self, call: Call, hit: bool | None) -> None:
        """Record the result of a call of the wave: hit, miss, or none (None). Calls are recorded in order."""
        index = next(i for i, calls in enumerate(self._calls) if calls and calls[0].asked.model == call.asked.model)
        self._waves.observed[index].append(hit)


Hit = Callable[[Item, Condition, Response], bool | None]  # whether an answer is right; None without an answer
Stored = Callable[[str], Response | None]
_SPARE = 16  # calls kept ready beyond those in flight
_AHEAD = 50  # at most one in so many items is asked ahead of earlier results: more would be wasted


async def execute(plan: Plan, runner: Runner, left: Left | None = None) -> None:
    """Make every open call of the plan, or every call."""
    left = left or plan.estimate()[1]
    async with asyncio.TaskGroup() as lanes:
        for number, model in enumerate(plan.models):
            lanes.create_task(ask_all(runner, model.name, plan.chosen(left.rows(number), (model,))))


async def ask_all(
    runner: Runner, model: str, calls: Iterable[Call], observed: Callable[[Response], None] = lambda response: None
) -> None:
    """Put calls to a model, as many at once as it takes, until they end or it is abandoned."""
    window = _Window(runner.most_in_flight(model) + _SPARE)

    async def ask(call: Call) -> None:
        with suppress(NotAskedError):
            observed(await runner.ask(call))

    async with asyncio.TaskGroup() as tasks:
        for call in calls:
            await window.acquire()
            if runner.stopping or not runner.usable(model):
                return
            tasks.create_task(window.leave_after(ask, call))


class _Once:
    """Asks each request once, however many items lead to it; only shared results are kept."""

    def __init__(self, plan: Plan, runner: Runner, stored: Stored) -> None:
        if plan.shared is None:
            plan.estimate()
        self._runner, self._stored = runner, stored
        self.several: Set[str] = plan.shared or frozenset()
        self.asked: dict[str, asyncio.Future[Response]] = {}

    async def respond(self, call: Call) -> Response:
        """The stored or new answer to a call."""
        if call.id not in self.several:
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


async def execute_until(plan: Plan, runner: Runner, until: Goal, hit: Hit, stored: Stored) -> None:
    """Ask about items and count them in the goal's order until it is reached; calls in flight are awaited."""
    once, waiting = _Once(plan, runner, stored), deque[asyncio.Task[dict[str, bool | None] | None]]()
    ahead = max(1, min(len(plan.positions) // _AHEAD, *(runner.most_in_flight(model.name) for model in plan.models)))

    async def judge(item: Item) -> dict[str, bool | None] | None:
        calls = list(plan.applicable(item, plan.models))
        answers = await asyncio.gather(*(once.respond(call) for call in calls), return_exceptions=True)
        hits: dict[str, bool | None] = {}
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, NotAskedError):
                return None
            if isinstance(answer, BaseException):
                raise answer
            hits[call.asked.model] = hit(item, call.asked.condition, answer)
        return hits

    async with asyncio.TaskGroup() as tasks:
        items = until.items(plan)
        while not (until.is_over or runner.stopping):
            while len(waiting) < ahead and (item := next(items, None)) is not None:
                waiting.append(tasks.create_task(judge(item)))
            if not waiting or (hits := await waiting.popleft()) is None:
                break
            until.observed(hits)
    if until.is_over:
        runner.progress.saved = max(0, runner.progress.to_ask - runner.progress.done)


async def execute_panels(plan: Plan, runner: Runner, rule: StoppingRule, hit: Hit, stored: Stored) -> None:
    """Ask about each item only until the rule's verdict on it is settled."""
    most = sum(runner.most_in_flight(model.name) for model in plan.models)
    once = _Once(plan, runner, stored)
    unsent: set[str] = set()
    saved = told = 0
    window = _Window(most + _SPARE)

    async def judge(call: Call) -> bool | None:
        """Judge by the item's own gold."""
        unsent.discard(call.id)
        return hit(call.item, call.asked.condition, await once.respond(call))

    async def settle(panel: ItemPanel) -> None:
        nonlocal saved, told
        while wave := panel.wave():
            results = await asyncio.gather(*(judge(call) for call in wave), return_exceptions=True)
            for call, result in zip(wave, results, strict=True):
                if isinstance(result, NotAskedError):
                    return
                if isinstance(result, BaseException):
                    raise result
                panel.observed(call, result)
        if panel.verdict is not None:
            needless = [call.id for call in panel.unsent() if call.id not in once.asked and stored(call.id) is None]
            unsent.update(request for request in needless if request in once.several)
            saved += sum(request not in once.several for request in needless)
            runner.progress.saved += saved + len(unsent) - told
            told = saved + len(unsent)

    async with asyncio.TaskGroup() as tasks:
        for item in plan.items():
            for panel in _panels(plan, rule, item):
                await window.acquire()
                if runner.stopping:
                    return
                tasks.create_task(window.leave_after(settle, panel))


class LocalExecutor(Runner):
    """Executes plans in this process, as `RayExecutor` does on a cluster. Use it in an ``async with`` block."""

    ways: Mapping[str, str] = {}  # by model outside this process: how it computes likelihoods

    def __init__(
        self, models: Sequence[Model], run: RunWriter, budget: Budget, progress: Progress, asking: Asking
    ) -> None:
        super().__init__(models, run.journal.append, budget, progress=progress, seed=asking.seed)
        self._run, self._retry_failed = run.path, asking.retry_failed

    async def execute(self, plan: Plan, left: Left) -> None:
        """Make every open call of the plan."""
        await execute(plan, self, left)

    async def execute_until(self, plan: Plan, until: Goal, hit: Hit, stored: Stored) -> None:
        """Ask about items in the goal's order until it is reached."""
        await execute_until(plan, self, until, hit, stored)

    async def execute_panels(self, plan: Plan, left: Left, rule: StoppingRule, hit: Hit) -> None:
        """Ask about each item only until the rule's verdict on it is settled."""
        stored = StoredResponses(self._run, partial(is_asked_again, retry_failed=self._retry_failed))
        await execute_panels(plan, self, rule, hit, stored.get)


def _panels(plan: Plan, rule: StoppingRule, item: Item) -> list[ItemPanel]:
    """One panel per condition, or one for all where models have their own conditions: an item's calls by model."""
    if plan.own:
        calls = list(plan.applicable(item, plan.models))
        return [ItemPanel(rule, [[call for call in calls if call.asked.model == m.name] for m in plan.models])]
    by_condition: dict[Condition, dict[str, list[Call]]] = {}
    for call in plan.applicable(item, plan.models):
        models = by_condition.setdefault(call.asked.condition, {model.name: [] for model in plan.models})
        models[call.asked.model].append(call)
    return [ItemPanel(rule, list(models.values())) for models in by_condition.values()]


class _Window(asyncio.Semaphore):
    """Bounds the number of tasks, so that memory does not grow with the plan."""

    async def leave_after(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        try:
            await work(*arguments)
        finally:
            self.release()
