"""Urls, such as ``s3://bucket/runs/a``, and the folders of this disk that mirror what they name.

A bucket (or a host, or whatever comes first in a url) has one mirror, ``remote-…`` in the cache, which remembers its
url: so a url is always worked on at the same path, whichever process works on it, and a path in a mirror tells which
url it stands for. All other rooms see paths; users see urls (`eyetest.errors.as_said`).
"""

import hashlib
import json
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eyetest.errors import InputError, MissingExtraError, name_folder, short
from eyetest.redaction import show_store
from eyetest.store.files import is_plain_name
from eyetest.store.local import LocalStore

if TYPE_CHECKING:
    from eyetest.store.mirror import Mirror

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/+(.*)", re.DOTALL)
"""A path object makes one slash of two."""
_MIRROR = re.compile(r"remote-[0-9a-f]{16}")
_ABOUT = ".remote.json"
_DISKS = ("file", "local")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Where another server than Amazon's is named: the same bucket elsewhere is another one."""


class _MirrorUrl(msgspec.Struct):
    """What a mirror remembers."""

    url: str


def cache_root() -> Path:
    """Where files that were only looked at are kept as benchmark folders, and mirrors of what lies elsewhere."""
    if named := os.environ.get("EYETEST_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eyetest"


def local_path(said: str | os.PathLike[str]) -> Path:
    """What a user named as a path on this disk; of what lies elsewhere, all but pictures has been brought by then."""
    mirror, path = _mirrored(said)
    if mirror is not None:
        mirror.bring(path)
    return path


def known_path(said: str) -> Path:
    """A path that a file speaks of. It leads to another machine only where the user has been there before."""
    url = _split(said)
    if url is None or (_root(*url[:2]) / _ABOUT).is_file():
        return local_path(said)
    return Path(said)


def mirror_of(path: Path) -> "Mirror | None":
    """The mirror in which a path lies."""
    parts = path.absolute().parts
    for number, part in enumerate(parts):
        if _MIRROR.fullmatch(part):
            return _opened(Path(*parts[: number + 1]))
    return None


def refuse_remote(path: Path, what: str) -> None:
    """Stop where something needs a disk."""
    if mirror_of(path) is not None:
        raise InputError(f"{path}: {what} needs a folder on a disk of this machine")


def _mirrored(said: str | os.PathLike[str]) -> "tuple[Mirror | None, Path]":
    url = _split(said)
    if url is None:
        match = _URL.fullmatch(os.fspath(said))
        return None, Path(f"/{match[2]}") if match and match[1].lower() in _DISKS else Path(said)
    scheme, first, rest = url
    if find_spec("fsspec") is None:
        raise MissingExtraError(f"{scheme}:// needs fsspec, which is not installed: pip install 'eyetest[s3]'")
    root = _root(scheme, first)
    if not (root / _ABOUT).is_file():
        about = msgspec.json.encode(_MirrorUrl(f"{scheme}://{first}"))
        with LocalStore().replacing_file(root / _ABOUT) as new:
            new.write_bytes(about)
    mirror = _opened(root)
    assert mirror is not None
    return mirror, root.joinpath(*rest)


def _split(said: str | os.PathLike[str]) -> tuple[str, str, list[str]] | None:
    """Scheme, bucket or host, and the names below; None where it is a path of this disk."""
    match = _URL.fullmatch(os.fspath(said))
    if not match or match[1].lower() in _DISKS or Path(f"{match[1]}:").exists():
        return None
    scheme, names = match[1].lower(), match[2].rstrip("/").split("/")
    first, rest = names[0], names[1:]
    if ":" in first.rpartition("@")[0]:
        raise InputError(f"{scheme}://…@{first.rpartition('@')[2]} holds a password; leave keys to the environment")
    if not all(map(is_plain_name, names)) or not rest:
        raise InputError(
            f"{short(f'{scheme}://{match[2]}')} names no folder or file; expected {scheme}://BUCKET/NAME"
        )
    return scheme, first, rest


def _root(scheme: str, first: str) -> Path:
    elsewhere = next(filter(None, map(os.environ.get, _ENDPOINTS)), "") if scheme.startswith("s3") else ""
    name = hashlib.sha256(f"{scheme}://{first} {elsewhere}".encode()).hexdigest()[:16]
    return cache_root().absolute() / f"remote-{name}"


def _opened(root: Path) -> "Mirror | None":
    return _opened_by(os.getpid(), root)


@cache
def _opened_by(process: int, root: Path) -> "Mirror | None":
    """Anew for a process that was forked off: connections and threads stay behind."""
    try:
        url = json.loads((root / _ABOUT).read_bytes())["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for spelling in (root, root.resolve()):
        name_folder(str(spelling), url)
    show_store(url)
    from eyetest.store.mirror import Mirror  # noqa: PLC0415 (few commands name a url)

    return Mirror(root, url)
