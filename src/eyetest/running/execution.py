"""A plan is carried out: each model at its own pace, or, under a stopping rule, panels item by item."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Set
from contextlib import suppress
from typing import Any

from eyetest.models import Call
from eyetest.records import Condition, Item, Response, StoppingRule
from eyetest.running.ledger import Left
from eyetest.running.planning import Plan
from eyetest.running.runner import NotAskedError, Runner
from eyetest.running.stopping import ItemPanel

Hit = Callable[[Item, Condition, Response], bool | None]
"""Whether an answer is right; None where there is no answer to judge."""
_SPARE = 16
"""Calls that stand ready beyond those in flight, so that no place stays empty."""


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


async def execute_panels(
    plan: Plan, runner: Runner, rule: StoppingRule, hit: Hit, stored: Callable[[str], Response | None]
) -> None:
    """Ask about each item only until the rule's verdict on it cannot change any more."""
    most = sum(runner.most_in_flight(model.name) for model in plan.models)
    if plan.shared is None:
        plan.estimate()
    several: Set[str] = plan.shared or frozenset()
    asked: dict[str, asyncio.Future[Response]] = {}
    unsent: set[str] = set()
    saved = 0
    window = _Window(most + _SPARE)

    async def respond(call: Call) -> Response:
        """Ask once, however many items lead to the same request; only what several lead to is kept for the others."""
        if call.id not in several:
            return stored(call.id) or await runner.ask(call)
        if call.id not in asked:
            asked[call.id] = asyncio.get_running_loop().create_future()
            unsent.discard(call.id)
            try:
                asked[call.id].set_result(stored(call.id) or await runner.ask(call))
            except BaseException as error:
                asked[call.id].set_exception(error)
                asked[call.id].exception()
                raise
        return await asked[call.id]

    async def judge(call: Call) -> bool | None:
        """Each item judges by its own gold."""
        return hit(call.item, call.asked.condition, await respond(call))

    async def settle(panel: ItemPanel) -> None:
        nonlocal saved
        while wave := panel.wave():
            results = await asyncio.gather(*(judge(call) for call in wave), return_exceptions=True)
            for call, result in zip(wave, results, strict=True):
                if isinstance(result, NotAskedError):
                    return
                if isinstance(result, BaseException):
                    raise result
                panel.heard(call, result)
        if panel.verdict is not None:
            needless = [call.id for call in panel.unsent() if call.id not in asked and stored(call.id) is None]
            unsent.update(request for request in needless if request in several)
            saved += sum(request not in several for request in needless)
            runner.progress.saved = saved + len(unsent)

    async with asyncio.TaskGroup() as tasks:
        for item in plan.items():
            for panel in _panels(plan, rule, item):
                await window.enter()
                if runner.stopping:
                    return
                tasks.create_task(window.leave_after(settle, panel))


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
