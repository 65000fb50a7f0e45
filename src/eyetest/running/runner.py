"""How one call is made: a place in the queue, attempts with pauses between them, a line in the journal, an answer.

Everybody who needs a model is handed `Runner.ask`: contestants, judges and describers pass through the same journal,
limits and counts.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from math import isinf
from pathlib import Path
from time import monotonic, time
from traceback import extract_tb
from types import TracebackType

import msgspec

from eyetest.errors import EyetestError, ImageError
from eyetest.models import BatchModel, Call, CallError, Model
from eyetest.records import Prompt, Response
from eyetest.redaction import redact
from eyetest.running.batches import Batches
from eyetest.running.health import Health, now
from eyetest.running.limits import LONGEST_PAUSE, Budget, Limits, Throttle
from eyetest.running.planning import tokens
from eyetest.running.progress import Progress

_log = logging.getLogger(__name__)
_PUSHING_BACK = ("rate-limit", "overloaded")
_NOT_THE_SERVERS = ("not-recorded", "recorded-failure", "picture", "internal")
"""Failures that say nothing about the endpoint."""
_BATCHES_IN_FLIGHT = 3
"""One is on the device, one is being prepared, one is being gathered."""
_LONGEST_FAULT = 300
_PAUSE_TOLD = 5.0
"""A pause that is longer than this is told, in seconds."""


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model cannot be reached. Nothing is stored."""


class _Lane:
    """One model and how it is doing."""

    def __init__(self, model: Model, limits: Limits) -> None:
        self.model = model
        self.answer, most = model.answer, min(model.entry.concurrency or limits.concurrency, limits.concurrency)
        self.throttle = Throttle(most)
        if isinstance(model, BatchModel):
            self.answer = Batches(model).answer
            most = model.entry.concurrency or max(most, _BATCHES_IN_FLIGHT * model.batch)
            self.throttle = Throttle(most, at_first=most)  # no server that could be pushed too hard
        self.health = Health(limits)
        self.abandoned = ""


class _Tries:
    """What has become of one call so far."""

    def __init__(self) -> None:
        self.made = 0
        """Attempts in all."""
        self.counted = 0
        """Attempts that count against the call, because the endpoint was there."""
        self.empty = 0
        self.first_failed: float | None = None
        self.is_fair = False
        """Whether somebody else was answered between its first failure and its last attempt."""
        self.last: CallError | None = None
        self.used_up = False


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
            lane.health.release()

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
        _log.debug(
            "%s, item %s: %s after %s attempts, %s s",
            *(lane.model.name, call.item.id, response.outcome, response.attempts, response.seconds),
        )
        self.progress.answered(response, money)
        return response

    async def _attempt(self, lane: _Lane, call: Call, hold: "_Hold") -> Response:
        while not await self._granted(lane, call, hold):
            self._refuse_if_over(lane, begun=False)
        lane.health.going += 1
        try:
            return await self._until_over(lane, call)
        finally:
            lane.health.going -= 1
            lane.health.look()

    async def _until_over(self, lane: _Lane, call: Call) -> Response:
        health, tries = lane.health, _Tries()
        while True:
            if lane.abandoned and tries.used_up and tries.last:
                return _failed(call, CallError("outage", str(tries.last)), tries.made)
            self._refuse_if_over(lane, begun=True)
            async with lane.throttle as entered, health.turn():
                if self._is_over(lane):
                    continue
                tries.made += 1
                tries.is_fair = tries.first_failed is not None and health.answered_since(tries.first_failed)
                began, clock = now(), monotonic()
                came = await self._once(lane, call)
                if isinstance(came, Response):
                    lane.throttle.went_well()
                    self._heard(lane, began, answered=True)
                    return msgspec.structs.replace(
                        came,
                        attempts=tries.made,
                        seconds=round(monotonic() - clock, 4),
                        time=round(time(), 3),
                        candidate_bytes=_sizes(call.request.prompt) if came.candidates else (),
                    )
                if came.kind in _PUSHING_BACK and (came.wait or 0) <= LONGEST_PAUSE:
                    lane.throttle.pushed_back(entered, came.wait)
            _log.info(
                "%s, item %s, attempt %d: %s after %.1f s: %s",
                *(lane.model.name, call.item.id, tries.made, came.kind, monotonic() - clock, came),
            )
            if not await self._may_go_on(lane, tries, came, began):
                return _failed(call, came, tries.made)

    async def _may_go_on(self, lane: _Lane, tries: _Tries, error: CallError, began: float) -> bool:
        """After an attempt that failed: wait as long as it takes until the next, or say that this is the end."""
        health = lane.health
        tries.last = error
        tries.empty += error.kind == "empty"
        if error.blame == "question":
            if error.kind not in _NOT_THE_SERVERS:
                self._heard(lane, began, answered=error.kind == "blocked")
        else:
            health.failed(error, began)
            tries.first_failed = now() if tries.first_failed is None else tries.first_failed
            if error.hopeless and not health.has_answered:
                return await self._opens(lane, error)
            if (error.wait or 0) > LONGEST_PAUSE:
                return await self._waits_so_long(lane, tries, error)
            if health.away:
                return self._waits(lane, error)
        tries.counted += 1
        if self.limits.may_retry(error, tries.counted, tries.empty, known=health.has_answered):
            self.progress.retried(error)
            wait = self.limits.wait_before(tries.counted, error, self._chance)
            if (error.wait or 0) > _PAUSE_TOLD:
                self.progress.waiting[lane.model.name] = f"{error} (it asks for a pause of {error.wait:,.0f} s)"
            _log.info("%s: asked again in %.1f s", lane.model.name, wait)
            await self._pause(wait)
            return True
        if error.blame == "question" or tries.is_fair:
            return False
        return await self._is_not_its_fault(lane, tries, error)

    async def _opens(self, lane: _Lane, error: CallError) -> bool:
        """A locked door: unless somebody else got in, the model is given up."""
        verdict = await lane.health.blame_lock()
        if verdict == "endpoint":
            self._abandon(lane, str(error))
        return verdict == "nobody knows"

    async def _waits_so_long(self, lane: _Lane, tries: _Tries, error: CallError) -> bool:
        """A pause that nobody waits for: unless others are answered, the model is left for another day."""
        verdict, first = await lane.health.blame(error), tries.first_failed
        if verdict == "nobody knows":
            self._refuse_if_over(lane, begun=True)
            verdict = "question" if first is not None and lane.health.answered_since(first) else "endpoint"
        if verdict == "endpoint":
            is_gone = error.wait is not None and isinf(error.wait)
            self._abandon(lane, str(error) if is_gone else f"it asks for a pause of {error.wait:,.0f} s: {error}")
            raise NotAskedError(lane.abandoned)
        error.wait = None
        tries.counted += 1
        if not self.limits.may_retry(error, tries.counted, tries.empty):
            return False
        self.progress.retried(error)
        await self._pause(self.limits.wait_before(tries.counted, error, self._chance))
        return True

    def _waits(self, lane: _Lane, error: CallError) -> bool:
        """An endpoint that is away is waited for, but not for ever. What was not answered the next session asks."""
        health = lane.health
        self.progress.retried(error)
        waited = f"waited {health.silence:,.0f} s"
        if health.silence >= health.patience:
            self._abandon(lane, f"{error} ({waited})")
        else:
            _log.info("%s is away: %s, up to %.0f s", lane.model.name, waited, health.patience)
            self.progress.waiting[lane.model.name] = f"{error} ({waited}, up to {health.patience:,.0f} s)"
        return True

    async def _is_not_its_fault(self, lane: _Lane, tries: _Tries, error: CallError) -> bool:
        """Whether a call that used up its attempts may go on, because the endpoint failed and not the question."""
        tries.used_up = True
        verdict = await lane.health.blame(error)
        if verdict == "endpoint":
            tries.counted = 0
            return self._waits(lane, error)
        return error.passing if verdict == "question" else self._is_over(lane)

    def _heard(self, lane: _Lane, began: float, *, answered: bool) -> None:
        lane.health.heard(began, answered=answered)
        self.progress.waiting.pop(lane.model.name, None)

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

    async def _once(self, lane: _Lane, call: Call) -> Response | CallError:
        """One attempt. Whatever goes wrong in it is the end of this call at most."""
        name = lane.model.name
        self.progress.in_flight[name] = self.progress.in_flight.get(name, 0) + 1
        try:
            with lane.health.attempt():
                return await lane.answer(call)
        except CallError as error:
            return error.with_traceback(None)  # which would keep the whole reply in memory while the call waits
        except ImageError as error:
            return CallError("picture", str(error))
        except Exception as error:
            _log.info("%s, item %s: a fault", name, call.item.id, exc_info=True)
            return CallError("internal", _fault(error))
        finally:
            self.progress.in_flight[name] -= 1

    def _abandon(self, lane: _Lane, why: str) -> None:
        _log.info("%s is given up: %s", lane.model.name, why)
        lane.abandoned = lane.abandoned or why
        lane.throttle.let_all_pass()
        lane.health.release()
        self.progress.waiting.pop(lane.model.name, None)
        self.progress.abandoned[lane.model.name] = lane.abandoned
        if all(other.abandoned for other in self._lanes.values()):
            self.stop(f"{lane.model.name} cannot be used: {lane.abandoned}")

    def _refuse_if_over(self, lane: _Lane, *, begun: bool) -> None:
        if self._stopping.is_set() or (self._closed and not begun):
            raise NotAskedError(self.progress.stopped)
        if lane.abandoned:
            raise NotAskedError(lane.abandoned)

    def _is_over(self, lane: _Lane) -> bool:
        return self._stopping.is_set() or bool(lane.abandoned)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not past the moment at which the run is told to stop."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def _sizes(prompt: Prompt) -> tuple[int, ...]:
    """Of each candidate, in bytes: what some divide its log-probability by."""
    return tuple(len(text.encode("utf-8", "replace")) for text in prompt.candidates)


def _failed(call: Call, error: CallError, attempts: int) -> Response:
    """The response of a call that failed, or that a filter blocked, which is an outcome of its own."""
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


def _fault(error: Exception) -> str:
    """A mistake of ours, told so that it can be found and mended."""
    frame = extract_tb(error.__traceback__)[-1]
    words = " ".join(redact(str(error)).split())[:_LONGEST_FAULT]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"a fault in eyetest, not in the answer: {type(error).__name__}: {words} ({where}); please report it"
