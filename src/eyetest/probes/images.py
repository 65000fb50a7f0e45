"""Facts about each image from one coarse decode: whether it is readable, shows anything, and its pixel hash."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageOps

from eyetest.benchmarks.folder import distinct_images
from eyetest.benchmarks.images import UNREADABLE, ImageStore, decode
from eyetest.probes.subject import Subject
from eyetest.records import ImageRef

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

THUMBNAIL_SIDE = 64
LOOK_SIDE = 128
_BATCH = 32


class ImageFacts(NamedTuple):
    """Facts of one image. An image that cannot be decoded has a ``problem`` and nothing else."""

    problem: str = ""
    one_colour: bool = False
    tiny: bool = False
    spread: int = 0  # the widest range of values in any colour channel
    pixels: bytes = b""  # a hash of what is seen: equal for files that differ only in their wrapping
    thumbnail: npt.NDArray[np.uint8] | None = None  # grey, 32 × 32: small enough to keep for a million images

    @property
    def comparable(self) -> bool:
        """Whether it has any content that could be recognised in another image."""
        return not (self.problem or self.one_colour or self.tiny)


_known: WeakKeyDictionary[Subject, dict[str, ImageFacts]] = WeakKeyDictionary()


def image_facts(subject: Subject) -> dict[str, ImageFacts]:
    """The facts of every distinct image by its hash, computed at the first call for a subject."""
    if subject not in _known:
        images = list(distinct_images(subject.items).values())
        limits = subject.thresholds.images

        def look(image: ImageRef) -> ImageFacts:
            facts = look_at(subject.benchmark.images, image)
            return facts._replace(
                one_colour=not facts.problem and facts.spread <= limits.one_colour_spread,
                tiny=min(image.width, image.height) < limits.tiny_side,
            )

        facts = in_parallel(look, images, lambda share: subject.progress("looking at images", share))
        _known[subject] = {image.sha256: fact for image, fact in zip(images, facts, strict=True)}
    return _known[subject]


def look_at(store: ImageStore, image: ImageRef) -> ImageFacts:
    """Decode an image as coarsely as its format allows; any error becomes its ``problem``."""
    try:
        opened = open_small(store.read(image), LOOK_SIDE)
        shades = grey_thumbnail(opened)
    except UNREADABLE as error:
        return ImageFacts(problem=" ".join(str(error).split()) or type(error).__name__)
    digest = hashlib.blake2b(opened.tobytes(), digest_size=16, person=b"%dx%d" % (image.width, image.height))
    extremes: Any = opened.getextrema()
    return ImageFacts(
        spread=max(high - low for low, high in extremes),
        pixels=digest.digest(),
        thumbnail=shades.reshape(THUMBNAIL_SIDE // 2, 2, -1, 2).mean(axis=(1, 3)).astype(np.uint8),
    )


def grey_thumbnail(image: Pillow.Image) -> npt.NDArray[np.uint8]:
    """64 × 64 shades of grey."""
    shade = image.convert("L").resize((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Pillow.Resampling.BOX)
    return np.array(shade, dtype=np.uint8)


def open_small(data: bytes, side: int) -> Pillow.Image:
    """An image in RGB on white, upright, no smaller than ``side`` (JPEG is decoded at reduced size)."""
    return _flattened(ImageOps.exif_transpose(decode(data, side)))


def _flattened(image: Pillow.Image) -> Pillow.Image:
    if image.mode.startswith(("I", "F")):
        values = np.nan_to_num(np.asarray(image, dtype=np.float64))
        low = min(0.0, float(values.min()))
        high = 65_535.0 if image.mode.startswith("I;16") else max(255.0, float(values.max()))
        return Pillow.fromarray(((values - low) * (255 / (high - low))).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        layered = image.convert("RGBA")
        page = Pillow.new("RGB", image.size, "white")
        page.paste(layered, mask=layered.getchannel("A"))
        return page
    return image.convert("RGB")


def in_parallel(
    work: Callable[[_Given], _Made], given: Sequence[_Given], progress: Callable[[float], None] = lambda share: None
) -> list[_Made]:
    """Results of ``work`` for all inputs, in order; batch by batch, so that an interrupt ends it soon."""
    made: list[_Made] = []
    workers = max(2, os.cpu_count() or 2)
    size = _BATCH * workers
    pool = ThreadPoolExecutor(workers, "images")
    try:
        for start in range(0, len(given), size):
            made.extend(pool.map(work, given[start : start + size]))
            progress(len(made) / len(given))
    finally:
        pool.shutdown(cancel_futures=True)
    return made
