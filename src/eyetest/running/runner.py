"""How one call is made: a place in the queue, attempts with pauses between them, a line in the journal, an answer.

Everybody who needs a model is handed `Runner.ask`: contestants, judges and describers pass through the same journal,
limits and counts.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from time import monotonic, time
from types import TracebackType

import msgspec

from eyetest.errors import EyetestError, ImageError
from eyetest.models import Call, CallError, Model
from eyetest.records import Response
from eyetest.running.limits import LONGEST_PAUSE, Budget, Limits
from eyetest.running.planning import tokens
from eyetest.running.progress import Progress
from eyetest.running.throttle import Throttle

_MOST_FAILURES_IN_A_ROW = 100
"""A model that fails so often without one success is not asked the rest."""
_PUSHING_BACK = ("rate-limit", "overloaded")
_NOT_THE_SERVERS = ("not-recorded", "recorded-failure", "picture")
"""Failures of single items, which say nothing about the next one."""


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model cannot be reached. Nothing is stored."""


class _Lane:
    """One model and how it is doing."""

    def __init__(self, model: Model, limits: Limits) -> None:
        self.model = model
        self.throttle = Throttle(min(model.entry.concurrency or limits.concurrency, limits.concurrency))
        self.failures_in_a_row = 0
        self.has_answered = False
        self.abandoned = ""


class _Hold:
    """What is set aside of the budget while a call is under way."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._held: tuple[int, float] | None = None
        self.spent = (0, 0.0)

    def take(self, model: Model, call: Call) -> str:
        """Set aside what a call will probably take; gives the reason if there is not enough left."""
        tokens_in, most_out = tokens(call)
        money = model.entry.price.of(tokens_in, most_out) if model.entry.price else 0.0
        held = (tokens_in + most_out, money)
        why = self._budget.refuses(*held)
        if not why:
            self._held = held
        return why

    def settle(self) -> None:
        """Give back what was set aside, keep what was spent."""
        if self._held is not None:
            self._budget.settle(self._held, self.spent)


class Runner:
    """Makes calls. Use it in an ``async with`` block, which opens and closes the models.

    A budget in the place of limits is one that others spend from as well.
    """

    def __init__(
        self,
        models: Sequence[Model],
        store: Callable[[Response], None],
        limits: Limits | Budget | None = None,
        *,
        progress: Progress | None = None,
        seed: int = 0,
    ) -> None:
        self.budget = limits if isinstance(limits, Budget) else Budget(limits or Limits())
        self.limits = self.budget.limits
        self.progress = progress or Progress()
        self._store = store
        self._lanes = {model.name: _Lane(model, self.limits) for model in models}
        self._chance = random.Random(seed)  # noqa: S311 (jitter, not a secret)
        self._closed = False
        self._stopping = asyncio.Event()

    async def __aenter__(self) -> "Runner":
        for lane in self._lanes.values():
            await lane.model.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane in self._lanes.values():
            await lane.model.close()

    def close(self, why: str) -> None:
        """Begin no new call; those that have begun may take all their attempts."""
        self.progress.stopped = self.progress.stopped or why
        self._closed = True

    def stop(self, why: str) -> None:
        """Begin no new call and no new attempt; those in flight finish."""
        self.close(why)
        self._stopping.set()
        for lane in self._lanes.values():
            lane.throttle.let_all_pass()

    @property
    def stopping(self) -> bool:
        """Whether no new call is begun."""
        return self._closed

    def usable(self, model: str) -> bool:
        """Whether a model can still be asked."""
        return not self._lanes[model].abandoned

    def most_in_flight(self, model: str) -> int:
        """How many calls of a model may be in flight."""
        return self._lanes[model].throttle.most

    async def ask(self, call: Call) -> Response:
        """Make a call, however many attempts it takes, and give back what was stored of it."""
        lane = self._lanes[call.request.model]
        self._refuse_if_over(lane, begun=False)
        price, hold = lane.model.entry.price, _Hold(self.budget)
        money = 0.0
        try:
            response = await self._attempt(lane, call, hold)
            counted = (response.tokens_in or 0, response.tokens_out or 0)
            money = price.of(*counted) if price else 0.0
            hold.spent = (sum(counted), money)
        finally:
            hold.settle()
        self._store(response)
        self.progress.answered(response, money)
        return response

    async def _attempt(self, lane: _Lane, call: Call, hold: "_Hold") -> Response:
        while not await self._granted(lane, call, hold):
            self._refuse_if_over(lane, begun=False)
        attempt = empty = 0
        while True:
            self._refuse_if_over(lane, begun=True)
            async with lane.throttle as entered:
                self._refuse_if_over(lane, begun=True)
                attempt += 1
                began = monotonic()
                try:
                    response = await self._once(lane, call)
                except CallError as caught:
                    error = caught
                except ImageError as caught:
                    error = CallError("picture", str(caught))
                else:
                    lane.throttle.went_well()
                    lane.failures_in_a_row, lane.has_answered = 0, True
                    return msgspec.structs.replace(
                        response, attempts=attempt, seconds=round(monotonic() - began, 4), time=round(time(), 3)
                    )
                if error.kind in _PUSHING_BACK:
                    lane.throttle.pushed_back(entered, error.wait)
            empty += error.kind == "empty"
            if (error.wait or 0) > LONGEST_PAUSE:
                self._abandon(lane, f"it asks for a pause of {error.wait:,.0f} s: {error}")
                raise NotAskedError(lane.abandoned)
            if not self.limits.may_retry(error, attempt, empty, known=lane.has_answered):
                return self._failed(lane, call, error, attempt)
            self.progress.retried(error)
            await self._pause(self.limits.wait_before(attempt, error, self._chance))

    async def _granted(self, lane: _Lane, call: Call, hold: "_Hold") -> bool:
        """Whether the budget has room for the call; if calls in flight may make some, wait for one of them first."""
        why = hold.take(lane.model, call)
        if not why:
            return True
        if not self.budget.may_change:
            self.close(why)
            raise NotAskedError(why)
        await self.budget.change()
        return False

    async def _once(self, lane: _Lane, call: Call) -> Response:
        name = lane.model.name
        self.progress.in_flight[name] = self.progress.in_flight.get(name, 0) + 1
        try:
            return await lane.model.answer(call)
        finally:
            self.progress.in_flight[name] -= 1

    def _failed(self, lane: _Lane, call: Call, error: CallError, attempts: int) -> Response:
        """The response of a call that failed; a model that nobody can reach is given up instead."""
        lane.failures_in_a_row += error.kind not in _NOT_THE_SERVERS
        if error.hopeless or error.kind == "unreachable":
            self._abandon(lane, str(error))
        elif lane.failures_in_a_row >= _MOST_FAILURES_IN_A_ROW:
            self._abandon(lane, f"{lane.failures_in_a_row} calls in a row failed, the last with {error}")
        blocked = error.kind == "blocked"
        return Response(
            request=call.id,
            outcome="blocked" if blocked else "failed",
            text="" if blocked else None,
            error=error.kind,
            detail=str(error),
            attempts=attempts,
            time=round(time(), 3),
        )

    def _abandon(self, lane: _Lane, why: str) -> None:
        lane.abandoned = lane.abandoned or why
        lane.throttle.let_all_pass()
        self.progress.abandoned[lane.model.name] = lane.abandoned
        if all(other.abandoned for other in self._lanes.values()):
            self.stop(f"{lane.model.name} cannot be used: {lane.abandoned}")

    def _refuse_if_over(self, lane: _Lane, *, begun: bool) -> None:
        if self._stopping.is_set() or (self._closed and not begun):
            raise NotAskedError(self.progress.stopped)
        if lane.abandoned:
            raise NotAskedError(lane.abandoned)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not past the moment at which the run is told to stop."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
