"""Matterport3D's ``.house`` files. Relations are computed from boxes in space and cameras, and used only where clear;
only annotated objects, not walls, are considered as hiding others.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.benchmarks.rows.reading import decode_base64
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, reads, texts

_VAGUE = frozenset(
    "wall floor ceiling beam column misc objects unlabeled void furniture appliances".split()  # noqa: SIM905
)  # categories that are no single thing that one could point at
_AXES = (
    ("to the left of", "to the right of"),
    ("higher than", "lower than"),
    ("closer to the camera than", "farther from the camera than"),
)
_NEAREST = 0.3
_LARGE = 0.01  # the least share of the image that a thing covers
_INSIDE = 0.8  # the least share of a thing that is in the image
_HIDDEN = 0.5  # A thing is taken as hidden where a nearer one covers so much of it
_FALSE_FROM = (0.05, 0.1, 0.1)  # distance of middles for a relation to be false: share of image width, metres, metres
_SHORTEST_BASE64 = 1_000


class MatterportSettings(FileSettings, frozen=True):
    """Which pairs of things are taken."""

    pairs: Annotated[int, msgspec.Meta(ge=1)] = 3


@reads(
    "matterport",
    "Matterport3D's house_segmentations/*.house, or MP3D-Spatial's JSON with answer_options",
    MatterportSettings,
)
def _read_matterport(files: AnnotationFiles, settings: MatterportSettings) -> Annotations:
    """One record per pair of things in an image, with a true statement and false ones about their places."""
    houses = [path for path in files.ending(".house") if path.is_file()]
    if houses:
        return Annotations(
            lambda: (pair for path in houses for pair in _pairs(path.stem, *_house(files, path), settings.pairs))
        )
    expected = "Matterport3D's .house files, lines of H, R, O, I …"
    entries = files.entries(("answer_options", "answer", "image"), expected)
    return Annotations(lambda: (_ready(name, entry) for name, entry in entries.numbered()))


class _Thing(NamedTuple):
    """An annotated object: its number, region, name, and the corners of its box in space."""

    number: int
    room: int
    name: str
    corners: NDArray[np.float64]


class _View(NamedTuple):
    """An image: its file, its region, and the camera."""

    file: str
    room: int
    extrinsics: NDArray[np.float64]  # building's to camera coordinates: x right, y up, z backwards
    intrinsics: NDArray[np.float64]
    size: tuple[int, int]


class _SeenThing(NamedTuple):
    """A thing in an image: its extent along each axis, smaller being left, higher, closer."""

    thing: _Thing
    box: tuple[float, float, float, float]  # left, top, right and bottom, as shares of the image
    spans: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


def _house(files: AnnotationFiles, path: Path) -> tuple[list[_Thing], list[_View]]:
    categories: dict[int, str] = {}
    rooms: dict[int, int] = {}
    things, views = [], []
    for number, line in enumerate(files.lines(path), 1):
        kind, *fields = line.split()
        try:
            if kind == "C":
                categories[int(fields[0])] = fields[4].replace("#", " ").replace("_", " ")
            elif kind == "P" and not fields[0].isdigit():
                rooms[int(fields[1])] = int(fields[2])
            elif kind == "O":
                numbers = np.array(fields[3:15], float).reshape(4, 3)
                name = categories.get(int(fields[2]), "")
                things.append(_Thing(int(fields[0]), int(fields[1]), name, _corners(*numbers)))
            elif kind == "I":
                views.append(_view(fields, rooms))
        except (ValueError, IndexError, KeyError):
            raise InputError(f"{path} line {number}: not as Matterport3D writes a line of {kind}") from None
    return things, views


def _view(fields: list[str], rooms: dict[int, int]) -> _View:
    name, camera, yaw = fields[2:5]
    extrinsics = np.array(fields[5:21], float).reshape(4, 4)
    intrinsics = np.array(fields[21:30], float).reshape(3, 3)
    size = int(fields[30]), int(fields[31])
    return _View(f"{name}_i{camera}_{yaw}.jpg", rooms[int(fields[1])], extrinsics, intrinsics, size)


def _corners(
    middle: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    axes = np.stack([first, second, np.cross(first, second)]) * radii[:, None]
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return np.asarray(middle + signs @ axes)


def _pairs(house: str, things: list[_Thing], views: list[_View], most: int) -> Iterator[Annotation]:
    for view in views:
        room = [thing for thing in things if thing.room == view.room and thing.name]
        seen = [shown for thing in room if (shown := _seen(thing, view)) is not None]
        times = Counter(thing.name for thing in room)
        clear = [one for one in seen if times[one.thing.name] == 1 and one.thing.name not in _VAGUE]
        clear = [one for one in clear if not any(_hides(other, one) for other in seen)]
        pairs = [pair for pair in combinations(clear, 2) if any(_apart(*pair))]
        for number in sorted({round(step) for step in np.linspace(0, len(pairs) - 1, most)}) if pairs else ():
            yield _annotation(house, view, pairs[number], number)


def _seen(thing: _Thing, view: _View) -> _SeenThing | None:
    """A thing in the camera's view; None where it is not, or hardly, visible."""
    x, y, z = (np.c_[thing.corners, np.ones(8)] @ view.extrinsics.T)[:, :3].T
    if (-z).min() < _NEAREST:
        return None
    width, height = view.size
    across = (view.intrinsics[0, 0] * x / -z + view.intrinsics[0, 2]) / width
    down = 1 - (view.intrinsics[1, 1] * y / -z + view.intrinsics[1, 2]) / height
    whole = np.ptp(across) * np.ptp(down)
    left, top, right, bottom = np.clip((across.min(), down.min(), across.max(), down.max()), 0, 1)
    if (right - left) * (bottom - top) < max(_LARGE, _INSIDE * whole):
        return None
    level = -thing.corners[:, 2]
    spans = ((left, right), (level.min(), level.max()), ((-z).min(), (-z).max()))
    return _SeenThing(thing, (left, top, right, bottom), spans)


def _hides(front: _SeenThing, back: _SeenThing) -> bool:
    """Whether a thing that is wholly closer covers much of another."""
    width = min(front.box[2], back.box[2]) - max(front.box[0], back.box[0])
    height = min(front.box[3], back.box[3]) - max(front.box[1], back.box[1])
    area = (back.box[2] - back.box[0]) * (back.box[3] - back.box[1])
    return front.spans[2][1] < back.spans[2][0] and max(width, 0) * max(height, 0) >= _HIDDEN * area


def _apart(one: _SeenThing, other: _SeenThing) -> list[bool]:
    """Axes on which two things do not overlap."""
    return [ours[1] < theirs[0] or theirs[1] < ours[0] for ours, theirs in zip(one.spans, other.spans, strict=True)]


def _annotation(house: str, view: _View, pair: tuple[_SeenThing, _SeenThing], number: int) -> Annotation:
    """A true statement on an axis on which two things are apart, and a false one on each axis that is clear."""
    one, other = pair
    axes = [axis for axis, is_apart in enumerate(_apart(one, other)) if is_apart]
    asked = axes[number % len(axes)]
    between = [sum(ours) / 2 - sum(theirs) / 2 for ours, theirs in zip(one.spans, other.spans, strict=True)]
    true = [words[0 if gap < 0 else 1] for words, gap in zip(_AXES, between, strict=True)]
    wrong = [
        words[1 if gap < 0 else 0]
        for axis, (words, gap) in enumerate(zip(_AXES, between, strict=True))
        if axis == asked or abs(gap) >= _FALSE_FROM[axis]
    ]
    said = [f"The {one.thing.name} is {relation} the {other.thing.name}." for relation in (true[asked], *wrong)]
    return Annotation(
        id=f"{Path(view.file).stem}:{one.thing.number}-{other.thing.number}",
        images=(view.file,),
        size=view.size,
        label="true",
        captions=(said[0],),
        relation=true[asked],
        options=tuple(said),
        gold=0,
        tags={"house": house, "relation": true[asked]},
    )


def _ready(name: str, entry: dict[str, Any]) -> Annotation:
    """A published question of MP3D-Spatial, with its options."""
    options = texts(entry["answer_options"])
    gold = int(entry["answer"])
    image = str(entry["image"])
    return Annotation(
        id=str(entry.get("question_id", name)),
        images=(decode_base64(image.encode()) if len(image) >= _SHORTEST_BASE64 else image,),
        question=next(iter(texts(entry.get("questions") or entry.get("question"))), ""),
        label="true",
        captions=(options[gold],),
        options=options,
        gold=gold,
    )


READER = _read_matterport
