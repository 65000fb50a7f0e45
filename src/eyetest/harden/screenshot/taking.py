"""A benchmark becomes one of screenshots, drawn by several processes; seed and item id alone decide random draws."""

import atexit
import hashlib
import io
import multiprocessing
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import LAYOUT, LEGIBILITY
from eyetest.benchmarks.images import ImageStore
from eyetest.errors import EyetestError, ImageError, InputError
from eyetest.harden.screenshot.legibility import PartLegibility, lowest, read_back
from eyetest.harden.screenshot.page import CannotShow, Composed, Typesetter, as_png, compose
from eyetest.harden.screenshot.photo import encoded, photographed, printed
from eyetest.harden.screenshot.style import LOOK, PLAINEST, PLAINEST_PHOTO, PLAINEST_PRINT, Look, design
from eyetest.ocr import choose_engine
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Item, Lineage, Verdict
from eyetest.records.item import Seed
from eyetest.tabular.record_files import write_records

_PLAINER: Mapping[str, Mapping[str, str]] = {
    "phone": {"look_width": "wide", "look_size": "medium", "look_resolution": "2"},
    "photo": {"look_resolution": "2", **PLAINEST_PHOTO},
    "print": {"look_resolution": "2", **PLAINEST_PRINT},
}  # what is plainest in a look, beyond the page itself
MAX_ITEM_PIXELS = 150_000_000  # of all decoded images of an item together
_FEW = 12  # so few items are drawn sooner by one process than others are started
_MOST_PROCESSES = 8
_CHUNK = 4
Planned = tuple[Item, dict[str, str]]
Progress = Callable[[int, int], None]


class ScreenshotSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How screenshots are taken."""

    look: Look | Literal["all"] = "screen"  # ``all``: each look for a share of the items
    seed: Seed = 0
    read_back: str = ""
    """The OCR engine that has to read every page, or ``best`` for the best available; empty: none."""
    enough: float = 0.8  # least similarity (1 − edit distance / length) of a page's worst part


class PartBox(msgspec.Struct, frozen=True):
    """Box of a part on an item's image, in pixels; a row of ``layout.parquet``."""

    item: str
    part: str
    number: int
    left: float
    top: float
    right: float
    bottom: float


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """An item's image, or why there is none."""

    file: bytes = b""
    factors: dict[str, str] = {}
    layout: list[PartBox] = []
    legibility: list[PartLegibility] = []
    unread_formulas: int = 0
    plainer: str = ""  # why the page is plainer than its levels
    reason: str = ""
    """Why it is illegible, or, where ``file`` is empty, why it could not be shown."""


@dataclass(frozen=True)
class Screenshots:
    """Result of a benchmark."""

    benchmark: Benchmark
    verdicts: tuple[Verdict, ...]
    """One for each item to be reviewed, with the reason; items without an image are left out."""
    legibility: tuple[PartLegibility, ...]
    plainer: dict[str, int]  # items set plainer than their levels, by reason
    unread_formulas: int


class Studio:
    """Tools of a process that draws items: a typesetter, the benchmark's images, and maybe an OCR engine."""

    def __init__(self, images: Path, settings: ScreenshotSettings) -> None:
        self._settings = settings
        self._store = ImageStore(images)
        self._typesetter = Typesetter()
        atexit.register(self._typesetter.close)
        name = "" if settings.read_back == "best" else settings.read_back
        self._engine = choose_engine(name) if settings.read_back else None

    def draw(self, item: Item, factors: Mapping[str, str]) -> Drawn:
        """Draw an item, plainer than asked for where it could not be shown or read otherwise."""
        first = self._attempt(item, factors)
        if not first.reason:
            return first
        look = factors[LOOK]
        again = self._attempt(item, {**PLAINEST, LOOK: look, **_PLAINER.get(look, {})})
        if again.reason:
            return again if again.file or not first.file else first
        return msgspec.structs.replace(again, plainer=first.reason)

    def _attempt(self, item: Item, factors: Mapping[str, str]) -> Drawn:
        digest = hashlib.sha256(f"{self._settings.seed}\0{item.id}".encode()).digest()
        try:
            if sum(image.width * image.height for image in item.images) > MAX_ITEM_PIXELS:
                raise CannotShow("its images are too large together")  # noqa: TRY301
            page, passages = compose(item, factors, random.Random(digest), self._typesetter, self._store.open)
        except (CannotShow, ImageError) as error:
            return Drawn(reason=str(error))
        composed, file = _taken(page, factors, np.random.default_rng(list(digest)))
        engine, enough = self._engine, self._settings.enough
        legibility = read_back(item.id, composed, passages.parts, engine, enough) if engine else []
        worst = lowest(legibility)
        illegible = worst is not None and worst < enough
        return Drawn(
            file=file,
            factors=dict(factors),
            layout=[
                PartBox(item.id, box.part, box.number, *(round(float(side), 2) for side in box[2:]))
                for box in composed.boxes
            ],
            legibility=legibility,
            unread_formulas=passages.unread,
            reason=f"read back with {worst:.2f} likeness only" if illegible else "",
        )


def _taken(page: Composed, factors: Mapping[str, str], chance: np.random.Generator) -> tuple[Composed, bytes]:
    """The page in its look, decoded from its file, and that file."""
    if factors[LOOK] not in ("photo", "print"):
        return page, as_png(page.image)
    taken = (photographed if factors[LOOK] == "photo" else printed)(page, factors, chance)
    file = encoded(taken.image, factors)
    with Image.open(io.BytesIO(file)) as seen:
        return replace(taken, image=seen.convert("RGB")), file


def take_screenshots(
    benchmark: Benchmark,
    to: Path,
    settings: ScreenshotSettings,
    *,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress = lambda done, total: None,
) -> Screenshots:
    """Write the benchmark whose items show their whole question in one image; ids, golds and texts stay."""
    if benchmark.path.resolve() == to.resolve():
        raise InputError(f"{to} is the benchmark itself; screenshots need a folder of their own")
    old, total, seed = benchmark.manifest, len(benchmark), settings.seed
    step = Lineage(step=SCREENSHOT_STEP, source=f"{old.name} {old.version}", note=settings.look, seed=seed)
    verdicts: list[Verdict] = []
    layout: list[PartBox] = []
    legibility: list[PartLegibility] = []
    plainer: Counter[str] = Counter()
    unread = 0
    manifest = msgspec.structs.replace(old, lineage=(*old.lineage, step))
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for done, (item, drawn) in enumerate(_drawn(benchmark, settings, workers), 1):
            layout += drawn.layout
            legibility += drawn.legibility
            unread += drawn.unread_formulas
            plainer.update(filter(None, [drawn.plainer]))
            if drawn.reason:
                stage = SCREENSHOT_STEP
                verdicts.append(Verdict(item=item.id, stage=stage, verdict="review", reason=drawn.reason, seed=seed))
            if drawn.file:
                image = writer.images.put(drawn.file)
                note = ", ".join(f"{name.removeprefix('look_')} {level}" for name, level in drawn.factors.items())
                made = Lineage(step=SCREENSHOT_STEP, source=old.name, item=item.id, note=note, seed=seed)
                tags, lineage = item.tags | drawn.factors, (*item.lineage, made)
                writer.add(msgspec.structs.replace(item, images=(image,), tags=tags, lineage=lineage))
            progress(done, total)
        write_records(layout, PartBox, writer.folder / LAYOUT, overwrite=False)
        if legibility:
            write_records(legibility, PartLegibility, writer.folder / LEGIBILITY, overwrite=False)
    return Screenshots(Benchmark(to), tuple(verdicts), tuple(legibility), dict(plainer), unread)


def _drawn(benchmark: Benchmark, settings: ScreenshotSettings, workers: int | None) -> Iterator[tuple[Item, Drawn]]:
    rows = design([item.id for item in benchmark], settings.look, settings.seed)
    planned = zip(benchmark, rows, strict=True)
    processes = min(workers or min(os.cpu_count() or 1, _MOST_PROCESSES), -(-len(rows) // _CHUNK))
    if processes == 1 or (workers is None and len(rows) <= _FEW):
        studio = Studio(benchmark.images.root, settings)
        for item, factors in planned:
            yield item, studio.draw(item, factors)
        return
    yield from _drawn_by_several(planned, processes, benchmark.images.root, settings)


def _drawn_by_several(
    planned: Iterator[Planned], processes: int, images: Path, settings: ScreenshotSettings
) -> Iterator[tuple[Item, Drawn]]:
    """The same by several processes, in the same order, with a few chunks queued for each."""
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _open_studio, (images, settings))
    waiting: deque[tuple[tuple[Planned, ...], Future[list[Drawn]]]] = deque()

    def finished() -> Iterator[tuple[Item, Drawn]]:
        chunk, future = waiting.popleft()
        return zip((item for item, _ in chunk), future.result(), strict=True)

    try:
        for chunk in iter(lambda: tuple(islice(planned, _CHUNK)), ()):
            waiting.append((chunk, pool.submit(_draw_chunk, chunk)))
            if len(waiting) > 2 * processes:
                yield from finished()
        while waiting:
            yield from finished()
    except BrokenProcessPool:
        raise EyetestError("a process that renders pages was killed, perhaps for lack of memory") from None
    finally:
        pool.shutdown(cancel_futures=True)


_studio: Studio


def _open_studio(images: Path, settings: ScreenshotSettings) -> None:
    global _studio  # noqa: PLW0603 (each process has one)
    _studio = Studio(images, settings)


def _draw_chunk(chunk: Sequence[Planned]) -> list[Drawn]:
    return [_studio.draw(item, factors) for item, factors in chunk]
