"""Pictures as data URLs, encoded once and kept while their neighbours need them."""

import io
from collections import OrderedDict
from functools import lru_cache

import pybase64
from PIL import Image as Pillow

from eyetest.benchmarks.images import MAX_PIXELS, ImageStore
from eyetest.errors import ImageError
from eyetest.records import GreyPicture, Picture

_MOST_BYTES_KEPT = 16 * 2**20
_GREY = 128


class Pictures:
    """Gives pictures out byte for byte as they are stored, never re-encoded."""

    def __init__(self, store: ImageStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def data_url(self, part: Picture | GreyPicture) -> bytes:
        """``data:image/png;base64,…``, as it goes into a JSON string."""
        if isinstance(part, GreyPicture):
            return grey_url(part.width, part.height)
        sha256 = part.image.sha256
        url = self._kept.get(sha256)
        if url is None:
            data = pybase64.b64encode(self._store.read(part.image))
            url = b"data:image/%s;base64,%s" % (part.image.format.encode(), data)
            self._keep(sha256, url)
        return url

    def open(self, part: Picture | GreyPicture) -> Pillow.Image:
        """A picture, decoded, in red, green and blue."""
        if isinstance(part, GreyPicture):
            return _grey("RGB", part.width, part.height)
        return self._store.open(part.image).convert("RGB")

    def _keep(self, sha256: str, url: bytes) -> None:
        self._kept[sha256] = url
        self._size += len(url)
        while self._size > _MOST_BYTES_KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1])


@lru_cache(maxsize=64)
def grey_url(width: int, height: int) -> bytes:
    """A plain grey PNG of a size."""
    file = io.BytesIO()
    _grey("L", width, height).save(file, "PNG", optimize=True)
    return b"data:image/png;base64," + pybase64.b64encode(file.getvalue())


def _grey(mode: str, width: int, height: int) -> Pillow.Image:
    """Grey of a size that a benchmark claims for a picture, which need not be true."""
    if not 0 < width * height <= MAX_PIXELS:
        raise ImageError(f"a picture of {width:,} × {height:,} pixels; at most {MAX_PIXELS:,} are made")
    return Pillow.new(mode, (width, height), (_GREY,) * len(mode) if len(mode) > 1 else _GREY)
