"""The one place where pictures are taken in, stored by the hash of their bytes, and opened again.

Bytes are kept exactly as they came. Taking one in reads its header and looks at its end, which finds text files
named .png, decompression bombs and cut-off data without decoding a single pixel of a sound picture. Giving one out
hashes it again, so that what is sent, shown or exported is what was stored, and never a file from elsewhere.
"""

import hashlib
import io
import os
import re
import warnings
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from PIL import Image as Pillow
from PIL import UnidentifiedImageError

from eyetest.errors import ImageError, InputError, short
from eyetest.records import IMAGE_FORMATS, ImageFormat, ImageRef
from eyetest.store import store_of
from eyetest.store.files import inside, open_regular
from eyetest.store.mirror import place
from eyetest.store.packs import PackIndex, open_index

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 100_000_000
_HASH = re.compile("[0-9a-f]{64}")
_WRITERS = 2
_MOST_WAITING = 8
_PILLOW_FORMATS = [name.upper() for name in IMAGE_FORMATS]
_FORMAT_OF: dict[str, ImageFormat] = {**{name: name for name in IMAGE_FORMATS}, "mpo": "jpeg"}


class ImageStore:
    """Pictures in ``images/ab/abcd….png``, each once.

    Files are created by a thread of their own: on most disks that is the slowest step of an import, and it needs
    no Python. `finish` waits for it.
    """

    def __init__(self, root: Path) -> None:
        self.root, self._store = root, store_of(root)
        self._known: dict[str, ImageRef] = {}
        self._folders: dict[str, Path] = {}
        self._writer: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[None]] = deque()
        self._packs: PackIndex | None = None

    def path(self, image: ImageRef) -> Path:
        """Where a picture's file is."""
        if not _HASH.fullmatch(image.sha256) or image.format not in IMAGE_FORMATS:
            raise ImageError(f"{short(image.filename)} is not the name of a stored picture")
        return self.root / image.sha256[:2] / image.filename

    def put(self, data: bytes) -> ImageRef:
        """Take a picture in, or find that it is there already."""
        sha256 = hashlib.sha256(data).hexdigest()
        image = self._known.get(sha256)
        if image is None:
            image = inspect(data, sha256)
            self._write_later(image, data)
            self._known[sha256] = image
        return image

    def copy(self, image: ImageRef, source: "ImageStore") -> None:
        """Take a picture over from another store, sharing the file on disk where the disk can."""
        if image.sha256 in self._known:
            return
        data = source.read(image)
        path = self.path(image)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.hardlink_to(source._file(image))
        except OSError:
            path.write_bytes(data)
        self._known[image.sha256] = image

    def read(self, image: ImageRef) -> bytes:
        """The bytes of a picture, exactly as they came; their hash is its name, or it is refused."""
        data = self._packed(image)
        if data is None:
            try:
                data = self._read(open_regular(self._file(image)), image)
            except FileNotFoundError:
                data = self._missing(image)
            except InputError as error:
                raise ImageError(f"picture {image.filename} cannot be used: {error}") from None
        if hashlib.sha256(data).hexdigest() != image.sha256:
            raise ImageError(f"picture {image.filename} in {self.root} holds other bytes than its name says")
        return data

    def _read(self, file: int, image: ImageRef) -> bytes:
        with open(file, "rb", buffering=0) as opened:
            _refuse_size(os.fstat(file).st_size, image)
            return opened.readall()

    def _missing(self, image: ImageRef) -> bytes:
        """A picture that is no file here, from wherever the store has it; a forked process has a store of its own."""
        data = store_of(self.root).missing(self.path(image))
        if data is None:
            raise ImageError(f"picture {image.filename} is missing from {self.root}")
        self._packs = open_index(self.root.parent)
        _refuse_size(len(data), image)
        return data

    def _packed(self, image: ImageRef) -> bytes | None:
        """A picture out of packs on this disk, once one was found in them: most others are there, too."""
        data = self._packs.picture(image.filename) if self._packs is not None else None
        return data if data is not None and len(data) == image.size else None

    def has(self, image: ImageRef) -> bool:
        """Whether a picture can be read."""
        return self.path(image).is_file() or store_of(self.root).missing(self.path(image)) is not None

    def bring(self, image: ImageRef) -> Path:
        """Where a picture's file is, once it is one of this disk."""
        if not self.path(image).exists():
            place(self.path(image), self.read(image))
        return self.path(image)

    def _file(self, image: ImageRef) -> Path:
        """Where a picture's bytes are. A link counts only if it stays inside."""
        path = self.path(image)
        folder = self._folders.get(path.parent.name)
        if folder is None:
            folder = self._folders[path.parent.name] = inside(path.parent, self.root)
        path = folder / path.name
        return inside(path, self.root) if path.is_symlink() else path

    def open(self, image: ImageRef) -> Pillow.Image:
        """The picture itself, decoded."""
        return decode(self.read(image))

    def keep_only(self, used: set[str]) -> None:
        """Remove pictures that were taken in for items that did not make it."""
        for sha256 in self._known.keys() - used:
            self.path(self._known.pop(sha256)).unlink()

    def pack(self) -> None:
        """Get ready to travel, where the store is another machine's."""
        self._store.pack(self.root, [image.filename for image in self._known.values()])

    def __len__(self) -> int:
        return len(self._known)

    @property
    def size(self) -> int:
        """Bytes taken in so far."""
        return sum(image.size for image in self._known.values())

    def finish(self) -> None:
        """Wait until everything taken in is in its file."""
        while self._waiting:
            self._waiting.popleft().result()
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = None

    def _write_later(self, image: ImageRef, data: bytes) -> None:
        if self._writer is None:
            self._writer = ThreadPoolExecutor(_WRITERS, "pictures")
        self._waiting.append(self._writer.submit(self._write, image, data))
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft().result()

    def _write(self, image: ImageRef, data: bytes) -> None:
        self._store.write(self.path(image), data)


def _refuse_size(size: int, image: ImageRef) -> None:
    if size != image.size:
        raise ImageError(f"picture {image.filename} has {size} bytes, {image.size} were stored")


def inspect(data: bytes, sha256: str) -> ImageRef:
    """What a picture is, from its header; an error if it cannot be used."""
    if len(data) > MAX_BYTES:
        raise ImageError(f"a picture of {len(data) / 2**20:,.0f} MB; at most {MAX_BYTES // 2**20} MB are taken")
    with _header(data) as picture:
        kind = (picture.format or "").lower()
        width, height = picture.size
    if width * height > MAX_PIXELS:
        raise ImageError(f"a picture of {width:,} × {height:,} pixels; at most {MAX_PIXELS:,} are taken")
    if not _ends_well(kind, data):
        decode(data)
    return ImageRef(sha256, _FORMAT_OF[kind], width, height, len(data))


def decode(data: bytes) -> Pillow.Image:
    """All pixels of a picture, within the limits."""
    with _header(data) as picture:
        if picture.width * picture.height > MAX_PIXELS:
            raise ImageError(f"a picture of {picture.width:,} × {picture.height:,} pixels")
        try:
            picture.load()
            return picture.copy()
        except (OSError, SyntaxError, ValueError, EOFError) as error:
            raise ImageError(f"a picture that cannot be decoded ({error})") from None


def _header(data: bytes) -> Pillow.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Pillow.open(io.BytesIO(data), formats=_PILLOW_FORMATS)
    except Pillow.DecompressionBombError:
        raise ImageError(f"a picture of more than {MAX_PIXELS:,} pixels") from None
    except UnidentifiedImageError:
        start = data[:12].decode("ascii", "replace")
        raise ImageError(f"{len(data):,} bytes starting {start!r}, which is no picture") from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise ImageError(f"a picture that cannot be read ({error})") from None


def _ends_well(kind: str, data: bytes) -> bool:
    """Whether the data ends as its format says it must, so that decoding is not needed to know it whole."""
    if kind == "png":
        return data[-8:-4] == b"IEND"
    if kind in ("jpeg", "mpo"):
        return data[-2:] == b"\xff\xd9"
    if kind == "gif":
        return data[-1:] == b";"
    if kind == "webp":
        return int.from_bytes(data[4:8], "little") + 8 <= len(data)
    return False
