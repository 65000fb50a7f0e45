"""How eyetest speaks to a terminal: safe text, one error line, a progress bar."""

import codecs
import io
import json
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from time import monotonic, process_time
from traceback import extract_tb
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from eyetest.cli.main import PipeClosedError
from eyetest.errors import DamagedWarning, InputError, ReadingWarning, as_said, system_words
from eyetest.redaction import learn_environment, redact
from eyetest.store.files import refuse_special
from eyetest.version import __version__


@contextmanager
def naming_output() -> Iterator[None]:
    """Say of an error that comes of our output alone where it comes from; whoever reads no more ends us quietly."""
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
        """Print; what goes wrong is told of our output."""
        with naming_output():
            super().print(*(as_said(one) if isinstance(one, str) else one for one in objects), **settings)

    def on_broken_pipe(self) -> None:
        """End quietly."""
        raise PipeClosedError


_log = logging.getLogger(__name__)
out = PlainConsole()
err = PlainConsole(stderr=True)

_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}
_VISIBLE |= dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)

_CONTROL = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NOT_ASCII = re.compile("[^\x00-\x7e]")
_PLAIN = {"→": "->", "←": "<-", "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "·": "|", "✔": "+", "✘": "x"}
_PLAIN |= {"≤": "<=", "≥": ">=", "±": "+-", "“": '"', "”": '"', "‘": "'", "’": "'", "▀": "#", "⏎": "\\n"}
_PLAIN |= dict.fromkeys("─━╸╺", "-") | dict.fromkeys("│┃║", "|")
_BOXES = range(0x2500, 0x2580)
_PLAINLY = "eyetest-plainly"


def prepare_streams() -> None:
    """Let nothing that we say be an error, whatever encoding the terminal, pipe or file has."""
    codecs.register_error(_PLAINLY, _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_PLAINLY)


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """What an encoding cannot say in signs that every one has: an arrow in two, the rest by its number."""
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    plain = (
        _PLAIN.get(sign) or ("+" if ord(sign) in _BOXES else sign.encode("ascii", "backslashreplace").decode())
        for sign in signs
    )
    return "".join(plain), error.end


LONGEST_SHOWN = 10_000
"""Characters of one text that a terminal is shown; laying out ten million takes minutes, and nobody reads them."""


def safe(text: str, longest: int | None = LONGEST_SHOWN) -> str:
    """Text from a dataset, with control characters made visible: no escape sequence reaches the terminal.

    Of a text that is longer than anybody reads, its two ends, and how much was left out.
    """
    if longest is not None and len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"
    return as_said(text).encode("utf-8", "replace").decode().replace("\r\n", "\n").translate(_VISIBLE)


def print_json(value: Any) -> None:
    """JSON for another program, in which control characters are escaped, also those that JSON would let through."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    escaped = _CONTROL if (sys.stdout.encoding or "utf-8").lower().startswith("utf") else _NOT_ASCII
    echo(escaped.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n")


def echo(text: str) -> None:
    """Text for another program: what its encoding cannot say is written as an escape, and nothing is paraphrased."""
    encoding = sys.stdout.encoding or "utf-8"
    with naming_output():
        sys.stdout.write(as_said(text).encode(encoding, "backslashreplace").decode(encoding))


def say(line: str, under: int = 0) -> None:
    """A line for people. A terminal gets it wrapped between words, from its second row on under so many spaces."""
    line = safe(line)
    if out.is_terminal:
        line = fill(line, out.width, subsequent_indent=" " * under, break_long_words=False, break_on_hyphens=False)
    out.print(Text(line), soft_wrap=True)


def fail(message: str) -> None:
    """Say what went wrong, in one line."""
    one_line = " ".join(safe(redact(message)).split())
    _log.debug("error: %s", one_line)
    err.print(Text.assemble(("error: ", "bold red"), one_line), soft_wrap=True)


def note(message: str) -> None:
    """Say what the user should know, without being asked."""
    _log.debug("note: %s", message)
    err.print(Text.assemble(("note: ", "bold yellow"), safe(message)), soft_wrap=True)


_TOLD = (DamagedWarning, ReadingWarning)


def advise(why: str, command: str) -> None:
    """Say what to type next, on a line of its own, so that it can be copied whole."""
    note(f"{why}:")
    err.print(Text(f"  {safe(command)}"), soft_wrap=True)


@contextmanager
def telling_damage() -> Iterator[None]:
    """What readers leave out as damaged, or may have misread, is a note, told once, like all that one should know."""
    with warnings.catch_warnings():
        for kind in _TOLD:
            warnings.simplefilter("default", kind)
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, _TOLD):
                note(str(message))
            else:
                shown(message, category, *rest, **more)

        warnings.showwarning = show
        yield


@contextmanager
def step_bar(title: str) -> Iterator[Callable[[str, float], None]]:
    """A bar to hand what is being done and a share from 0 to 1; silent where nobody watches."""
    if not err.is_terminal:
        yield lambda what, share: None
        return
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(safe(title), total=1.0)
        yield lambda what, share: bar.update(task, description=safe(what), completed=share)


def program() -> str:
    """How the user called eyetest, so that a command we suggest can be copied as it is."""
    called = Path(sys.argv[0])
    if called.name != "eyetest" or shutil.which("eyetest") == str(called):
        return "eyetest"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


_LINE = "{asctime}.{msecs:03.0f} {levelname:<5} {name}: {message}"
_TIME = "%Y-%m-%d %H:%M:%S"
_REMEMBERED = 500  # lines that are kept for the case that eyetest fails
_LONGEST_FAULT = 300


class _Redacted(logging.Formatter):
    """A line without secrets, and a traceback without any behind it."""

    def __init__(self) -> None:
        super().__init__(_LINE, _TIME, style="{")

    def format(self, record: logging.LogRecord) -> str:
        return redact(as_said(super().format(record)))


class _Terminal(logging.Handler):
    """Prints above whatever bar is being shown."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(Text(safe(self.format(record)), "dim"), soft_wrap=True)


class _Memory(logging.Handler):
    """Keeps the last lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_REMEMBERED)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def begin(*, verbose: bool, file: Path | None) -> None:
    """Listen to all modules: for a terminal, for a file, and for the case of a fault."""
    end()
    _listen(_Memory(), logging.INFO)
    if verbose:
        _listen(_Terminal(), logging.INFO)
    if file is not None:
        refuse_special(file)
        try:
            _listen(logging.FileHandler(file, encoding="utf-8", errors="backslashreplace"), logging.DEBUG)
        except OSError as error:
            raise InputError(f"--log: cannot write {file}: {system_words(error)}") from None
    learn_environment()
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    _log.info("eyetest %s, Python %s, %s", __version__, platform.python_version(), system)


def end() -> None:
    """Stop listening."""
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


def keep_fault(error: Exception) -> str:
    """Write down how eyetest itself failed, and the lines before it; a line for people says where that lies."""
    whole = logging.getLogger("eyetest")
    if not whole.handlers:
        begin(verbose=False, file=None)
    whole.error("a fault", exc_info=error)
    frame = extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}"[:_LONGEST_FAULT]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"a fault in eyetest, not in your files: {what} ({where}); {_kept(whole)}; please report it"


def _kept(whole: logging.Logger) -> str:
    """Where what happened can be read: in the log that was asked for, else in a file of its own."""
    files = [handler.baseFilename for handler in whole.handlers if isinstance(handler, logging.FileHandler)]
    lines = [line for handler in whole.handlers if isinstance(handler, _Memory) for line in handler.lines]
    try:
        if not files:
            number, path = tempfile.mkstemp(prefix="eyetest-fault-", suffix=".log")
            with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write("\n".join((*lines, "")))
            files.append(path)
    except OSError:
        sys.stderr.write("\n".join((*lines, "")))
        return "what happened stands above"
    return f"what happened is in {files[0]}"


def _listen(handler: logging.Handler, level: int) -> None:
    handler.setLevel(level)
    handler.setFormatter(_Redacted())
    whole = logging.getLogger("eyetest")
    whole.addHandler(handler)
    whole.propagate = False
    whole.setLevel(min(handler.level for handler in whole.handlers))
