"""Where files and folders live: put in place whole, opened only where they may be, checked by their own sums.

The disk of this machine is such a place (`eyetest.store.local`), a bucket another (`eyetest.store.remote`), which is
worked on through a mirror on the disk (`eyetest.store.urls`). Whoever locks, appends to, replaces, lists or removes a
file of a benchmark, a run or a refinement asks the store of its path.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from eyetest.errors import InputError, param, short
from eyetest.store.local import LocalStore
from eyetest.store.urls import mirror_of

_PARTIAL = re.compile(r"\..+\.partial-")
"""What a killed writer left of a file in a folder that is replaced now."""


class Growing(Protocol):
    """A file that one writer appends to, and that is known to be in use for as long as the writer lives."""

    @property
    def size(self) -> int:
        """Bytes that were added so far."""

    @property
    def torn(self) -> bool:
        """Whether a piece was cut off that could not be taken back, so that nothing more may be added."""

    def add(self, data: bytes) -> None:
        """Append a piece, whole or not at all."""

    def sync(self) -> None:
        """Make sure that the machine may lose power, too; may be called from another thread."""

    def close(self) -> None:
        """Add no more."""


class Store(Protocol):
    """A place for folders; what the system refuses comes as an `OSError`."""

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """Hold a lock until the block ends or the process does, however it ends; a `BusyError` if another has it."""

    def holder(self, path: Path) -> int | str | None:
        """The process that holds a lock, by its number; with its machine where that may be another."""

    def make_folder(self, path: Path) -> None:
        """Make a folder, and those above it, unless it is there."""

    def names(self, folder: Path, suffix: str) -> Iterator[str]:
        """The names in a folder that end so; none where there is no folder."""

    def begin(self, path: Path) -> Growing:
        """Begin a file that is not there yet."""

    def claimed(self, path: Path) -> AbstractContextManager[int | None]:
        """The size of a file that nobody is appending to, and nobody else claims until the block ends.

        None where there is no such file.
        """

    def replacing_file(self, target: Path, *, overwrite: bool = True) -> AbstractContextManager[Path]:
        """Give a path to write; the file becomes ``target`` when the block ends, and vanishes if it fails."""

    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> AbstractContextManager[Path]:
        """Give an empty folder to fill; it becomes ``target`` when the block ends, and vanishes if it fails."""

    def sweep(self, target: Path) -> None:
        """Remove what killed writers of the same target left behind."""

    def write(self, path: Path, data: bytes) -> None:
        """Write a file of a folder that is being made, and the folder around it."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""

    def missing(self, path: Path) -> bytes | None:
        """What a picture holds that is no file here, from afar or out of a pack; None where there is none."""

    def pack(self, pictures: Path, names: Sequence[str]) -> None:
        """Get pictures of a folder that is being made ready to travel, in the order in which they are asked about."""


def store_of(path: Path) -> Store:
    """The store in which a path lies: this machine's disk, or the one that a mirror is of."""
    mirror = mirror_of(path)
    if mirror is None:
        return _LOCAL
    from eyetest.store.remote import remote_store  # noqa: PLC0415 (few need it)

    return remote_store(mirror)


def address(path: Path) -> str:
    """How a path is named to other machines: by its url, or, on a disk that they share, as it is here."""
    mirror = mirror_of(path)
    return str(path.absolute()) if mirror is None else mirror.objects.url_of(mirror.name(path))


def refresh(path: Path) -> None:
    """See what other machines have written to a folder."""
    if (mirror := mirror_of(path)) is not None:
        mirror.bring(path)


def replacing_folder(target: Path, *, overwrite: bool = True) -> AbstractContextManager[Path]:
    """Give an empty folder to fill; it becomes ``target`` when the block ends, and vanishes if it fails."""
    return store_of(target).replacing_folder(target, overwrite=overwrite)


def replacing_file(target: Path, *, overwrite: bool = True) -> AbstractContextManager[Path]:
    """Give a path to write; the file becomes ``target`` when the block ends, and vanishes if it fails."""
    return store_of(target).replacing_file(target, overwrite=overwrite)


def refuse_to_lose(target: Path, *, overwrite: bool, ours: Collection[str] | None) -> None:
    """Stop before anything is written where it would cost somebody something that is not ours to replace.

    ``ours`` names what may stand in a folder that is replaced; None where a file is to be written.
    """
    if target.is_symlink():
        raise InputError(f"{target} is a symbolic link; name the place itself")
    if target.resolve() == Path.cwd():
        raise InputError(f"{target} is the folder you are in; name a new one")
    if not target.exists():
        return
    if target.is_dir() != (ours is not None):
        raise InputError(f"{target} is already there, and it is a {'folder' if target.is_dir() else 'file'}")
    inside = [path.name for path in target.iterdir()] if target.is_dir() else [target.name]
    if inside and not overwrite:
        raise InputError(f"{target} is already there; choose another place or add {param('overwrite', True)}")
    if foreign := [name for name in inside if ours is not None and name not in ours and not _PARTIAL.match(name)]:
        raise InputError(f"{target} holds {short(foreign[0])}, which eyetest did not write, so it is not replaced")


_LOCAL: Store = LocalStore()
