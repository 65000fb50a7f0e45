"""The interface of models: an attempt at a call returns a response or raises a CallError."""

import io
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
import pybase64
from PIL import Image as Pillow

from eyetest.benchmarks.images import MAX_PIXELS, ImageStore
from eyetest.errors import EyetestError, ImageError
from eyetest.records import Asked, GrayImage, ImagePart, Item, ModelEntry, Prompt, Request, Response, Words
from eyetest.records.tables import Method


class Call(msgspec.Struct, frozen=True):
    """A request and what it is about."""

    asked: Asked
    item: Item
    request: Request
    id: str


Blame = Literal["question", "endpoint", "either"]


class CallError(EyetestError):
    """A failed attempt and its kind as a countable word (timeout, rate-limit, server, auth …).

    ``passing``: it may succeed if repeated; ``wait``: the pause that the server asked for, in seconds (inf: gone for
    good); ``hopeless``: nothing can succeed until the user acts (a wrong key).
    """

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
    """A model that answers calls."""

    name: str
    entry: ModelEntry
    likelihoods: bool  # whether it can score given answers by likelihood
    knows_items: bool  # whether it answers by item, not by prompt, so that equal prompts are different calls

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything but the prompt that determines the answer; part of a request's identity."""

    async def open(self) -> None:
        """Prepare, inside the event loop."""

    async def answer(self, call: Call) -> Response:
        """Make one attempt; raise a CallError if it fails."""

    async def close(self) -> None:
        """Release all resources."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that also takes many calls at once, as networks in this process do."""

    batch: int

    async def answer_many(self, calls: Sequence[Call]) -> Sequence[Response | CallError]:
        """Make one attempt at each call and return the results in order; raise what affects all of them."""


@runtime_checkable
class ProbedModel(Model, Protocol):
    """A model that finds out by requests whether and how it can score candidates."""

    refusals: Mapping[Method, str]  # methods it does not support, and why; empty until known

    async def probe(self) -> None:
        """Find out what is supported, before a plan is made."""


class Surroundings(msgspec.Struct, frozen=True):
    """What a model may need from outside: images, and how long to wait."""

    images: Any = None
    connect_seconds: float = 10.0
    first_byte_seconds: float = 300.0
    total_seconds: float = 600.0


class Backend(msgspec.Struct, frozen=True):
    """A way to reach models: one module in this folder with a ``BACKEND``."""

    name: str
    summary: str
    make: Callable[[str, ModelEntry, Surroundings], Model]
    """The model of a name and an entry, whose spec starts with this backend's name."""
    hosted: bool = False  # whether it is a large network in this process, which no cluster loads


def target_of(spec: str) -> str:
    """The part of a spec after the backend's name."""
    return spec.partition(":")[2]


def weighed_response(
    call: Call, candidates: Iterable[float | None], counts: Iterable[int], tokens_in: int | None, tokens_out: int = 0
) -> Response:
    """The response to a call with candidates: each one's log-probability and number of tokens."""
    return Response(
        request=call.id,
        outcome="answered",
        finish="stop",
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        candidates=tuple(candidates),
        candidate_tokens=tuple(counts),
    )


def images_of(prompt: Prompt) -> list[ImagePart | GrayImage]:
    """The images that a prompt shows, in order."""
    return [part for message in prompt.messages for part in message.parts if not isinstance(part, Words)]


_MOST_BYTES_KEPT = 16 * 2**20
_GREY = 128


class Images:
    """Reads images byte for byte as stored, never re-encoded."""

    def __init__(self, store: ImageStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def data_url(self, part: ImagePart | GrayImage) -> bytes:
        """``"data:image/png;base64,…"``, a JSON string."""
        if isinstance(part, GrayImage):
            return grey_url(part.width, part.height)
        sha256 = part.image.sha256
        url = self._kept.get(sha256)
        if url is None:
            data = pybase64.b64encode(self._store.read(part.image))
            url = b'"data:image/%s;base64,%s"' % (part.image.format.encode(), data)
            self._kept[sha256] = url
            self._size += len(url)
            while self._size > _MOST_BYTES_KEPT and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        return url

    def open(self, part: ImagePart | GrayImage) -> Pillow.Image:
        """A decoded RGB image."""
        if isinstance(part, GrayImage):
            return _grey("RGB", part.width, part.height)
        return self._store.open(part.image).convert("RGB")


@lru_cache(maxsize=64)
def grey_url(width: int, height: int) -> bytes:
    """A plain grey PNG of a size, likewise."""
    file = io.BytesIO()
    _grey("L", width, height).save(file, "PNG", optimize=True)
    return b'"data:image/png;base64,%s"' % pybase64.b64encode(file.getvalue())


def _grey(mode: str, width: int, height: int) -> Pillow.Image:
    """Grey of a size that a benchmark claims for an image, which need not be true."""
    if not 0 < width * height <= MAX_PIXELS:
        raise ImageError(f"an image of {width:,} × {height:,} pixels; at most {MAX_PIXELS:,} are made")
    return Pillow.new(mode, (width, height), (_GREY,) * len(mode))
