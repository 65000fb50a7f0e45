"""An item as pages show it: thumbnails, each once, shortened texts, its gold marked."""

import base64
import io
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from typing import TypeVar

import msgspec
from PIL import Image as Pillow

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError
from eyetest.pages.page import clip, plain
from eyetest.probes.images import flattened
from eyetest.records import PLACEHOLDER, ImageRef, Item, Verdict, letter

_SIDE = 240
_MOST_THUMBNAIL_BYTES = 3 * 2**20
_MOST_PIXELS = 400_000_000
_GALLERY, _MOST_TAGS, _SHORT_TAG = 4, 6, 28
_Thing = TypeVar("_Thing")


class Thumbnail(msgspec.Struct, frozen=True):
    """An image as shown: the address of its pixels in the page, or why there are none."""

    number: int = 0
    label: str = ""
    ref: str = ""
    width: int = 0
    height: int = 0
    why_not: str = ""


class Album:
    """Thumbnails of a page, re-encoded. Its limits keep a page with large images small."""

    def __init__(self, *benchmarks: Benchmark | None, side: int = _SIDE) -> None:
        self._side = side
        self._stores = [benchmark.images for benchmark in benchmarks if benchmark]
        self._made: dict[str, Thumbnail] = {}
        self._bytes_left = _MOST_THUMBNAIL_BYTES
        self._pixels_left = _MOST_PIXELS
        self.images: list[tuple[Thumbnail, str]] = []

    def add(self, image: ImageRef, number: int) -> Thumbnail:
        """The thumbnail of an image."""
        made = self._made.get(image.sha256)
        if made is None:
            made = self._made[image.sha256] = self._make(image)
        label = f"image {number}, {image.width:,} × {image.height:,} pixels"
        return msgspec.structs.replace(made, number=number, label=label)

    def _make(self, image: ImageRef) -> Thumbnail:
        if not self._stores:
            return Thumbnail(why_not="its benchmark is not open")
        self._pixels_left -= image.width * image.height
        if self._pixels_left < 0 or self._bytes_left <= 0:
            return Thumbnail(why_not="left out to keep this page small")
        for store in self._stores:  # any benchmark may have it: images are known by their bytes
            with suppress(EyetestError, OSError, ValueError):
                kind, data = draw_small(store.open(image), self._side)
                break
        else:
            return Thumbnail(why_not="cannot be read")
        self._bytes_left -= len(data)
        width, height = Pillow.open(io.BytesIO(data)).size
        thumbnail = Thumbnail(ref=f"image-{len(self.images) + 1}", width=width, height=height)
        self.images.append((thumbnail, f"data:image/{kind};base64,{base64.b64encode(data).decode()}"))
        return thumbnail


def draw_small(image: Pillow.Image, side: int) -> tuple[str, bytes]:
    """A thumbnail in RGB on white, for any image mode: its file format and bytes, the shorter of two formats."""
    image = flattened(image) if image.mode.startswith("I;16") else image  # which cannot be shrunk as it is
    image.thumbnail((side, side), reducing_gap=2)
    paper = flattened(image)
    files = {kind: io.BytesIO() for kind in ("jpeg", "png")}
    for kind, file in files.items():
        paper.save(file, kind, quality=80, optimize=True)
    return min(((kind, file.getvalue()) for kind, file in files.items()), key=lambda coded: len(coded[1]))


class Option(msgspec.Struct, frozen=True):
    """One option of an item."""

    letter: str
    text: list[str | int]
    correct: bool
    images: list[Thumbnail]


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """One item on the page; an item that is not in the benchmark has only its id and the evidence."""

    id: str
    evidence: str
    item: Item | None = None
    question: list[str | int] = []
    images: list[Thumbnail] = []
    more_images: int = 0
    options: list[Option] = []
    tags: list[tuple[str, str]] = []
    scores: list[tuple[str, str]] = []

    @property
    def narrow(self) -> bool:
        """Whether the options are images, or many and short, so that they fit in two columns."""
        imaged = all(option.images for option in self.options)
        short = self.item is not None and all(len(choice.text) <= 6 for choice in self.item.choices)
        return imaged or (short and len(self.options) > 6)


def show_item(name: str, evidence: str, scores: list[tuple[str, str]], item: Item | None, album: Album) -> ItemView:
    """An item with the texts about it."""
    if item is None:
        return ItemView(id=name, evidence=evidence)
    in_options = {number for choice in item.choices for number in choice.images}
    gallery = [number for number in range(1, len(item.images) + 1) if number not in in_options]
    return ItemView(
        id=name,
        evidence=evidence,
        item=item,
        question=_parts(item.question, 900),
        images=_images(gallery[:_GALLERY], item, album),
        more_images=len(gallery[_GALLERY:]),
        options=[
            Option(letter(index), _parts(choice.text, 240), choice.correct, _images(choice.images[:2], item, album))
            for index, choice in enumerate(item.choices)
        ],
        tags=_short_tags(item),
        scores=scores,
    )


def show_verdict(verdict: Verdict, item: Item | None, album: Album) -> ItemView:
    """An item with the verdict on it."""
    scores = [("hits", str(verdict.hits))] if verdict.hits is not None else []
    if verdict.p is not None:
        scores.append(("p", f"{verdict.p:.2g}"))
    return show_item(verdict.item, clip(verdict.reason, 300), scores, item, album)


def lot(item: str) -> bytes:
    """A pseudo-random sort key by which the items shown are selected, the same each time."""
    return blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def in_turns(lists: Iterable[Sequence[_Thing]], most: int) -> list[_Thing]:
    """The first of every list, then the second, until there are enough."""
    turns = chain.from_iterable(zip_longest(*lists))
    return list(islice((thing for thing in turns if thing is not None), most))


def _short_tags(item: Item) -> list[tuple[str, str]]:
    """The tags that sort items, first; lists and tables are left to `eyetest show`."""
    tags = [(key, plain(value)) for key, value in item.tags.items() if isinstance(value, str | int | float)]
    short_first = sorted((tag for tag in tags if tag[1].strip()), key=lambda tag: len(tag[1]) > _SHORT_TAG)
    return [(key, clip(value, _SHORT_TAG)) for key, value in short_first[:_MOST_TAGS]]


def _images(numbers: Iterable[int], item: Item, album: Album) -> list[Thumbnail]:
    return [album.add(item.images[n - 1], n) for n in numbers if 0 < n <= len(item.images)]


def _parts(text: str, limit: int) -> list[str | int]:
    pieces = PLACEHOLDER.split(clip(text, limit))
    return [int(piece) if odd % 2 else piece for odd, piece in enumerate(pieces) if piece.strip()]
