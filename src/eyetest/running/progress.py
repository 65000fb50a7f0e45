"""What has happened so far in a run: numbers, and the same in words, that a display may look at whenever it likes."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from eyetest.models import CallError
from eyetest.records import Response


class Progress:
    """Counts of one session of a run. Nobody waits for whoever looks."""

    def __init__(self, looks_refused: Callable[[str], bool] | None = None) -> None:
        self.to_ask = 0
        """Calls that this session is to make."""
        self.stored = 0
        """Requests that were answered before it began."""
        self.outcomes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.refused = 0
        self.saved = 0
        """Calls that were not needed, because no verdict could change any more."""
        self.unanswered = 0
        """Turns of dialogues that are not asked, because an earlier one has no answer."""
        self.in_flight: dict[str, int] = {}
        self.tokens_in = self.tokens_out = 0
        self.money = 0.0
        self.abandoned: dict[str, str] = {}
        """Models that are not asked any more, and why."""
        self.waiting: dict[str, str] = {}
        """Models that are away and waited for, and what was heard of them last."""
        self.stopped = ""
        """Why the session ended before everything was asked."""
        self.last_error = ""
        """What the server said last when an attempt failed."""
        self.looks_refused = looks_refused
        self._began = monotonic()
        self._recent: list[tuple[float, int]] = []

    def answered(self, response: Response, money: float) -> None:
        """A call is over."""
        self.outcomes[response.outcome] += 1
        if response.outcome == "failed":
            self.failures[response.error] += 1
        elif self.looks_refused and response.text and self.looks_refused(response.text):
            self.refused += 1
        self.tokens_in += response.tokens_in or 0
        self.tokens_out += response.tokens_out or 0
        self.money += money

    def retried(self, error: CallError) -> None:
        """An attempt failed and will be made again."""
        self.retries[error.kind] += 1
        self.last_error = str(error)

    @property
    def done(self) -> int:
        """Calls that are over."""
        return self.outcomes.total()

    @property
    def left(self) -> int:
        """Calls that are still to be made."""
        return max(0, self.to_ask - self.done - self.saved)

    @property
    def seconds(self) -> float:
        """How long the session has been running."""
        return monotonic() - self._began

    def rate(self) -> float:
        """Calls a second over the last half minute."""
        now = monotonic()
        self._recent = [*(entry for entry in self._recent if now - entry[0] < 30), (now, self.done)]
        (then, before), (_, after) = self._recent[0], self._recent[-1]
        return (after - before) / (now - then) if now - then > 0.2 else self.done / max(self.seconds, 1e-9)


@contextmanager
def every(seconds: float, look: Callable[[], None]) -> Iterator[None]:
    """Look again and again, from a thread of its own, until the block ends."""
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
    """The state of a run in one line; nobody waits any more when it is over."""
    parts = [f"{progress.done:,} of {progress.to_ask:,} calls", rate(progress), f"eta {eta(progress)}"]
    parts = parts[:2] if over else parts
    waiting = [] if over else waits(progress)
    return " · ".join([*parts, *counts(progress), *waiting])


def waits(progress: Progress) -> list[str]:
    """Who is waited for, and why."""
    return [f"waiting for {name}: {why}" for name, why in list(progress.waiting.items())]


def counts(progress: Progress) -> list[str]:
    """What came of the calls so far."""
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
    """How fast it goes."""
    a_second = progress.rate()
    return f"{a_second:,.0f}/s" if a_second >= 10 else f"{a_second:.1f}/s"


def eta(progress: Progress) -> str:
    """When it will be over, as hours, minutes and seconds from now."""
    a_second = progress.rate()
    if not a_second:
        return "…"
    a_second *= (progress.done + progress.saved) / max(1, progress.done)
    seconds = int(progress.left / a_second)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"
