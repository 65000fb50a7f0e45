"""Pictures as browsers ask for them: by the hash of their bytes, and only those that belong to an item here."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from eyetest.benchmarks.images import decode
from eyetest.pages.item_view import draw_small
from eyetest.records import ImageRef

_SIDE = 320
_WHOLE = 4_096
"""The longest side of a picture that is drawn anew because no browser shows its format."""
_SHOWN_BY_BROWSERS = ("png", "jpeg", "gif", "webp", "bmp")
_KEPT_BYTES = 64 * 2**20


class PictureUrl(NamedTuple):
    """Where a page finds a picture; empty where it cannot be had."""

    whole: str = ""
    small: str = ""


PictureUrls = Callable[[str], PictureUrl]
"""The addresses of a picture by its hash."""


def served_urls(sha256: str) -> PictureUrl:
    """Where the server has a picture."""
    return PictureUrl(f"picture/{sha256}", f"thumbnail/{sha256}")


class Pixels(NamedTuple):
    """A file's bytes and its kind."""

    kind: str
    data: bytes


class ServedPictures:
    """The pictures of a collection, small and whole. Small ones are kept while there is room."""

    def __init__(self, find: Callable[[str], tuple[ImageRef, bytes] | None]) -> None:
        self._find = find
        self._lock, self._size = Lock(), 0
        self._small: OrderedDict[str, Pixels] = OrderedDict()

    def whole(self, sha256: str) -> Pixels | None:
        """The picture as it is, or drawn anew where no browser would show it; None where no item has it."""
        if (known := self._find(sha256)) is None:
            return None
        image, data = known
        if image.format in _SHOWN_BY_BROWSERS:
            return Pixels(image.format, data)
        return Pixels(*draw_small(decode(data), _WHOLE))

    def small(self, sha256: str) -> Pixels | None:
        """The picture as a thumbnail."""
        with self._lock:
            if (kept := self._small.get(sha256)) is not None:
                self._small.move_to_end(sha256)
                return kept
        if (known := self._find(sha256)) is None:
            return None
        made = Pixels(*draw_small(decode(known[1]), _SIDE))
        with self._lock:
            if sha256 not in self._small:
                self._small[sha256] = made
                self._size += len(made.data)
            while self._size > _KEPT_BYTES:
                self._size -= len(self._small.popitem(last=False)[1].data)
        return made
