"""One item after another becomes a picture's file, in a process of its own.

Everything that is drawn by lot is drawn from the seed and the item's id, so it matters neither which process draws
an item nor after which other.
"""

import atexit
import hashlib
import io
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from PIL import Image

from eyetest.benchmarks.images import ImageStore
from eyetest.errors import ImageError
from eyetest.harden.screenshot.chromium import Chromium
from eyetest.harden.screenshot.composed import Box, Composed
from eyetest.harden.screenshot.composing import SetPage, SetsPages, compose
from eyetest.harden.screenshot.factors import LOOK, PLAINEST, Look
from eyetest.harden.screenshot.fonts import FAMILIES
from eyetest.harden.screenshot.legibility import PartLegibility, lowest, read_back
from eyetest.harden.screenshot.painting import as_png
from eyetest.harden.screenshot.photo import PLAINEST_PHOTO, encoded, photographed
from eyetest.harden.screenshot.photo_print import PLAINEST_PRINT, printed
from eyetest.harden.screenshot.typesetting import CannotShow, Typesetter
from eyetest.ocr import choose_engine
from eyetest.records import ImageRef, Item
from eyetest.records.item import Seed

RendererName = Literal["typst", "chromium"]
_PLAINER: Mapping[str, Mapping[str, str]] = {
    "phone": {"look_width": "wide", "look_size": "medium", "look_resolution": "2"},
    "photo": {"look_resolution": "2", **PLAINEST_PHOTO},
    "print": {"look_resolution": "2", **PLAINEST_PRINT},
}
"""What is plainest in a look, beyond the page itself."""
MAX_ITEM_PIXELS = 150_000_000
"""Of all pictures of one item together, as they are decoded."""


class ScreenshotSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How screenshots are taken."""

    look: Look | Literal["all"] = "screen"
    """``all``: each look for a share of the items."""
    seed: Seed = 0
    renderer: RendererName = "typst"
    read_back: str = ""
    """The OCR engine that has to read every page, or ``best`` for the best one there; empty: none reads."""
    enough: float = 0.8
    """How like its text the worst part of a page must be read (1 − edit distance / length)."""


class PartBox(msgspec.Struct, frozen=True, kw_only=True):
    """Where one part of an item lies on its picture, in pixels; a row of ``layout.parquet``."""

    item: str
    part: str
    number: int
    left: float
    top: float
    right: float
    bottom: float


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """One item's picture, or why there is none."""

    file: bytes = b""
    factors: dict[str, str] = {}
    layout: list[PartBox] = []
    legibility: list[PartLegibility] = []
    unread_formulas: int = 0
    plainer: str = ""
    """Why the page was set plainer than its levels said."""
    reason: str = ""
    """Why nobody could read it, or why it could not be shown at all, when ``file`` is empty."""


class Studio:
    """What a process needs to draw items: a renderer, the benchmark's pictures, and maybe somebody who reads."""

    def __init__(self, images: Path, settings: ScreenshotSettings) -> None:
        self._settings = settings
        self._store = ImageStore(images)
        self._renderer = _renderer(settings.renderer)
        name = "" if settings.read_back == "best" else settings.read_back
        self._engine = choose_engine(name) if settings.read_back else None

    def draw(self, item: Item, factors: Mapping[str, str]) -> Drawn:
        """The picture of an item, plainer than asked for where that is the only way to show or to read it."""
        first = self._attempt(item, factors)
        if not first.reason:
            return first
        again = self._attempt(item, plainer(factors))
        if again.reason:
            return again if again.file or not first.file else first
        return msgspec.structs.replace(again, plainer=first.reason)

    def _attempt(self, item: Item, factors: Mapping[str, str]) -> Drawn:
        digest = hashlib.sha256(f"{self._settings.seed}\0{item.id}".encode()).digest()
        try:
            if sum(image.width * image.height for image in item.images) > MAX_ITEM_PIXELS:
                raise CannotShow("its pictures are too large together")  # noqa: TRY301
            page = compose(item, factors, random.Random(digest), self._renderer, self._opened)
        except CannotShow as error:
            return Drawn(reason=error.reason)
        except ImageError as error:
            return Drawn(reason=str(error))
        composed, file = _taken(page.composed, factors, np.random.default_rng(list(digest)))
        legibility = self._read(item, composed, page)
        worst = lowest(legibility)
        illegible = worst is not None and worst < self._settings.enough
        return Drawn(
            file=file,
            factors=dict(factors),
            layout=[_row(item.id, box) for box in composed.boxes],
            legibility=legibility,
            unread_formulas=page.passages.unread,
            reason=f"read back with {worst:.2f} likeness only" if illegible else "",
        )

    def _read(self, item: Item, composed: Composed, page: SetPage) -> list[PartLegibility]:
        if self._engine is None:
            return []
        return read_back(item.id, composed, page.passages.parts, self._engine, self._settings.enough)

    def _opened(self, image: ImageRef) -> Image.Image:
        return self._store.open(image)


def _row(item: str, box: Box) -> PartBox:
    left, top, right, bottom = (round(float(side), 2) for side in box[2:])
    return PartBox(item=item, part=box.part, number=box.number, left=left, top=top, right=right, bottom=bottom)


def plainer(factors: Mapping[str, str]) -> dict[str, str]:
    """The levels that are easiest to read, in the same look."""
    return {**PLAINEST, LOOK: factors[LOOK], **_PLAINER.get(factors[LOOK], {})}


def _taken(page: Composed, factors: Mapping[str, str], chance: np.random.Generator) -> tuple[Composed, bytes]:
    """The page as its look shows it, as whoever opens its file will see it, and that file."""
    if factors[LOOK] not in ("photo", "print"):
        return page, as_png(page.picture)
    effect = photographed if factors[LOOK] == "photo" else printed
    taken = effect(page, factors, chance)
    file = encoded(taken.picture, factors)
    with Image.open(io.BytesIO(file)) as seen:
        return replace(taken, picture=seen.convert("RGB")), file


def fonts_of(renderer: RendererName) -> list[str]:
    """The typefaces that a renderer has: those inside typst are typst's alone."""
    return [family.name for family in FAMILIES if renderer == "typst" or family.package != "typst"]


def _renderer(name: RendererName) -> SetsPages:
    renderer: type[Typesetter] | type[Chromium] = Chromium if name == "chromium" else Typesetter
    made = renderer()
    atexit.register(made.close)
    return made
