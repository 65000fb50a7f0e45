"""The command line inside the test's own process: starting one for each case takes longer than the case."""

import io
import json
import re
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest.mock import patch

from rich.cells import cell_len

from eyetest.cli import main, terminal

WIDTH = 80
MAIN = (sys.executable, "-c", "from eyetest.cli import main; main()")
"""The command line in a process of its own."""


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def refused(self) -> str:
        """The one line of a command that found bad input."""
        assert (self.code, self.out) == (2, ""), self
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        assert len(lines[0]) < 500
        return lines[0]

    def fine(self) -> str:
        """Everything that a command said that did what it was told."""
        assert self.code == 0, self.err
        return self.out + self.err


def call(*arguments: object, encoding: str = "utf-8") -> Done:
    """Call ``eyetest`` with these arguments, on streams of this encoding; what it said and how it ended."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    handler = signal.getsignal(signal.SIGTERM)
    code: int | None = None
    try:
        words = ["eyetest", *map(str, arguments)]
        with patch.object(sys, "argv", words), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert code is not None, "a command always says how it ended"
    for stream in (out, err):
        stream.flush()
    return Done(code, *(stream.buffer.getvalue().decode(encoding) for stream in (out, err)))


def measured(*words: object) -> list[dict[str, Any]]:
    """The rows of ``eyetest measure``."""
    return list(json.loads(call("measure", *words, "--output", "json").fine())["rows"])


def call_narrowly(*arguments: object) -> Done:
    """The same in a terminal of 80 columns, where no number or id is cut and only a path or a link may be wider."""
    with patch.multiple(terminal.out, _force_terminal=True, _width=WIDTH):
        done = call(*arguments)
    for line in [] if "--output" in arguments else done.out.splitlines():
        assert cell_len(line.rstrip()) <= WIDTH or "/" in line.split()[-1], (arguments, line)
        assert not re.search(r"\d\S*…", line), (arguments, line)
    return done
