"""Pictures as rows hold them: bytes, ``{bytes, path}`` structs, paths, base64, data URLs, or lists of these.

A path in a dataset is not permission to read it: it must stay inside the dataset's own folder, links included.
"""

import binascii
from contextlib import suppress
from pathlib import Path
from typing import Any

import pybase64

from eyetest.benchmarks.images import MAX_BYTES, ImageStore
from eyetest.errors import ImageError, InputError, MissingImage, short
from eyetest.records import ImageRef
from eyetest.store.files import inside, open_regular
from eyetest.tabular.literals import looks_like_list, parse_list

_LONGEST_PATH = 1024
_SHORTEST_BASE64 = 32


class PictureLoader:
    """Takes pictures into a store, whatever form they come in."""

    def __init__(self, store: ImageStore, root: Path) -> None:
        self._store = store
        self._root = root.resolve()
        self.files: dict[Path, None] = {}
        """Every file that was read or looked for, in order, so that a cached import can tell when one has changed."""

    def load(self, value: Any) -> tuple[ImageRef, ...]:
        """All pictures of one cell, in order."""
        if value is None or value == "":
            return ()
        if isinstance(value, list | tuple):
            return tuple(image for part in value for image in self.load(part))
        if isinstance(value, bytes):
            return (self._store.put(value),)
        if isinstance(value, dict):
            return self._from_struct(value)
        if isinstance(value, str):
            return self._from_text(value)
        raise MissingImage(f"{short(value)} where a picture should be")

    def _from_struct(self, value: dict[str, Any]) -> tuple[ImageRef, ...]:
        if value.get("bytes"):
            return self.load(value["bytes"])
        if value.get("path"):
            return (self._store.put(self._read_file(value["path"])),)
        if any(part not in (None, "", b"") for part in value.values()):
            raise ImageError(f"{short(value)}, a structure without bytes or path")
        return ()

    def _from_text(self, text: str) -> tuple[ImageRef, ...]:
        if looks_like_list(text):
            parts = parse_list(text)
            if parts is None:
                raise ImageError(f"{short(text)}, a list that cannot be read")
            return self.load(parts)
        if text.startswith(("http://", "https://")):
            raise MissingImage(f"address {short(text)}; eyetest downloads nothing, so fetch it first")
        if text.startswith("data:"):
            return (self._store.put(decode_base64(text.partition(",")[2].encode())),)
        if len(text) <= _LONGEST_PATH and (_is_file(self._root, text) or not _may_be_base64(text)):
            return (self._store.put(self._read_file(text)),)
        return (self._store.put(decode_base64(text.encode())),)

    def _read_file(self, name: str) -> bytes:
        try:
            path = self._root / name
            real = inside(path, self._root)
        except (InputError, TypeError, ValueError):
            raise ImageError(f"path {short(name)}, which leaves {self._root}") from None
        try:
            with open(open_regular(real), "rb") as file:  # noqa: PTH123 (a descriptor)
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            self.files[path] = None
            raise MissingImage(f"path {short(name)} in {self._root} (no such file or directory)") from None
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", "") or "not a file"
            raise ImageError(f"path {short(name)} in {self._root} ({why.lower()})") from None
        self.files[path] = None
        return data


def holds_pictures(value: Any, root: Path) -> bool:
    """Whether a cell seems to hold pictures, or files that are there, rather than only names."""
    if isinstance(value, list | tuple):
        return any(holds_pictures(part, root) for part in value)
    if isinstance(value, dict):
        return holds_pictures(value.get("bytes"), root) or holds_pictures(value.get("path"), root)
    if isinstance(value, bytes):
        return bool(value)
    if not isinstance(value, str) or not value:
        return False
    return value.startswith("data:image/") or (len(value) <= _LONGEST_PATH and _is_file(root, value))


def _is_file(root: Path, text: str) -> bool:
    try:
        return (root / text).is_file()
    except (OSError, ValueError):
        return False


def decode_base64(data: bytes) -> bytes:
    """The bytes that base64 stands for; line breaks are allowed, junk and missing ends are not."""
    with suppress(binascii.Error):
        return pybase64.b64decode(data, validate=True)
    with suppress(binascii.Error):
        return pybase64.b64decode(b"".join(data.split()), validate=True)
    start = data[:16].decode("ascii", "replace")
    raise ImageError(f"{len(data):,} characters starting {start!r} that are not whole base64")


def _may_be_base64(text: str) -> bool:
    return len(text) >= _SHORTEST_BASE64 and "." not in text
