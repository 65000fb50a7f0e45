"""A benchmark becomes one of screenshots: every item one picture, several processes drawing, one writing."""

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import LAYOUT, LEGIBILITY
from eyetest.errors import EyetestError, InputError
from eyetest.harden.screenshot.drawing import Drawn, PartBox, ScreenshotSettings, Studio, fonts_of
from eyetest.harden.screenshot.factors import design, told
from eyetest.harden.screenshot.legibility import PartLegibility
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Item, Lineage, Verdict
from eyetest.tabular.record_files import write_records

_FEW = 12
"""So few items are drawn sooner by one process than others are started."""
_MOST_PROCESSES = 8
_CHUNK = 4

Progress = Callable[[int, int], None]
"""Told how many items of how many are drawn."""


@dataclass(frozen=True)
class Screenshots:
    """What became of a benchmark."""

    benchmark: Benchmark
    verdicts: tuple[Verdict, ...]
    """One for each item that a person has to look at, with the reason; those without a picture are left out."""
    legibility: tuple[PartLegibility, ...]
    plainer: dict[str, int]
    """Items set plainer than their levels said, by reason."""
    unread_formulas: int
    """Formulas shown as their source."""


@dataclass
class _Ledger:
    """What is counted while items are written."""

    verdicts: list[Verdict] = field(default_factory=list)
    layout: list[PartBox] = field(default_factory=list)
    legibility: list[PartLegibility] = field(default_factory=list)
    plainer: Counter[str] = field(default_factory=Counter)
    unread_formulas: int = 0

    def note(self, item: Item, drawn: Drawn, seed: int) -> None:
        self.layout += drawn.layout
        self.legibility += drawn.legibility
        self.unread_formulas += drawn.unread_formulas
        if drawn.plainer:
            self.plainer[drawn.plainer] += 1
        if drawn.reason:
            stage = SCREENSHOT_STEP
            self.verdicts.append(Verdict(item=item.id, stage=stage, verdict="review", reason=drawn.reason, seed=seed))


def take_screenshots(
    benchmark: Benchmark,
    to: Path,
    settings: ScreenshotSettings,
    *,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress = lambda done, total: None,
) -> Screenshots:
    """Write the benchmark whose items each show their whole question in one picture.

    Items keep their ids, golds and texts; their picture is the screenshot, their tags say its look. The folder
    appears when it is whole.
    """
    if benchmark.path.resolve() == to.resolve():
        raise InputError(f"{to} is the benchmark itself; screenshots need a folder of their own")
    old = benchmark.manifest
    note = f"{settings.look} by {settings.renderer}"
    step = Lineage(step=SCREENSHOT_STEP, source=f"{old.name} {old.version}", note=note, seed=settings.seed)
    manifest = msgspec.structs.replace(old, lineage=(*old.lineage, step))
    ledger = _Ledger()
    total = len(benchmark)
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for done, (item, drawn) in enumerate(_drawn(benchmark, settings, workers), 1):
            ledger.note(item, drawn, settings.seed)
            if drawn.file:
                image = writer.images.put(drawn.file)
                made = Lineage(
                    step=SCREENSHOT_STEP, source=old.name, item=item.id, note=told(drawn.factors), seed=settings.seed
                )
                tags = item.tags | drawn.factors
                shown = msgspec.structs.replace(item, images=(image,), tags=tags, lineage=(*item.lineage, made))
                writer.add(shown)
            progress(done, total)
        write_records(ledger.layout, PartBox, writer.folder / LAYOUT, overwrite=False)
        if ledger.legibility:
            write_records(ledger.legibility, PartLegibility, writer.folder / LEGIBILITY, overwrite=False)
    return Screenshots(
        benchmark=Benchmark(to),
        verdicts=tuple(ledger.verdicts),
        legibility=tuple(ledger.legibility),
        plainer=dict(ledger.plainer),
        unread_formulas=ledger.unread_formulas,
    )


def _drawn(benchmark: Benchmark, settings: ScreenshotSettings, workers: int | None) -> Iterator[tuple[Item, Drawn]]:
    """Each item with its picture, in the benchmark's order."""
    rows = design([item.id for item in benchmark], settings.look, settings.seed, fonts_of(settings.renderer))
    planned = zip(benchmark, rows, strict=True)
    processes = min(workers or min(os.cpu_count() or 1, _MOST_PROCESSES), -(-len(rows) // _CHUNK))
    if processes == 1 or (workers is None and len(rows) <= _FEW):
        studio = Studio(benchmark.images.root, settings)
        for item, factors in planned:
            yield item, studio.draw(item, factors)
        return
    yield from _drawn_by_several(planned, processes, benchmark.images.root, settings)


def _drawn_by_several(
    planned: Iterator[tuple[Item, dict[str, str]]], processes: int, images: Path, settings: ScreenshotSettings
) -> Iterator[tuple[Item, Drawn]]:
    """The same by processes, in the same order, with a few chunks under way for each of them."""
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _open_studio, (images, settings))
    waiting: deque[tuple[list[Item], Future[list[Drawn]]]] = deque()
    try:
        for chunk in _chunks(planned):
            waiting.append(([item for item, _ in chunk], pool.submit(_draw_chunk, chunk)))
            if len(waiting) > 2 * processes:
                yield from _finished(waiting)
        while waiting:
            yield from _finished(waiting)
    except BrokenProcessPool:
        raise EyetestError("a process that draws pages was ended from outside, maybe for want of memory") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(waiting: deque[tuple[list[Item], "Future[list[Drawn]]"]]) -> Iterator[tuple[Item, Drawn]]:
    items, future = waiting.popleft()
    return zip(items, future.result(), strict=True)


def _chunks(planned: Iterator[tuple[Item, dict[str, str]]]) -> Iterator[list[tuple[Item, dict[str, str]]]]:
    chunk: list[tuple[Item, dict[str, str]]] = []
    for pair in planned:
        chunk.append(pair)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


_studio: Studio


def _open_studio(images: Path, settings: ScreenshotSettings) -> None:
    global _studio  # noqa: PLW0603 (each process has one)
    _studio = Studio(images, settings)


def _draw_chunk(chunk: Sequence[tuple[Item, dict[str, str]]]) -> list[Drawn]:
    return [_studio.draw(item, factors) for item, factors in chunk]
