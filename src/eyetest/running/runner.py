"""How a call is made: a place in the queue, attempts with pauses, a line in the journal, an answer.

One failure does not show whether the question or the endpoint is the cause. When a call has used up its attempts, the
endpoint is taken to be away: calls wait, and one at a time tries, until another call is answered.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path
from time import monotonic, time
from traceback import extract_tb
from typing import NamedTuple

import msgspec

from eyetest.errors import EyetestError, ImageError
from eyetest.models import BatchModel, Call, CallError, Model
from eyetest.records import Response
from eyetest.redaction import redact
from eyetest.running.limits import FIRST_PATIENCE, LONGEST_PAUSE, REVOKED_PATIENCE, Budget, Limits, Progress

_log = logging.getLogger(__name__)
_BATCHES_IN_FLIGHT = 3  # one on the device, one being prepared, one being gathered
_LONGEST_WAIT = 30.0  # between two attempts at an endpoint that is away
_AT_ONCE = nullcontext()
_NOT_THE_SERVERS = ("not-recorded", "recorded-failure", "image", "internal")  # failures not about the endpoint
_MANY = 8  # calls: where fewer are left, one that used up its attempts has failed, whatever the cause
_REFUSALS = 4  # so many refusals without an answer between them are those of the endpoint
_PAUSE_SHOWN = 5.0  # longer pauses are reported, in seconds
_FIRST_WIDTH = 8
_CUT = 0.7


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
        batch, self._queue = self._queue[: self._model.batch], self._queue[self._model.batch :]
        task = asyncio.create_task(self._send([waiting for waiting in batch if not waiting.answer.done()]))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(lambda _: self._start())

    async def _send(self, batch: list[_Waiting]) -> None:
        pairs: Sequence[tuple[_Waiting, Response | Exception]]
        try:
            replies = await self._model.answer_many([waiting.call for waiting in batch])
            pairs = list(zip(batch, replies, strict=True))
        except CallError as error:
            pairs = [(waiting, error) for waiting in batch]
        except Exception:  # an error of one of them: each separately, so that no other fails
            pairs = [(waiting, await self._alone(waiting.call)) for waiting in batch]
        for waiting, reply in pairs:
            if waiting.answer.done():
                continue
            if isinstance(reply, Response):
                waiting.answer.set_result(reply)
            else:
                waiting.answer.set_exception(reply)

    async def _alone(self, call: Call) -> Response | Exception:
        try:
            return await self._model.answer(call)
        except Exception as error:
            return error


class Throttle:
    """A gate of adaptive width: it doubles each round trip, and narrows when the server pushes back.

    It narrows once for all calls in flight together, and then widens by about one a round.
    """

    def __init__(self, most: int, *, at_first: int = _FIRST_WIDTH) -> None:
        self.most = most
        self.width = float(min(at_first, most))
        self.active = 0
        self._starting = True
        self._last_cut = 0.0
        self._closed_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> float:
        """Wait for a place, in turn; returns the time of entry, which tells which calls were in flight together."""
        loop = asyncio.get_running_loop()
        if not self._waiting and self._is_free():
            self.active += 1
            return loop.time()
        waiter = loop.create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was given a place just then
                await self.__aexit__()
            raise
        return loop.time()

    async def __aexit__(self, *error: object) -> None:
        self.active -= 1
        self._wake()

    def went_well(self) -> None:
        """Count a success."""
        self.width = min(float(self.most), self.width + (1.0 if self._starting else 1.0 / self.width))

    def pushed_back(self, entered: float, wait: float | None) -> None:
        """The server asked for fewer calls, perhaps for some time."""
        loop = asyncio.get_running_loop()
        if entered > self._last_cut:
            self._last_cut = loop.time()
            self._starting = False
            self.width = max(1.0, self.width * _CUT)
        if wait:
            self._closed_until = max(self._closed_until, loop.time() + wait)
            loop.call_at(self._closed_until + 0.001, self._wake)

    def let_all_pass(self) -> None:
        """Release all waiting calls, which are then refused."""
        self.width, self._closed_until = float("inf"), 0.0
        self._wake()

    def _wake(self) -> None:
        """Give free places to calls in the order in which they came."""
        while self._waiting and self._is_free():
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.active += 1
                waiter.set_result(None)

    def _is_free(self) -> bool:
        return self.active + 1 <= self.width and now() >= self._closed_until


@dataclass
class Tries:
    """The state of a call."""

    made: int = 0
    counted: int = 0  # attempts that count, because the endpoint was available
    empty: int = 0
    first_failed: float = inf
    is_fair: bool = False  # whether another call was answered between its first failure and last attempt
    last: CallError | None = None
    used_up: bool = False  # whether its failures may be the question's


class Endpoint:
    """A model, how its calls are repeated, and the circuit breaker of its endpoint, by the running loop's time."""

    def __init__(self, model: Model, limits: Limits, progress: Progress, chance: random.Random) -> None:
        self.model, self.name, self.limits = model, model.name, limits.of(model.entry)
        self._progress, self._chance = progress, chance
        self.answer, most = model.answer, min(model.entry.concurrency or limits.concurrency, limits.concurrency)
        self.throttle = Throttle(most)
        if isinstance(model, BatchModel):
            self.answer = Batches(model).answer
            most = model.entry.concurrency or max(most, _BATCHES_IN_FLIGHT * model.batch)
            self.throttle = Throttle(most, at_first=most)  # no server that could be overloaded
        self.abandoned = ""  # why it is not asked any more
        self.going = 0  # calls that have begun and not ended
        self._has_answered = False
        self._away = False
        self._refusals = 0  # attempts refused for a wrong key or a long pause, without an answer between them
        self._observed = self.proven = -inf  # when it accepted a question last, and when that had been put
        self._silent_since: float | None = None  # the first failure of this silence
        self._turn, self._news, self._over = asyncio.Lock(), asyncio.Event(), asyncio.Event()
        self._tries = 0

    def accepted(self, began: float, *, answered: bool) -> None:
        """Record that a question was accepted, and perhaps answered: it was available when that began."""
        self._has_answered = self._has_answered or answered
        self.proven, self._observed = max(self.proven, began), now()
        self._away, self._silent_since, self._tries, self._refusals = False, None, 0, 0
        self._progress.waiting.pop(self.name, None)
        self._news.set()

    async def may_go_on(self, tries: Tries, error: CallError, began: float) -> bool:
        """After a failed attempt: wait until the next, or report the end."""
        tries.last = error
        tries.empty += error.kind == "empty"
        if error.blame == "question":
            if error.kind not in _NOT_THE_SERVERS:
                self.accepted(began, answered=error.kind == "blocked")
        else:
            tries.first_failed = min(tries.first_failed, now())
            if self._observed < began:
                self._silent_since = now() if self._silent_since is None else self._silent_since
                self._away |= error.blame == "endpoint"
            is_long = (error.wait or 0) > LONGEST_PAUSE
            if tries.is_fair and is_long:
                error.wait = None
            elif is_long or (error.hopeless and not tries.is_fair):
                return self._refused(error)
            elif self._away:
                tries.used_up = error.blame == "either"
                return self._waits(error)
        tries.counted += 1
        if self.limits.may_retry(error, tries.counted, tries.empty, known=self._has_answered):
            self._progress.retried(error)
            if (error.wait or 0) > _PAUSE_SHOWN:
                self._progress.waiting[self.name] = f"{error} (it asks for a pause of {error.wait:,.0f} s)"
            await _until(self._over, self.limits.wait_before(tries.counted, error, self._chance))
            return True
        if error.blame == "question" or tries.is_fair or self.going < _MANY:
            return False
        tries.used_up, tries.counted = True, 0
        return self._waits(error)

    def _refused(self, error: CallError) -> bool:
        """Give up a model that refuses several calls in a row for a wrong key or a long pause; else ask again.

        Where it has answered before, its key was right: the refusals have to last for some seconds, in which a key
        may be renewed.
        """
        self._refusals += 1
        is_gone = error.wait is not None and isinf(error.wait)
        patience = min(self.limits.patience, REVOKED_PATIENCE) if self._has_answered and error.hopeless else 0.0
        is_brief = self._silent_since is None or now() - self._silent_since < patience
        if not is_gone and (is_brief or self._refusals < min(_REFUSALS, self.going)):
            return self._waits(error)
        pause = f"it asks for a pause of {error.wait:,.0f} s: " if error.wait and not is_gone else ""
        self.abandon(f"{pause}{error}")
        return not error.hopeless

    def _waits(self, error: CallError) -> bool:
        """Take it to be away: one call at a time tries, up to a limit; shorter before it has ever answered."""
        self._progress.retried(error)
        self._away = True
        self._silent_since = now() if self._silent_since is None else self._silent_since
        silence, patience = now() - self._silent_since, self.limits.patience
        patience = patience if self._has_answered else min(patience, FIRST_PATIENCE)
        waited = f"waited {silence:,.0f} s"
        if silence >= patience:
            self.abandon(f"{error} ({waited})")
        else:
            self._progress.waiting[self.name] = f"{error} ({waited}, up to {patience:,.0f} s)"
        return True

    def abandon(self, why: str) -> None:
        """Ask it no more. The next session asks what was not answered."""
        _log.info("%s is given up: %s", self.name, why)
        self.abandoned = self.abandoned or why
        self._progress.waiting.pop(self.name, None)
        self._progress.abandoned[self.name] = self.abandoned
        self.stop()

    def stop(self) -> None:
        """Let all waiting calls go on, to be refused, because no more is asked."""
        self._over.set()
        self._news.set()
        self.throttle.let_all_pass()

    @property
    def is_over(self) -> bool:
        """Whether no more is asked."""
        return self._over.is_set()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """At once while the endpoint is available; while it is away one at a time, after a growing pause."""
        return self._waiting() if self._away else _AT_ONCE

    @asynccontextmanager
    async def _waiting(self) -> AsyncIterator[None]:
        async with self._turn:
            if self._away and not self.is_over:
                self._tries += 1
                self._news.clear()
                await _until(self._news, min(_LONGEST_WAIT, self.limits.backoff * 2.0 ** min(self._tries - 1, 16)))
            if self._away:
                yield
                return
        yield


async def _until(event: asyncio.Event, seconds: float) -> None:
    """Wait, at most until an event."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def now() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()


_PUSHING_BACK = ("rate-limit", "overloaded")
_LONGEST_FAULT = 300


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model is unreachable. Nothing is stored."""


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
        self.progress = progress or Progress()
        self._store = store
        chance = random.Random(seed)  # noqa: S311 (jitter, not a secret)
        limits = self.budget.limits
        self.endpoints = {model.name: Endpoint(model, limits, self.progress, chance) for model in models}
        self.stopping = False  # whether new calls are withheld

    async def __aenter__(self) -> "Runner":
        for endpoint in self.endpoints.values():
            await endpoint.model.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        for endpoint in self.endpoints.values():
            await endpoint.model.close()

    def close(self, why: str) -> None:
        """Start no new call; running ones may take all their attempts."""
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    def stop(self, why: str) -> None:
        """Start no new call and no new attempt; those in flight finish."""
        self.close(why)
        for endpoint in self.endpoints.values():
            endpoint.stop()

    @property
    def most_in_flight(self) -> list[int]:
        """How many calls of each model may be in flight."""
        return [endpoint.throttle.most for endpoint in self.endpoints.values()]

    async def ask(self, call: Call) -> Response:
        """Make a call in as many attempts as it takes, and return what was stored of it."""
        endpoint = self.endpoints[call.request.model]
        self._refuse_if_over(endpoint)
        if self.stopping:
            raise NotAskedError(self.progress.stopped)
        if why := self.budget.refusal:
            self.close(why)
            raise NotAskedError(why)
        self.budget.calls += 1
        endpoint.going += 1
        try:
            response = await self._until_over(endpoint, call)
        finally:
            endpoint.going -= 1
        price = endpoint.model.entry.price
        money = price.of(response.tokens_in or 0, response.tokens_out or 0) if price else 0.0
        self.budget.money += money
        self._store(response)
        self.progress.answered(response, money)
        return response

    async def _until_over(self, endpoint: Endpoint, call: Call) -> Response:
        tries = Tries()
        while True:
            if endpoint.abandoned and tries.used_up and tries.last:
                return _failed(call, CallError("outage", str(tries.last)), tries.made)
            self._refuse_if_over(endpoint)
            async with endpoint.throttle as entered, endpoint.turn():
                if endpoint.is_over:
                    continue
                if not tries.made and (why := self.budget.too_dear):  # spent while the call was waiting
                    self.close(why)
                    raise NotAskedError(why)
                tries.made += 1
                tries.is_fair = endpoint.proven >= tries.first_failed
                began, clock = now(), monotonic()
                reply = await self._once(endpoint, call)
                if isinstance(reply, Response):
                    endpoint.throttle.went_well()
                    endpoint.accepted(began, answered=True)
                    texts = call.request.prompt.candidates if reply.candidates else ()
                    return msgspec.structs.replace(
                        reply,
                        attempts=tries.made,
                        seconds=round(monotonic() - clock, 4),
                        time=round(time(), 3),
                        candidate_bytes=tuple(len(text.encode("utf-8", "replace")) for text in texts),
                    )
                if reply.kind in _PUSHING_BACK and (reply.wait or 0) <= LONGEST_PAUSE:
                    endpoint.throttle.pushed_back(entered, reply.wait)
            _log.info("%s, item %s, attempt %d: %s: %s", endpoint.name, call.item.id, tries.made, reply.kind, reply)
            goes_on = await endpoint.may_go_on(tries, reply, began)
            if all(other.abandoned for other in self.endpoints.values()):
                self.stop(f"{endpoint.name} cannot be used: {endpoint.abandoned}")
            if not goes_on:
                return _failed(call, reply, tries.made)

    async def _once(self, endpoint: Endpoint, call: Call) -> Response | CallError:
        """One attempt. Any error in it ends this call at most."""
        try:
            return await endpoint.answer(call)
        except CallError as error:
            return error.with_traceback(None)  # a traceback would keep the whole reply in memory while the call waits
        except ImageError as error:
            return CallError("image", str(error))
        except Exception as error:
            _log.info("%s, item %s: a fault", endpoint.name, call.item.id, exc_info=True)
            return CallError("internal", _fault(error))

    def _refuse_if_over(self, endpoint: Endpoint) -> None:
        if endpoint.is_over:
            raise NotAskedError(endpoint.abandoned or self.progress.stopped)


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
