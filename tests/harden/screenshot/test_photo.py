"""Photographs of a page: whole, seeded, and with boxes that go where the pixels go."""

import io
from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from eyetest.harden.screenshot.page import Box, Composed
from eyetest.harden.screenshot.photo import encoded, photographed
from eyetest.harden.screenshot.style import FACTORS, PLAINEST

Table = Mapping[str, tuple[str, ...]]
TABLE: Table = {name: levels for name, levels in FACTORS["photo"].items() if name not in FACTORS["screen"]}


def page(width: int = 200, height: int = 150) -> Composed:
    """A white page with a red square in a box and boxes up to its very edges."""
    image = Image.new("RGB", (width, height), "white")
    square = (width * 6 // 10, height * 3 // 10, width * 8 // 10, height * 5 // 10)
    ImageDraw.Draw(image).rectangle((*square[:2], square[2] - 1, square[3] - 1), fill=(220, 0, 0))
    return Composed(image, (Box("image", 1, *square), Box("question", 1, 0, 0, width, height)))


def red(image: Image.Image) -> tuple[float, float, float, float]:
    """Where an image is red."""
    r, g, b = (np.asarray(band, float) for band in image.split())
    rows, columns = np.nonzero((r > g + 70) & (r > b + 70))
    return columns.min(), rows.min(), columns.max() + 1.0, rows.max() + 1.0


@given(
    width=st.integers(40, 260),
    height=st.integers(40, 260),
    levels=st.lists(st.integers(0, 2), min_size=7, max_size=7),
    seed=st.integers(0, 2**32),
)
def test_nothing_is_cut_off(width: int, height: int, levels: list[int], seed: int) -> None:
    factors = {
        name: values[level % len(values)] for (name, values), level in zip(TABLE.items(), levels, strict=False)
    }
    taken = photographed(page(width, height), factors, np.random.default_rng(seed))
    for box in taken.boxes:
        assert [type(value) for value in box[2:]] == [float] * 4
        assert 0 <= box.left < box.right <= taken.image.width
        assert 0 <= box.top < box.bottom <= taken.image.height
    assert [(box.part, box.number) for box in taken.boxes] == [("image", 1), ("question", 1)]


@pytest.mark.parametrize("angle", TABLE["look_angle"])
@pytest.mark.parametrize("seed", range(3))
def test_boxes_go_where_the_pixels_go(angle: str, seed: int) -> None:
    taken = photographed(page(), {**PLAINEST["photo"], "look_angle": angle}, np.random.default_rng(seed))
    box = taken.boxes[0]
    assert red(taken.image) == pytest.approx((box.left, box.top, box.right, box.bottom), abs=2.0)


@pytest.mark.parametrize("factor", TABLE)
def test_every_level_changes_the_file(factor: str) -> None:
    plain = {name: levels[0] for name, levels in TABLE.items()}
    files = set()
    for level in TABLE[factor]:
        factors = {**plain, factor: level}
        files.add(encoded(photographed(page(), factors, np.random.default_rng(1)).image, factors))
    assert len(files) == len(TABLE[factor])


def test_the_file_holds_no_metadata_and_is_the_smaller_the_coarser() -> None:
    sizes = {}
    for quality, noise in product(TABLE["look_jpeg"], TABLE["look_noise"]):
        factors = {**PLAINEST["photo"], "look_jpeg": quality, "look_noise": noise}
        data = encoded(photographed(page(), factors, np.random.default_rng(1)).image, factors)
        sizes[quality, noise] = len(data)
        with Image.open(io.BytesIO(data)) as image:
            assert not image.getexif()
            assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert sizes["coarse", "low"] < sizes["fine", "low"]
    assert sizes["fine", "low"] < sizes["fine", "high"]
