"""The pictures of a page: small, drawn anew by us, each once."""

import base64
import io
from contextlib import suppress

import msgspec
from PIL import Image as Pillow

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError
from eyetest.records import ImageRef

_SIDE = 240
_MOST_THUMBNAIL_BYTES = 3 * 2**20
_MOST_PIXELS = 400_000_000


class Picture(msgspec.Struct, frozen=True):
    """A picture as shown: where its pixels are in the page, or why there are none."""

    number: int = 0
    label: str = ""
    ref: str = ""
    width: int = 0
    height: int = 0
    why_not: str = ""


class Album:
    """Thumbnails of the page, each made once. Its limits keep a page of posters or scans small and quick."""

    def __init__(self, *benchmarks: Benchmark | None) -> None:
        self._stores = [benchmark.images for benchmark in benchmarks if benchmark]
        self._made: dict[str, Picture] = {}
        self._bytes_left = _MOST_THUMBNAIL_BYTES
        self._pixels_left = _MOST_PIXELS
        self.pictures: list[tuple[Picture, str]] = []
        """Each picture with its pixels as a data URL."""

    def add(self, image: ImageRef, number: int) -> Picture:
        """The picture as it is to be shown."""
        made = self._made.get(image.sha256)
        if made is None:
            made = self._made[image.sha256] = self._make(image)
        label = f"picture {number}, {image.width:,} × {image.height:,} pixels"
        return msgspec.structs.replace(made, number=number, label=label)

    def _make(self, image: ImageRef) -> Picture:
        if not self._stores:
            return Picture(why_not="its benchmark is not open")
        self._pixels_left -= image.width * image.height
        if self._pixels_left < 0 or self._bytes_left <= 0:
            return Picture(why_not="left out to keep this page small")
        small = self._open(image)
        if small is None:
            return Picture(why_not="cannot be read")
        kind, data = min((_encoded(small, kind) for kind in ("jpeg", "png")), key=lambda coded: len(coded[1]))
        self._bytes_left -= len(data)
        picture = Picture(ref=f"picture-{len(self.pictures) + 1}", width=small.width, height=small.height)
        self.pictures.append((picture, f"data:image/{kind};base64,{base64.b64encode(data).decode()}"))
        return picture

    def _open(self, image: ImageRef) -> Pillow.Image | None:
        """The picture from whichever benchmark has it; pictures are known by their bytes."""
        for store in self._stores:
            with suppress(EyetestError, OSError, ValueError):
                return _small(store.open(image))
        return None


def _small(picture: Pillow.Image) -> Pillow.Image:
    """A thumbnail on white, in plain colours, whatever the picture was."""
    if picture.mode.startswith("I;16"):
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    picture.thumbnail((_SIDE, _SIDE), reducing_gap=2)
    picture = picture.convert("RGBA")
    paper = Pillow.new("RGB", picture.size, "white")
    paper.paste(picture, mask=picture.getchannel("A"))
    return paper


def _encoded(picture: Pillow.Image, kind: str) -> tuple[str, bytes]:
    data = io.BytesIO()
    picture.save(data, kind, quality=80, optimize=True)
    return kind, data.getvalue()
