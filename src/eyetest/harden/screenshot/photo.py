"""A page photographed at an angle: the same factors and seed give the same pixels."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from eyetest.harden.screenshot.page import Box, Composed

Points = NDArray[np.float64]
Floats = NDArray[np.float32]
Chance = np.random.Generator
_ANGLES = {"front": (0.0, 3.0), "turned": (7.0, 12.0), "steep": (15.0, 21.0)}  # least and most tilt, in degrees
_DISTANCE = 3.2  # from the camera to the middle of the page, in half diagonals of the page
_SPARE = 3  # pixels around what is seen of the scene, for rounding and for looking at neighbours


@dataclass(frozen=True)
class Camera:
    """Homography from pixels of the page to pixels of the image, and the size of the image."""

    plane: Points
    size: tuple[int, int]

    def seen(self, points: Points) -> Points:
        """Map points of the page to the image."""
        return _projected(points, self.plane)

    def source(self, points: Points) -> Points:
        """Map points of the image to pixels of the page, also outside it."""
        return _projected(points, np.linalg.inv(self.plane).astype(np.float64))

    def scene(self) -> tuple[int, int, int, int]:
        """Area of the image around the page: left, top, right, bottom in pixels of the page."""
        reached = self.source(_outline(*self.size))
        left, top = np.floor(reached.min(axis=0)).astype(int) - _SPARE
        right, bottom = np.ceil(reached.max(axis=0)).astype(int) + _SPARE
        return int(left), int(top), int(right), int(bottom)

    def take(self, scene: Image.Image, corner: tuple[int, int]) -> Image.Image:
        """Take the image of a scene whose corner lies at these pixels of the page."""
        back = _moved(-corner[0], -corner[1]) @ np.linalg.inv(self.plane)
        terms = (back / back[2, 2]).ravel()[:8].tolist()
        return scene.transform(self.size, Image.Transform.PERSPECTIVE, terms, Image.Resampling.BILINEAR)

    def follow(self, boxes: Iterable[Box]) -> tuple[Box, ...]:
        """Upright boxes around the images of boxes of the page."""
        followed = []
        for box in boxes:
            points = self.seen(_outline(box.right - box.left, box.bottom - box.top) + np.array(box[2:4]))
            (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
            followed.append(box._replace(left=left, top=top, right=right, bottom=bottom))
        return tuple(followed)


@dataclass(frozen=True)
class Taken(Composed):
    """Image of a page with the mapping back to the page, where boxes are upright and apart."""

    flat: tuple[Box, ...]
    camera: Camera


def aim(page: tuple[int, int], factors: Mapping[str, str], chance: Chance) -> Camera:
    """A camera whose image contains the whole page, turned about its middle and seen from a distance."""
    least, most = _ANGLES[factors["look_angle"]]
    tilt, towards = chance.uniform(least, most), chance.uniform(0, 2 * np.pi)
    roll = chance.uniform(-0.12, 0.12) * most + chance.uniform(-0.4, 0.4)
    yaw, pitch, roll = np.radians((tilt * np.cos(towards), tilt * np.sin(towards), roll))
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]])
    about_z = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
    turned = about_z @ about_x @ about_y
    flat = np.column_stack((turned[:, :2], np.zeros(3)))
    plane = flat * [[1], [1], [1 / _DISTANCE]] + np.diag((0.0, 0.0, 1.0))
    half = float(np.hypot(*page)) / 2
    plane = plane @ np.diag((1 / half, 1 / half, 1.0)) @ _moved(-page[0] / 2, -page[1] / 2)
    outline = _projected(_outline(*page), plane)
    x, y = outline.T
    area = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    scale = np.sqrt(page[0] * page[1] / area)
    margin = max(2.0, chance.uniform(0.03, 0.07) * max(page))  # around the page
    shift = margin - scale * outline.min(axis=0)
    width, height = np.ceil(scale * outline.max(axis=0) + shift + margin).astype(int)
    return Camera(_moved(*shift) @ np.diag((scale, scale, 1.0)) @ plane, (int(width), int(height)))


def _moved(right: float, down: float) -> Points:
    return np.array([[1.0, 0.0, right], [0.0, 1.0, down], [0.0, 0.0, 1.0]])


def _projected(points: Points, plane: Points) -> Points:
    carried = np.column_stack((points, np.ones(len(points)))) @ plane.T
    return np.asarray(carried[:, :2] / carried[:, 2:])


def _outline(width: float, height: float) -> Points:
    return np.array([(0, 0), (width, 0), (width, height), (0, height)], float)


_TINTS = {"neutral": (1.0, 1.0, 1.0), "warm": (1.03, 0.98, 0.86), "cold": (0.9, 0.98, 1.04)}
_NOISES = {"low": 2.0, "high": 7.0}
_SOFT = ImageFilter.Kernel((3, 3), (1, 2, 1, 2, 4, 2, 1, 2, 1))
_QUALITIES = {"fine": 90, "coarse": 45}
_DESKS = ((142, 106, 72), (92, 62, 42), (168, 165, 158), (74, 78, 86), (188, 170, 140))
_SMALL = 96  # pixels of the larger side of what is smooth, before it is enlarged


def photographed(composed: Composed, factors: Mapping[str, str], chance: Chance) -> Taken:
    """Photograph of the whole page, with its transformed boxes."""
    camera = aim(composed.image.size, factors, chance)
    left, top, right, bottom = camera.scene()
    surface = _screen if factors["look_scene"] == "screen" else _desk
    scene = surface((right - left, bottom - top), (-left, -top), composed.image, chance)
    image = camera.take(scene, (left, top))
    if factors["look_focus"] == "soft":
        image = image.filter(_SOFT)
    exposed = _exposed(image, factors, chance)
    return Taken(exposed, camera.follow(composed.boxes), composed.boxes, camera)


def encoded(image: Image.Image, factors: Mapping[str, str]) -> bytes:
    """Encode the image as the camera's file, without metadata."""
    file = io.BytesIO()
    quality = _QUALITIES[factors["look_jpeg"]]
    image.save(file, "JPEG", quality=quality, subsampling="4:2:0" if quality < 75 else "4:4:4")
    return file.getvalue()


def spread(values: NDArray[np.floating], size: tuple[int, int]) -> Floats:
    """A few values, spread evenly over an image."""
    small = Image.fromarray(np.asarray(values, np.float32))
    return np.asarray(small.resize(size, Image.Resampling.BILINEAR), np.float32)


def per_channel(
    image: Image.Image, gains: Sequence[Floats | np.float32], added: Sequence[Floats | np.float32]
) -> Image.Image:
    """Multiply and shift each colour by its own amounts, several times faster than in one array."""
    bands = []
    for band, gain, more in zip(image.split(), gains, added, strict=True):
        values = np.asarray(band, np.float32) * gain
        values += more
        bands.append(Image.fromarray(np.clip(values, 0, 255, out=values).astype(np.uint8)))
    return Image.merge("RGB", bands)


def _desk(size: tuple[int, int], corner: tuple[int, int], page: Image.Image, chance: Chance) -> Image.Image:
    """A sheet on a desk, of plain colour or with a grain, with a soft shadow below and to its right."""
    colour = np.array(_DESKS[chance.integers(len(_DESKS))], float)
    rows, columns = (60, 3) if chance.random() < 0.5 else (12, 12)
    grain = chance.normal(0, 7, (rows, columns)) + chance.normal(0, 4, (rows, 1))
    small = np.clip(colour + grain[..., None], 0, 255).astype(np.uint8)
    desk = Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)
    far = max(2.0, 0.012 * max(page.size))
    x, y = np.arange(size[0]) - corner[0] - far * 0.6, np.arange(size[1]) - corner[1] - far * 0.6
    across = np.clip(1 + np.minimum(x, page.width - x) / far, 0, 1).astype(np.float32)
    down = np.clip(1 + np.minimum(y, page.height - y) / far, 0, 1).astype(np.float32)
    shade = Image.fromarray((255 * (1 - 0.55 * np.outer(down, across))).astype(np.uint8))
    shaded = Image.composite(desk, Image.new("RGB", size), shade)
    shaded.paste(page, corner)
    return shaded


def _screen(size: tuple[int, int], corner: tuple[int, int], page: Image.Image, chance: Chance) -> Image.Image:
    """A display: its frame, its rows of pixels, and their moiré with the camera's."""
    around = np.clip(np.array(_DESKS[chance.integers(len(_DESKS))]) * 0.5 + chance.normal(0, 9, (6, 8, 3)), 0, 255)
    surroundings = Image.fromarray(around.astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
    frame = max(6, round(0.025 * max(page.size)))
    left, top = corner
    box = (left - frame, top - frame, left + page.width + frame - 1, top + page.height + frame - 1)
    ImageDraw.Draw(surroundings).rectangle(box, fill=(24, 24, 27))
    surroundings.paste(per_channel(page, _bands(page.size, chance), [np.float32(6)] * 3), corner)
    return surroundings


def _bands(size: tuple[int, int], chance: Chance) -> list[Floats]:
    """Moiré: soft bands, slightly shifted by colour, and faint rows."""
    down, across = np.mgrid[0:1:160j, 0:1:160j]
    turn, cycles = chance.uniform(0, np.pi), chance.uniform(5, 14)
    along = across * np.cos(turn) + down * np.sin(turn)
    bent = (across - chance.uniform(0, 1)) ** 2 + (down - chance.uniform(0, 1)) ** 2
    phase = 2 * np.pi * (cycles * along + chance.uniform(2, 5) * bent)
    strength = chance.uniform(0.025, 0.045)
    rows = np.ones((size[1], 1), np.float32)
    rows[:: int(chance.integers(3, 5))] = 0.965
    return [spread(1 - strength * (1 + np.sin(phase + shift)), size) * rows for shift in (0.0, 0.9, 1.8)]


def _exposed(image: Image.Image, factors: Mapping[str, str], chance: Chance) -> Image.Image:
    gain, glare = _light(image.size, factors["look_light"], chance)
    tint = np.array(_TINTS[factors["look_tint"]]) * chance.uniform(0.985, 1.015, 3)
    noise = chance.standard_normal((image.height, image.width), np.float32)
    noise *= _NOISES[factors["look_noise"]]
    small = (image.height // 4 + 1, image.width // 4 + 1)
    blotch = spread(chance.normal(0, _NOISES[factors["look_noise"]], small), image.size)
    lit = spread(gain * (1 - glare), image.size)
    veil = spread(255 * glare, image.size) if glare.any() else np.float32(0)
    added = ((veil + noise) + blotch, veil + noise, (veil + noise) - blotch)
    return per_channel(image, [lit * np.float32(part) for part in tint], added)


def _light(size: tuple[int, int], level: str, chance: Chance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Illumination of each place, and the share that a reflection hides; both small."""
    aspect = np.array(size) / max(size)
    rows, columns = np.maximum(4, np.round(aspect[::-1] * _SMALL)).astype(int)
    down, across = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j] * aspect[::-1][:, None, None]
    gain = 0.97 - 0.08 * (across**2 + down**2)
    turn = chance.uniform(0, 2 * np.pi)
    slope = {"even": 0.04, "uneven": 0.26, "glare": 0.1}[level]
    gain = gain * (1 - slope * (1 + across * np.cos(turn) + down * np.sin(turn)) / 2)
    if level != "glare":
        return gain, np.zeros_like(gain)
    middle_x, middle_y = chance.uniform(-0.7, 0.7, 2) * aspect
    stretch, lean = chance.uniform(1.2, 3.0), chance.uniform(0, np.pi)
    x, y = across - middle_x, down - middle_y
    along, beside = x * np.cos(lean) + y * np.sin(lean), y * np.cos(lean) - x * np.sin(lean)
    spot = np.exp(-((along / stretch) ** 2 + beside**2) / (2 * chance.uniform(0.12, 0.25) ** 2))
    return gain, chance.uniform(0.35, 0.55) * spot
