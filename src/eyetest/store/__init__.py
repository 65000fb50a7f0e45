"""Storage of files: this machine's disk (`local`), or a bucket (`remote`) accessed through a mirror (`urls`)."""

import re
from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path

from eyetest.errors import InputError, param, short
from eyetest.store.local import LocalStore
from eyetest.store.urls import mirror_of

_LOCAL = LocalStore()
_PARTIAL = re.compile(r"\..+\.partial-")  # what a killed writer left of a file in a folder that is replaced now


def store_of(path: Path) -> LocalStore:
    """The store of a path: this machine's disk, or the one that is mirrored."""
    mirror = mirror_of(path)
    if mirror is None:
        return _LOCAL
    from eyetest.store.urls import remote_store  # noqa: PLC0415 (few need it)

    return remote_store(mirror)


def address(path: Path) -> str:
    """A path's name for other machines: its url, or, on a shared disk, the path itself."""
    mirror = mirror_of(path)
    return str(path.absolute()) if mirror is None else mirror.url_of(path)


def refresh(path: Path) -> None:
    """Fetch what other machines have written to a folder."""
    if (mirror := mirror_of(path)) is not None:
        mirror.bring(path)


def replacing_folder(target: Path, *, overwrite: bool = True) -> AbstractContextManager[Path]:
    """Yield an empty folder; it becomes ``target`` when the block ends, and is removed if it fails."""
    return store_of(target).replacing_folder(target, overwrite=overwrite)


def replacing_file(target: Path, *, overwrite: bool = True) -> AbstractContextManager[Path]:
    """Yield a path to write; the file becomes ``target`` when the block ends, and is removed if it fails."""
    return store_of(target).replacing_file(target, overwrite=overwrite)


def write_file(target: Path, text: str, *, overwrite: bool = True) -> None:
    """Write a file as a whole: it is there with all of the text, or as it was before."""
    with replacing_file(target, overwrite=overwrite) as path:
        path.write_bytes(text.encode("utf-8", "replace"))


def refuse_to_lose(target: Path, *, overwrite: bool, ours: Collection[str] | None) -> None:
    """Raise before foreign files are replaced; ``ours``: what may be in a replaced folder, None for a file."""
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
