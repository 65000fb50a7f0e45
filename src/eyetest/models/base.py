"""What a model is to the rest: something that makes one attempt at a call, and says what went wrong if it fails.

CallError
├── kind       a word that can be counted: timeout, rate-limit, server, garbage, empty, auth …
├── passing    whether the same call may succeed if it is made again
├── wait       how long the server asked us to wait, in seconds; for ever (inf) if it is gone for good
├── blame      whether this question failed, or the whole endpoint, or nobody knows yet
└── hopeless   whether nothing can succeed until a person does something, if nothing has so far (a wrong key)
"""

import io
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
import pybase64
from PIL import Image as Pillow

from eyetest.benchmarks.images import MAX_PIXELS, ImageStore
from eyetest.errors import EyetestError, ImageError
from eyetest.records import Asked, GreyPicture, Item, ModelEntry, Picture, Request, Response
from eyetest.records.tables import Method


class Call(msgspec.Struct, frozen=True):
    """A request together with what it is about."""

    asked: Asked
    item: Item
    request: Request
    id: str


Blame = Literal["question", "endpoint", "either"]


class CallError(EyetestError):
    """One attempt failed."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        passing: bool = False,
        wait: float | None = None,
        blame: Blame = "question",
        hopeless: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind, self.passing, self.wait, self.blame, self.hopeless = kind, passing, wait, blame, hopeless


class Model(Protocol):
    """Who answers."""

    name: str
    entry: ModelEntry
    likelihoods: bool
    """Whether it can weigh given answers by their likelihood."""
    knows_items: bool
    """Whether it answers by the item rather than by what it is shown, so that equal prompts are not the same call."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything but the prompt that decides the answer; part of each request's identity."""

    async def open(self) -> None:
        """Get ready, inside the event loop."""

    async def answer(self, call: Call) -> Response:
        """Make one attempt; raise a CallError if it fails."""

    async def close(self) -> None:
        """Give everything back."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """One who has another way in: many calls at once, as networks in this process do."""

    batch: int
    """The most calls in one batch."""

    async def answer_many(self, calls: Sequence[Call]) -> Sequence[Response | CallError]:
        """Make one attempt at each call, and say in the same order what came of it; raise what befell all of them."""


@runtime_checkable
class ProbedModel(Model, Protocol):
    """One that finds out by asking how, and whether, it can weigh candidates."""

    refusals: Mapping[Method, str]
    """Methods that it cannot be asked by, and why; nothing as long as that is not known."""

    async def probe(self) -> None:
        """Find out, before a plan is made."""


class Surroundings(msgspec.Struct, frozen=True):
    """What a model may need from outside: pictures, and how patient to be."""

    pictures: Any = None
    """A `Pictures`, where the prompts show any."""
    connect_seconds: float = 10.0
    first_byte_seconds: float = 300.0
    total_seconds: float = 600.0


class Backend(msgspec.Struct, frozen=True):
    """A way to reach models: one module in this folder with such a ``BACKEND``."""

    name: str
    summary: str
    make: Callable[[str, ModelEntry, Surroundings], Model]
    """The model of a name that an entry's spec names; the spec starts with this backend's name."""
    hosted: bool = False
    """Whether it is a large network in this process, so that a cluster holds few copies of it, on its GPUs."""


def target_of(spec: str) -> str:
    """What comes after the backend's name."""
    return spec.partition(":")[2]


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
