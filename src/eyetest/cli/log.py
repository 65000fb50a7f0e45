"""What a command did, line by line, for whoever has to find out why it did not do what it should.

Modules speak to the standard ``logging`` under their own names; nothing of it is shown unless it is asked for. The
last lines are kept in memory all the same: when eyetest itself fails, they are written down with the traceback. No
line leaves without passing ``redact``, and none goes to standard output.
"""

import logging
import os
import platform
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, process_time
from traceback import extract_tb

from rich.text import Text

from eyetest.cli.terminal import err, safe
from eyetest.errors import InputError, as_said, system_words
from eyetest.redaction import learn_environment, redact
from eyetest.store.files import refuse_special
from eyetest.version import __version__

_LINE = "{asctime}.{msecs:03.0f} {levelname:<5} {name}: {message}"
_TIME = "%Y-%m-%d %H:%M:%S"
_REMEMBERED = 500
"""Lines that are kept for the case that eyetest fails."""
_LONGEST_FAULT = 300
_log = logging.getLogger(__name__)


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
