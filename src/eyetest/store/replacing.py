"""Put a whole file or folder in place in one step: whoever looks sees the old one or the new one."""

import re
from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path

from eyetest.errors import InputError, param, short
from eyetest.store import store_of

_PARTIAL = re.compile(r"\..+\.partial-")
"""What a killed writer left of a file in a folder that is replaced now."""


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
