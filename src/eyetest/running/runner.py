"""How a call is made: a place in the queue, attempts with pauses, a line in the journal, an answer.

Evaluated models, judges and describers all use `Runner.ask`, with the same journal, limits and counts. Calls to a
model that answers many at once are gathered into groups that show the same image.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from time import monotonic, time
from traceback import extract_tb
from typing import NamedTuple

import msgspec

from eyetest.errors import EyetestError, ImageError
from eyetest.models import BatchModel, Call, CallError, Model
from eyetest.records import ImagePart, Response
from eyetest.redaction import redact
from eyetest.running.health import Health, Throttle, now
from eyetest.running.limits import LONGEST_PAUSE, Budget, Limits
from eyetest.running.planning import tokens
from eyetest.running.progress import Progress


class _Waiting(NamedTuple):
    call: Call
    answer: "asyncio.Future[Response]"


class Batches:
    """Calls in batches; each is still answered, repeated, counted and stored separately."""

    def __init__(self, model: BatchModel) -> None:
        self._model = model
        self._queue: list[_Waiting] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def answer(self, call: Call) -> Response:
        """One attempt, together with other calls of the moment."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(call, loop.create_future())
        self._queue.append(waiting)
        loop.call_soon(self._start)
        return await waiting.answer

    def _start(self) -> None:
        """Send the next batch; while one is running, the next waits until it is worth sending."""
        if not self._queue or (self._under_way and len(self._queue) < self._model.batch // 2):
            return
        batch, self._queue = next_batch(self._queue, self._model.batch)
        task = asyncio.get_running_loop().create_task(self._send([one for one in batch if not one.answer.done()]))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(lambda _: self._start())

    async def _send(self, batch: list[_Waiting]) -> None:
        try:
            replies = await self._model.answer_many([one.call for one in batch])
            pairs: list[tuple[_Waiting, Response | Exception]] = list(zip(batch, replies, strict=True))
        except CallError as error:
            pairs = [(one, error) for one in batch]
        except Exception:  # an error of one of them: each separately, so that no other fails
            pairs = [(one, await self._alone(one.call)) for one in batch]
        for one, reply in pairs:
            if one.answer.done():
                continue
            if isinstance(reply, Response):
                one.answer.set_result(reply)
            else:
                one.answer.set_exception(reply)

    async def _alone(self, call: Call) -> Response | Exception:
        try:
            return await self._model.answer(call)
        except Exception as error:
            return error


def next_batch(queue: list[_Waiting], most: int) -> tuple[list[_Waiting], list[_Waiting]]:
    """The first groups that fit into a batch, and the rest. A larger group is cut."""
    groups: dict[str, list[_Waiting]] = {}
    for one in queue:
        groups.setdefault(_beginning(one.call), []).append(one)
    batch: list[_Waiting] = []
    rest: list[_Waiting] = []
    for group in groups.values():
        if rest or (batch and len(batch) + len(group) > most):
            rest += group
        else:
            batch += group
    return batch[:most], batch[most:] + rest


def _beginning(call: Call) -> str:
    """The common beginning of calls: the first image, or the item without one."""
    parts = (part for message in call.request.prompt.messages for part in message.parts)
    return next((part.image.sha256 for part in parts if isinstance(part, ImagePart)), f"item {call.item.id}")


_log = logging.getLogger(__name__)
_PUSHING_BACK = ("rate-limit", "overloaded")
_NOT_THE_SERVERS = ("not-recorded", "recorded-failure", "image", "internal")  # failures not about the endpoint
_BATCHES_IN_FLIGHT = 3  # one on the device, one being prepared, one being gathered
_LONGEST_FAULT = 300
_PAUSE_TOLD = 5.0  # longer pauses are reported, in seconds


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model is unreachable. Nothing is stored."""


class _Lane:
    """A model and its state."""

    def __init__(self, model: Model, limits: Limits) -> None:
        self.model, self.limits = model, limits.of(model.entry)
        self.answer, most = model.answer, min(model.entry.concurrency or limits.concurrency, limits.concurrency)
        self.throttle = Throttle(most)
        if isinstance(model, BatchModel):
            self.answer = Batches(model).answer
            most = model.entry.concurrency or max(most, _BATCHES_IN_FLIGHT * model.batch)
            self.throttle = Throttle(most, at_first=most)  # no server that could be overloaded
        self.health = Health(self.limits)
        self.abandoned = ""


@dataclass
class _Tries:
    """The state of a call."""

    made: int = 0
    counted: int = 0  # attempts that count, because the endpoint was available
    empty: int = 0
    first_failed: float | None = None
    is_fair: bool = False  # whether another call was answered between its first failure and last attempt
    last: CallError | None = None
    used_up: bool = False


class Runner:
    """Makes calls, in an ``async with`` block, which opens and closes the models. A budget may be shared."""

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
        self.stopping = False  # whether new calls are withheld
        self._stopped = asyncio.Event()  # whether new attempts are withheld too

    async def __aenter__(self) -> "Runner":
        for lane in self._lanes.values():
            await lane.model.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        for lane in self._lanes.values():
            await lane.model.close()

    def close(self, why: str) -> None:
        """Start no new call; running ones may take all their attempts."""
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    def stop(self, why: str) -> None:
        """Start no new call and no new attempt; those in flight finish."""
        self.close(why)
        self._stopped.set()
        for lane in self._lanes.values():
            lane.throttle.let_all_pass()
            lane.health.release()

    def usable(self, model: str) -> bool:
        """Whether a model can still be asked."""
        return not self._lanes[model].abandoned

    def most_in_flight(self, model: str) -> int:
        """How many calls of a model may be in flight."""
        return self._lanes[model].throttle.most

    async def ask(self, call: Call) -> Response:
        """Make a call in as many attempts as it takes, and return what was stored of it."""
        lane = self._lanes[call.request.model]
        self._refuse_if_over(lane, begun=False)
        held, spent = await self._granted(lane, call), (0, 0.0)
        lane.health.going += 1
        try:
            response = await self._until_over(lane, call)
            counted = (response.tokens_in or 0, response.tokens_out or 0)
            price = lane.model.entry.price
            spent = (sum(counted), price.of(*counted) if price else 0.0)
        finally:
            lane.health.going -= 1
            lane.health.look()
            self.budget.settle(held, spent)
        self._store(response)
        _log.debug(
            "%s, item %s: %s after %s attempts, %s s",
            *(lane.model.name, call.item.id, response.outcome, response.attempts, response.seconds),
        )
        self.progress.answered(response, spent[1])
        return response

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
                    texts = call.request.prompt.candidates if came.candidates else ()
                    return msgspec.structs.replace(
                        came,
                        attempts=tries.made,
                        seconds=round(monotonic() - clock, 4),
                        time=round(time(), 3),
                        candidate_bytes=tuple(len(text.encode("utf-8", "replace")) for text in texts),
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
        """After a failed attempt: wait until the next, or report the end."""
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
        if lane.limits.may_retry(error, tries.counted, tries.empty, known=health.has_answered):
            self.progress.retried(error)
            wait = lane.limits.wait_before(tries.counted, error, self._chance)
            if (error.wait or 0) > _PAUSE_TOLD:
                self.progress.waiting[lane.model.name] = f"{error} (it asks for a pause of {error.wait:,.0f} s)"
            _log.info("%s: asked again in %.1f s", lane.model.name, wait)
            await self._pause(wait)
            return True
        if error.blame == "question" or tries.is_fair:
            return False
        return await self._is_not_its_fault(lane, tries, error)

    async def _opens(self, lane: _Lane, error: CallError) -> bool:
        """After an authorization failure: the model is abandoned unless another call succeeded."""
        verdict = await lane.health.blame_lock()
        if verdict == "endpoint":
            self.abandon(lane.model.name, str(error))
        return verdict == "unknown"

    async def _waits_so_long(self, lane: _Lane, tries: _Tries, error: CallError) -> bool:
        """After a request for too long a pause: unless others are answered, the model is left to a later session."""
        verdict, first = await lane.health.blame(error), tries.first_failed
        if verdict == "unknown":
            self._refuse_if_over(lane, begun=True)
            verdict = "question" if first is not None and lane.health.answered_since(first) else "endpoint"
        if verdict == "endpoint":
            is_gone = error.wait is not None and isinf(error.wait)
            why = str(error) if is_gone else f"it asks for a pause of {error.wait:,.0f} s: {error}"
            self.abandon(lane.model.name, why)
            raise NotAskedError(lane.abandoned)
        error.wait = None
        tries.counted += 1
        if not lane.limits.may_retry(error, tries.counted, tries.empty):
            return False
        self.progress.retried(error)
        await self._pause(lane.limits.wait_before(tries.counted, error, self._chance))
        return True

    def _waits(self, lane: _Lane, error: CallError) -> bool:
        """Wait for an endpoint that is away, up to a limit. The next session asks what was not answered."""
        health = lane.health
        self.progress.retried(error)
        waited = f"waited {health.silence:,.0f} s"
        if health.silence >= health.patience:
            self.abandon(lane.model.name, f"{error} ({waited})")
        else:
            _log.info("%s is away: %s, up to %.0f s", lane.model.name, waited, health.patience)
            self.progress.waiting[lane.model.name] = f"{error} ({waited}, up to {health.patience:,.0f} s)"
        return True

    async def _is_not_its_fault(self, lane: _Lane, tries: _Tries, error: CallError) -> bool:
        """Whether a call that used up its attempts may continue, because the endpoint failed, not the question."""
        tries.used_up = True
        verdict = await lane.health.blame(error)
        if verdict == "endpoint":
            tries.counted = 0
            return self._waits(lane, error)
        return error.passing if verdict == "question" else self._is_over(lane)

    def _heard(self, lane: _Lane, began: float, *, answered: bool) -> None:
        lane.health.observed(began, answered=answered)
        self.progress.waiting.pop(lane.model.name, None)

    async def _granted(self, lane: _Lane, call: Call) -> tuple[int, float]:
        """Reserve the most a call may cost; wait where calls in flight may release enough."""
        tokens_in, most_out = tokens(call)
        price = lane.model.entry.price
        held = (tokens_in + most_out, price.of(tokens_in, most_out) if price else 0.0)
        while why := self.budget.refuses(*held):
            if not self.budget.may_change:
                self.close(why)
                raise NotAskedError(why)
            await self.budget.change()
            self._refuse_if_over(lane, begun=False)
        return held

    async def _once(self, lane: _Lane, call: Call) -> Response | CallError:
        """One attempt. Any error in it ends this call at most."""
        name = lane.model.name
        self.progress.in_flight[name] = self.progress.in_flight.get(name, 0) + 1
        try:
            with lane.health.attempt():
                return await lane.answer(call)
        except CallError as error:
            return error.with_traceback(None)  # a traceback would keep the whole reply in memory while the call waits
        except ImageError as error:
            return CallError("image", str(error))
        except Exception as error:
            _log.info("%s, item %s: a fault", name, call.item.id, exc_info=True)
            return CallError("internal", _fault(error))
        finally:
            self.progress.in_flight[name] -= 1

    def abandon(self, model: str, why: str) -> None:
        """Ask a model no more."""
        _log.info("%s is given up: %s", model, why)
        lane = self._lanes[model]
        lane.abandoned = lane.abandoned or why
        lane.throttle.let_all_pass()
        lane.health.release()
        self.progress.waiting.pop(model, None)
        self.progress.abandoned[model] = lane.abandoned
        if all(other.abandoned for other in self._lanes.values()):
            self.stop(f"{model} cannot be used: {lane.abandoned}")

    def _refuse_if_over(self, lane: _Lane, *, begun: bool) -> None:
        if self._stopped.is_set() or (self.stopping and not begun):
            raise NotAskedError(self.progress.stopped)
        if lane.abandoned:
            raise NotAskedError(lane.abandoned)

    def _is_over(self, lane: _Lane) -> bool:
        return self._stopped.is_set() or bool(lane.abandoned)

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until the run is stopped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)


def _failed(call: Call, error: CallError, attempts: int) -> Response:
    """The response of a failed call, or of one that a filter blocked, a separate outcome."""
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
    """An internal error, with its location."""
    frame = extract_tb(error.__traceback__)[-1]
    words = " ".join(redact(str(error)).split())[:_LONGEST_FAULT]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"a fault in eyetest, not in the answer: {type(error).__name__}: {words} ({where}); please report it"
