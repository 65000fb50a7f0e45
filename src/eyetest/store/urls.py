"""Urls (``s3://bucket/runs/a``) and their mirrors (``remote-…`` in the cache). A note (``.known``) per equal file has
its remote version, local size and time: remote changes and removals are applied, files never uploaded are kept.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import socket
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from eyetest.errors import EyetestError, InputError, MissingExtraError, first_line, name_folder, param, short
from eyetest.redaction import show_store
from eyetest.store.files import BusyError, LocalStore, is_plain_name, taken
from eyetest.store.packs import INDEX, LOOSE, PACKS, open_index, read_packed, write_packs

WRITER = ".writer"  # the suffix of the object that names the process writing to a run; never fetched
_LAST = ".json"  # the suffix of files that are sent and fetched last, so that a folder without them is not there yet
_KNOWN = ".known"
_BENCHMARK = "benchmark.json"  # beside this, images are fetched when they are needed
_AT_ONCE = 8  # files uploaded side by side, each of which fsspec holds in memory
# Fields that change when an object does, by protocol.
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "modified", "created")
_log = logging.getLogger(__name__)


class RemoteError(OSError):
    """An error of a remote store about a url, in one line."""


class Mirror:
    """The part of a bucket that is on this disk, and the transfers in both directions."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.url = root, url
        self._is_s3 = url.startswith("s3")

    @cached_property
    def _there(self) -> tuple[Any, str]:
        import fsspec  # noqa: PLC0415 (an extra)

        try:
            fs, base = fsspec.core.url_to_fs(self.url, use_listings_cache=False)
        except ImportError as error:
            extra = "pip install 'eyetest[s3]'" if self._is_s3 else first_line(error)
            raise MissingExtraError(f"{self.url} needs a package that is not installed: {extra}") from None
        except ValueError as error:
            raise InputError(f"{self.url}: {first_line(error).lower()}") from None
        return fs, base.rstrip("/")

    @property
    def fs(self) -> Any:
        """The fsspec file system."""
        return self._there[0]

    def url_of(self, path: Path) -> str:
        """The url of a path."""
        return f"{self.url}/{path.absolute().relative_to(self.root).as_posix()}"

    def _key(self, path: Path) -> str:
        return f"{self._there[1]}/{path.absolute().relative_to(self.root).as_posix()}"

    def bring(self, path: Path) -> None:
        """Fetch what is new or changed of a file or folder; a benchmark's images are fetched on demand."""
        there = dict(self._listed(path))
        if not there and "#" in path.name:  # a sheet of a table
            path = path.with_name(path.name.rpartition("#")[0])
            there = dict(self._listed(path))
        wanted = {file: tag for file, tag in there.items() if self._differs(file, tag)}
        for is_last in (False, True):
            self._fetch({file: tag for file, tag in wanted.items() if (file.suffix == _LAST) == is_last})
        self._drop_gone(path, there)
        if wanted:
            _log.info("fetched %d files of %s", len(wanted), self.url_of(path))

    def _listed(self, path: Path) -> Iterator[tuple[Path, str]]:
        pending = [path]
        while pending:
            folder = pending.pop()
            key, found = self._key(folder), self.listing(folder)
            if folder == path:
                yield from ((path, _tag(info)) for info in found if info["name"] == key)
            names = {info["name"].removeprefix(f"{key}/").rstrip("/"): info for info in found if info["name"] != key}
            left = ({LOOSE} if _BENCHMARK in names else set()) | ({PACKS} if INDEX in names else set())
            for own, info in names.items():
                if own == _KNOWN or not is_plain_name(own):
                    _log.warning("left out, as it is no file name: %r", info["name"][:200])
                elif info["type"] == "directory":
                    pending += [folder / own] if own not in left else []
                elif own not in left and not own.endswith(WRITER):
                    yield folder / own, _tag(info)

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

    def _fetch(self, tags: Mapping[Path, str]) -> None:
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
                self._note(path, tag)
        except FileNotFoundError as error:
            raise RemoteError(f"{self.url}: gone while it was being read: {first_line(error)}") from None
        finally:
            for path in new.values():
                path.unlink(missing_ok=True)

    def _drop_gone(self, path: Path, there: Iterable[Path]) -> None:
        note, there = self._note_path(path), set(there)
        for file in [note] if note.is_file() else [file for file in note.rglob("*") if file.is_file()]:
            gone = self.root / file.relative_to(self.root / _KNOWN)
            if gone not in there and not self.tag(gone):
                gone.unlink(missing_ok=True)
                file.unlink(missing_ok=True)

    def _note(self, path: Path, tag: str, new: Path | None = None) -> None:
        """Note that a file, or a new one that replaces it next, is the same on both sides."""
        place(self._note_path(path), _note(tag, new or path))

    def _note_path(self, path: Path) -> Path:
        return self.root / _KNOWN / path.absolute().relative_to(self.root)

    def tag(self, path: Path) -> str:
        """The version of an object; empty where there is none."""
        with suppress(FileNotFoundError), self._reaching(path):
            return _tag(self.fs.info(self._key(path)))
        return ""

    def read(self, path: Path) -> bytes | None:
        """The content of an object; None where there is none."""
        with suppress(FileNotFoundError), self._reaching(path):
            return bytes(self.fs.cat_file(self._key(path)))
        return None

    def put(self, path: Path, data: bytes | Path, *, create: bool = False) -> None:
        """Upload bytes or a file; with ``create`` a `FileExistsError` where there is an object already."""
        how = {"mode": "create"} if create and self._is_s3 else {}
        with self._reaching(path):
            if create and not self._is_s3 and self.fs.exists(self._key(path)):
                raise FileExistsError(self.url_of(path))
            if isinstance(data, Path):
                self.fs.put_file(str(data), self._key(path), **how)
            else:
                self.fs.pipe_file(self._key(path), data, **how)

    def send(self, new: Path, path: Path, *, create: bool = False) -> None:
        """Upload a file that replaces the local one next."""
        self.put(path, new, create=create)
        self._note(path, self.tag(path), new)

    def send_folder(self, content: Path, path: Path) -> None:
        """Upload a folder: first its content, then its manifests; last, remove what only an older one had."""
        left = content / LOOSE if (content / PACKS).is_dir() else None
        files = [p for p in sorted(content.rglob("*")) if p.is_file() and not (left and p.is_relative_to(left))]
        keys = {file: self._key(path / file.relative_to(content)) for file in files}
        last = [file for file in files if file.parent == content and file.suffix == _LAST]
        first = [file for file in files if file not in last]
        with self._reaching(path):
            before = set(self.fs.find(self._key(path)))
            if first:
                how = {"batch_size": _AT_ONCE} if self.fs.async_impl else {}
                self.fs.put([str(file) for file in first], [keys[file] for file in first], **how)
            for file in last:
                self.fs.put_file(str(file), keys[file])
            for key in sorted(before - set(keys.values())):
                with suppress(FileNotFoundError):
                    self.fs.rm_file(key)
        sent = dict(self._listed(path))
        for file in files:
            if (target := path / file.relative_to(content)) in sent:
                self._note(target, sent[target], file)

    def remove(self, path: Path) -> None:
        """Remove a file here, then remotely if it was ever sent."""
        path.unlink(missing_ok=True)
        if self._note_path(path).exists():
            self.remove_object(path)
            self._note_path(path).unlink(missing_ok=True)

    def remove_object(self, path: Path) -> None:
        """Remove an object, if it exists."""
        with suppress(FileNotFoundError), self._reaching(path):
            self.fs.rm_file(self._key(path))

    @contextmanager
    def _reaching(self, path: Path) -> Iterator[None]:
        """Turn errors of a library into one line, but keep missing and existing files apart."""
        try:
            yield
        except (FileNotFoundError, FileExistsError, RemoteError, EyetestError):
            raise
        except Exception as error:  # each protocol has errors of its own
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise RemoteError(f"{self.url_of(path)}: {str(words).splitlines()[0]}") from None


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


def local_path(path: str | os.PathLike[str]) -> Path:
    """The local path of a user's path or url; of a url, everything but images is fetched by then."""
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
    mirror = _opened_by(os.getpid(), root)
    assert mirror is not None
    mirror.bring(root.joinpath(*rest))
    return root.joinpath(*rest)


def known_path(path: str) -> Path:
    """A path that a file names. It leads to another machine only if the user has used that before."""
    url = _split(path)
    if url is None or (_root(*url[:2]) / _ABOUT).is_file():
        return local_path(path)
    return Path(path)


def mirror_of(path: Path) -> Mirror | None:
    """The mirror in which a path lies."""
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
def _opened_by(process: int, root: Path) -> Mirror | None:
    try:
        url = json.loads((root / _ABOUT).read_bytes())["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for spelling in (root, root.resolve()):
        name_folder(str(spelling), url)
    show_store(url)
    return Mirror(root, url)


class WriterMarker(msgspec.Struct):
    """The process that writes to a run, and its start."""

    host: str
    mirror: str  # its mirror: if two processes share one, the lock on the disk shows whether the other runs
    pid: int
    since: str

    def __str__(self) -> str:
        return f"{self.pid} on {self.host}"


class RemoteStore(LocalStore):
    """A bucket and its mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self._fetching = threading.Lock()

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock on this disk and a marker in the bucket, and fetch what earlier writers uploaded."""
        with super().lock(path):
            marker = _marker(path)
            self._mark(marker)
            try:
                self.mirror.bring(path.parent)
                yield
            finally:
                with suppress(RemoteError):
                    self.mirror.remove_object(marker)

    def _mark(self, marker: Path) -> None:
        since = datetime.now(UTC).isoformat(" ", timespec="seconds")
        data = msgspec.json.encode(WriterMarker(socket.gethostname(), str(self.mirror.root), os.getpid(), since))
        try:
            self.mirror.put(marker, data, create=True)
        except FileExistsError:
            if other := self._elsewhere(marker):
                hint = f"if that has ended, remove {self.mirror.url_of(marker)}"
                raise BusyError(f"is being written by process {other} since {other.since}; {hint}") from None
            self.mirror.put(marker, data)

    def _elsewhere(self, marker: Path) -> WriterMarker | None:
        """The writer that a marker names, unless it is an ended one of this mirror, whose lock is held here."""
        try:
            found = msgspec.json.decode(self.mirror.read(marker) or b"", type=WriterMarker)
        except msgspec.DecodeError:
            return None
        return None if (found.host, found.mirror) == (socket.gethostname(), str(self.mirror.root)) else found

    def holder(self, path: Path) -> int | str | None:
        """The process that holds a lock."""
        return super().holder(path) or (str(other) if (other := self._elsewhere(_marker(path))) else None)

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield a path to write; the file is uploaded, and becomes ``target``, when the block ends."""
        with super().replacing_file(target, overwrite=overwrite) as new:
            yield new
            if not _is_being_made(target):
                try:
                    self.mirror.send(new, target, create=not overwrite)
                except FileExistsError:
                    raise taken(target) from None

    @contextmanager
    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield an empty folder; it is uploaded, and becomes ``target``, when the block ends."""
        with super().replacing_folder(target, overwrite=overwrite) as content:
            yield content
            if not _is_being_made(target):
                self.mirror.send_folder(content, target)
                shutil.rmtree(content / PACKS, ignore_errors=True)

    def write(self, path: Path, data: bytes | memoryview) -> None:
        """Write a file and its folder; a file of a folder that is being made is uploaded with the folder."""
        if _is_being_made(path):
            super().write(path, data)
            return
        with self.replacing_file(path) as new:
            super().write(new, data)

    def remove(self, path: Path) -> None:
        """Remove a file, locally and remotely."""
        self.mirror.remove(path)

    def missing(self, path: Path) -> bytes | None:
        """The content of an image that is not here yet, fetched with the rest of its pack."""
        index = open_index(path.parent.parent.parent)
        found = None if index is None else index.find(path.name)
        if found is None:
            loose = self.mirror.read(path)
            if loose is not None:
                place(path, loose)
            return loose
        with self._fetching:
            if not found[0].exists() and (data := self.mirror.read(found[0])) is not None:
                place(found[0], data)
        return read_packed(*found)

    def pack(self, images: Path, names: Sequence[str]) -> None:
        """Put the images of a folder that is being made into packs."""
        if names:
            write_packs(images.parent, names)


def _marker(path: Path) -> Path:
    return path.with_name(path.name + WRITER)


def _is_being_made(path: Path) -> bool:
    return any(part.startswith(".") and ".partial-" in part for part in path.parts)


@cache
def remote_store(mirror: Mirror) -> RemoteStore:
    """The only store of a mirror in this process."""
    return RemoteStore(mirror)


_LOCAL = LocalStore()
_PARTIAL = re.compile(r"\..+\.partial-")  # what a killed writer left of a file in a folder that is replaced now


def store_of(path: Path) -> LocalStore:
    """The store of a path: this machine's disk, or the one that is mirrored."""
    mirror = mirror_of(path)
    return _LOCAL if mirror is None else remote_store(mirror)


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
