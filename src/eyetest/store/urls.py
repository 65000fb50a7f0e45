"""Urls (``s3://bucket/runs/a``), each a path in a mirror on this disk (``remote-…`` in the cache).

What is new at the url is fetched when the url is named; finished files and sealed shards are uploaded. A note
(``.known``) per equal file has its remote version, local size and time.
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

import msgspec

from eyetest.errors import EyetestError, InputError, MissingExtraError, first_line, name_folder, param, short
from eyetest.redaction import show_store
from eyetest.store.files import LocalStore, is_plain_name, read_regular, sealed_json, unsealed_json

_LAST = ".json"  # the suffix of files that are sent and fetched last, so that a folder without them is not there yet
_KNOWN = ".known"
_BENCHMARK, _IMAGES = "benchmark.json", "images"  # beside the first, images are fetched when they are needed
_AT_ONCE = 8  # files uploaded side by side, each of which fsspec holds in memory
# Fields that change when an object does, by protocol.
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "modified", "created")
__all__ = [
    "read_json", "refuse_to_lose", "replacing_file", "replacing_folder", "store_of", "write_file", "write_json",
]  # fmt: skip
_log = logging.getLogger(__name__)
Value = TypeVar("Value")


class RemoteError(OSError):
    """An error of a remote store about a url, in one line."""


class RemoteStore(LocalStore):
    """A bucket and its mirror on this disk."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.url = root, url

    @cached_property
    def _there(self) -> tuple[Any, str]:
        import fsspec  # noqa: PLC0415 (an extra)

        try:
            fs, base = fsspec.core.url_to_fs(self.url, use_listings_cache=False)
        except ImportError as error:
            extra = "pip install 'eyetest[s3]'" if self.url.startswith("s3") else first_line(error)
            raise MissingExtraError(f"{self.url} needs a package that is not installed: {extra}") from None
        except ValueError as error:
            raise InputError(f"{self.url}: {first_line(error).lower()}") from None
        return fs, base.rstrip("/")

    @property
    def fs(self) -> Any:
        """The fsspec file system."""
        return self._there[0]

    def _inside(self, path: Path) -> str:
        return path.absolute().relative_to(self.root).as_posix()

    def _key(self, path: Path) -> str:
        return f"{self._there[1]}/{self._inside(path)}"

    def fetch(self, path: Path) -> None:
        """Fetch what is new or changed of a file or folder, and remove what was removed there."""
        there = dict(self._listed(path))
        wanted = {file: tag for file, tag in there.items() if self._differs(file, tag)}
        for is_last in (False, True):
            self._get({file: tag for file, tag in wanted.items() if (file.suffix == _LAST) == is_last})
        note = self._note_path(path)
        for known in [note] if note.is_file() else [file for file in note.rglob("*") if file.is_file()]:
            gone = self.root / known.relative_to(self.root / _KNOWN)
            if gone not in there and not self._tag_of(gone):  # it may have been uploaded since the listing
                gone.unlink(missing_ok=True)
                known.unlink(missing_ok=True)

    def _listed(self, path: Path) -> Iterator[tuple[Path, str]]:
        pending = [path]
        while pending:
            folder = pending.pop()
            key, found = self._key(folder), self.listing(folder)
            yield from ((path, _tag(info)) for info in found if info["name"] == key)
            names = {info["name"].removeprefix(f"{key}/").rstrip("/"): info for info in found if info["name"] != key}
            for name, info in names.items():
                if name == _KNOWN or not is_plain_name(name):
                    _log.warning("left out, as it is no file name: %r", info["name"][:200])
                elif info["type"] != "directory":
                    yield folder / name, _tag(info)
                elif name != _IMAGES or _BENCHMARK not in names:
                    pending.append(folder / name)

    def listing(self, path: Path) -> list[dict[str, Any]]:
        """What fsspec lists in a folder; for an object, the object alone."""
        with suppress(FileNotFoundError), self._reaching(path):
            return [info for info in self.fs.ls(self._key(path), detail=True) if info["type"] != "other"]
        return []

    def _differs(self, path: Path, tag: str) -> bool:
        try:
            return self._note_path(path).read_bytes() != _note(tag, path)
        except OSError:
            return True

    def _get(self, tags: Mapping[Path, str]) -> None:
        if not tags:
            return
        new = {path: path.with_name(f".{token_hex(4)}.partial-") for path in tags}
        for path in tags:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._reaching(next(iter(tags))):
                self.fs.get([*map(self._key, tags)], [*map(str, new.values())])
            for path, tag in tags.items():
                new[path].replace(path)
                self._keep_note(path, tag, path)
        except FileNotFoundError as error:
            raise RemoteError(f"{self.url}: gone while it was being read: {first_line(error)}") from None
        finally:
            for path in new.values():
                path.unlink(missing_ok=True)

    def _put(self, files: Iterable[tuple[Path, Path]]) -> None:
        """Upload files, each to the path that it takes next."""
        files = list(files)
        if not files:
            return
        with self._reaching(files[0][1]):
            how = {"batch_size": _AT_ONCE} if self.fs.async_impl else {}
            self.fs.put([str(file) for file, _ in files], [self._key(path) for _, path in files], **how)
        for file, path in files:
            if path.parent.parent.name != _IMAGES:
                self._keep_note(path, self._tag_of(path), file)

    def _tag_of(self, path: Path) -> str:
        """The version of an object; empty where there is none."""
        with suppress(FileNotFoundError), self._reaching(path):
            return _tag(self.fs.info(self._key(path)))
        return ""

    def _keep_note(self, path: Path, tag: str, file: Path) -> None:
        place(self._note_path(path), _note(tag, file))

    def _note_path(self, path: Path) -> Path:
        return self.root / _KNOWN / self._inside(path)

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock on this disk, and fetch what earlier writers uploaded."""
        with super().lock(path):
            self.fetch(path.parent)
            yield

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield a path to write; the file is uploaded, and becomes ``target``, when the block ends."""
        with super().replacing_file(target, overwrite=overwrite) as new:
            yield new
            if not _is_being_made(target):
                self._put([(new, target)])

    @contextmanager
    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield an empty folder; it is uploaded, manifests last, and becomes ``target`` when the block ends."""
        with super().replacing_folder(target, overwrite=overwrite) as content:
            yield content
            if _is_being_made(target):
                return
            files = {p: target / p.relative_to(content) for p in sorted(content.rglob("*")) if p.is_file()}
            with self._reaching(target):
                before = set(self.fs.find(self._key(target)))
            for is_last in (False, True):
                self._put((p, to) for p, to in files.items() if (p.suffix == _LAST) == is_last)
            for key in sorted(before - {*map(self._key, files.values())}):
                with suppress(FileNotFoundError), self._reaching(target):
                    self.fs.rm_file(key)

    def write(self, path: Path, data: bytes | memoryview) -> None:
        """Write a file and its folder; a file of a folder that is being made is uploaded with the folder."""
        if _is_being_made(path):
            super().write(path, data)
            return
        with self.replacing_file(path) as new:
            super().write(new, data)

    def remove(self, path: Path) -> None:
        """Remove a file here, then remotely if it was ever sent."""
        path.unlink(missing_ok=True)
        if self._note_path(path).exists():
            with suppress(FileNotFoundError), self._reaching(path):
                self.fs.rm_file(self._key(path))
            self._note_path(path).unlink(missing_ok=True)

    def missing(self, path: Path) -> bytes | None:
        """The content of an image that is not here yet; it is kept in the mirror."""
        with suppress(FileNotFoundError), self._reaching(path):
            data = bytes(self.fs.cat_file(self._key(path)))
            place(path, data)
            return data
        return None

    @contextmanager
    def _reaching(self, path: Path) -> Iterator[None]:
        """Turn errors of a library into one line, but keep missing files apart."""
        try:
            yield
        except (FileNotFoundError, RemoteError, EyetestError):
            raise
        except Exception as error:  # each protocol has errors of its own
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise RemoteError(f"{self.url}/{self._inside(path)}: {str(words).splitlines()[0]}") from None


def _note(tag: str, path: Path) -> bytes:
    """What identifies a file that is the same on both sides: its remote version, its local size and time."""
    here = path.stat()
    return msgspec.json.encode({"tag": tag, "size": here.st_size, "time": here.st_mtime_ns})


def place(path: Path, data: bytes | memoryview) -> None:
    """Write a file atomically; several processes may do so at once."""
    new = path.with_name(f".{token_hex(4)}.partial-")
    try:
        LocalStore().write(new, data)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _tag(info: dict[str, Any]) -> str:
    return next((str(info[name]) for name in _VERSIONS if info.get(name)), str(info.get("size")))


def _is_being_made(path: Path) -> bool:
    return any(part.startswith(".") and ".partial-" in part for part in path.parts)


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/+(.*)", re.DOTALL)  # A path object makes one slash of two
_MIRROR = re.compile(r"remote-[0-9a-f]{16}")
_ABOUT = ".remote.json"
_DISKS = ("file", "local")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # the same bucket on another server is a different one


def cache_root() -> Path:
    """The folder of cached imports as benchmark folders, and of mirrors."""
    if named := os.environ.get("EYETEST_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eyetest"


def is_of_hub(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a dataset of the Hugging Face hub."""
    return os.fspath(path)[:3].lower() == "hf:"


def local_path(path: str | os.PathLike[str]) -> Path:
    """The local path of a user's path or url; of a url, everything but images is fetched by then."""
    if is_of_hub(path):
        from eyetest.store import hub  # noqa: PLC0415 (only for datasets of the hub)

        return hub.fetch_dataset(hub.hub_dataset(path), cache_root().absolute())
    url = _split(path)
    if url is None:
        match = _URL.fullmatch(os.fspath(path))
        return Path(f"/{match[2]}") if match and match[1].lower() in _DISKS else Path(path)
    scheme, first, rest = url
    if find_spec("fsspec") is None:
        raise MissingExtraError(f"{scheme}:// needs fsspec, which is not installed: pip install 'eyetest[s3]'")
    root = _root(scheme, first)
    if not (root / _ABOUT).is_file():
        with LocalStore().replacing_file(root / _ABOUT) as new:
            new.write_bytes(msgspec.json.encode({"url": f"{scheme}://{first}"}))
    store = _opened_by(os.getpid(), root)
    assert store is not None
    store.fetch(root.joinpath(*rest))
    return root.joinpath(*rest)


def known_path(path: str) -> Path:
    """A path that a file names. It leads to another machine only if the user has used that before."""
    if is_of_hub(path):
        from eyetest.store import hub  # noqa: PLC0415 (only for datasets of the hub)

        is_known = hub.is_known(hub.hub_dataset(path), cache_root())
    else:
        url = _split(path)
        is_known = url is None or (_root(*url[:2]) / _ABOUT).is_file()
    return local_path(path) if is_known else Path(path)


def mirror_of(path: Path) -> RemoteStore | None:
    """The store whose mirror a path lies in; None on a disk."""
    parts = path.absolute().parts
    for number, part in enumerate(parts):
        if _MIRROR.fullmatch(part):
            return _opened_by(os.getpid(), Path(*parts[: number + 1]))
    return None


def refuse_remote(path: Path, what: str) -> None:
    """Raise where a local disk is needed."""
    if mirror_of(path) is not None:
        raise InputError(f"{path}: {what} needs a folder on a disk of this machine")


def _split(path: str | os.PathLike[str]) -> tuple[str, str, list[str]] | None:
    match = _URL.fullmatch(os.fspath(path))
    if not match or match[1].lower() in _DISKS or Path(f"{match[1]}:").exists():
        return None
    scheme, names = match[1].lower(), match[2].rstrip("/").split("/")
    first, rest = names[0], names[1:]
    if ":" in first.rpartition("@")[0]:
        raise InputError(f"{scheme}://…@{first.rpartition('@')[2]} holds a password; leave keys to the environment")
    if not all(map(is_plain_name, names)) or not rest:
        url = short(f"{scheme}://{match[2]}")
        raise InputError(f"{url} names no folder or file; expected {scheme}://BUCKET/NAME")
    return scheme, first, rest


def _root(scheme: str, first: str) -> Path:
    elsewhere = next(filter(None, map(os.environ.get, _ENDPOINTS)), "") if scheme.startswith("s3") else ""
    name = hashlib.sha256(f"{scheme}://{first} {elsewhere}".encode()).hexdigest()[:16]
    return cache_root().absolute() / f"remote-{name}"


@cache
def _opened_by(process: int, root: Path) -> RemoteStore | None:
    try:
        url = json.loads((root / _ABOUT).read_bytes())["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for spelling in (root, root.resolve()):
        name_folder(str(spelling), url)
    show_store(url)
    return RemoteStore(root, url)


_LOCAL = LocalStore()
_PARTIAL = re.compile(r"\..+\.partial-")  # what a killed writer left of a file in a folder that is replaced now


def store_of(path: Path) -> LocalStore:
    """The store of a path: this machine's disk, or the one that is mirrored."""
    return mirror_of(path) or _LOCAL


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


def write_json(target: Path, value: Any) -> None:
    """Write a record as readable JSON with its checksum, as a whole."""
    write_file(target, sealed_json(value).decode())


def read_json(path: Path, kind: type[Value], repair: str = "") -> Value:
    """The value in a JSON file of ours; damage is one line, which ends with how to ``repair`` it."""
    try:
        return msgspec.json.decode(unsealed_json(read_regular(path, path.parent)), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}{repair and f'; {repair}'}") from None


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
