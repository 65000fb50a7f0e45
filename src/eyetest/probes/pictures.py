"""What is known of each picture after one quick look, and how two pictures are laid over each other.

Looking costs one decoding at low resolution, done once a picture and shared by all probes. It runs on threads:
Pillow decodes and shrinks outside the interpreter lock, so two of them keep two cores busy, an interrupt ends them,
and no process has to be started.
"""

import hashlib
import io
import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageOps
from scipy import ndimage

from eyetest.benchmarks.images import MAX_PIXELS, ImageStore
from eyetest.errors import ImageError
from eyetest.probes.lookalikes import Floats, blurred, halved
from eyetest.probes.sketches import Sketch, sketched
from eyetest.probes.subject import Subject
from eyetest.records import IMAGE_FORMATS, ImageRef

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

_THUMBNAIL_SIDE = 64
LOOK_SIDE = 128
_CHUNK = 32
_FORMATS = [name.upper() for name in IMAGE_FORMATS]
UNREADABLE = (ImageError, OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, IndexError, KeyError,
               TypeError, OverflowError, Pillow.DecompressionBombError)  # fmt: skip
"""What Pillow's readers are known to raise on damaged data."""


class AlignmentStep(NamedTuple):
    """One step of an alignment: at which size, how blurred, and for how many rounds at most."""

    side: int
    blur: float
    rounds: int


CLOSE_SIDE = 384
"""Pixels a side for the last comparison: enough for the words of a chart to be legible shapes."""
_COARSE: tuple[AlignmentStep, ...] = (AlignmentStep(32, 1.5, 8), AlignmentStep(64, 1.2, 5))
_FINE: tuple[AlignmentStep, ...] = (AlignmentStep(128, 1.0, 5), AlignmentStep(256, 1.0, 3))
_MOST_CROPPED = 0.14
"""Five per cent off each side of one picture and five off the other's, with some room."""
_CROPS = np.linspace(-0.12, 0.12, 13)
_BANDS = 4
_WINDOW = 12
_NOISE = 60.0
"""Squared levels of one colour below which differences are taken for noise of JPEG."""
_HOPELESS = 0.3
"""Pictures whose windows agree less than this, coarsely, are not looked at more closely."""
_WORST_SHARE = 0.0003
"""Share of the windows that may be worse than the likeness says; a single one would make it hang on one pixel."""


class PictureFacts(NamedTuple):
    """One look at one picture. A picture that cannot be decoded has a ``problem`` and nothing else."""

    problem: str = ""
    one_colour: bool = False
    tiny: bool = False
    spread: int = 0
    """The widest range of values in any colour channel."""
    pixels: bytes = b""
    """A hash of what is seen: equal for files that differ only in their wrapping."""
    thumbnail: npt.NDArray[np.uint8] | None = None
    """Grey, 32 × 32: enough to find pictures that look alike, and little enough to keep for a million of them."""
    sketch: Sketch | None = None
    """Colours and edges from afar."""

    @property
    def comparable(self) -> bool:
        """Whether there is anything in it that could be recognised in another picture."""
        return not (self.problem or self.one_colour or self.tiny)


_known: WeakKeyDictionary[Subject, dict[str, PictureFacts]] = WeakKeyDictionary()


def picture_facts(subject: Subject) -> dict[str, PictureFacts]:
    """The facts of every distinct picture by its hash, computed at the first call for a subject."""
    if subject not in _known:
        images = list(distinct_pictures(subject).values())
        limits = subject.thresholds.images

        def look(image: ImageRef) -> PictureFacts:
            facts = look_at(subject.benchmark.images, image)
            return facts._replace(
                one_colour=not facts.problem and facts.spread <= limits.one_colour_spread,
                tiny=min(image.width, image.height) < limits.tiny_side,
            )

        facts = in_parallel(look, images, lambda share: subject.progress("looking at pictures", share))
        _known[subject] = {image.sha256: fact for image, fact in zip(images, facts, strict=True)}
    return _known[subject]


def distinct_pictures(subject: Subject) -> dict[str, ImageRef]:
    """Every picture once, by its hash."""
    return {image.sha256: image for item in subject.items for image in item.images}


def look_at(store: ImageStore, image: ImageRef) -> PictureFacts:
    """Decode a picture as coarsely as its format allows; whatever is wrong with it becomes its ``problem``."""
    try:
        picture = open_small(store.read(image), LOOK_SIDE)
        shades = grey_thumbnail(picture)
    except UNREADABLE as error:
        return PictureFacts(problem=" ".join(str(error).split()) or type(error).__name__)
    digest = hashlib.blake2b(picture.tobytes(), digest_size=16, person=b"%dx%d" % (image.width, image.height))
    extremes: Any = picture.getextrema()
    return PictureFacts(
        spread=max(high - low for low, high in extremes),
        pixels=digest.digest(),
        thumbnail=halved(shades[None])[0].astype(np.uint8),
        sketch=sketched(picture, shades),
    )


def grey_thumbnail(picture: Pillow.Image) -> npt.NDArray[np.uint8]:
    """64 × 64 shades of grey."""
    shade = picture.convert("L").resize((_THUMBNAIL_SIDE, _THUMBNAIL_SIDE), Pillow.Resampling.BOX)
    return np.array(shade, dtype=np.uint8)


def open_small(data: bytes, side: int) -> Pillow.Image:
    """A picture in red, green and blue on white, no smaller than ``side`` where it was not, upright.

    A JPEG is decoded straight to a half, a quarter or an eighth of its size, which saves most of the time.
    """
    with Pillow.open(io.BytesIO(data), formats=_FORMATS) as picture:
        if picture.width * picture.height > MAX_PIXELS:
            raise ImageError(f"a picture of {picture.width:,} × {picture.height:,} pixels")
        picture.draft("RGB", (side, side))
        picture.load()
        return _flattened(ImageOps.exif_transpose(picture))


def _flattened(picture: Pillow.Image) -> Pillow.Image:
    if picture.mode.startswith(("I", "F")):
        values = np.nan_to_num(np.asarray(picture, dtype=np.float64))
        low = min(0.0, float(values.min()))
        high = 65_535.0 if picture.mode.startswith("I;16") else max(255.0, float(values.max()))
        return Pillow.fromarray(((values - low) * (255 / (high - low))).astype(np.uint8)).convert("RGB")
    if picture.has_transparency_data:
        layered = picture.convert("RGBA")
        page = Pillow.new("RGB", picture.size, "white")
        page.paste(layered, mask=layered.getchannel("A"))
        return page
    return picture.convert("RGB")


def in_parallel(
    work: Callable[[_Given], _Made], given: Sequence[_Given], progress: Callable[[float], None] = lambda share: None
) -> list[_Made]:
    """What ``work`` makes of everything given, in order, with a bounded number of pieces under way."""
    made: list[_Made] = []
    workers = max(2, os.cpu_count() or 2)
    pool = ThreadPoolExecutor(workers, "pictures")
    waiting: deque[Future[list[_Made]]] = deque()

    def take() -> None:
        made.extend(waiting.popleft().result())
        progress(len(made) / len(given))

    try:
        for chunk in _chunks(given):
            waiting.append(pool.submit(lambda part: [work(one) for one in part], chunk))
            if len(waiting) > 2 * workers:
                take()
        while waiting:
            take()
    finally:
        pool.shutdown(cancel_futures=True)
    return made


def _chunks(given: Sequence[_Given]) -> Iterator[Sequence[_Given]]:
    size = max(1, min(_CHUNK, len(given) // 8))
    return (given[start : start + size] for start in range(0, len(given), size))


class Placement(NamedTuple):
    """Where a point of the second picture lies in the first; both run from -1 to 1 each way."""

    stretch_x: float = 1.0
    shift_x: float = 0.0
    stretch_y: float = 1.0
    shift_y: float = 0.0


START = Placement()


def lay_over(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> Placement | None:
    """Where one thumbnail lies on another, if a slight crop can explain the two at all.

    Rows of equal bars can lock one bar off, so a search over whole crops gives a second place to start from.
    """
    first, second = Pillow.fromarray(one), Pillow.fromarray(other)
    for steps in (_COARSE, _COARSE[1:]):
        start = START if steps is _COARSE else _search(one, other)
        placement = _align(first, second, start, steps)
        boxes = _overlap(placement, first.size, second.size)
        if boxes is not None:
            agreement = _agreement(_drawn(first, first.size, boxes[0]), _drawn(second, first.size, boxes[1]))
            if float(np.quantile(agreement, 0.01)) >= _HOPELESS:
                return placement
    return None


def _search(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> Placement:
    """The best of all crops in steps of a percent, each way on its own, by profiles of a few broad bands."""
    soft = [blurred(field.astype(np.float32), 1.0) for field in (one, other)]
    return Placement(*_search_across(soft[0], soft[1]), *_search_across(soft[0].T, soft[1].T))


def _search_across(one: Floats, other: Floats) -> tuple[float, float]:
    side = len(one)
    grid = (np.arange(side) + 0.5) * (2 / side) - 1
    bands = [field.reshape(_BANDS, -1, side).mean(axis=1) for field in (one, other)]
    low, high = (ends.ravel() for ends in np.meshgrid(-1 + _CROPS, 1 + _CROPS))
    stretch, shift = (high - low) / 2, (high + low) / 2
    at = np.clip((stretch[:, None] * grid + shift[:, None] + 1) * (side / 2) - 0.5, 0, side - 1.001)
    left = at.astype(np.intp)
    share = at - left
    placed = bands[0][:, left] * (1 - share) + bands[0][:, left + 1] * share
    placed = placed - placed.mean(axis=2, keepdims=True)
    wanted = bands[1] - bands[1].mean(axis=1, keepdims=True)
    shared = np.einsum("bcx,bx->c", placed, wanted)
    best = int(np.argmax(shared / np.sqrt((placed**2).sum(axis=(0, 2)) + 1)))
    return float(stretch[best]), float(shift[best])


def likeness(first: Pillow.Image, second: Pillow.Image, placement: Placement = START) -> float:
    """How well two pictures agree where they agree least, once laid over each other: 1 is the same, 0 is not at all.

    The overlay may stretch and shift the first picture as cropping and resizing would, and no further; it starts from
    ``placement``. Agreement is then measured in small windows all over the picture, in colour, and the worst windows
    decide: two charts from one template share axes, grid and background, so nearly all their windows agree, but the
    windows on a title, a label or the end of a bar do not, whereas a copy has no such place. Only differences that
    JPEG could have made pass.
    """
    greys = first.convert("L"), second.convert("L")
    agreement = np.zeros((1, 1), np.float32)
    for side, step in ((LOOK_SIDE, _FINE[0]), (CLOSE_SIDE, _FINE[1])):
        placement = _align(*greys, placement, (step,))
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
        one, other = (blurred(_shrunk(grey, side), blur) for grey in (first, second))
        slopes = np.gradient(one)
        for _ in range(rounds):
            step = _improve(one, (slopes[0], slopes[1]), other, placement)
            placement = Placement(*(np.array(placement) + step))
            if np.abs(step).max() < 0.05 / side:
                break
    return placement


def _improve(one: Floats, slopes: tuple[Floats, Floats], other: Floats, placement: Placement) -> Floats:
    """The step of Gauss and Newton that brings ``one``, as placed, closer to ``other``."""
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
    """The part of each picture that the other shows too; none where one is not a slight crop of the other."""
    moved = (placement.stretch_x - 1, placement.shift_x, placement.stretch_y - 1, placement.shift_y)
    if max(map(abs, moved)) > _MOST_CROPPED:
        return None
    ones, others = [], []
    for stretch, shift, size, other_size in zip(placement[::2], placement[1::2], first, second, strict=True):
        low, high = max(-1.0, (-1 - shift) / stretch), min(1.0, (1 - shift) / stretch)
        others.append([(end + 1) / 2 * other_size for end in (low, high)])
        ones.append([min(max(0.0, (end * stretch + shift + 1) / 2), 1.0) * size for end in (low, high)])
    return _box(ones), _box(others)


def _box(ends: list[list[float]]) -> Box:
    return ends[0][0], ends[1][0], ends[0][1], ends[1][1]


def _drawn(picture: Pillow.Image, size: tuple[int, ...], box: Box) -> Floats:
    """The part of a picture in the box, at a size, a layer a colour."""
    drawn = np.asarray(picture.resize((size[0], size[1]), Pillow.Resampling.BICUBIC, box=box), dtype=np.float32)
    drawn = drawn.reshape(*drawn.shape[:2], -1)
    return np.asarray(ndimage.gaussian_filter(drawn, (0.7, 0.7, 0), mode="nearest"), np.float32)


def _agreement(one: Floats, other: Floats) -> Floats:
    """For the window around each pixel, how much of what is in it the two pictures share, colour included."""
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


def _shrunk(grey: Pillow.Image, side: int) -> Floats:
    return np.asarray(grey.resize((side, side), Pillow.Resampling.BOX), dtype=np.float32)
