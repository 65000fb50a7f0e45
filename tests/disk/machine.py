"""A disk that fails at one chosen operation, and processes that run on it (``failing_disk.c``)."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import IntEnum
from pathlib import Path

import pytest

from tests.running.processes import Command, Nursery

SOURCE = Path(__file__).with_name("failing_disk.c")
_NUMBERS = struct.Struct("<4q")
_TEXT = 1024
QUICKLY_LOADED = """
import eyetest.benchmarks.formats, eyetest.commands.exchange, eyetest.commands.merge, eyetest.commands.score
import eyetest.results.merging, eyetest.results.scores, eyetest.studio.project, polars
"""
"""What most commands take: those without pages."""
LOADED = """
import eyetest.commands.card, eyetest.commands.exchange, eyetest.commands.merge, eyetest.commands.refine
import eyetest.commands.review, eyetest.commands.score, eyetest.results.merging, eyetest.studio.project, scipy.stats
from eyetest.filters import FILTERS
from eyetest.probes import PROBES
list(FILTERS), list(PROBES)
"""


class Failure(IntEnum):
    """What happens at the chosen operation, numbered as in the C source."""

    NONE = 0
    NO_SPACE = 1  # half of a write is done, and from then on nothing can be added
    INPUT_OUTPUT = 2  # this operation fails, the next ones succeed
    KILL = 3  # half of a write is done, and the process is gone
    READ_ONLY = 4  # from then on nothing can be changed, as where Linux gives a disk up


class FailingDisk:
    """The page that the test shares with the processes: what fails, and what has happened."""

    def __init__(self, page: Path) -> None:
        page.write_bytes(b"\0" * mmap.PAGESIZE)
        with page.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def watch(self, folder: Path, failure: Failure = Failure.NONE, at: int = 0) -> None:
        """Count the operations in a folder from now on, and let one of them fail."""
        self.forget()
        root = str(folder.resolve()).encode()
        self._page[: _NUMBERS.size] = _NUMBERS.pack(0, at, failure, 0)
        self._page[_NUMBERS.size : _NUMBERS.size + len(root)] = root

    def forget(self) -> None:
        """Let everything succeed."""
        self._page[:] = b"\0" * mmap.PAGESIZE

    @property
    def operations(self) -> int:
        """How many operations have changed something since the watch began."""
        return int(_NUMBERS.unpack(self._page[: _NUMBERS.size])[0])

    @property
    def has_failed(self) -> bool:
        """Whether the chosen operation was reached."""
        return bool(_NUMBERS.unpack(self._page[: _NUMBERS.size])[3])

    @property
    def failed_operation(self) -> str:
        """The operation that failed, and its file."""
        start = _NUMBERS.size + _TEXT
        return self._page[start : start + _TEXT].split(b"\0")[0].decode()

    def close(self) -> None:
        self._page.close()


class Machine:
    """Commands that run on a failing disk."""

    def __init__(self, disk: FailingDisk, nursery: Nursery) -> None:
        self.disk, self._nursery = disk, nursery

    def run(self, words: tuple[object, ...], folder: Path, said: Path) -> Command:
        """A command in a folder, to its end; what it says goes to files elsewhere."""
        self._nursery.home(said)
        if words[0] == "python":
            return self._nursery.start(cwd=folder, code=str(words[1])).wait()
        return self._nursery.start(*words, cwd=folder).wait()


def compile_shim(to: Path) -> Path:
    """The shared library; the test is skipped where none can be made or loaded."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler, so no failing disk can be made")
    library = to / "failing_disk.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        reason = made.stderr.partition("\n")[0]
        pytest.skip(f"the failing disk needs Linux with glibc: {reason}")
    return library


@contextmanager
def machine_with_failing_disk(folder: Path, loaded: str = LOADED) -> Iterator[Machine]:
    """A machine whose processes are started with the shared library, when this code has been ``loaded``."""
    library = compile_shim(folder)
    page = folder / "page"
    with closing(FailingDisk(page)) as disk:
        env = {"LD_PRELOAD": str(library), "FAILING_DISK": str(page)}
        with closing(Nursery(folder, loaded, env)) as nursery:
            yield Machine(disk, nursery)
