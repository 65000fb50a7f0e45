"""Other tools' files, both ways. A new format is one module here that defines ``FORMAT``."""

from pathlib import Path
from typing import Protocol

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.errors import InputError, param
from eyetest.registry import Registry


class Format(Protocol):
    """One kind of file."""

    name: str
    summary: str
    is_folder: bool
    """Whether an export is a folder; else it is a single file."""

    endings: tuple[str, ...]
    """Of the names of files that are read without being told; none where only folders are."""

    def recognises(self, folder: Path) -> bool:
        """Whether a folder looks like this format, by what lies in it."""

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading. An item is made row by row, so that one bad row can be told from a bad file."""

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a benchmark to ``to``, which will be moved to ``final``; returns what the user should know."""


FORMATS: Registry[Format] = Registry("format", __name__, "FORMAT")


def writable() -> list[str]:
    """The formats that benchmarks can be written in: all that do not say of themselves that they are only read."""
    return [name for name, format_ in FORMATS.items() if not getattr(format_, "is_only_read", False)]


def is_readable(path: Path) -> bool:
    """Whether a file or folder looks like one of the formats."""
    return any(_fits(format_, path) for format_ in FORMATS.values())


def _fits(format_: Format, path: Path) -> bool:
    return (
        format_.recognises(path) if path.is_dir() else path.is_file() and path.name.lower().endswith(format_.endings)
    )


def recognise(path: Path) -> Format:
    """The format of a file or folder, or one line that says what to do."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    for format_ in FORMATS.values():
        if _fits(format_, path):
            return format_
    raise InputError(
        f"{path} is no benchmark that eyetest recognises; "
        f"name its format with {param('format')} ({', '.join(FORMATS)})"
    )
