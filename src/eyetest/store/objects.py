"""Objects of a store elsewhere, by the names that they have below its url; whatever fsspec reaches.

Which libraries, servers and keys are used is fsspec's own matter (its configuration, the environment). What they say
comes out as one line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from eyetest.errors import EyetestError, InputError, MissingExtraError

Thing = TypeVar("Thing")
MOST_AT_ONCE = 32 * 2**20
"""Bytes that are held in memory on their way."""
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "modified", "created")
"""What changes when an object does, in the words of one protocol or another."""


class RemoteError(OSError):
    """What a store elsewhere says of a url, in one line."""


class Listed(NamedTuple):
    """An object, or a folder of them."""

    name: str
    is_folder: bool
    size: int
    tag: str
    """Its version."""


class Span(NamedTuple):
    """A stretch of an object."""

    name: str
    start: int
    end: int


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Make one line of whatever a library says, but let what is and what is not there be told apart."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, RemoteError, EyetestError):
        raise
    except Exception as error:  # each protocol has errors of its own
        words = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RemoteError(f"{url}: {_one_line(words)}") from None


class Objects:
    """All objects below a url."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_s3 = url.startswith("s3")
        """Whether an object can be put on condition that nobody else has put it."""

    @cached_property
    def _there(self) -> tuple[Any, str]:
        import fsspec  # noqa: PLC0415 (an extra)

        try:
            fs, base = fsspec.core.url_to_fs(self.url, use_listings_cache=False)
        except ImportError as error:
            extra = "pip install 'eyetest[s3]'" if self.is_s3 else _one_line(error)
            raise MissingExtraError(f"{self.url} needs a package that is not installed: {extra}") from None
        except ValueError as error:
            raise InputError(f"{self.url}: {_one_line(error).lower()}") from None
        return fs, base.rstrip("/")

    @property
    def fs(self) -> Any:
        """The file system of fsspec."""
        return self._there[0]

    def key(self, name: str) -> str:
        """What the file system calls an object."""
        return f"{self._there[1]}/{name}"

    def url_of(self, name: str) -> str:
        """What users call it."""
        return f"{self.url}/{name}"

    def listing(self, name: str) -> list[Listed]:
        """What lies in a folder; of an object, it alone, under its own name."""
        try:
            with reaching(self.url_of(name)):
                found = self.fs.ls(self.key(name), detail=True)
        except FileNotFoundError:
            return []
        start = len(self.key(""))
        return [
            Listed(info["name"].rstrip("/")[start:], info["type"] == "directory", info["size"] or 0, _tag(info))
            for info in found
        ]

    def below(self, name: str) -> set[str]:
        """All objects in a folder and the folders inside it."""
        start = len(self.key(""))
        with reaching(self.url_of(name)):
            return {key[start:] for key in self.fs.find(self.key(name))}

    def tag(self, name: str) -> str:
        """The version of an object; empty where there is none."""
        try:
            with reaching(self.url_of(name)):
                return _tag(self.fs.info(self.key(name)))
        except FileNotFoundError:
            return ""

    def seconds(self, name: str) -> float:
        """When an object was last put, by the store's own clock."""
        with reaching(self.url_of(name)):
            return float(self.fs.modified(self.key(name)).timestamp())

    def ranges(self, spans: Sequence[Span]) -> list[bytes | None]:
        """Stretches of objects, fetched side by side; None for one that is not there."""
        if not spans:
            return []
        names, starts, ends = zip(*spans, strict=True)
        with reaching(self.url_of(names[0])):
            found = self.fs.cat_ranges([self.key(n) for n in names], list(starts), list(ends), on_error="return")
            for one in found:
                if isinstance(one, Exception) and not isinstance(one, FileNotFoundError):
                    raise one
        return [None if isinstance(one, Exception) else bytes(one) for one in found]

    def read(self, name: str, size: int | None = None) -> bytes | None:
        """A whole object, in one request where its size is known; None where there is none."""
        span = {} if size is None else {"start": 0, "end": size}
        try:
            with reaching(self.url_of(name)):
                return bytes(self.fs.cat_file(self.key(name), **span))
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes | Path, *, create: bool = False, instead_of: str = "") -> str:
        """Put an object, whole or not at all, and give its version.

        ``create``: a `FileExistsError` where there is one. ``instead_of``: only in the place of this version.
        """
        key, how = self.key(name), {"mode": "create"} if create else {}
        if instead_of and self.is_s3:
            how["IfMatch"] = instead_of
        with reaching(self.url_of(name)):
            if create and not self.is_s3 and self.fs.exists(key):
                raise FileExistsError(self.url_of(name))
            if isinstance(data, Path) and _is_large(data):
                return self._put_large(data, name, how)
            put = self.fs.pipe_file(key, data.read_bytes() if isinstance(data, Path) else data, **how)
        return put["ETag"] if isinstance(put, dict) and "ETag" in put else self.tag(name)

    def _put_large(self, file: Path, name: str, how: dict[str, str]) -> str:
        """In parts. Putting them together may take the store longer than anybody waits for a reply: so look again."""
        before = self.tag(name)
        try:
            self.fs.put_file(str(file), self.key(name), **how)
        except OSError:
            is_whole = (tag := self.tag(name)) and self.fs.size(self.key(name)) == file.stat().st_size
            if not is_whole or tag == before:
                raise
        return self.tag(name)

    def put_many(self, files: Sequence[tuple[Path, str]]) -> None:
        """Put files, small ones side by side."""
        for batch in batches(files, lambda one: one[0].stat().st_size):
            if len(batch) == 1:
                self.put(batch[0][1], batch[0][0])
            else:
                with reaching(self.url):
                    self.fs.put([str(file) for file, _ in batch], [self.key(name) for _, name in batch])

    def remove(self, *names: str) -> None:
        """Remove objects, as far as they are there."""
        for name in names:
            with suppress(FileNotFoundError), reaching(self.url_of(name)):
                self.fs.rm_file(self.key(name))


def batches(things: Iterable[Thing], size: Callable[[Thing], int]) -> Iterator[list[Thing]]:
    """Things in lots that fit into memory; what is too large by itself comes alone."""
    batch: list[Thing] = []
    room = MOST_AT_ONCE
    for thing in things:
        if batch and size(thing) > room:
            yield batch
            batch, room = [], MOST_AT_ONCE
        batch.append(thing)
        room -= size(thing)
    if batch:
        yield batch


def _is_large(file: Path) -> bool:
    return file.stat().st_size > MOST_AT_ONCE


def _tag(info: dict[str, Any]) -> str:
    return next((str(info[name]) for name in _VERSIONS if info.get(name)), str(info.get("size")))


def _one_line(said: object) -> str:
    return (str(said).splitlines() or [type(said).__name__])[0]
