"""How far a run may go: attempts and waits for one call, and budgets for all of them."""

import random

import msgspec

from eyetest.models import CallError

_LONGEST_WAIT = 60.0
LONGEST_PAUSE = 600.0
"""A server that asks for a longer pause than this is not waited for; the run can be resumed later."""
_EMPTY_ATTEMPTS = 3
"""An empty answer is asked for again, but a model that has nothing to say will not say more the tenth time."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a user allows. None is no limit."""

    concurrency: int = 64
    """The most calls in flight to one model."""
    attempts: int = 8
    backoff: float = 0.5
    """About how long to wait before the second attempt, in seconds; doubles from there."""
    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def may_retry(self, error: CallError, attempts: int, empty: int = 0) -> bool:
        """Whether another attempt makes sense after so many, some of them with empty answers."""
        return error.passing and attempts < self.attempts and empty < _EMPTY_ATTEMPTS

    def wait_before(self, attempt: int, error: CallError, chance: random.Random) -> float:
        """Seconds until the next attempt: doubling, jittered, and at least what the server asked for."""
        wait = min(_LONGEST_WAIT, self.backoff * 2.0 ** (attempt - 1)) * chance.uniform(0.5, 1.0)
        return wait + (error.wait or 0.0)


class Budget:
    """Counts what was spent, and what calls in flight will probably cost, against the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.calls = self.tokens = 0
        self.money = 0.0
        self._held_tokens, self._held_money = 0, 0.0

    def refuses(self, tokens: int, money: float) -> str:
        """Why a call of about this size may not be made any more; empty, and held, if it may."""
        limits = self._limits
        if limits.calls is not None and self.calls >= limits.calls:
            return f"the limit of {limits.calls:,} calls is reached"
        if limits.tokens is not None and self.tokens + self._held_tokens + tokens > limits.tokens:
            return f"the limit of {limits.tokens:,} tokens is reached"
        if limits.money is not None and self.money + self._held_money + money > limits.money:
            return f"the limit of {limits.money:g} in money is reached"
        self.calls += 1
        self._held_tokens += tokens
        self._held_money += money
        return ""

    def settle(self, held: tuple[int, float], spent: tuple[int, float]) -> None:
        """A call is over: what was held for it goes, what it took stays."""
        self._held_tokens -= held[0]
        self._held_money -= held[1]
        self.tokens += spent[0]
        self.money += spent[1]
