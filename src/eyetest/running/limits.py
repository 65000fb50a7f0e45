"""How far a run may go: attempts and waits for one call, budgets for all of them, and how many fly at once."""

import asyncio
import random
from collections import deque
from math import inf
from types import TracebackType

import msgspec

from eyetest.models import CallError

_LONGEST_WAIT = 60.0
LONGEST_PAUSE = 600.0
"""A server that asks for a longer pause than this is not waited for; the run can be resumed later."""
FIRST_PATIENCE = 30.0
"""Where nobody has ever answered, nobody is likely to: a wrong address is told after so many seconds."""
_FIRST_ATTEMPTS = 3
"""The same for a server that takes calls and lets them hang, or that says what no endpoint says."""
_EMPTY_ATTEMPTS = 3
"""An empty answer is asked for again, but a model that has nothing to say will not say more the tenth time."""
_NOBODY = ("timeout", "garbage")
_FIRST_WIDTH = 8
_CUT = 0.7


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a user allows. None is no limit."""

    concurrency: int = 64
    """The most calls in flight to one model."""
    attempts: int = 8
    backoff: float = 0.5
    """About how long to wait before the second attempt, in seconds; doubles from there."""
    patience: float = 600.0
    """How long to wait for an endpoint that has gone away, in seconds; nothing is given up as failed meanwhile."""
    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def may_retry(self, error: CallError, attempts: int, empty: int = 0, *, known: bool = True) -> bool:
        """Whether another attempt makes sense after so many, some of them with empty answers.

        ``known``: whether the model has ever answered.
        """
        most = self.attempts if known or error.kind not in _NOBODY else min(self.attempts, _FIRST_ATTEMPTS)
        return error.passing and attempts < most and empty < _EMPTY_ATTEMPTS

    def wait_before(self, attempt: int, error: CallError, chance: random.Random) -> float:
        """Seconds until the next attempt: doubling, jittered, and at least what the server asked for."""
        wait = min(_LONGEST_WAIT, self.backoff * 2.0 ** (attempt - 1)) * chance.uniform(0.5, 1.0)
        return wait + (error.wait or 0.0)


class Budget:
    """Counts what was spent, and the most that calls in flight can cost, so that no limit is ever passed.

    Whatever one command asks, in however many stages, is counted by one budget.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.calls = self.tokens = 0
        self.money = 0.0
        self._held_tokens, self._held_money = 0, 0.0
        self._waiting: list[asyncio.Future[None]] = []

    def refuses(self, tokens: int, money: float, calls: int = 1) -> str:
        """Why calls that may take so much may not be made any more; empty, and held, if they may."""
        limits = self.limits
        if limits.calls is not None and self.calls + calls > limits.calls:
            return f"the limit of {limits.calls:,} calls is reached"
        if limits.tokens is not None and self.tokens + self._held_tokens + tokens > limits.tokens:
            return f"the next call could pass the limit of {limits.tokens:,} tokens ({self.tokens:,} are spent)"
        if limits.money is not None and self.money + self._held_money + money > limits.money:
            return f"the next call could pass the limit of {limits.money:g} in money ({self.money:.4g} is spent)"
        self.calls += calls
        self._held_tokens += tokens
        self._held_money += money
        return ""

    @property
    def room(self) -> tuple[float, float, float]:
        """How many calls, tokens and how much money may still be spent, as far as it is certain."""
        limits = self.limits
        return (
            inf if limits.calls is None else limits.calls - self.calls,
            inf if limits.tokens is None else limits.tokens - self.tokens - self._held_tokens,
            inf if limits.money is None else limits.money - self.money - self._held_money,
        )

    @property
    def may_change(self) -> bool:
        """Whether calls in flight hold something that they may give back."""
        most_calls = self.limits.calls
        return self._held_tokens > 0 and (most_calls is None or self.calls < most_calls)

    async def change(self) -> None:
        """Wait until a call is over."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def settle(self, held: tuple[int, float], spent: tuple[int, float]) -> None:
        """A call is over: what was held for it goes, what it took stays."""
        self._held_tokens -= held[0]
        self._held_money -= held[1]
        self.tokens += spent[0]
        self.money += spent[1]
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()


class Throttle:
    """A gate whose width adapts, between one call and ``most``.

    It starts narrow and widens by one with every success, which doubles it each round trip. When the server pushes
    back it narrows, once for all the calls that were in flight together, and from then on widens by about one a
    round. While the server has asked for a pause, nobody passes.
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
        """Wait for a place; gives the time of entry, which tells which calls flew together."""
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.active -= 1
        self._wake()

    def went_well(self) -> None:
        """One more success."""
        self.width = min(float(self.most), self.width + (1.0 if self._starting else 1.0 / self.width))

    def pushed_back(self, entered: float, wait: float | None) -> None:
        """The server said that it is too much, perhaps for how long."""
        loop = asyncio.get_running_loop()
        if entered > self._last_cut:
            self._last_cut = loop.time()
            self._starting = False
            self.width = max(1.0, self.width * _CUT)
        if wait:
            self._closed_until = max(self._closed_until, loop.time() + wait)
            loop.call_at(self._closed_until + 0.001, self._wake)

    def let_all_pass(self) -> None:
        """Hold nobody back any more, because whoever waits is to be told to go home."""
        self.width, self._closed_until = float("inf"), 0.0
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _wake(self) -> None:
        """Let in as many as there are places; each looks again for itself."""
        places = min(self.width, self.most) - self.active
        while places >= 1 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                places -= 1
