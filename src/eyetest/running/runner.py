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


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model cannot be reached. Nothing is stored."""


class _Lane:
    """One model and how it is doing."""

    def __init__(self, model: Model, limits: Limits) -> None:
        self.model = model
        self.throttle = Throttle(min(model.entry.concurrency or limits.concurrency, limits.concurrency))
        self.failures_in_a_row = 0
        self.abandoned = ""


class Runner:
    """Makes calls. Use it in an ``async with`` block, which opens and closes the models."""

    def __init__(
        self,
        models: Sequence[Model],
        store: Callable[[Response], None],
        limits: Limits | None = None,
        *,
        progress: Progress | None = None,
        seed: int = 0,
    ) -> None:
        self.limits = limits or Limits()
        self.progress = progress or Progress()
        self.budget = Budget(self.limits)
        self._store = store
        self._lanes = {model.name: _Lane(model, self.limits) for model in models}
        self._chance = random.Random(seed)  # noqa: S311 (jitter, not a secret)
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

    def stop(self, why: str) -> None:
        """Make no new call; those in flight finish."""
        self.progress.stopped = self.progress.stopped or why
        self._stopping.set()
        for lane in self._lanes.values():
            lane.throttle.let_all_pass()

    @property
    def stopping(self) -> bool:
        """Whether no new call is made."""
        return self._stopping.is_set()

    def usable(self, model: str) -> bool:
        """Whether a model can still be asked."""
        return not self._lanes[model].abandoned

    def most_in_flight(self, model: str) -> int:
        """How many calls of a model may be in flight."""
        return self._lanes[model].throttle.most

    async def ask(self, call: Call) -> Response:
        """Make a call, however many attempts it takes, and give back what was stored of it."""
        lane = self._lanes[call.request.model]
        self._refuse_if_over(lane)
        held_in, most_out = tokens(call)
        held = (held_in, lane.model.entry.price.of(held_in, most_out) if lane.model.entry.price else 0.0)
        if why := self.budget.refuses(*held):
            self.stop(why)
            raise NotAskedError(why)
        spent = (0, 0.0)
        try:
            response = await self._attempt(lane, call)
            counted = (response.tokens_in or 0, response.tokens_out or 0)
            spent = (sum(counted), lane.model.entry.price.of(*counted) if lane.model.entry.price else 0.0)
        finally:
            self.budget.settle(held, spent)
        self._store(response)
        self.progress.answered(response, spent[1])
        return response

    async def _attempt(self, lane: _Lane, call: Call) -> Response:
        attempt = 0
        while True:
            self._refuse_if_over(lane)
            attempt += 1
            async with lane.throttle as entered:
                self._refuse_if_over(lane)
                self.progress.in_flight[lane.model.name] = lane.throttle.active
                began = monotonic()
                try:
                    response = await lane.model.answer(call)
                except CallError as caught:
                    error = caught
                except ImageError as caught:
                    error = CallError("picture", str(caught))
                else:
                    lane.throttle.went_well()
                    lane.failures_in_a_row = 0
                    return msgspec.structs.replace(
                        response, attempts=attempt, seconds=round(monotonic() - began, 4), time=round(time(), 3)
                    )
                if error.kind in _PUSHING_BACK:
                    lane.throttle.pushed_back(entered, error.wait)
            if not self.limits.may_retry(error, attempt) or (error.wait or 0) > LONGEST_PAUSE:
                return self._failed(lane, call, error, attempt)
            self.progress.retried(error)
            await self._pause(self.limits.wait_before(attempt, error, self._chance))

    def _failed(self, lane: _Lane, call: Call, error: CallError, attempts: int) -> Response:
        """The response of a call that failed; a model that nobody can reach is given up instead."""
        lane.failures_in_a_row += 1
        if error.hopeless or error.kind == "unreachable" or (error.wait or 0) > LONGEST_PAUSE:
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
        self.progress.abandoned[lane.model.name] = lane.abandoned
        if all(other.abandoned for other in self._lanes.values()):
            self.stop(f"{lane.model.name} cannot be used: {lane.abandoned}")

    def _refuse_if_over(self, lane: _Lane) -> None:
        if self.stopping:
            raise NotAskedError(self.progress.stopped)
        if lane.abandoned:
            raise NotAskedError(lane.abandoned)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not past the moment at which the run is told to stop."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
