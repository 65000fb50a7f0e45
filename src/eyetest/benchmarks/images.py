"""Images stored by the hash of their bytes, which are checked when they are stored (header, end) and read (hash)."""

import binascii
import hashlib
import io
import os
import re
import struct
import warnings
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pybase64
from PIL import Image as Pillow
from PIL import UnidentifiedImageError

from eyetest.errors import ImageError, InputError, MissingImage, short
from eyetest.records import IMAGE_FORMATS, ImageFormat, ImageRef
from eyetest.store import store_of
from eyetest.store.files import inside, open_regular, read_regular
from eyetest.tabular.table import looks_like_list, parse_list

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 100_000_000
MAX_REDUCED = 50_000_000  # pixels of an image that is decoded to be shown small
_LONGEST_PATH = 1024
_SHORTEST_BASE64 = 32
_HASH = re.compile("[0-9a-f]{64}")
_PILLOW_FORMATS = [name.upper() for name in IMAGE_FORMATS]
_ENDS = {"png": b"IEND", "jpeg": b"\xff\xd9", "mpo": b"\xff\xd9", "gif": b";"}  # last bytes; PNG: before its checksum
UNREADABLE = (
    ImageError, OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, IndexError, KeyError, TypeError,
    OverflowError, Pillow.DecompressionBombError,
)  # fmt: skip
"""Exceptions of Pillow's readers on damaged data."""
_FORMAT_OF: dict[str, ImageFormat] = {**{name: name for name in IMAGE_FORMATS}, "mpo": "jpeg"}


class ImageStore:
    """Images in ``images/ab/abcd….png``, each once."""

    def __init__(self, root: Path) -> None:
        self.root, self._store = root, store_of(root)
        self._known: dict[str, ImageRef] = {}
        self._folders: dict[str, Path] = {}

    def path(self, image: ImageRef) -> Path:
        """The path of an image's file."""
        _check_name(image)
        return self.root / image.sha256[:2] / image.filename

    def put(self, data: bytes) -> ImageRef:
        """Store an image, unless it is stored already."""
        sha256 = hashlib.sha256(data).hexdigest()
        image = self._known.get(sha256)
        if image is None:
            image = inspect(data, sha256)
            self._known[sha256] = image
            self._store.write(self.path(image), data)
        return image

    def copy(self, image: ImageRef, source: "ImageStore") -> None:
        """Copy an image from another store, sharing the file on disk where the disk supports it."""
        if image.sha256 in self._known:
            return
        data = source.read(image)
        path = self.path(image)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.hardlink_to(inside(source.path(image), source.root))
        except OSError:
            path.write_bytes(data)
        self._known[image.sha256] = image

    def read(self, image: ImageRef) -> bytes:
        """The bytes of an image, unchanged; refused unless their hash is its name, or where a link leads outside."""
        try:
            file = self._opened(image)
            with open(file, "rb", buffering=0) as opened:  # noqa: PTH123 (a descriptor)
                if (size := os.fstat(file).st_size) != image.size:
                    raise ImageError(f"image {image.filename} has {size} bytes, {image.size} were stored")
                data = opened.readall()
        except FileNotFoundError:  # it may be in a bucket; a forked process has a store of its own
            found = store_of(self.root).missing(self.path(image))
            if found is None:
                raise ImageError(f"image {image.filename} is missing from {self.root}") from None
            data = found
        except InputError as error:
            raise ImageError(f"image {image.filename} cannot be used: {error}") from None
        if hashlib.sha256(data).hexdigest() != image.sha256:
            raise ImageError(f"image {image.filename} in {self.root} holds other bytes than its name says")
        return data

    def _opened(self, image: ImageRef) -> int:
        """A descriptor of an image's file inside this folder; its own folder is resolved once."""
        _check_name(image)
        folder = self._folders.get(image.sha256[:2])
        if folder is None:
            folder = self._folders[image.sha256[:2]] = inside(self.path(image).parent, self.root)
        path = folder / image.filename
        try:
            return open_regular(path)
        except InputError:  # a link, which may stay inside: in a snapshot of the Hub every file is one
            return open_regular(inside(path, self.root))

    def has(self, image: ImageRef) -> bool:
        """Whether an image can be read."""
        return self.path(image).is_file() or store_of(self.root).missing(self.path(image)) is not None

    def open(self, image: ImageRef) -> Pillow.Image:
        """The decoded image."""
        return decode(self.read(image))

    def keep_only(self, used: set[str]) -> None:
        """Remove images that were stored for items that were not added."""
        for sha256 in self._known.keys() - used:
            self.path(self._known.pop(sha256)).unlink()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def size(self) -> int:
        """Bytes stored so far."""
        return sum(image.size for image in self._known.values())


def _check_name(image: ImageRef) -> None:
    if not _HASH.fullmatch(image.sha256) or image.format not in IMAGE_FORMATS:
        raise ImageError(f"{short(image.filename)} is not the name of a stored image")


def inspect(data: bytes, sha256: str) -> ImageRef:
    """An image's format and size, from its header; an error if it cannot be used."""
    if len(data) > MAX_BYTES:
        raise ImageError(f"an image of {len(data) / 2**20:,.0f} MB; at most {MAX_BYTES // 2**20} MB are taken")
    with _header(data) as image:
        kind = (image.format or "").lower()
        width, height = image.size
    if width * height > MAX_PIXELS:
        raise ImageError(f"an image of {width:,} × {height:,} pixels; at most {MAX_PIXELS:,} are taken")
    if not _ends_well(kind, data):
        decode(data)
    return ImageRef(sha256, _FORMAT_OF[kind], width, height, len(data))


def decode(data: bytes, side: int = 0, most: int = MAX_PIXELS) -> Pillow.Image:
    """All pixels of an image, within the limits; with ``side`` no smaller than that, where the format allows it."""
    with _header(data) as image:
        if side:
            image.draft("RGB", (side, side))
        if image.width * image.height > most:
            raise ImageError(f"an image of {image.width:,} × {image.height:,} pixels")
        try:
            image.load()
            return image if side else image.copy()
        except UNREADABLE as error:
            raise ImageError(f"an image that cannot be decoded ({error})") from None


def _header(data: bytes) -> Pillow.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Pillow.open(io.BytesIO(data), formats=_PILLOW_FORMATS)
    except Pillow.DecompressionBombError:
        raise ImageError(f"an image of more than {MAX_PIXELS:,} pixels") from None
    except UnidentifiedImageError:
        start = data[:12].decode("ascii", "replace")
        raise ImageError(f"{len(data):,} bytes starting {start!r}, which is no image") from None
    except UNREADABLE as error:
        raise ImageError(f"an image that cannot be read ({error})") from None


def _ends_well(kind: str, data: bytes) -> bool:
    """Whether the data ends as its format requires, so that truncation is found without decoding."""
    if kind == "webp":
        return int.from_bytes(data[4:8], "little") + 8 <= len(data)
    end = _ENDS.get(kind)
    return end is not None and data.endswith(end, 0, len(data) - 4 * (kind == "png"))


IMAGE_ENDINGS = (*(f".{name}" for name in IMAGE_FORMATS), ".jpg", ".tif")
CLASS_QUESTION = "What does this image show?"


def spoken(name: Any) -> str:
    """A file name with spaces in place of underscores."""
    return str(name).replace("_", " ").strip()


def images_below(root: Path) -> list[Path]:
    """The image files in the subfolders of a folder, at any depth, sorted by name."""
    below = (path for path in sorted(root.rglob("*")) if path.suffix.lower() in IMAGE_ENDINGS)
    return [path for path in below if path.parent != root and path.is_file()]


class ImageLoader:
    """Stores images given in any supported form."""

    def __init__(self, store: ImageStore, root: Path) -> None:
        self._store = store
        self._root = root.resolve()
        self.files: dict[Path, None] = {}  # every file read or looked for, so that a cached import detects changes

    def load(self, value: Any) -> tuple[ImageRef, ...]:
        """All images of one cell, in order."""
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
        raise MissingImage(f"{short(value)} where an image should be")

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
        may_be_base64 = len(text) >= _SHORTEST_BASE64 and "." not in text
        if len(text) <= _LONGEST_PATH and (is_file(self._root, text) or not may_be_base64):
            return (self._store.put(self._read_file(text)),)
        return (self._store.put(decode_base64(text.encode())),)

    def _read_file(self, name: str) -> bytes:
        try:
            path = self._root / name
            real = inside(path, self._root)
        except (InputError, TypeError, ValueError):
            raise ImageError(f"path {short(name)}, which leaves {self._root}") from None
        self.files[path] = None
        try:
            return read_regular(real, self._root, MAX_BYTES + 1)
        except FileNotFoundError:
            raise MissingImage(f"path {short(name)} in {self._root} (no such file or directory)") from None
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", "") or "not a file"
            raise ImageError(f"path {short(name)} in {self._root} ({why.lower()})") from None


def is_file(root: Path, text: str) -> bool:
    """Whether a text is the name of a file below a folder."""
    try:
        return (root / text).is_file()
    except (OSError, ValueError):
        return False


def decode_base64(data: bytes) -> bytes:
    """The bytes of a base64 text; line breaks are allowed, invalid characters and missing ends are not."""
    with suppress(binascii.Error):
        return pybase64.b64decode(b"".join(data.split()), validate=True)
    start = data[:16].decode("ascii", "replace")
    raise ImageError(f"{len(data):,} characters starting {start!r} that are not whole base64")
