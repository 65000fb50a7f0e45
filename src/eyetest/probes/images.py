"""Facts of images from one coarse decode, and which show the same. 1. Neighbours by correlated thumbnails, blurred to
tolerate a crop's shift. 2. Overlay by stretch, shift and brightness. 3. `likeness` in small windows, in colour.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageOps
from scipy import ndimage

from eyetest.benchmarks.folder import distinct_images
from eyetest.benchmarks.images import UNREADABLE, ImageStore, decode
from eyetest.measures.stats.intervals import one_thread
from eyetest.probes.subject import Subject
from eyetest.records import ImageRef

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

THUMBNAIL_SIDE = 64
LOOK_SIDE = 128
_BATCH = 32
_ONE_COLOUR = 4  # an image whose shades in each colour all lie within this range shows nothing
_TINY = 16  # pixels; nothing can be recognised in a smaller image
_NEIGHBOURS = 24  # an image is compared with this many of those most like it
_MOST_UNEXPLAINED = 0.05  # share of a thumbnail that stretch and shift of another may leave unexplained
ALIKE = 0.4  # agreement of the worst spots of two aligned images (copies: .5 to 1, others: below .3)
MOST_PAIRS = 2_000  # pairs opened and compared closely, the likeliest first


class ImageFacts(NamedTuple):
    """Facts of one image. An image that cannot be decoded has a ``problem`` and nothing else."""

    problem: str = ""
    one_colour: bool = False
    tiny: bool = False  # too small to be compared
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
        images, look = list(distinct_images(subject.items).values()), partial(look_at, subject.benchmark.images)
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
        one_colour=max(high - low for low, high in extremes) <= _ONE_COLOUR,
        tiny=min(image.width, image.height) < _TINY,
        pixels=digest.digest(),
        thumbnail=shades.reshape(THUMBNAIL_SIDE // 2, 2, -1, 2).mean(axis=(1, 3)).astype(np.uint8),
    )


def grey_thumbnail(image: Pillow.Image) -> npt.NDArray[np.uint8]:
    """64 × 64 shades of grey."""
    shade = image.convert("L").resize((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Pillow.Resampling.BOX)
    return np.array(shade, dtype=np.uint8)


def open_small(data: bytes, side: int) -> Pillow.Image:
    """An image in RGB on white, upright, no smaller than ``side`` (JPEG is decoded at reduced size)."""
    return flattened(ImageOps.exif_transpose(decode(data, side)))


def flattened(image: Pillow.Image) -> Pillow.Image:
    """An image of any mode in RGB on white."""
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


Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]
Thumbnail = npt.NDArray[np.uint8]

_BLOCK = 256
_LEAST_ALIKE = 0.4  # correlation below which no crop was ever seen to explain the difference of two thumbnails


CLOSE_SIDE = 384  # pixels a side for the last comparison: enough for the words of a chart to be legible shapes
AlignmentStep = tuple[int, float, int]  # size, blur, and most rounds
_LOOKS: tuple[tuple[int, tuple[AlignmentStep, ...]], ...] = (
    (64, ((32, 1.5, 8), (64, 1.2, 5))),
    (LOOK_SIDE, ((128, 1.0, 5),)),
    (CLOSE_SIDE, ((256, 1.0, 3),)),
)  # by the size at which two images are compared: the steps of their alignment
_MOST_CROPPED = 0.14  # five per cent off each side of one image and five off the other's, with a margin
_WINDOW = 12
_NOISE = 60.0  # squared levels of one colour below which differences are taken for noise of JPEG
_HOPELESS = 0.3  # images whose windows agree less than this, coarsely, are not looked at more closely
_WORST_SHARE = 0.0003  # share of the windows that may be worse than the likeness says, so that no pixel decides


def promising_pairs(thumbnails: Sequence[Thumbnail], progress: Callable[[float], None]) -> npt.NDArray[np.intp]:
    """Pairs of images that may be copies, likeliest first."""
    if len(thumbnails) < 2:
        return np.empty((0, 2), np.intp)
    with one_thread():
        sketches = np.concatenate([_sketched(_stacked(thumbnails, at)) for at in _blocks(len(thumbnails))])
        pairs, rests = [], []
        for rows in _blocks(len(thumbnails)):
            alike = sketches[rows] @ sketches.T
            top = np.argpartition(alike, -min(_NEIGHBOURS + 1, len(sketches)), axis=1)[:, -_NEIGHBOURS - 1 :]
            near = np.where(np.take_along_axis(alike, top, axis=1) >= _LEAST_ALIKE, top, rows[:, None])
            left = _unexplained(thumbnails, rows, near)
            row, column = np.nonzero((left <= _MOST_UNEXPLAINED) & (near != rows[:, None]))
            pairs.append(np.sort(np.stack([rows[row], near[row, column]], axis=1), axis=1))
            rests.append(left[row, column])
            progress((int(rows[-1]) + 1) / len(thumbnails))
    both = np.concatenate(pairs)
    both = both[np.lexsort((both[:, 1], both[:, 0], np.concatenate(rests)))]
    return both[np.sort(np.unique(both, axis=0, return_index=True)[1])]


def _blocks(count: int) -> list[Ints]:
    return [np.arange(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK)]


def _stacked(thumbnails: Sequence[Thumbnail], rows: Ints) -> Floats:
    return np.stack([thumbnails[row] for row in rows]).astype(np.float32)


def _blurred(field: Floats, blur: float) -> Floats:
    """A field, or each of a stack of them, without fine detail."""
    radii = (0.0,) * (field.ndim - 2) + (blur, blur)
    return np.asarray(ndimage.gaussian_filter(field, radii, mode="nearest"), np.float32)


def _sketched(thumbnails: Floats) -> Floats:
    """Blurred thumbnails, halved, each a row of mean 0 and length 1."""
    count, side = thumbnails.shape[:2]
    rows = _blurred(thumbnails, 1.0).reshape(count, side // 2, 2, side // 2, 2).mean(axis=(2, 4)).reshape(count, -1)
    rows -= rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6), np.float32)


def _unexplained(thumbnails: Sequence[Thumbnail], rows: Ints, near: Ints) -> Floats:
    """Share of each neighbour's thumbnail that no stretch, shift or change of light of the block's own explains."""
    soft = _blurred(_stacked(thumbnails, rows), 1.5)
    down, across = np.gradient(soft, axis=(1, 2))
    grid = np.linspace(-1, 1, soft.shape[1], dtype=np.float32)
    ways = np.stack([np.ones_like(soft), soft, across, across * grid, down, down * grid[:, None]], axis=3)
    plane = np.linalg.qr(_inside(ways).reshape(len(soft), -1, 6))[0]
    used, inverse = np.unique(near, return_inverse=True)
    others = _inside(_blurred(_stacked(thumbnails, used), 1.5)).reshape(len(used), -1)
    seen = others - others.mean(axis=1, keepdims=True)
    energy = (seen * seen).sum(axis=1)
    inverse = inverse.reshape(near.shape)
    rest = [energy[row] - ((seen[row] @ ways) ** 2).sum(axis=1) for row, ways in zip(inverse, plane, strict=True)]
    return np.asarray(np.maximum(np.stack(rest), 0) / (energy[inverse] + 1), np.float32)


def _inside(fields: Floats) -> Floats:
    """Without the outermost pixels, which a crop fills arbitrarily."""
    return fields[:, 2:-2, 2:-2]


Placement = npt.NDArray[np.float64]
"""Where a point of the second image lies in the first, both from -1 to 1: stretch and shift across, then down."""


def overlaid_likeness(one: Callable[[], bytes], other: Callable[[], bytes]) -> float:
    """How well two image files agree where they differ most; 0 for a damaged one."""
    try:
        return likeness(open_small(one(), CLOSE_SIDE), open_small(other(), CLOSE_SIDE))
    except UNREADABLE:
        return 0.0


def likeness(first: Pillow.Image, second: Pillow.Image) -> float:
    """How well two images agree once aligned: 1 the same, 0 not at all. The worst small windows in colour decide:
    charts from one template differ in a title, label or bar, copies only by JPEG noise.
    """
    greys = first.convert("L"), second.convert("L")
    placement, agreement = np.array([1.0, 0.0, 1.0, 0.0]), np.zeros((1, 1), np.float32)
    for side, steps in _LOOKS:
        placement = _align(*greys, placement, steps)
        boxes = _overlap(placement, first.size, second.size)
        if boxes is None:
            return 0.0
        size = tuple(max(2, min(side, *(round(box[a + 2] - box[a]) for box in boxes))) for a in (0, 1))
        agreement = _agreement(_drawn(first, size, boxes[0]), _drawn(second, size, boxes[1]))
        if float(np.quantile(agreement, 0.01)) < _HOPELESS:
            return 0.0
    return float(np.clip(np.quantile(agreement, _WORST_SHARE), 0, 1))


def _align(
    first: Pillow.Image, second: Pillow.Image, placement: Placement, steps: Sequence[AlignmentStep]
) -> Placement:
    """Least squares over stretch and shift each way, and over brightness and contrast, from coarse to fine."""
    for side, blur, rounds in steps:
        if side > 64 and side > min(*first.size, *second.size):
            break
        shrunk = (grey.resize((side, side), Pillow.Resampling.BOX) for grey in (first, second))
        one, other = (_blurred(np.asarray(grey, dtype=np.float32), blur) for grey in shrunk)
        slopes = np.gradient(one)
        for _ in range(rounds):
            step = _improve(one, (slopes[0], slopes[1]), other, placement)
            placement = placement + step
            if np.abs(step).max() < 0.05 / side:
                break
    return placement


def _improve(one: Floats, slopes: tuple[Floats, Floats], other: Floats, placement: Placement) -> Floats:
    """The Gauss-Newton step that brings ``one``, as placed, closer to ``other``."""
    side = len(one)
    grid = (np.arange(side) + 0.5) * (2 / side) - 1
    across, down = ((grid * s + t + 1) * (side / 2) - 0.5 for s, t in (placement[:2], placement[2:]))
    x, y = (np.flatnonzero((at >= 0) & (at <= side - 1)) for at in (across, down))
    if min(len(x), len(y)) < 0.7 * side:
        return np.zeros(4, np.float32)
    seen, slope_y, slope_x = (_sampled(field, across[x], down[y]) for field in (one, *slopes))
    columns = (slope_x * (grid[x] * side / 2), slope_x * (side / 2), slope_y * (grid[y] * side / 2)[:, None],
               slope_y * (side / 2), seen, np.ones_like(seen))  # fmt: skip
    system = np.stack([column.ravel() for column in columns], axis=1)
    normal = system.T @ system
    normal[np.diag_indices(6)] *= 1.0001
    normal[np.diag_indices(6)] += 0.001
    wanted = (other[np.ix_(y, x)] - seen).ravel()
    return np.clip(np.linalg.solve(normal, system.T @ wanted)[:4], -0.05, 0.05).astype(np.float32)


def _sampled(field: Floats, across: Floats, down: Floats) -> Floats:
    left, top = (np.clip(at.astype(np.intp), 0, len(field) - 2) for at in (across, down))
    right_share, low_share = (across - left).astype(np.float32), (down - top).astype(np.float32)[:, None]
    rows = field[top] * (1 - low_share) + field[top + 1] * low_share
    return np.asarray(rows[:, left] * (1 - right_share) + rows[:, left + 1] * right_share, np.float32)


Box = tuple[float, float, float, float]


def _overlap(placement: Placement, first: tuple[int, int], second: tuple[int, int]) -> tuple[Box, Box] | None:
    """The part of each image that is in the other; none where neither is a slight crop of the other."""
    stretch, shift = placement.reshape(2, 2).T
    if max(np.abs(stretch - 1).max(), np.abs(shift).max()) > _MOST_CROPPED:
        return None
    ends = np.stack([np.maximum(-1, (-1 - shift) / stretch), np.minimum(1, (1 - shift) / stretch)])
    (left, top), (right, low) = (np.clip((ends * stretch + shift + 1) / 2, 0, 1) * first).tolist()
    (other_left, other_top), (other_right, other_low) = ((ends + 1) / 2 * second).tolist()
    return (left, top, right, low), (other_left, other_top, other_right, other_low)


def _drawn(image: Pillow.Image, size: tuple[int, ...], box: Box) -> Floats:
    """The part of an image in the box, at a size, one layer per colour."""
    drawn = np.asarray(image.resize((size[0], size[1]), Pillow.Resampling.BICUBIC, box=box), dtype=np.float32)
    drawn = drawn.reshape(*drawn.shape[:2], -1)
    return np.asarray(ndimage.gaussian_filter(drawn, (0.7, 0.7, 0), mode="nearest"), np.float32)


def _agreement(one: Floats, other: Floats) -> Floats:
    """For the window around each pixel, the share of contents that both images have, colour included."""
    window = min(_WINDOW, *one.shape[:2])
    noise = _NOISE * one.shape[2]

    def mean(field: Floats) -> Floats:
        return np.asarray(ndimage.uniform_filter(field, (window, window, *(1,) * (field.ndim - 2)), mode="nearest"))

    means = mean(one), mean(other)
    shared = mean((one * other).sum(axis=2)) - (means[0] * means[1]).sum(axis=2)
    both = mean((one * one + other * other).sum(axis=2)) - (means[0] * means[0] + means[1] * means[1]).sum(axis=2)
    apart = ((means[0] - means[1]) ** 2).sum(axis=2)
    agreement = np.asarray((2 * shared + noise) / (both + apart + noise), np.float32)
    edge = window // 2
    return agreement[edge:-edge, edge:-edge] if min(agreement.shape) > 3 * window else agreement
