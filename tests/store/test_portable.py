"""Storage without the calls of POSIX, in a stand-in for Windows, and flushing to disk on macOS."""

import ast
import os
import subprocess
import sys
from unittest.mock import Mock

import pytest

from eyetest.store import files
from tests.conftest import ROOT

ONLY_POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "posix", "syslog"}
STORAGE = ("runs/test_writers.py", "runs/test_journal.py", "runs/test_run_folder.py", "running/test_killing.py")


def test_no_module_imports_what_only_posix_has() -> None:
    found = set()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
                found |= {(path.name, name) for name in names if name in ONLY_POSIX}
    assert found == {("files.py", "fcntl")}


@pytest.mark.journey
def test_writing_killing_and_resuming_without_the_calls_of_posix() -> None:
    stand_in = str(ROOT / "tests" / "support" / "no_posix")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not science",
    ]
    done = subprocess.run(
        [*command, *(f"tests/{name}" for name in STORAGE)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": stand_in}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, " passed" in done.stdout) == (0, True), done.stdout[-3000:]


def test_macos_flushes_the_memory_of_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Mock(F_FULLFSYNC=51)
    monkeypatch.setattr(files, "fcntl", calls)
    monkeypatch.setattr(sys, "platform", "darwin")
    files._sync(7)
    calls.fcntl.assert_called_once_with(7, 51)
