"""A page photographed: on a desk or on a screen, at an angle, in some light, by a camera that is not perfect.

Each factor has few levels, so that their effects can be told apart by a factorial design; within a level the rest is
drawn by lot. Everything is numpy and Pillow, and the same factors and lots give the same pixels.
"""

import io
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from eyetest.harden.screenshot.composed import Composed
from eyetest.harden.screenshot.photo_camera import Pose, Taken, aim

Floats = NDArray[np.float32]
Chance = np.random.Generator
PHOTO_FACTORS: Mapping[str, tuple[str, ...]] = {
    "look_scene": ("desk", "screen"),
    "look_angle": ("front", "turned", "steep"),
    "look_light": ("even", "uneven", "glare"),
    "look_tint": ("neutral", "warm", "cold"),
    "look_noise": ("low", "high"),
    "look_focus": ("sharp", "soft"),
    "look_jpeg": ("fine", "coarse"),
}
PLAINEST_PHOTO: Mapping[str, str] = {name: levels[0] for name, levels in PHOTO_FACTORS.items()}
"""The levels that are easiest to read."""
_ANGLES = {"front": (0.0, 3.0), "turned": (7.0, 12.0), "steep": (15.0, 21.0)}
_TINTS = {"neutral": (1.0, 1.0, 1.0), "warm": (1.03, 0.98, 0.86), "cold": (0.9, 0.98, 1.04)}
_NOISES = {"low": 2.0, "high": 7.0}
_SOFT = ImageFilter.Kernel((3, 3), (1, 2, 1, 2, 4, 2, 1, 2, 1))
_QUALITIES = {"fine": 90, "coarse": 45}
_DESKS = ((142, 106, 72), (92, 62, 42), (168, 165, 158), (74, 78, 86), (188, 170, 140))
_SMALL = 96
"""Pixels of the larger side of what is smooth, before it is enlarged."""


def photographed(composed: Composed, factors: Mapping[str, str], chance: Chance) -> Taken:
    """The page as a photograph of it, whole, with its boxes where they have gone."""
    camera = aim(composed.picture.size, _pose(factors, chance))
    left, top, right, bottom = camera.scene()
    surface = _screen if factors["look_scene"] == "screen" else _desk
    scene = surface((right - left, bottom - top), (-left, -top), composed.picture, chance)
    picture = camera.take(scene, (left, top))
    if factors["look_focus"] == "soft":
        picture = picture.filter(_SOFT)
    exposed = _exposed(picture, factors, chance)
    return Taken(exposed, camera.follow(composed.boxes), composed.boxes, camera)


def encoded(picture: Image.Image, factors: Mapping[str, str]) -> bytes:
    """The picture as the camera's file, without any metadata."""
    file = io.BytesIO()
    quality = _QUALITIES[factors["look_jpeg"]]
    picture.save(file, "JPEG", quality=quality, subsampling="4:2:0" if quality < 75 else "4:4:4")
    return file.getvalue()


def _pose(factors: Mapping[str, str], chance: Chance) -> Pose:
    least, most = _ANGLES[factors["look_angle"]]
    tilt, towards = chance.uniform(least, most), chance.uniform(0, 2 * np.pi)
    return Pose(
        yaw=tilt * np.cos(towards),
        pitch=tilt * np.sin(towards),
        roll=chance.uniform(-0.12, 0.12) * most + chance.uniform(-0.4, 0.4),
        bulge=chance.uniform(-0.018, 0.012),
        margin=chance.uniform(0.03, 0.07),
    )


def spread(values: NDArray[np.floating], size: tuple[int, int]) -> Floats:
    """A few values, spread evenly over a picture."""
    small = Image.fromarray(np.asarray(values, np.float32))
    return np.asarray(small.resize(size, Image.Resampling.BILINEAR), np.float32)


def per_channel(
    picture: Image.Image, gains: Sequence[Floats | np.float32], added: Sequence[Floats | np.float32]
) -> Image.Image:
    """Each colour multiplied and shifted by its own amounts, which is several times faster than all in one array."""
    bands = []
    for band, gain, more in zip(picture.split(), gains, added, strict=True):
        values = np.asarray(band, np.float32) * gain
        values += more
        bands.append(Image.fromarray(np.clip(values, 0, 255, out=values).astype(np.uint8)))
    return Image.merge("RGB", bands)


def _desk(size: tuple[int, int], corner: tuple[int, int], page: Image.Image, chance: Chance) -> Image.Image:
    """A sheet on a desk, of plain colour or with a grain, and the sheet's shadow."""
    colour = np.array(_DESKS[chance.integers(len(_DESKS))], float)
    rows, columns = (60, 3) if chance.random() < 0.5 else (12, 12)
    grain = chance.normal(0, 7, (rows, columns)) + chance.normal(0, 4, (rows, 1))
    small = np.clip(colour + grain[..., None], 0, 255).astype(np.uint8)
    desk = Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)
    return _laid(desk, corner, page)


def _screen(size: tuple[int, int], corner: tuple[int, int], page: Image.Image, chance: Chance) -> Image.Image:
    """A display in a room: its frame, its rows of pixels, and the bands in which they beat with the camera's."""
    around = np.clip(np.array(_DESKS[chance.integers(len(_DESKS))]) * 0.5 + chance.normal(0, 9, (6, 8, 3)), 0, 255)
    room = Image.fromarray(around.astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
    frame = max(6, round(0.025 * max(page.size)))
    left, top = corner
    box = (left - frame, top - frame, left + page.width + frame - 1, top + page.height + frame - 1)
    ImageDraw.Draw(room).rectangle(box, fill=(24, 24, 27))
    room.paste(per_channel(page, _bands(page.size, chance), [np.float32(6)] * 3), corner)
    return room


def _bands(size: tuple[int, int], chance: Chance) -> list[Floats]:
    """Moiré: soft bands, each colour a little beside the others, and faint rows."""
    down, across = np.mgrid[0:1:160j, 0:1:160j]
    turn, cycles = chance.uniform(0, np.pi), chance.uniform(5, 14)
    along = across * np.cos(turn) + down * np.sin(turn)
    bent = (across - chance.uniform(0, 1)) ** 2 + (down - chance.uniform(0, 1)) ** 2
    phase = 2 * np.pi * (cycles * along + chance.uniform(2, 5) * bent)
    strength = chance.uniform(0.025, 0.045)
    rows = np.ones((size[1], 1), np.float32)
    rows[:: int(chance.integers(3, 5))] = 0.965
    return [spread(1 - strength * (1 + np.sin(phase + shift)), size) * rows for shift in (0.0, 0.9, 1.8)]


def _laid(surface: Image.Image, corner: tuple[int, int], page: Image.Image) -> Image.Image:
    """A sheet on a surface, with a soft shadow below and to its right."""
    width, height = surface.size
    far = max(2.0, 0.012 * max(page.size))
    x, y = np.arange(width) - corner[0] - far * 0.6, np.arange(height) - corner[1] - far * 0.6
    across = np.clip(1 + np.minimum(x, page.width - x) / far, 0, 1).astype(np.float32)
    down = np.clip(1 + np.minimum(y, page.height - y) / far, 0, 1).astype(np.float32)
    shade = Image.fromarray((255 * (1 - 0.55 * np.outer(down, across))).astype(np.uint8))
    dark = Image.composite(surface, Image.new("RGB", surface.size), shade)
    dark.paste(page, corner)
    return dark


def _exposed(picture: Image.Image, factors: Mapping[str, str], chance: Chance) -> Image.Image:
    """Light, colour and noise, as the sensor has them."""
    gain, glare = _light(picture.size, factors["look_light"], chance)
    tint = np.array(_TINTS[factors["look_tint"]]) * chance.uniform(0.985, 1.015, 3)
    noise = chance.standard_normal((picture.height, picture.width), np.float32)
    noise *= _NOISES[factors["look_noise"]]
    small = (picture.height // 4 + 1, picture.width // 4 + 1)
    blotch = spread(chance.normal(0, _NOISES[factors["look_noise"]], small), picture.size)
    lit = spread(gain * (1 - glare), picture.size)
    veil = spread(255 * glare, picture.size) if glare.any() else np.float32(0)
    added = ((veil + noise) + blotch, veil + noise, (veil + noise) - blotch)
    return per_channel(picture, [lit * np.float32(one) for one in tint], added)


def _light(size: tuple[int, int], level: str, chance: Chance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How bright each place is lit, and how far a reflection hides it; both small."""
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
