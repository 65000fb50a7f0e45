"""What eyetest prints to a terminal, and what it logs: safe text, one error line, secrets removed."""

import gc
import io
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic, process_time
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from eyetest.cli.main import PipeClosedError
from eyetest.commands.base import Observer
from eyetest.commands.results import safe
from eyetest.commands.run import estimate_table
from eyetest.errors import DamagedWarning, InputError, as_named, system_words
from eyetest.version import __version__

if TYPE_CHECKING:
    from eyetest.running import Estimate, Progress


@contextmanager
def naming_output() -> Iterator[None]:
    """Name standard output in errors about it; a closed pipe ends the command quietly."""
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosedError from error
    except OSError as error:
        error.filename = error.filename or "standard output"
        raise


class PlainConsole(Console):
    """Takes every text as it is: ``[bold]`` and ``:smile:`` in a model's name are part of the name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print; errors are reported as errors of our output."""
        with naming_output():
            super().print(*(as_named(one) if isinstance(one, str) else one for one in objects), **settings)

    def on_broken_pipe(self) -> None:
        """End quietly."""
        raise PipeClosedError


_log = logging.getLogger(__name__)
out = PlainConsole()
err = PlainConsole(stderr=True)

_CONTROL = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NOT_ASCII = re.compile("[^\x00-\x7e]")


def prepare_streams() -> None:
    """Write characters that the encoding of an output does not have by their number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """JSON for another program, in which control characters are escaped, also those that JSON would let through."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    escaped = _CONTROL if (sys.stdout.encoding or "utf-8").lower().startswith("utf") else _NOT_ASCII
    echo(escaped.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n")


def echo(text: str) -> None:
    """Text for another program: what its encoding cannot say is written as an escape, and nothing is paraphrased."""
    encoding = sys.stdout.encoding or "utf-8"
    with naming_output():
        sys.stdout.write(as_named(text).encode(encoding, "backslashreplace").decode(encoding))


def show(result: Any, output: str) -> int:
    """Print the result of a command in the chosen form, then its notes; the exit code."""
    if result is None:
        return 0
    if output == "json":
        print_json(result.as_json())
    elif output in ("csv", "latex"):
        from eyetest.measures.printed import as_latex, csv_text

        echo(csv_text(result.frame) if output == "csv" else as_latex(result.frame) + "\n")
    else:
        out.print(result, crop=False, soft_wrap=False)
    if output != "json":
        for line in result.notes:
            note(line)
    return int(result.exit_code)


def fail(message: str) -> None:
    """Say what went wrong, in one line."""
    from eyetest.redaction import redact

    one_line = " ".join(safe(redact(message)).split())
    _log.debug("error: %s", one_line)
    err.print(Text.assemble(("error: ", "bold red"), one_line), soft_wrap=True)


def note(message: str) -> None:
    """Say what the user should know, without being asked."""
    _log.debug("note: %s", message)
    err.print(Text.assemble(("note: ", "bold yellow"), safe(message)), soft_wrap=True)


@contextmanager
def telling_damage() -> Iterator[None]:
    """Warnings about damaged data are printed as notes, each once."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", DamagedWarning)
        other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            note(str(message)) if issubclass(category, DamagedWarning) else other(message, category, *rest, **more)

        warnings.showwarning = show
        yield


_LINE = "{asctime}.{msecs:03.0f} {levelname:<5} {name}: {message}"
_TIME = "%Y-%m-%d %H:%M:%S"
_LONGEST_FAULT = 300


class _Redacted(logging.Formatter):
    """A line and its traceback without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        from eyetest.redaction import redact

        return redact(as_named(super().format(record)))


class _Handler(logging.Handler):
    """Hands each line to a function."""

    def __init__(self, take: Callable[[str], Any]) -> None:
        super().__init__()
        self.take = take

    def emit(self, record: logging.LogRecord) -> None:
        self.take(self.format(record))


def begin(*, verbose: bool, file: Path | None) -> None:
    """Log all modules, to the terminal above any bar and to a file; without either, nothing is logged."""
    import platform

    from eyetest.redaction import learn_environment
    from eyetest.store.files import refuse_special

    end()
    handlers: list[tuple[logging.Handler, int]] = []
    if verbose:
        handlers.append((_Handler(lambda line: err.print(Text(safe(line), "dim"), soft_wrap=True)), logging.INFO))
    if file is not None:
        refuse_special(file)
        try:
            handlers.append((logging.FileHandler(file, encoding="utf-8", errors="backslashreplace"), logging.DEBUG))
        except OSError as error:
            raise InputError(f"--log: cannot write {file}: {system_words(error)}") from None
    whole = logging.getLogger("eyetest")
    for handler, level in handlers:
        handler.setLevel(level)
        handler.setFormatter(_Redacted(_LINE, _TIME, style="{"))
        whole.addHandler(handler)
    whole.propagate = False
    whole.setLevel(min((level for _, level in handlers), default=logging.CRITICAL))
    learn_environment()
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    _log.info("eyetest %s, Python %s, %s", __version__, platform.python_version(), system)


def end() -> None:
    """Stop logging."""
    whole = logging.getLogger("eyetest")
    for handler in list(whole.handlers):
        whole.removeHandler(handler)
        handler.close()
    whole.propagate = True
    whole.setLevel(logging.NOTSET)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say that something begins, and how long it took."""
    _log.info("begins: %s", what)
    began, worked = monotonic(), process_time()
    try:
        yield
    finally:
        _log.info("over after %.2f s (%.2f s of work): %s", monotonic() - began, process_time() - worked, what)


def log_fault(error: Exception) -> str:
    """Log an error of eyetest itself with its traceback, to standard error where there is no log; the message."""
    whole, place = logging.getLogger("eyetest"), "in the log"
    if not any(isinstance(handler, logging.FileHandler) for handler in whole.handlers):
        begin(verbose=True, file=None)
        place = "above"
    whole.error("a fault", exc_info=error)
    frame = extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}"[:_LONGEST_FAULT]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"a fault in eyetest, not in your files: {what} ({where}); the traceback is {place}; please report it"


_LOOKS_A_SECOND = 2
_SECONDS_BETWEEN_LINES = 15.0


class TerminalObserver(Observer):
    """Reports to a terminal what a command does."""

    def note(self, line: str) -> None:
        """A line of its own."""
        note(line)

    def busy(self, line: str) -> None:
        """A dim line, on a terminal only."""
        _log.info("%s", line)
        if err.is_terminal:
            err.print(line, style="dim", soft_wrap=True)

    @contextmanager
    def steps(self, title: str) -> Iterator[Callable[[str, float], None]]:
        """A progress bar; each step is in the log with its time."""
        columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(compact=True))
        bar = Bar(TextColumn("{task.description}", markup=False), *columns, console=err, transient=True)
        task, last = bar.add_task(safe(title), total=None), ""  # the share is not known yet

        def step(what: str, share: float) -> None:
            nonlocal last
            if what != last:
                last = what
                _log.info("%s", what)
            bar.update(task, description=safe(what), total=1.0, completed=share)

        with timed(title), bar if err.is_terminal else nullcontext():
            yield step

    @contextmanager
    def watch(self, progress: "Progress") -> Iterator[None]:
        """Show the progress of a run."""
        from eyetest.running.limits import every, line

        gc.freeze()  # modules and plans stay; collecting while calls are made need not go through them
        while progress.keys:
            note(progress.keys.pop())
        live = Live(console=err, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        if err.is_terminal:
            looking = every(1 / _LOOKS_A_SECOND, lambda: live.update(state(progress), refresh=True))
        else:
            looking = every(_SECONDS_BETWEEN_LINES, lambda: err.print(safe(line(progress)), soft_wrap=True))
        with timed("asking"), live if err.is_terminal else nullcontext(), looking:
            yield
        _log.info("asked: %s", line(progress, over=True))

    def planned(self, stage: str, estimate: "Estimate") -> None:
        """Print the plan of calls; a stage without calls prints nothing."""
        _log.info("%s %d calls to make, %d answered before", stage or "plan:", estimate.calls, estimate.stored)
        if estimate.calls or not stage:
            heads = [Text(stage, "bold")] if stage else []
            err.print(*heads, estimate_table(estimate))

    def ended(self, notes: Sequence[str], *, interrupted: bool = False) -> None:
        """Notes are printed after the result, which has the exit code."""


TERMINAL = TerminalObserver()


def state(progress: "Progress") -> Text:
    """The progress of a run as a terminal shows it."""
    from eyetest.running.limits import line

    parts = [line(progress), *(f"{name}: {why}" for name, why in progress.abandoned.items())]
    if progress.last_error and not progress.outcomes["answered"] and not progress.waiting:
        parts.append(progress.last_error)
    if progress.stopped:
        parts.append(f"{progress.stopped}: waiting for the calls in flight (Ctrl-C gives them up)")
    return Text(safe("\n".join(parts)))
