"""A finished page: its pixels, and where on it each part of the item lies."""

from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image


class Box(NamedTuple):
    """Where one part lies, in pixels of the picture; numbers count from 1 within a kind of part."""

    part: str
    number: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Composed:
    """One item's page, and the boxes that layout gave its parts (question, hint, turn, picture, option)."""

    picture: Image.Image
    boxes: tuple[Box, ...]
