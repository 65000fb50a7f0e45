"""A plan is carried out: each model at its own pace, or, under a stopping rule, panels item by item."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Set
from typing import Any

from eyetest.models import Call, Model
from eyetest.records import Condition, Item, Response, StoppingRule
from eyetest.running.planning import Plan
from eyetest.running.runner import NotAskedError, Runner
from eyetest.running.stopping import ItemPanel

Hit = Callable[[Item, Condition, Response], bool | None]
"""Whether an answer is right; None where there is no answer to judge."""
_SPARE = 16
"""Calls that stand ready beyond those in flight, so that no place stays empty."""


async def execute(plan: Plan, runner: Runner, settled: set[bytes], last: Set[bytes] = frozenset()) -> None:
    """Make every call of the plan that is not settled yet; at the end those that failed before.

    Questions on which a server breaks would otherwise stand in the way of all others, in every session anew.
    """
    claimed = settled | last
    async with asyncio.TaskGroup() as lanes:
        for model in plan.models:
            lanes.create_task(_lane(plan, runner, model, claimed, last))


async def execute_panels(
    plan: Plan, runner: Runner, rule: StoppingRule, hit: Hit, stored: Callable[[str], Response | None]
) -> None:
    """Ask about each item only until the rule's verdict on it cannot change any more."""
    most = sum(runner.most_in_flight(model.name) for model in plan.models)
    asked: dict[str, asyncio.Future[Response]] = {}
    unsent: set[str] = set()
    window = _Window(most + _SPARE)

    async def judge(call: Call) -> bool | None:
        """Ask once, however many items lead to the same request; each judges by its own gold."""
        if call.id not in asked:
            asked[call.id] = asyncio.get_running_loop().create_future()
            unsent.discard(call.id)
            try:
                asked[call.id].set_result(stored(call.id) or await runner.ask(call))
            except BaseException as error:
                asked[call.id].set_exception(error)
                asked[call.id].exception()
                raise
        return hit(call.item, call.asked.condition, await asked[call.id])

    async def settle(panel: ItemPanel) -> None:
        while wave := panel.wave():
            results = await asyncio.gather(*(judge(call) for call in wave), return_exceptions=True)
            for call, result in zip(wave, results, strict=True):
                if isinstance(result, NotAskedError):
                    return
                if isinstance(result, BaseException):
                    raise result
                panel.heard(call, result)
        if panel.verdict is not None:
            unsent.update(call.id for call in panel.unsent() if call.id not in asked and stored(call.id) is None)
            runner.progress.saved = len(unsent)

    async with asyncio.TaskGroup() as tasks:
        for item in plan.items():
            for panel in _panels(plan, rule, item):
                await window.enter()
                if runner.stopping:
                    return
                tasks.create_task(window.leave_after(settle, panel))


async def _lane(plan: Plan, runner: Runner, model: Model, claimed: set[bytes], last: Set[bytes]) -> None:
    window = _Window(runner.most_in_flight(model.name) + _SPARE)
    left = set(last)
    async with asyncio.TaskGroup() as calls:
        for is_last in (False, True) if last else (False,):
            for call in _calls(plan, model):
                key = bytes.fromhex(call.id)
                if key not in left if is_last else key in claimed:
                    continue
                claimed.add(key)
                left.discard(key)
                await window.enter()
                if runner.stopping or not runner.usable(model.name):
                    return
                calls.create_task(window.leave_after(_ask, runner, call))


def _calls(plan: Plan, model: Model) -> Iterator[Call]:
    for item in plan.items():
        for call in plan.calls(item, (model,)):
            if not isinstance(call, tuple):
                yield call


async def _ask(runner: Runner, call: Call) -> None:
    try:
        await runner.ask(call)
    except NotAskedError:
        return


def _panels(plan: Plan, rule: StoppingRule, item: Item) -> list[ItemPanel]:
    """One panel a condition: the calls about the item by model, in the order of the models.

    Models with a condition of their own sit in one panel with the others.
    """
    if plan.is_joint:
        calls = [call for call in plan.calls(item, plan.models) if not isinstance(call, tuple)]
        return [ItemPanel(rule, [[call for call in calls if call.asked.model == m.name] for m in plan.models])]
    by_condition: dict[Condition, dict[str, list[Call]]] = {}
    for call in plan.calls(item, plan.models):
        if not isinstance(call, tuple):
            models = by_condition.setdefault(call.asked.condition, {model.name: [] for model in plan.models})
            models[call.asked.model].append(call)
    return [ItemPanel(rule, list(models.values())) for models in by_condition.values()]


class _Window:
    """Bounds how many tasks exist at once, so that memory does not grow with the plan."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)

    async def enter(self) -> None:
        await self._places.acquire()

    async def leave_after(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        try:
            await work(*arguments)
        finally:
            self._places.release()
