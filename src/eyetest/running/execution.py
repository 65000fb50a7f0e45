"""A plan is carried out: each model at its own pace, or, under a stopping rule, panels item by item."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from eyetest.models import Call
from eyetest.records import Condition, Item, Response, StoppingRule
from eyetest.running.ledger import Left
from eyetest.running.planning import Plan, is_asked_again
from eyetest.running.progress import Progress
from eyetest.running.race import Goal
from eyetest.running.runner import NotAskedError, Runner
from eyetest.running.stopping import ItemPanel
from eyetest.runs import StoredResponses

Hit = Callable[[Item, Condition, Response], bool | None]
"""Whether an answer is right; None where there is no answer to judge."""
Stored = Callable[[str], Response | None]
"""The answer to a request that was made before."""
_SPARE = 16
"""Calls that stand ready beyond those in flight, so that no place stays empty."""
_AHEAD = 50
"""At most one in so many items is asked about before those in front of it are heard: more would be in vain."""


async def execute(plan: Plan, runner: Runner, left: Left | None = None) -> None:
    """Make every call of the plan that is left, or every call."""
    left = left or plan.estimate()[1]
    async with asyncio.TaskGroup() as lanes:
        for number, model in enumerate(plan.models):
            lanes.create_task(ask_all(runner, model.name, plan.chosen(left.rows(number), (model,))))


async def ask_all(
    runner: Runner, model: str, calls: Iterable[Call], heard: Callable[[Response], None] = lambda response: None
) -> None:
    """Put calls to a model, as many at once as it takes, until they end or it cannot be asked any more."""
    window = _Window(runner.most_in_flight(model) + _SPARE)

    async def ask(call: Call) -> None:
        with suppress(NotAskedError):
            heard(await runner.ask(call))

    async with asyncio.TaskGroup() as tasks:
        for call in calls:
            await window.enter()
            if runner.stopping or not runner.usable(model):
                return
            tasks.create_task(window.leave_after(ask, call))


class _Once:
    """Asks once, however many items lead to the same request; only what several lead to is kept for the others."""

    def __init__(self, plan: Plan, runner: Runner, stored: Stored) -> None:
        if plan.shared is None:
            plan.estimate()
        self._runner, self._stored = runner, stored
        self.several: Set[str] = plan.shared or frozenset()
        self.asked: dict[str, asyncio.Future[Response]] = {}

    async def respond(self, call: Call) -> Response:
        """The answer to a call, from before or from now."""
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
    """Ask about items in the goal's order until it is reached; what is in flight then is waited for.

    Items are heard in that order, whoever answers first: those with quick answers may well be the easy ones.
    """
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
            until.heard(hits)
    if until.is_over:
        runner.progress.saved = max(0, runner.progress.to_ask - runner.progress.done)


async def execute_panels(plan: Plan, runner: Runner, rule: StoppingRule, hit: Hit, stored: Stored) -> None:
    """Ask about each item only until the rule's verdict on it cannot change any more."""
    most = sum(runner.most_in_flight(model.name) for model in plan.models)
    once = _Once(plan, runner, stored)
    unsent: set[str] = set()
    saved = told = 0
    window = _Window(most + _SPARE)

    async def judge(call: Call) -> bool | None:
        """Each item judges by its own gold."""
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
                panel.heard(call, result)
        if panel.verdict is not None:
            needless = [call.id for call in panel.unsent() if call.id not in once.asked and stored(call.id) is None]
            unsent.update(request for request in needless if request in once.several)
            saved += sum(request not in once.several for request in needless)
            runner.progress.saved += saved + len(unsent) - told
            told = saved + len(unsent)

    async with asyncio.TaskGroup() as tasks:
        for item in plan.items():
            for panel in _panels(plan, rule, item):
                await window.enter()
                if runner.stopping:
                    return
                tasks.create_task(window.leave_after(settle, panel))


class Executor(Protocol):
    """Where a plan is carried out: in this process, or on a cluster. Used in an ``async with`` block."""

    progress: Progress
    ways: Mapping[str, str]
    """By model, for those that are not in this process: how they compute likelihoods."""

    @property
    def stopping(self) -> bool:
        """Whether no new call is begun."""

    def stop(self, why: str) -> None:
        """Begin no new call; those in flight finish."""

    async def execute(self, plan: Plan, left: Left) -> None:
        """Make every call of the plan that is left."""

    async def execute_until(self, plan: Plan, until: Goal, hit: Hit, stored: Stored) -> None:
        """Ask about items in the goal's order until it is reached."""

    async def execute_panels(self, plan: Plan, left: Left, rule: StoppingRule, hit: Hit) -> None:
        """Ask about each item only until the rule's verdict on it cannot change any more."""

    async def __aenter__(self) -> "Executor":
        """Get ready."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give everything back."""


class LocalExecutor:
    """Carries plans out in this process."""

    ways: Mapping[str, str] = {}

    def __init__(self, runner: Runner, run: Path, *, retry_failed: bool) -> None:
        self._runner, self._run, self._retry_failed = runner, run, retry_failed
        self.progress = runner.progress

    async def __aenter__(self) -> "LocalExecutor":
        await self._runner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.__aexit__(kind, error, trace)

    @property
    def stopping(self) -> bool:
        """Whether no new call is begun."""
        return self._runner.stopping

    def stop(self, why: str) -> None:
        """Begin no new call; those in flight finish."""
        self._runner.stop(why)

    async def execute(self, plan: Plan, left: Left) -> None:
        """Make every call of the plan that is left."""
        await execute(plan, self._runner, left)

    async def execute_until(self, plan: Plan, until: Goal, hit: Hit, stored: Stored) -> None:
        """Ask about items in the goal's order until it is reached."""
        await execute_until(plan, self._runner, until, hit, stored)

    async def execute_panels(self, plan: Plan, left: Left, rule: StoppingRule, hit: Hit) -> None:
        """Ask about each item only until the rule's verdict on it cannot change any more."""
        stored = StoredResponses(self._run, partial(is_asked_again, retry_failed=self._retry_failed))
        await execute_panels(plan, self._runner, rule, hit, stored.get)


def _panels(plan: Plan, rule: StoppingRule, item: Item) -> list[ItemPanel]:
    """One panel a condition: the calls about the item by model, in the order of the models.

    Models with a condition of their own sit in one panel with the others.
    """
    if plan.is_joint:
        calls = list(plan.applicable(item, plan.models))
        return [ItemPanel(rule, [[call for call in calls if call.asked.model == m.name] for m in plan.models])]
    by_condition: dict[Condition, dict[str, list[Call]]] = {}
    for call in plan.applicable(item, plan.models):
        models = by_condition.setdefault(call.asked.condition, {model.name: [] for model in plan.models})
        models[call.asked.model].append(call)
    return [ItemPanel(rule, list(models.values())) for models in by_condition.values()]


class _Window:
    """Bounds how many tasks exist at once, so that memory does not grow with the plan."""

    def __init__(self, most: int) -> None:
        self._slots = asyncio.Semaphore(most)

    async def enter(self) -> None:
        await self._slots.acquire()

    async def leave_after(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        try:
            await work(*arguments)
        finally:
            self._slots.release()
