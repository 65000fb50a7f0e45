"""The state of a session in words, and somebody who looks at it now and then. Nothing waits for whoever looks."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from eyetest.running.progress import Progress


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
