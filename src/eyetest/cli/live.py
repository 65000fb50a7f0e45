"""What a person sees while a job is going: a bar, a few lines that change, or one line now and then.

The display looks at counts; nothing ever waits for it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from eyetest.cli.log import timed
from eyetest.cli.terminal import err, note, safe, step_bar
from eyetest.jobs.opening import Observer
from eyetest.running import Estimate, Progress
from eyetest.running.progress import counts, eta, every, line, rate, waits
from eyetest.wording import counted

_log = logging.getLogger(__name__)
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


class TerminalObserver(Observer):
    """Tells a terminal what a job does."""

    def note(self, line: str) -> None:
        """A line of its own."""
        note(line)

    def busy(self, line: str) -> None:
        """A faint line, where somebody watches."""
        _log.info("%s", line)
        if err.is_terminal:
            err.print(line, style="dim", soft_wrap=True)

    @contextmanager
    def steps(self, title: str) -> Iterator[Callable[[str, float], None]]:
        """A bar; each step is in the log with its time."""
        with timed(title), step_bar(title) as bar:
            yield _logging_steps(bar)

    @contextmanager
    def watch(self, progress: Progress) -> Iterator[None]:
        """The state of a run."""
        with timed("asking"), watching(progress):
            yield
        _log.info("asked: %s", line(progress, over=True))

    def planned(self, stage: str, estimate: Estimate) -> None:
        """What is going to be asked; of a stage that asks nothing, nothing."""
        _log.info(
            "%s %d calls to make, %d answers are there already", stage or "plan:", estimate.calls, estimate.stored
        )
        if stage and not estimate.calls:
            return
        if stage:
            err.print(Text(stage, "bold"))
        err.print(estimate_table(estimate))


TERMINAL = TerminalObserver()


def _logging_steps(bar: Callable[[str, float], None]) -> Callable[[str, float], None]:
    """A bar whose steps are told to the log as well, each once."""
    said = ""

    def step(what: str, share: float) -> None:
        nonlocal said
        if what != said:
            said = what
            _log.info("%s", what)
        bar(what, share)

    return step


def estimate_table(estimate: Estimate) -> Table:
    """What is going to be asked, and about what it takes."""
    table = Table.grid(padding=(0, 2))
    rows: list[tuple[str, str]] = [("to ask", counted(estimate.calls, "call"))]
    for name, counter in (("models", estimate.by_model), ("sights", estimate.by_sight)):
        if counter:
            rows.append((name, ", ".join(f"{key} {count:,}" for key, count in counter.items())))
    shared = estimate.rows - estimate.requests
    for name, count, about in (
        ("answered before", estimate.stored, ""),
        ("failed before", estimate.failed, " (--retry-failed asks them again)"),
        ("sent once", shared, " more rows need no call of their own: they send exactly the same"),
        ("earlier turns", estimate.earlier, " items that were not chosen, because chosen ones go on from them"),
        ("asked otherwise", estimate.otherwise, " were answered before, under other settings or wording"),
        ("without a picture", estimate.no_picture, " are to show a picture and have none"),
    ):
        if count:
            rows.append((name, f"{count:,}{about}"))
    rows += [("cannot be asked", f"{count:,}: {why}") for why, count in estimate.not_applicable.most_common()]
    if estimate.calls and estimate.tokens_in:
        rows.append(("tokens", f"about {estimate.tokens_in:,} in, at most {estimate.most_tokens_out:,} out"))
    if estimate.priced:
        most = f"at most {estimate.most_money:,.2f} in all"
        rows.append(("cost", f"about {estimate.money:,.2f} for the prompts, {most}"))
    for name, value in rows:
        table.add_row(Text(name, "dim"), Text(safe(value), overflow="fold"))
    return table


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
