"""A model's endpoint: its batches, the adaptive number of calls in flight, and a circuit breaker.

One failure does not show whether the question or the endpoint is the cause. When a call has used up its attempts, the
endpoint is taken to be away: calls wait, and one at a time tries, until another call is answered.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import NamedTuple

from eyetest.models import BatchModel, Call, CallError, Model
from eyetest.records import ImagePart, Response
from eyetest.running.limits import FIRST_PATIENCE, Limits

_BATCHES_IN_FLIGHT = 3  # one on the device, one being prepared, one being gathered
_LONGEST_WAIT = 30.0  # between two attempts at an endpoint that is away
_AT_ONCE = nullcontext()
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
        batch, self._queue = next_batch(self._queue, self._model.batch)
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


def next_batch(queue: list[_Waiting], most: int) -> tuple[list[_Waiting], list[_Waiting]]:
    """The first groups that fit into a batch, and the rest. A larger group is cut."""
    groups: dict[str, list[_Waiting]] = {}
    for waiting in queue:
        groups.setdefault(_beginning(waiting.call), []).append(waiting)
    batch, rest = list[_Waiting](), list[_Waiting]()
    for group in groups.values():
        fits = not rest and (not batch or len(batch) + len(group) <= most)
        (batch if fits else rest).extend(group)
    return batch[:most], batch[most:] + rest


def _beginning(call: Call) -> str:
    """The common beginning of calls: the first image, or the item without one."""
    parts = (part for message in call.request.prompt.messages for part in message.parts)
    return next((part.image.sha256 for part in parts if isinstance(part, ImagePart)), f"item {call.item.id}")


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


class Endpoint:
    """A model, and the circuit breaker of its endpoint. Times are those of the running loop."""

    def __init__(self, model: Model, limits: Limits) -> None:
        self.model, self.name, self.limits = model, model.name, limits.of(model.entry)
        self.answer, most = model.answer, min(model.entry.concurrency or limits.concurrency, limits.concurrency)
        self.throttle = Throttle(most)
        if isinstance(model, BatchModel):
            self.answer = Batches(model).answer
            most = model.entry.concurrency or max(most, _BATCHES_IN_FLIGHT * model.batch)
            self.throttle = Throttle(most, at_first=most)  # no server that could be overloaded
        self.abandoned = ""  # why it is not asked any more
        self.has_answered = False
        self.away = ""  # why it seems away; empty while it is not
        self.going = 0  # calls that have begun and not ended
        self.flying = 0  # attempts
        self.refusals = 0  # attempts without an answer between them that were refused for a wrong key or a long pause
        self._observed = self._proven = float("-inf")
        self._silent_since: float | None = None
        self._turn, self._news = asyncio.Lock(), asyncio.Event()
        self._tries = 0
        self._is_over = False

    @property
    def patience(self) -> float:
        """How long to wait for it: longer where it has answered before, so that the address is right."""
        return self.limits.patience if self.has_answered else min(self.limits.patience, FIRST_PATIENCE)

    @property
    def silence(self) -> float:
        """Seconds without an answer, since the first failure of this silence."""
        return 0.0 if self._silent_since is None else now() - self._silent_since

    def accepted(self, began: float, *, answered: bool) -> None:
        """Record that a question was accepted, and perhaps answered: it was available when that began."""
        self.has_answered = self.has_answered or answered
        self._proven = max(self._proven, began)
        self.away, self._silent_since, self._tries, self._observed = "", None, 0, now()
        self.refusals = 0
        self._news.set()

    def failed(self, error: CallError, began: float) -> None:
        """Record an attempt that failed for a reason that may be the endpoint's."""
        if self._observed < began:
            self._silent_since = now() if self._silent_since is None else self._silent_since
            if self.away or error.blame == "endpoint":
                self.goes_away(error)

    def answered_since(self, moment: float | None) -> bool:
        """Whether it accepted a question put since; an earlier one may be answered while it is away."""
        return moment is not None and self._proven >= moment

    def goes_away(self, error: CallError) -> None:
        """Take it to be away: from now on one call at a time tries."""
        self.away = str(error)
        self._silent_since = now() if self._silent_since is None else self._silent_since

    def stop(self) -> None:
        """Let all waiting calls go on, to be refused, because no more is asked."""
        self._is_over = True
        self.throttle.let_all_pass()
        self._news.set()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """At once while the endpoint is available; while it is away one at a time, after a growing pause."""
        return self._waiting() if self.away else _AT_ONCE

    @asynccontextmanager
    async def _waiting(self) -> AsyncIterator[None]:
        async with self._turn:
            if self.away:
                self._tries += 1
                await self._pause(min(_LONGEST_WAIT, self.limits.backoff * 2.0 ** min(self._tries - 1, 16)))
            if self.away:
                yield
                return
        yield

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until something changes."""
        self._news.clear()
        if not self._is_over:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), seconds)


def now() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()
