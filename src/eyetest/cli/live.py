"""What a person sees while a run is going: a few lines that change, or one line now and then where nobody watches.

The display looks at counts; nothing ever waits for it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import err, safe
from eyetest.running import Progress

_LOOKS_A_SECOND = 2
_SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def watching(progress: Progress) -> Iterator[None]:
    """Show a session until the block ends."""
    if err.is_terminal:
        live = Live(console=err, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        with live, _every(1 / _LOOKS_A_SECOND, lambda: live.update(panel(progress), refresh=True)):
            yield
    else:
        with _every(_SECONDS_BETWEEN_LINES, lambda: err.print(safe(line(progress)), soft_wrap=True)):
            yield


@contextmanager
def _every(seconds: float, look: Callable[[], None]) -> Iterator[None]:
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
    parts = [f"{progress.done:,} of {progress.to_ask:,} calls", _rate(progress), f"eta {_eta(progress)}"]
    parts = parts[:2] if over else parts
    return " · ".join([*parts, *_counts(progress)])


def panel(progress: Progress) -> RenderableType:
    """The state of a run in a few lines."""
    bar = Table.grid(padding=(0, 1))
    share = progress.done + progress.saved
    bar.add_row(
        ProgressBar(total=max(1, progress.to_ask), completed=share, width=30),
        f"{share:,}/{progress.to_ask:,}",
        Text(_rate(progress), "bold"),
        Text(f"eta {_eta(progress)}", "dim"),
    )
    flying = ", ".join(f"{safe(name)} {count}" for name, count in progress.in_flight.items() if count)
    rows: list[RenderableType] = [bar, Text(" · ".join(_counts(progress)))]
    rows.append(Text(f"in flight: {flying}", "dim"))
    if progress.last_error and not progress.outcomes["answered"]:
        rows.append(Text(safe(progress.last_error), "yellow", overflow="ellipsis", no_wrap=True))
    for name, why in progress.abandoned.items():
        rows.append(Text(safe(f"{name}: {why}"), "red"))
    if progress.stopped:
        rows.append(Text(f"{progress.stopped}: waiting for the calls in flight (Ctrl-C gives them up)", "yellow"))
    return Group(*rows)


def _counts(progress: Progress) -> list[str]:
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


def _rate(progress: Progress) -> str:
    rate = progress.rate()
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _eta(progress: Progress) -> str:
    rate = progress.rate()
    if not rate:
        return "…"
    rate *= (progress.done + progress.saved) / max(1, progress.done)
    seconds = int(progress.left / rate)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"
