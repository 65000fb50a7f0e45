"""The progress of a run, as numbers and as text, readable at any time."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from eyetest.models import CallError
from eyetest.records import Response


class Progress:
    """Counts of a session of a run."""

    def __init__(self, is_refusal: Callable[[str], bool] | None = None) -> None:
        self.to_ask = 0
        self.stored = 0  # requests answered before it began
        self.outcomes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.refused = 0
        self.saved = 0  # unnecessary calls: no verdict could change
        self.unanswered = 0  # turns not asked, because an earlier one has no answer
        self.keys: list[str] = []  # which variable goes to which host as a key; the display removes what it has shown
        self.in_flight: dict[str, int] = {}
        self.tokens_in = self.tokens_out = 0
        self.money = 0.0
        self.abandoned: dict[str, str] = {}  # models that are not asked any more, and why
        self.waiting: dict[str, str] = {}  # models that are away and waited for, and their last error
        self.stopped = ""  # why the session ended early
        self.last_error = ""  # the server's last error message
        self.is_refusal = is_refusal
        self._began = monotonic()
        self._recent: list[tuple[float, int]] = []

    def answered(self, response: Response, money: float) -> None:
        """Count a finished call."""
        self.outcomes[response.outcome] += 1
        if response.outcome == "failed":
            self.failures[response.error] += 1
        elif self.is_refusal and response.text and self.is_refusal(response.text):
            self.refused += 1
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
        self.last_error = other.last_error or self.last_error

    @property
    def done(self) -> int:
        """Finished calls."""
        return self.outcomes.total()

    @property
    def left(self) -> int:
        """Calls still to be made."""
        return max(0, self.to_ask - self.done - self.saved)

    @property
    def seconds(self) -> float:
        """The session's duration."""
        return monotonic() - self._began

    def rate(self) -> float:
        """Calls per second over the last half minute."""
        now = monotonic()
        self._recent = [*(entry for entry in self._recent if now - entry[0] < 30), (now, self.done)]
        (then, before), (_, after) = self._recent[0], self._recent[-1]
        return (after - before) / (now - then) if now - then > 0.2 else self.done / max(self.seconds, 1e-9)


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
    parts = [f"{progress.done:,} of {progress.to_ask:,} calls", rate(progress)]
    parts += [*counts(progress)] if over else [f"eta {eta(progress)}", *counts(progress), *waits(progress)]
    return " · ".join(parts)


def waits(progress: Progress) -> list[str]:
    """Which models are waited for, and why."""
    return [f"waiting for {name}: {why}" for name, why in list(progress.waiting.items())]


def counts(progress: Progress) -> list[str]:
    """The results of the calls so far."""
    outcomes = progress.outcomes
    parts = [f"{outcomes['answered']:,} answered"]
    parts += [f"{outcomes[name]:,} {name}" for name in ("truncated", "blocked") if outcomes[name]]
    if progress.refused:
        parts.append(f"{progress.refused:,} refused")
    if outcomes["failed"]:
        parts.append(f"{outcomes['failed']:,} failed ({_kinds(progress.failures)})")
    if progress.retries:
        parts.append(f"{progress.retries.total():,} retries ({_kinds(progress.retries)})")
    if progress.saved:
        parts.append(f"{progress.saved:,} not needed")
    if progress.unanswered:
        parts.append(f"{progress.unanswered:,} not asked (no answer to an earlier turn)")
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


def rate(progress: Progress) -> str:
    """The speed."""
    a_second = progress.rate()
    return f"{a_second:,.0f}/s" if a_second >= 10 else f"{a_second:.1f}/s"


def eta(progress: Progress) -> str:
    """The remaining time as hours, minutes and seconds."""
    a_second = progress.rate()
    if not a_second:
        return "…"
    a_second *= (progress.done + progress.saved) / max(1, progress.done)
    seconds = int(progress.left / a_second)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"
