"""Whether a model's endpoint is available, so that no call is failed for a server that is away.

A failure may come from the question (a 500 on one image) or the endpoint (a 500 on everything). One failure cannot
tell, so a call that has used up its attempts is held until others end: if one is answered, the question is the cause;
if several fail alike, the endpoint is. While the endpoint is away, calls wait and one at a time tries.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Literal

from eyetest.models import CallError
from eyetest.running.limits import FIRST_PATIENCE, Limits

Verdict = Literal["question", "endpoint", "unknown"]
_ENOUGH = 8  # so many calls that fail at every attempt, without an answer between them, have a common cause
_LOOK_AGAIN = 0.25  # seconds in which the next call begins, if any
_LONGEST_WAIT = 30.0  # between two attempts at an endpoint that is away
_AT_ONCE = nullcontext()
_FIRST_WIDTH = 8
_CUT = 0.7


class Throttle:
    """A gate of adaptive width, between one call and ``most``.

    It widens by one with every success, which doubles it each round trip. When the server pushes back it narrows,
    once for all calls in flight together, and then widens by about one a round. During a pause no call passes.
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
        """Wait for a place; returns the time of entry, which tells which calls were in flight together."""
        loop = asyncio.get_running_loop()
        while self.active + 1 > self.width or loop.time() < self._closed_until:
            waiter = loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
        self.active += 1
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
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _wake(self) -> None:
        """Wake as many calls as there are places; each checks again."""
        places = min(self.width, self.most) - self.active
        while places >= 1 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                places -= 1


class Health:
    """The state of a model's endpoint. Times are those of the running loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.has_answered = False
        self.away = ""  # why it seems away; empty while it is not
        self.going = 0  # calls that have begun and not ended, including held ones
        self.flying = 0
        self._heard = self._proven = float("-inf")
        self._silent_since: float | None = None
        self._held: list[asyncio.Future[Verdict]] = []
        self._locked_out: list[asyncio.Future[Verdict]] = []
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._tries = 0
        self._is_over = False

    @property
    def patience(self) -> float:
        """How long to wait for it: longer where it has answered before, so that the address is right."""
        most = self._limits.patience
        return most if self.has_answered else min(most, FIRST_PATIENCE)

    @property
    def silence(self) -> float:
        """Seconds without an answer, since the first failure of this silence."""
        return 0.0 if self._silent_since is None else now() - self._silent_since

    def observed(self, began: float, *, answered: bool) -> None:
        """The endpoint accepted a question, and perhaps answered it: it was available when that began."""
        self.has_answered = self.has_answered or answered
        self._proven = max(self._proven, began)
        self.away, self._silent_since, self._tries, self._heard = "", None, 0, now()
        self._release(self._held, "question")
        if answered:
            self._release(self._locked_out, "question")

    def failed(self, error: CallError, began: float) -> None:
        """An attempt failed for a reason that may be the endpoint's."""
        if self._heard >= began:
            return
        self._silent_since = now() if self._silent_since is None else self._silent_since
        if self.away or error.blame == "endpoint":
            self._goes_away(error)

    def answered_since(self, moment: float) -> bool:
        """Whether the endpoint accepted a question put since; an earlier one may be answered while it is away."""
        return self._proven >= moment

    async def blame(self, error: CallError) -> Verdict:
        """Decide the cause for a call that used up its attempts; waits until others end."""
        if self.away:
            return "endpoint"
        held = self._hold(self._held)
        if len(self._held) >= _ENOUGH:
            self._goes_away(error)
        self.look()
        return await held

    async def blame_lock(self) -> Verdict:
        """The same for an authorization failure before any success: no call starts until those in flight end."""
        held = self._hold(self._locked_out)
        self._look_at_lock()
        return await held

    def look(self) -> None:
        """Look again soon if all calls in flight are held, since none is left to test the endpoint."""
        if self._is_stuck():
            asyncio.get_running_loop().call_later(_LOOK_AGAIN, self._let_go_if_stuck)

    def release(self) -> None:
        """Release all held calls, because no more is asked."""
        self._is_over = True
        self._release(self._held, "unknown")
        self._release(self._locked_out, "unknown")

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Count an attempt while it runs."""
        self.flying += 1
        try:
            yield
        finally:
            self.flying -= 1
            if self._locked_out:
                asyncio.get_running_loop().call_soon(self._look_at_lock)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """At once while the endpoint is available; while it is away one at a time, after a growing pause."""
        return self._waiting() if self.away or self._locked_out else _AT_ONCE

    @asynccontextmanager
    async def _waiting(self) -> AsyncIterator[None]:
        while self._locked_out and not self._is_over:
            await self._pause(_LONGEST_WAIT)
        if self.away:
            async with self._turn:
                if self.away:
                    self._tries += 1
                    await self._pause(min(_LONGEST_WAIT, self._limits.backoff * 2.0 ** min(self._tries - 1, 16)))
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

    def _hold(self, among: list[asyncio.Future[Verdict]]) -> asyncio.Future[Verdict]:
        held: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        among.append(held)
        if self._is_over:
            self._release(among, "unknown")
        return held

    def _goes_away(self, error: CallError) -> None:
        self.away = str(error)
        self._silent_since = now() if self._silent_since is None else self._silent_since
        self._release(self._held, "endpoint")

    def _release(self, held: list[asyncio.Future[Verdict]], verdict: Verdict) -> None:
        for one in held:
            if not one.done():
                one.set_result(verdict)
        held.clear()
        self._news.set()

    def _look_at_lock(self) -> None:
        if self._locked_out and not self.flying:
            self._release(self._locked_out, "endpoint")

    def _is_stuck(self) -> bool:
        return bool(self._held) and len(self._held) >= self.going

    def _let_go_if_stuck(self) -> None:
        if self._is_stuck():
            self._release(self._held, "unknown")


def now() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()
