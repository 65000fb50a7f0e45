"""A benchmark becomes one of screenshots, drawn by several processes; seed and item id decide random draws. A page
may be read back by OCR, part by part; misread parts are read again, cut out and enlarged.
"""

import hashlib
import io
import multiprocessing
import os
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np
import polars as pl
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import LAYOUT, LEGIBILITY
from eyetest.benchmarks.images import ImageStore
from eyetest.errors import EyetestError, ImageError, InputError, counted
from eyetest.harden.screenshot.page import Box, CannotShow, Composed, Typesetter, as_png, compose
from eyetest.harden.screenshot.photo import Taken, encoded, photographed
from eyetest.harden.screenshot.style import LOOK, PLAINEST, Look, design
from eyetest.ocr import Engine, ReadLine, choose_engine, scripts_of
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Item, Lineage, Verdict, letter
from eyetest.records.item import Seed
from eyetest.scoring.metrics.same_text import edit_similarity
from eyetest.tabular.record_files import write_records

PartKey = tuple[str, int]  # kind of part and its number: ("option", 3)
_JUDGED = ("question", "hint", "option")
_AROUND = 4  # pixels around a part that belong to it, and around its cut-out
_ENLARGED = 2
_SHORT = 8  # letters below which a part is too short to be judged by itself
# Variants that engines and typesetters use interchangeably
_TYPEWRITTEN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u200b": ""})
_BRACKETS = "([{)]}.:"


class PartLegibility(msgspec.Struct, frozen=True, kw_only=True):
    """How well one part of an item's page can be read; a row of ``legibility.parquet``."""

    item: str
    part: str
    number: int
    similarity: float | None
    """1 − edit distance / longer length, on texts with single blanks; None where the part is not judged."""
    unjudged: str = ""  # why not: formula, table, script, or no words
    length: int = 0
    read: str = ""


def expected_text(blocks: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Text expected of a part's blocks, and why it cannot be judged, if so."""
    texts: list[str] = []
    for block in blocks:
        if block["kind"] == "table":
            return "", "table"
        if block["kind"] == "code":
            texts.append(block["text"])
        elif block["kind"] == "paragraph":
            if any(not isinstance(run, str) for run in block["runs"]):
                return "", "formula"
            texts += block["runs"]
        elif block["kind"] != "image":
            return "", "formula"
    text = " ".join(" ".join(texts).translate(_TYPEWRITTEN).split())
    if "\\" in text or any(unicodedata.category(sign) in ("Sm", "No") for sign in text if not sign.isascii()):
        return text, "formula"  # engines that read words do not know ∑, ², or the backslash of a command
    return text, "" if text else "no words"


def read_back(
    item: str, composed: Composed, parts: Mapping[PartKey, Sequence[Mapping[str, Any]]], engine: Engine, enough: float
) -> list[PartLegibility]:
    """Legibility of each part of a page; those that reach ``enough`` at first are not read again."""
    boxes = composed.flat if isinstance(composed, Taken) else composed.boxes
    page = _shares(engine.read(composed.image), boxes, composed)
    known = engine.scripts()
    by_key = {(box.part, box.number): box for box in boxes}
    judged = []
    for (part, number), blocks in parts.items():
        if part not in _JUDGED or not blocks:
            continue
        text, why = expected_text(blocks)
        why = why or ("script" if scripts_of(text) - known else "")
        row = PartLegibility(item=item, part=part, number=number, similarity=None, unjudged=why, length=len(text))
        if not why:
            row = _compared(row, text, page.get((part, number), ""))
            if (row.similarity or 0.0) < enough and (box := by_key.get((part, number))):
                again = " ".join(line.text for line in engine.read(_cut_out(composed, box)))
                row = max(row, _compared(row, text, again), key=lambda entry: entry.similarity or 0.0)
        judged.append(row)
    return judged


def lowest(rows: Iterable[PartLegibility]) -> float | None:
    """The lowest similarity of a part, with short parts averaged; None where none is judged."""
    judged = [(row.length, row.similarity) for row in rows if row.similarity is not None]
    short = [similarity for length, similarity in judged if length < _SHORT]
    long = [similarity for length, similarity in judged if length >= _SHORT]
    return min([*long, *([sum(short) / len(short)] if short else [])], default=None)


def _compared(row: PartLegibility, text: str, read: str) -> PartLegibility:
    readings = [" ".join(read.translate(_TYPEWRITTEN).split())]
    bare = readings[0].lstrip(_BRACKETS)
    if row.part == "option" and bare[:1].upper() == letter(row.number - 1):  # its own mark stands before it
        readings.append(bare[1:].lstrip(_BRACKETS + " "))
    similarity, best = max((edit_similarity(reading, text), reading) for reading in readings)
    return msgspec.structs.replace(row, similarity=similarity, read=best)


def _shares(lines: Iterable[ReadLine], boxes: Sequence[Box], composed: Composed) -> dict[PartKey, str]:
    """Text read within each box. A word belongs to the smallest box around its middle."""
    rows: dict[PartKey, list[tuple[float, float, float, str]]] = {}
    for line in lines:
        shares: dict[PartKey, list[tuple[float, float, str]]] = {}
        for word in line.words:
            x, y = word.middle
            if isinstance(composed, Taken):  # the position on the flat page
                x, y = map(float, composed.camera.source(np.array([word.middle]))[0])
            if (box := _around(boxes, x, y)) is not None:
                shares.setdefault((box.part, box.number), []).append((x, y, word.text))
        height = np.median([word.bottom - word.top for word in line.words])
        for key, words in shares.items():
            text = " ".join(word for _, _, word in words)
            rows.setdefault(key, []).append((float(np.mean([y for _, y, _ in words])), words[0][0], height, text))
    return {key: " ".join(_in_order(pieces)) for key, pieces in rows.items()}


def _around(boxes: Sequence[Box], x: float, y: float) -> Box | None:
    around = [b for b in boxes if min(x - b.left, b.right - x, y - b.top, b.bottom - y) >= -_AROUND]
    return min(around, key=lambda b: (b.right - b.left) * (b.bottom - b.top), default=None)


def _in_order(pieces: list[tuple[float, float, float, str]]) -> list[str]:
    """Pieces of lines from top to bottom, those of one height from left to right."""
    rows: list[list[tuple[float, float, float, str]]] = []
    for piece in sorted(pieces):
        if rows and piece[0] - rows[-1][0][0] < 0.5 * piece[2]:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [piece[3] for row in rows for piece in sorted(row, key=lambda entry: entry[1])]


def _cut_out(composed: Composed, box: Box) -> Image.Image:
    """A part by itself, flat and enlarged, with a margin."""
    left, top, right, bottom = box.left - _AROUND, box.top - _AROUND, box.right + _AROUND, box.bottom + _AROUND
    corners = np.array([(left, top), (left, bottom), (right, bottom), (right, top)], float)
    if isinstance(composed, Taken):
        corners = composed.camera.seen(corners)
    size = (max(1, round(_ENLARGED * (right - left))), max(1, round(_ENLARGED * (bottom - top))))
    quad = tuple(float(value) for corner in corners for value in corner)
    return composed.image.transform(size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC)


MAX_ITEM_PIXELS = 150_000_000  # of all decoded images of an item together
_FEW = 12  # so few items are drawn sooner by one process than others are started
_MOST_PROCESSES = 8
_CHUNK = 4


class ScreenshotSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How screenshots are taken."""

    look: Look | Literal["all"] = "screen"  # ``all``: each look for a share of the items
    seed: Seed = 0
    read_back: str = ""
    """The OCR engine that has to read every page, or ``best`` for the best available; empty: none."""
    enough: float = 0.8  # least similarity (1 − edit distance / length) of a page's worst part


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """An item's image, or why there is none."""

    file: bytes = b""
    factors: dict[str, str] = {}
    boxes: tuple[Box, ...] = ()
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
        name = "" if settings.read_back == "best" else settings.read_back
        self._engine = choose_engine(name) if settings.read_back else None

    def draw(self, item: Item, factors: Mapping[str, str]) -> Drawn:
        """Draw an item, plainer than asked for where it could not be shown or read otherwise."""
        first = self._attempt(item, factors)
        if not first.reason:
            return first
        again = self._attempt(item, PLAINEST[cast("Look", factors[LOOK])])
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
            boxes=composed.boxes,
            legibility=legibility,
            unread_formulas=passages.unread,
            reason=f"read back with {worst:.2f} likeness only" if illegible else "",
        )


def _taken(page: Composed, factors: Mapping[str, str], chance: np.random.Generator) -> tuple[Composed, bytes]:
    """The page in its look, decoded from its file, and that file."""
    if factors[LOOK] != "photo":
        return page, as_png(page.image)
    taken = photographed(page, factors, chance)
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
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Screenshots:
    """Write the benchmark whose items show their whole question in one image; ids, golds and texts stay."""
    if benchmark.path.resolve() == to.resolve():
        raise InputError(f"{to} is the benchmark itself; screenshots need a folder of their own")
    old, total, seed = benchmark.manifest, len(benchmark), settings.seed
    made: list[tuple[str, Drawn]] = []  # by item, without the files
    manifest = old.derived(SCREENSHOT_STEP, settings.look, seed=seed)
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for item, drawn in _drawn(benchmark, settings, workers):
            if drawn.file:
                image = writer.images.put(drawn.file)
                note = ", ".join(f"{name.removeprefix('look_')} {level}" for name, level in drawn.factors.items())
                step = Lineage(step=SCREENSHOT_STEP, source=old.name, item=item.id, note=note, seed=seed)
                tags, lineage = item.tags | drawn.factors, (*item.lineage, step)
                writer.add(msgspec.structs.replace(item, images=(image,), tags=tags, lineage=lineage))
            made.append((item.id, msgspec.structs.replace(drawn, file=b"")))
            progress(len(made), total)
        schema = {"item": str, **Box.__annotations__}
        layout = [(item, *box) for item, drawn in made for box in drawn.boxes]
        table = pl.DataFrame(layout, schema, orient="row").with_columns(pl.col(pl.Float64).round(2))
        table.write_parquet(writer.folder / LAYOUT, compression="zstd")
        if legibility := tuple(row for _, drawn in made for row in drawn.legibility):
            write_records(legibility, PartLegibility, writer.folder / LEGIBILITY, overwrite=False)
    verdicts = tuple(
        Verdict(item=item, stage=SCREENSHOT_STEP, verdict="review", reason=drawn.reason, seed=seed)
        for item, drawn in made
        if drawn.reason
    )
    plainer = Counter(drawn.plainer for _, drawn in made if drawn.plainer)
    unread = sum(drawn.unread_formulas for _, drawn in made)
    return Screenshots(Benchmark(to), verdicts, legibility, dict(plainer), unread)


def _drawn(benchmark: Benchmark, settings: ScreenshotSettings, workers: int | None) -> Iterator[tuple[Item, Drawn]]:
    """Items in their order with their images, drawn by several processes where that is sooner."""
    items = list(benchmark)
    rows = design([item.id for item in items], settings.look, settings.seed)
    processes = min(workers or min(os.cpu_count() or 1, _MOST_PROCESSES), -(-len(rows) // _CHUNK))
    draw = partial(_draw, benchmark.images.root, settings)
    if processes == 1 or (workers is None and len(rows) <= _FEW):
        yield from zip(items, map(draw, items, rows), strict=True)
        return
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(processes, context) as pool:
            yield from zip(items, pool.map(draw, items, rows, chunksize=_CHUNK), strict=True)
    except BrokenProcessPool:
        raise EyetestError("a process that renders pages was killed, perhaps for lack of memory") from None


def screenshot_notes(done: Screenshots) -> list[str]:
    """Notes for the user: items left out or to review, plainer looks, formulas, legibility."""
    shown = {item.id for item in done.benchmark}
    named = [(one.item in shown, f"{one.item}: {one.reason}") for one in done.verdicts]
    lines = [f"left out: {line}" for is_shown, line in named if not is_shown][:10]
    lines += [f"to review: {line}" for is_shown, line in named if is_shown][:10]
    if len(named) > len(lines):
        lines.append(f"{len(named) - len(lines):,} more to review")
    plainer: Counter[str] = Counter()
    for reason, count in done.plainer.items():  # the similarity in a reason differs from page to page
        plainer["could not be read back well" if reason.startswith("read back") else reason] += count
    lines += [f"set plainer: {reason} ({count:,})" for reason, count in plainer.items()]
    if done.unread_formulas:
        lines.append(f"{counted(done.unread_formulas, 'formula')} shown as source: unknown LaTeX")
    return lines


_studio = lru_cache(maxsize=1)(Studio)  # of this process


def _draw(images: Path, settings: ScreenshotSettings, item: Item, factors: Mapping[str, str]) -> Drawn:
    return _studio(images, settings).draw(item, factors)
