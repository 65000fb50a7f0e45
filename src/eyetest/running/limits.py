"""The settings of a run (how to ask, attempts and waits, budgets), and its progress as numbers and as text."""

import asyncio
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from math import inf
from time import monotonic
from typing import Any

import msgspec

from eyetest.errors import InputError, heading, param, short
from eyetest.grammar import read_pairs, refuse_unknown, words_of
from eyetest.models import CallError, Surroundings
from eyetest.records import Condition, ModelEntry, Response, StoppingRule

_LONGEST_WAIT = 60.0
_DECLINING = ("i can't", "i cannot", "i'm sorry", "i am sorry", "i'm unable", "i am unable", "as an ai", "cannot see")
LONGEST_PAUSE = 600.0  # longer pauses of a server are not waited for; the run can be resumed later
FIRST_PATIENCE = 30.0  # seconds until a model that has never answered (a wrong address) is reported
REVOKED_PATIENCE = 10.0  # the same for a key or an account that is refused after it has been accepted
_FIRST_ATTEMPTS = 3  # the same for a server that lets calls hang, or replies unlike an endpoint
_EMPTY_ATTEMPTS = 3  # for an empty answer, which more attempts rarely change
_NOT_REACHED = ("timeout", "garbage")
_OWN = ("attempts", "backoff", "patience")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The user's limits; None is no limit."""

    concurrency: int = 64  # the most calls in flight per model
    attempts: int = 8
    backoff: float = 0.5  # approximate wait before the second attempt, in seconds; then doubling
    patience: float = 600.0  # how long to wait for an endpoint that is away, in seconds; no call fails meanwhile
    calls: int | None = None
    money: float | None = None

    def of(self, entry: ModelEntry) -> "Limits":
        """The limits with a model's own attempts and waits."""
        own = {name: value for name in _OWN if (value := getattr(entry, name)) is not None}
        return msgspec.structs.replace(self, **own)

    def may_retry(self, error: CallError, attempts: int, empty: int = 0, *, known: bool = True) -> bool:
        """Whether to make another attempt after so many; ``known``: whether the model has ever answered."""
        most = self.attempts if known or error.kind not in _NOT_REACHED else min(self.attempts, _FIRST_ATTEMPTS)
        return error.passing and attempts < most and empty < _EMPTY_ATTEMPTS

    def wait_before(self, attempt: int, error: CallError, chance: random.Random) -> float:
        """Seconds until the next attempt: doubling, jittered, and at least what the server asked for."""
        wait = min(_LONGEST_WAIT, self.backoff * 2.0 ** (attempt - 1)) * chance.uniform(0.5, 1.0)
        return wait + (error.wait or 0.0)


_BUDGETS = {"calls": "calls", "cost": "money"}


def limits_of(budget: str | Sequence[str], concurrency: int = Limits().concurrency) -> Limits:
    """Limits from a user's words, such as ``calls=100,cost=5``."""
    if concurrency < 1:
        raise InputError(f"{heading('concurrency')}: found {concurrency}, expected 1 or more")
    words = [word for word in words_of(budget) if word != ""]
    most: dict[str, float] = {}
    for name, text in read_pairs(words, "budget", "calls=100", between=",", form="LIMIT=NUMBER").items():
        value = text.strip()
        refuse_unknown(name, "budget", _BUDGETS, "limit")
        with suppress(ValueError):
            most[_BUDGETS[name]] = float(value) if name == "cost" else int(value.replace("_", ""))
        if not (0 if name == "cost" else 1) <= most.get(_BUDGETS[name], -1) < inf:
            raise InputError(f"{heading('budget')}: {name}: found {short(value)}, expected a number above 0")
    return Limits(concurrency=concurrency, **most)  # type: ignore[arg-type]


def refuse_unpriced(limits: Limits, entries: Mapping[str, ModelEntry]) -> None:
    """Refuse a limit in money where no model has a price."""
    if limits.money is not None and not any(entry.price for entry in entries.values()):
        repair = f"give models a price in {param('models')}, in money per million tokens"
        raise InputError(f"{param('budget', 'cost=…')} needs prices: {repair}")


class Budget:
    """Counts what a command has spent; calls in flight may pass a limit in money."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.calls, self.money = 0, 0.0
        self.keys: set[str] = set()  # notices shown about keys and their hosts

    @property
    def refusal(self) -> str:
        """Why no more calls may be made; empty if they may."""
        limits = self.limits
        if limits.calls is not None and self.calls >= limits.calls:
            return f"the limit of {limits.calls:,} calls is reached"
        return self.too_dear

    @property
    def too_dear(self) -> str:
        """Why no more money may be spent; empty if it may."""
        most = self.limits.money
        is_spent = most is not None and self.money >= most
        return f"the limit of {most:g} in money is reached ({self.money:.4g} is spent)" if is_spent else ""


_RAY = re.compile(r"ray(?P<address>://[^:]+:\d+)?(?::(?P<workers>[1-9]\d{0,5}))?")


class Cluster(msgspec.Struct, frozen=True):
    """A Ray cluster that executes a run."""

    address: str = ""  # ``ray://HOST:PORT``; empty for that of RAY_ADDRESS, or a local one
    workers: int | None = None  # shards asked at once; None: one per processor

    @classmethod
    def parse(cls, on: str) -> "Cluster | None":
        """The cluster of ``ray``, ``ray:8`` (8 workers) or ``ray://HOST:PORT``; None for this process."""
        if not on:
            return None
        if not (match := _RAY.fullmatch(on)):
            raise InputError(f"{heading('on')}: found {short(on)}, expected ray, ray:WORKERS or ray://HOST:PORT")
        workers = int(match["workers"]) if match["workers"] else None
        return cls(f"ray{match['address']}" if match["address"] else "", workers)


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How a benchmark is put to models."""

    conditions: tuple[Condition, ...] = (Condition(),)
    samples: int = 1
    sampling: dict[str, Any] = {}
    seed: int = 0
    limit: int | None = None  # only the first items
    items: tuple[str, ...] = ()  # only these items
    limits: Limits = Limits()
    patience: Surroundings = Surroundings()
    retry_failed: bool = False
    stop: StoppingRule | None = None  # None asks everything
    until: str = ""  # two models as ``A>B``: items come in random order until one leads with certainty
    cluster: Cluster | None = None  # where calls are made; None for this process

    @property
    def weighs(self) -> bool:
        """Whether any likelihoods are requested."""
        return any(condition.method != "generate" for condition in self.conditions)


class Progress:
    """Counts of a session of a run. ``refused`` are replies that seem to decline: for display, not a reading."""

    def __init__(self) -> None:
        self.to_ask = 0
        self.stored = 0  # requests answered before it began
        self.outcomes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.refused = 0
        self.saved = 0  # unnecessary calls: no verdict could change
        self.unanswered = 0  # turns not asked, because an earlier one has no answer
        self.keys: list[str] = []  # which variable goes to which host as a key; the display removes what it has shown
        self.tokens_in = self.tokens_out = 0
        self.money = 0.0
        self.abandoned: dict[str, str] = {}  # models that are not asked any more, and why
        self.waiting: dict[str, str] = {}  # models that are away and waited for, and their last error
        self.ways: dict[str, str] = {}  # by model of a cluster: how it computes likelihoods
        self.stopped = ""  # why the session ended early
        self.last_error = ""  # the server's last error message
        self._began = monotonic()
        self._recent: list[tuple[float, int]] = []

    def answered(self, response: Response, money: float) -> None:
        """Count a finished call."""
        self.outcomes[response.outcome] += 1
        if response.outcome == "failed":
            self.failures[response.error] += 1
        else:
            head = (response.text or "")[:200].lower()
            self.refused += any(words in head for words in _DECLINING)
        self.tokens_in += response.tokens_in or 0
        self.tokens_out += response.tokens_out or 0
        self.money += money

    def retried(self, error: CallError) -> None:
        """Count a failed attempt that will be repeated."""
        self.retries[error.kind] += 1
        self.last_error = str(error)

    def add(self, other: "Progress") -> None:
        """Add another worker's counts."""
        counts = ("outcomes", "failures", "retries", "refused", "saved", "tokens_in", "tokens_out", "money")
        for name in counts:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.abandoned |= other.abandoned
        self.ways |= other.ways
        self.last_error = other.last_error or self.last_error

    @property
    def done(self) -> int:
        """Finished calls."""
        return self.outcomes.total()

    @property
    def left(self) -> int:
        """Calls still to be made."""
        return max(0, self.to_ask - self.done - self.saved)

    def rate(self) -> float:
        """Calls per second over the last half minute."""
        now = monotonic()
        self._recent = [*(entry for entry in self._recent if now - entry[0] < 30), (now, self.done)]
        (then, before), (_, after) = self._recent[0], self._recent[-1]
        return (after - before) / (now - then) if now - then > 0.2 else self.done / max(now - self._began, 1e-9)


@contextmanager
def every(seconds: float, look: Callable[[], None]) -> Iterator[None]:
    """Call repeatedly from a separate thread, until the block ends."""
    over = threading.Event()

    def loop() -> None:
        while not over.wait(seconds):
            look()

    thread = threading.Thread(target=loop, name="display", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def line(progress: Progress, *, over: bool = False) -> str:
    """The state of a run in one line; without waits when it is over."""
    a_second = progress.rate()
    speed = f"{a_second:,.0f}/s" if a_second >= 10 else f"{a_second:.1f}/s"
    done = [f"{progress.done:,} of {progress.to_ask:,} calls", speed]
    if over:
        return " · ".join(done + _counts(progress))
    waiting = [f"waiting for {name}: {why}" for name, why in list(progress.waiting.items())]
    return " · ".join([*done, f"eta {_eta(progress, a_second)}", *_counts(progress), *waiting])


def _counts(progress: Progress) -> list[str]:
    """The results of the calls so far."""
    outcomes = progress.outcomes
    counts = {
        "truncated": outcomes["truncated"],
        "blocked": outcomes["blocked"],
        "refused": progress.refused,
        f"failed ({_kinds(progress.failures)})": outcomes["failed"],
        f"retries ({_kinds(progress.retries)})": progress.retries.total(),
        "not needed": progress.saved,
        "not asked (no answer to an earlier turn)": progress.unanswered,
    }
    parts = [f"{outcomes['answered']:,} answered"]
    parts += [f"{count:,} {what}" for what, count in counts.items() if count]
    if progress.tokens_in or progress.tokens_out:
        parts.append(f"{_short(progress.tokens_in)} tokens in, {_short(progress.tokens_out)} out")
    if progress.money:
        parts.append(f"cost {progress.money:,.2f}")
    return parts


def _kinds(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common(4))


def _short(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1e6:.1f} M"
    return f"{number / 1e3:.0f} k" if number >= 10_000 else f"{number:,}"


def _eta(progress: Progress, a_second: float) -> str:
    """The remaining time as hours, minutes and seconds."""
    if not a_second:
        return "…"
    a_second *= (progress.done + progress.saved) / max(1, progress.done)
    seconds = int(progress.left / a_second)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"


INTERRUPTED = "stopped by you"
_ON_PRESS: dict[asyncio.AbstractEventLoop, Callable[[], None]] = {}  # by loop in a thread, what to call on Ctrl-C


def wait_for(work: Coroutine[Any, Any, None]) -> None:
    """Run work to its end, in a thread where a loop is running; the main thread forwards Ctrl-C and waits on."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    loop, is_main = asyncio.new_event_loop(), threading.current_thread() is threading.main_thread()

    def carry_out() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(work)

    def forward(*_: object) -> None:
        if loop in _ON_PRESS:
            loop.call_soon_threadsafe(_ON_PRESS[loop])

    before = signal.signal(signal.SIGINT, forward) if is_main else None
    try:
        with ThreadPoolExecutor(1, "asking") as thread:
            thread.submit(carry_out).result()
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def one_error() -> Iterator[None]:
    """Report tasks that fail together by the first of them."""
    try:
        yield
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


@contextmanager
def stopping_on_ctrl_c(stop: Callable[[str], None], progress: Progress) -> Iterator[None]:
    """Ctrl-C once lets the calls in flight finish, twice cancels them, also in a thread."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def pressed() -> None:
        if progress.stopped == INTERRUPTED and task is not None:
            task.cancel()
        stop(INTERRUPTED)
        progress.stopped = INTERRUPTED

    signals = (signal.SIGINT, signal.SIGTERM)
    with suppress(ValueError, RuntimeError, NotImplementedError):
        for number in signals:
            loop.add_signal_handler(number, pressed)
    try:
        _ON_PRESS[loop] = pressed
        yield
    finally:
        del _ON_PRESS[loop]
        with suppress(ValueError, RuntimeError, NotImplementedError):
            for number in signals:
                loop.remove_signal_handler(number)
