"""Other tools' files, both ways. A new format is one module here that defines ``FORMAT``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ReadOptions, Row
from eyetest.errors import InputError, param
from eyetest.records import Item
from eyetest.registry import Registry


class Source(Protocol):
    """A file that is being read. An item is made row by row, so that one bad row can be told from a bad file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The file's columns, kept for an export back to the same format."""

    @property
    def fields(self) -> dict[str, str]:
        """Our field → the column it is read from."""

    @property
    def done(self) -> float:
        """Share of the file that was read, from 0 to 1."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that were read beside the source itself."""

    def __iter__(self) -> Iterator[Row]: ...

    def item(self, row: Row) -> Item:
        """The row as an item, its pictures in the store."""


class Format(Protocol):
    """One kind of file."""

    name: str
    summary: str
    is_folder: bool
    """Whether an export is a folder; else it is a single file."""

    def recognises(self, path: Path) -> bool:
        """Whether a path looks like this format, judged by names and first bytes."""

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> Source:
        """Start reading."""

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a benchmark to ``to``, which will be moved to ``final``; returns what the user should know."""


FORMATS: Registry[Format] = Registry("format", __name__, "FORMAT")


def is_readable(path: Path) -> bool:
    """Whether a file or folder looks like one of the formats."""
    return any(format_.recognises(path) for format_ in FORMATS.values())


def recognise(path: Path) -> Format:
    """The format of a file or folder, or one line that says what to do."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    for format_ in FORMATS.values():
        if format_.recognises(path):
            return format_
    raise InputError(
        f"{path} is no benchmark that eyetest recognises; "
        f"name its format with {param('format')} ({', '.join(FORMATS)})"
    )
