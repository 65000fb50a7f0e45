"""Runs a command; any way it ends is one line and an exit code. Slow imports are inside, so that Ctrl-C works."""

import contextlib
import gc
import os
import signal
import sys
from importlib import import_module
from shlex import quote

from eyetest.errors import EyetestError, spelled, system_words

_BAD_INPUT = 2
_INTERRUPTED = 128 + signal.SIGINT
_OBJECTS_BETWEEN_COLLECTIONS = 20_000  # thirty times Python's number: most objects that imports make stay
_OPTIONS = {"own": "set", "constants": "fill", "fields": "map", "columns": "map"}
_OPTIONS |= {"values": "map-values", "spec": "model", "panels": "panel", "external": "with"}
"""Parameters whose option has another name."""


class PipeClosedError(Exception):
    """The reader of our output has closed it."""


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        _run()
    finally:
        if terminal := sys.modules.get("eyetest.cli.terminal"):
            terminal.end()


def _run() -> None:
    try:
        terminal = import_module("eyetest.cli.terminal")
        terminal.prepare_streams()
        try:
            with spelled(as_option), terminal.telling_damage():
                sys.exit(import_module("eyetest.cli.app").run(sys.argv[1:]))
        finally:
            with terminal.naming_output():
                sys.stdout.flush()
    except PipeClosedError:
        _discard_output()
        sys.exit(0)
    except (EyetestError, OSError, UnicodeEncodeError) as error:
        _discard_output()
        terminal.fail(_line(error))
        sys.exit(_BAD_INPUT)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # pressed again, it ends the process at once
        _discard_output()
        with contextlib.suppress(OSError):
            sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    except Exception as error:
        terminal.fail(terminal.log_fault(error))
        sys.exit(1)


def as_option(name: str, value: object, at_head: bool) -> str:
    """A parameter as it is typed; what a shell would not take as it is stands in quotes."""
    option = f"--{_OPTIONS.get(name, name).replace('_', '-')}"
    if value is None or value is True:
        return option
    word = str(value)
    is_plain = at_head or quote(word.replace("…", "")) == word.replace("…", "")
    return f"{option} {word if is_plain else quote(word)}"


def _line(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename!s:.200}: {system_words(error)}" if error.filename else system_words(error)
    if isinstance(error, UnicodeEncodeError):
        text = ascii(error.object[max(0, error.start - 60) : error.end])
        return f"{text} ends in what UTF-8 cannot hold; rename or repair it"
    return str(error)


def _discard_output() -> None:
    """Drop what cannot be written, so that Python does not try once more when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
