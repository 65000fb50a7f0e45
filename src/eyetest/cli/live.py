"""What a person sees while a run is going: a few lines that change, or one line now and then where nobody watches.

The display looks at counts; nothing ever waits for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import err, safe
from eyetest.running import Progress
from eyetest.running.watching import counts, eta, every, line, rate, waits

_LOOKS_A_SECOND = 2
_SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def watching(progress: Progress) -> Iterator[None]:
    """Show a session until the block ends."""
    if err.is_terminal:
        live = Live(console=err, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        with live, every(1 / _LOOKS_A_SECOND, lambda: live.update(panel(progress), refresh=True)):
            yield
    else:
        with every(_SECONDS_BETWEEN_LINES, lambda: err.print(safe(line(progress)), soft_wrap=True)):
            yield


def panel(progress: Progress) -> RenderableType:
    """The state of a run in a few lines."""
    bar = Table.grid(padding=(0, 1))
    share = progress.done + progress.saved
    bar.add_row(
        ProgressBar(total=max(1, progress.to_ask), completed=share, width=30),
        f"{share:,}/{progress.to_ask:,}",
        Text(rate(progress), "bold"),
        Text(f"eta {eta(progress)}", "dim"),
    )
    flying = ", ".join(f"{safe(name)} {count}" for name, count in progress.in_flight.items() if count)
    rows: list[RenderableType] = [bar, Text(" · ".join(counts(progress)))]
    rows.append(Text(f"in flight: {flying}", "dim"))
    for words in waits(progress):
        rows.append(Text(safe(words), "yellow", overflow="ellipsis", no_wrap=True))
    if progress.last_error and not progress.outcomes["answered"] and not progress.waiting:
        rows.append(Text(safe(progress.last_error), "yellow", overflow="ellipsis", no_wrap=True))
    for name, why in progress.abandoned.items():
        rows.append(Text(safe(f"{name}: {why}"), "red"))
    if progress.stopped:
        rows.append(Text(f"{progress.stopped}: waiting for the calls in flight (Ctrl-C gives them up)", "yellow"))
    return Group(*rows)
