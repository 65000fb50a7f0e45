"""Other tools' files, both ways. A new format is one module here that defines ``FORMAT``."""

from abc import ABC, abstractmethod
from pathlib import Path

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.errors import InputError, param
from eyetest.registry import Registry


class Format(ABC):
    """One kind of file."""

    name: str
    summary: str
    is_folder: bool = False
    is_only_read: bool = False
    endings: tuple[str, ...] = ()

    def recognises(self, folder: Path) -> bool:
        """Whether a folder seems to have this format, by its files."""
        return False

    @abstractmethod
    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading. Items are made row by row, so that a bad row is distinguished from a bad file."""

    @abstractmethod
    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a benchmark to ``to``, which will be moved to ``final``; returns what the user should know."""


FORMATS: Registry[Format] = Registry("format", __name__, "FORMAT", "format")


def writable() -> list[str]:
    """The formats that can be written; a plug-in that does not subclass `Format` need not declare it."""
    return [name for name, format_ in FORMATS.items() if not getattr(format_, "is_only_read", False)]


def is_readable(path: Path) -> bool:
    """Whether a file or folder seems to have one of the formats."""
    return any(_fits(format_, path) for format_ in FORMATS.values())


def _fits(format_: Format, path: Path) -> bool:
    if path.is_dir():
        return format_.recognises(path)
    return path.is_file() and path.name.lower().endswith(format_.endings)


def recognise(path: Path) -> Format:
    """The format of a file or folder, or an error of one line that states what to do."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    for format_ in FORMATS.values():
        if _fits(format_, path):
            return format_
    known = f"name its format with {param('format')} ({', '.join(FORMATS)})"
    raise InputError(f"{path} is no benchmark that eyetest recognises; {known}")
