"""A page printed and scanned: ink on a paper's grain, specks of toner, a sheet laid askew, the shadow of a fold."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyetest.harden.screenshot.composed import Composed
from eyetest.harden.screenshot.photo import Chance, Floats, per_channel, spread
from eyetest.harden.screenshot.photo_camera import Pose, Taken, aim

PRINT_FACTORS: Mapping[str, tuple[str, ...]] = {
    "look_paper": ("white", "grey", "yellow"),
    "look_ink": ("solid", "faint", "halftone"),
    "look_specks": ("few", "many"),
    "look_skew": ("straight", "skewed"),
    "look_shadow": ("none", "fold"),
    "look_jpeg": ("fine", "coarse"),
}
PLAINEST_PRINT: Mapping[str, str] = {name: levels[0] for name, levels in PRINT_FACTORS.items()}
"""The levels that are easiest to read."""
_PAPERS = {"white": (250, 250, 248), "grey": (226, 225, 220), "yellow": (246, 236, 208)}
_INK = {"solid": 0.93, "faint": 0.62, "halftone": 0.9}
_SPECKS = {"few": 2e-5, "many": 3e-4}
"""By pixels."""
_DOTS = 6
"""Pixels from one dot of a halftone to the next along a row."""


def printed(composed: Composed, factors: Mapping[str, str], chance: Chance) -> Taken:
    """The page as a scan of a print of it, whole, with its boxes where they have gone."""
    askew = chance.choice((-1, 1)) * chance.uniform(0.8, 2.2) if factors["look_skew"] == "skewed" else 0.0
    camera = aim(composed.picture.size, Pose(roll=askew, margin=0.012))
    left, top, right, bottom = camera.scene()
    lid = Image.new("RGB", (right - left, bottom - top), (255, 255, 255))
    lid.paste(composed.picture, (-left, -top))
    picture = camera.take(lid, (left, top))
    inked = _inked(picture, factors["look_ink"], chance)
    scanned = _on_paper(inked, factors, chance)
    return Taken(scanned, camera.follow(composed.boxes), composed.boxes, camera)


def _inked(picture: Image.Image, level: str, chance: Chance) -> Image.Image:
    """What is left of the page on white: between black and white as dots where the printer has no greys."""
    if level != "halftone":
        return picture
    steps = np.arange(_DOTS)
    waves = np.cos(2 * np.pi * (steps[:, None] + steps) / _DOTS) + np.cos(
        2 * np.pi * (steps[:, None] - steps) / _DOTS
    )
    screen = (128 + 42 * waves).astype(np.float32)
    shift = int(chance.integers(_DOTS))
    times = (picture.height // _DOTS + 1, picture.width // _DOTS + 1)
    dots = [
        np.tile(np.roll(screen, shift + 2 * channel, axis=1), times)[: picture.height, : picture.width]
        for channel in range(3)
    ]
    return per_channel(picture, [np.float32(2.2)] * 3, [np.float32(128) - np.float32(2.2) * one for one in dots])


def _on_paper(picture: Image.Image, factors: Mapping[str, str], chance: Chance) -> Image.Image:
    """Paper where nothing is printed, and between that and ink what is."""
    width, height = picture.size
    grain = spread(chance.normal(0, 3.0, (height // 2 + 1, width // 2 + 1)), picture.size)
    grain = grain + _specks((height, width), _SPECKS[factors["look_specks"]], chance)
    light = _shadow(picture.size, factors["look_shadow"], chance)
    density = np.float32(_INK[factors["look_ink"]])
    gains, added = [], []
    for tone in _PAPERS[factors["look_paper"]]:
        share = np.float32(tone / 255) * light
        gains.append(density * share)
        added.append((1 - density) * np.float32(255) * share + grain)
    return per_channel(picture, gains, added)


def _specks(shape: tuple[int, int], rate: float, chance: Chance) -> Floats:
    """Toner where there should be none, and dust where there should be toner."""
    specks = np.zeros(shape, np.float32)
    count = int(chance.poisson(rate * shape[0] * shape[1]))
    rows, columns = chance.integers(0, shape[0], count), chance.integers(0, shape[1], count)
    depth = chance.uniform(60, 190, count).astype(np.float32) * np.where(chance.random(count) < 0.7, -1, 1)
    for down, across, share in ((0, 0, 1.0), (0, 1, 0.6), (1, 0, 0.6), (1, 1, 0.3)):
        specks[np.minimum(rows + down, shape[0] - 1), np.minimum(columns + across, shape[1] - 1)] = depth * share
    return specks


def _shadow(size: tuple[int, int], level: str, chance: Chance) -> NDArray[np.float32]:
    """The lamp's light along the page, darker towards a fold at one side."""
    across = np.linspace(0, 1, size[0], dtype=np.float32)[None, :]
    light: Floats = 1 - 0.02 * across
    if level == "fold":
        away = across if chance.random() < 0.5 else 1 - across
        light = light - np.float32(chance.uniform(0.3, 0.45)) * np.exp(-away / np.float32(chance.uniform(0.04, 0.08)))
    return light
