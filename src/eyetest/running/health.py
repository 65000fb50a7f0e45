"""Whether a model's endpoint is there at all, so that no question is blamed for a server that is away.

A failure may be the question's (a 500 on one picture) or the endpoint's (a 500 on everything). Nobody can tell from
one failure, so a call that has used up its attempts is held until others have spoken: if one is answered, it was the
question; if several fail alike, it is the endpoint. While the endpoint is away, calls wait and one at a time tries.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Literal

from eyetest.models import CallError
from eyetest.running.limits import FIRST_PATIENCE, Limits

Verdict = Literal["question", "endpoint", "nobody knows"]
_ENOUGH = 8
"""So many calls that fail to their last attempt, with no answer between them, are not failing by themselves."""
_LOOK_AGAIN = 0.25
"""Seconds in which the next call begins, where there is one."""
_LONGEST_WAIT = 30.0
"""Between two tries at an endpoint that is away."""
_AT_ONCE = nullcontext()


class Health:
    """How a model's endpoint is doing. Times are those of the running loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.has_answered = False
        self.away = ""
        """Why it is believed to be away; empty while it is not."""
        self.going = 0
        """Calls that have begun and are not over, held ones among them."""
        self.flying = 0
        """Attempts that are under way."""
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
        """How long it is waited for: longer where it has answered before, for then the address is right."""
        most = self._limits.patience
        return most if self.has_answered else min(most, FIRST_PATIENCE)

    @property
    def silence(self) -> float:
        """For how long nobody has been answered, in seconds since the first failure of this silence."""
        return 0.0 if self._silent_since is None else now() - self._silent_since

    def heard(self, began: float, *, answered: bool) -> None:
        """The endpoint took a question for a question, and perhaps answered it: it was there when that began."""
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
        """Whether the endpoint took a question that was put since; an earlier one may be answered when it is away."""
        return self._proven >= moment

    async def blame(self, error: CallError) -> Verdict:
        """Who is to blame for a call that has used up its attempts; waits until others have spoken."""
        if self.away:
            return "endpoint"
        held = self._hold(self._held)
        if len(self._held) >= _ENOUGH:
            self._goes_away(error)
        self.look()
        return await held

    async def blame_lock(self) -> Verdict:
        """The same for a door that is locked and was never seen open: nobody knocks until those there are back."""
        held = self._hold(self._locked_out)
        self._look_at_lock()
        return await held

    def look(self) -> None:
        """If all calls that are going are held, nobody is left to speak for the endpoint: look again soon."""
        if self._is_stuck():
            asyncio.get_running_loop().call_later(_LOOK_AGAIN, self._let_go_if_stuck)

    def release(self) -> None:
        """Hold nobody back any more, because no more is asked."""
        self._is_over = True
        self._release(self._held, "nobody knows")
        self._release(self._locked_out, "nobody knows")

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Counts an attempt while it is under way."""
        self.flying += 1
        try:
            yield
        finally:
            self.flying -= 1
            if self._locked_out:
                asyncio.get_running_loop().call_soon(self._look_at_lock)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """At once while the endpoint is there; while it is away one at a time, after a growing pause."""
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
        """Wait, but not past the moment at which something is heard."""
        self._news.clear()
        if not self._is_over:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), seconds)

    def _hold(self, among: list[asyncio.Future[Verdict]]) -> asyncio.Future[Verdict]:
        held: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        among.append(held)
        if self._is_over:
            self._release(among, "nobody knows")
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
            self._release(self._held, "nobody knows")


def now() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()
