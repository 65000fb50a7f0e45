"""How a camera or a scanner carries a flat page into a picture: turned, foreshortened, bulged by its lens.

A point of the page is turned in space, seen from a distance, moved by the lens along its radius, and laid on a canvas
that is made as large as the whole page needs: so no part of it can be cut off. Boxes go the same way as pixels.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyetest.harden.screenshot.composed import Box, Composed

Points = NDArray[np.float64]
_DISTANCE = 3.2
"""From the camera to the middle of the page, in half diagonals of the page."""
_CELLS = 12
"""Along the larger side of the picture; within one the way from the page is taken to be bilinear."""
_ON_AN_EDGE = 9
"""Points by which an edge, which the lens bends, is followed."""
_STEPS = 8
_SPARE = 3
"""Pixels around what is seen of the scene, for rounding and for looking at neighbours."""


class Pose(NamedTuple):
    """Where a camera stands: angles in degrees, the lens's bulge, and what is seen around the page."""

    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    bulge: float = 0.0
    """By what share of its radius a point as far out as a corner moves; below 0 inwards, as with a wide lens."""
    margin: float = 0.05
    """Around the page, as a share of its larger side."""
    zoom: float = 1.0
    """The picture's pixels to one of the page, by length, on average."""


@dataclass(frozen=True)
class Camera:
    """Both ways between page and picture, and the sizes of both."""

    page: tuple[int, int]
    plane: Points
    """Page, around its middle and in half diagonals, to what is seen of it, as a homography."""
    bulge: float
    scale: float
    shift: Points
    size: tuple[int, int]
    """The picture's."""

    def seen(self, points: Points) -> Points:
        """Where points of the page are in the picture."""
        return _seen(points, self.page, self.plane, self.bulge) * self.scale + self.shift

    def source(self, points: Points) -> Points:
        """Where points of the picture come from, in pixels of the page; outside it too."""
        moved = (points - self.shift) / self.scale
        radius = np.linalg.norm(moved, axis=1, keepdims=True)
        before = radius
        for _ in range(_STEPS):
            before = radius / (1 + self.bulge * before**2)
        flat = np.divide(moved * before, radius, out=np.zeros_like(moved), where=radius > 0)
        back = np.linalg.inv(self.plane).astype(np.float64)
        return _projected(flat, back) * _half_diagonal(self.page) + np.array(self.page) / 2

    def scene(self) -> tuple[int, int, int, int]:
        """How far the picture shows what lies around the page: left, top, right, bottom in pixels of the page."""
        reached = self.source(_outline(*self.size))
        left, top = np.floor(reached.min(axis=0)).astype(int) - _SPARE
        right, bottom = np.ceil(reached.max(axis=0)).astype(int) + _SPARE
        return int(left), int(top), int(right), int(bottom)

    def take(self, scene: Image.Image, corner: tuple[int, int]) -> Image.Image:
        """The picture of a scene whose corner lies at these pixels of the page."""
        width, height = self.size
        step = -(-max(width, height) // _CELLS)
        across = np.unique(np.append(np.arange(0, width, step), width))
        down = np.unique(np.append(np.arange(0, height, step), height))
        grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2).astype(float)
        nodes = (self.source(grid) - corner).reshape(len(down), len(across), 2)
        mesh = [
            (
                (int(across[x]), int(down[y]), int(across[x + 1]), int(down[y + 1])),
                (*nodes[y, x], *nodes[y + 1, x], *nodes[y + 1, x + 1], *nodes[y, x + 1]),
            )
            for y in range(len(down) - 1)
            for x in range(len(across) - 1)
        ]
        return scene.transform(self.size, Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)

    def follow(self, boxes: Iterable[Box]) -> tuple[Box, ...]:
        """Upright boxes around what becomes of boxes of the page."""
        followed = []
        for box in boxes:
            points = self.seen(_outline(box.right - box.left, box.bottom - box.top) + np.array(box[2:4]))
            (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
            followed.append(box._replace(left=left, top=top, right=right, bottom=bottom))
        return tuple(followed)


@dataclass(frozen=True)
class Taken(Composed):
    """The picture of a page, which knows the way back to it: there boxes are upright and lie apart."""

    flat: tuple[Box, ...]
    """The page's own boxes."""
    camera: Camera


def aim(page: tuple[int, int], pose: Pose) -> Camera:
    """A camera that has the whole page in its picture."""
    plane = _turned(pose)
    outline = _seen(_outline(*page), page, plane, pose.bulge)
    scale = pose.zoom * np.sqrt(page[0] * page[1] / _area(outline))
    margin = max(2.0, pose.margin * pose.zoom * max(page))
    outline = outline * scale
    shift = margin - outline.min(axis=0)
    width, height = np.ceil(outline.max(axis=0) + shift + margin).astype(int)
    return Camera(page, plane, pose.bulge, float(scale), shift, (int(width), int(height)))


def _turned(pose: Pose) -> Points:
    """The homography of a plane that is turned about its middle and seen from a distance."""
    yaw, pitch, roll = np.radians((pose.yaw, pose.pitch, pose.roll))
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]])
    about_z = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
    turned = about_z @ about_x @ about_y
    plane: Points = np.column_stack((turned[:, :2], np.zeros(3))) * [[1], [1], [1 / _DISTANCE]] + np.diag(
        (0.0, 0.0, 1.0)
    )
    return plane


def _seen(points: Points, page: tuple[int, int], plane: Points, bulge: float) -> Points:
    flat = _projected((points - np.array(page) / 2) / _half_diagonal(page), plane)
    bulged: Points = flat * (1 + bulge * (flat**2).sum(axis=1, keepdims=True))
    return bulged


def _projected(points: Points, plane: Points) -> Points:
    carried = np.column_stack((points, np.ones(len(points)))) @ plane.T
    projected: Points = carried[:, :2] / carried[:, 2:]
    return projected


def _half_diagonal(page: tuple[int, int]) -> float:
    return float(np.hypot(*page)) / 2


def _outline(width: float, height: float) -> Points:
    """Points around a rectangle, in order."""
    steps = np.linspace(0, 1, _ON_AN_EDGE)[:-1, None]
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height), (0, 0)], float)
    return np.concatenate([start + steps * (end - start) for start, end in pairwise(corners)])


def _area(outline: Points) -> float:
    x, y = outline.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
