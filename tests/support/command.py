"""The command line inside the test's own process: starting one for each case takes longer than the case."""

import io
import signal
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from eyetest.cli import main


def run(*arguments: object, cwd: Path) -> "CompletedProcess[str]":
    """Call ``eyetest`` with these arguments in a folder; what it said and how it ended."""
    words = ["eyetest", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handler = signal.getsignal(signal.SIGTERM)
    code = 0
    try:
        with chdir(cwd), patch.object(sys, "argv", words), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        signal.signal(signal.SIGTERM, handler)
    said = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]
    return CompletedProcess(words, code, *said)
