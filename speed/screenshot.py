"""A question page (image, ten options) becomes a file: ours, plain typst.

    python speed/screenshot.py [--items 400] [--processes 2]

Ours is the command as people call it: look `screen`, all factors varying, layout kept, folder written, processes
started. Plain typst is one process that sets the same texts with the image on a white page of 144 pixels an inch
and keeps the PNG. On a busy machine wall time says little: compare CPU.
"""

import argparse
import io
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import typst
from PIL import Image, ImageDraw

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.harden.screenshot.style import folders
from eyetest.harden.screenshot.taking import ScreenshotSettings, take_screenshots
from eyetest.records import Choice, Item, Manifest

WORDS = ("which of the following best explains the trend shown in this figure", "over time", "between two groups")
PLAIN = """
#let data = json(bytes(sys.inputs.page))
#set page(width: 560pt, height: auto, margin: 24pt)
#set text(font: "Noto Sans", size: 12pt)
#data.question
#image("image.png", width: 60%)
#for (index, option) in data.options.enumerate(start: 1) [#numbering("A", index). #option \\ ]
"""


def image_file(seed: int) -> bytes:
    """640 × 400 pixels: by turns a chart and something with a photograph's detail."""
    lots = np.random.default_rng(seed)
    if seed % 2:
        small = Image.fromarray(lots.integers(40, 215, (40, 64, 3), np.uint8))
        shown = small.resize((640, 400), Image.Resampling.BICUBIC)
    else:
        shown = Image.new("RGB", (640, 400), "white")
        pen = ImageDraw.Draw(shown)
        for bar, height in enumerate(lots.integers(40, 340, 9).tolist()):
            pen.rectangle((40 + 65 * bar, 370 - height, 85 + 65 * bar, 370), (40 + 20 * bar, 90, 200 - 15 * bar))
            pen.text((48 + 65 * bar, 376), str(height), "black")
    data = io.BytesIO()
    shown.save(data, "JPEG", quality=90)
    return data.getvalue()


def write_items(folder: Path, count: int) -> Benchmark:
    """Items with an image and ten options each."""
    chance = random.Random(1)

    def said(least: int, most: int) -> str:
        return " ".join(chance.choices(" ".join(WORDS).split(), k=chance.randint(least, most))).capitalize()

    with BenchmarkWriter(folder, Manifest(name="speed")) as writer:
        for number in range(count):
            options = tuple(Choice(f"{said(2, 12)} ({at})", at == 0) for at in range(10))
            image = writer.images.put(image_file(number % 40))
            writer.add(Item(id=str(number), question=f"{said(15, 60)} <image 1>?", images=(image,), choices=options))
    return Benchmark(folder)


def plainly(benchmark: Benchmark, folder: Path) -> int:
    """What somebody with typst and an afternoon has."""
    fonts = typst.Fonts(include_system_fonts=False, font_paths=[str(one) for one in folders()])
    (folder / "page.typ").write_text(PLAIN, "utf-8")
    for item in benchmark:
        shown = benchmark.images.open(item.images[0])
        shown.save(folder / "image.png", compress_level=1)
        data = {"question": item.question, "options": [choice.text for choice in item.choices]}
        compiler = typst.Compiler(str(folder / "page.typ"), root=str(folder), font_paths=fonts)
        inputs = {"page": msgspec.json.encode(data).decode()}
        (folder / f"{item.id}.png").write_bytes(compiler.compile(format="png", ppi=144, sys_inputs=inputs))  # type: ignore[arg-type]
    return len(benchmark)


def measured(name: str, work: Callable[[], int]) -> None:
    """One line about some work."""

    def used() -> float:
        spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in spent)

    cpu, wall = used(), time.perf_counter()
    pages = work()
    wall, cpu = time.perf_counter() - wall, used() - cpu
    print(f"{name:<28}{pages / wall:6.1f} pages/s  {1000 * cpu / pages:5.0f} ms of CPU a page")


def main() -> None:
    """Measure each once."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark = write_items(folder / "items", given.items)
        few = write_items(folder / "few", max(8, given.items // 10))
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")

        def take(bench: Benchmark, to: str, processes: int) -> int:
            return len(take_screenshots(bench, folder / to, ScreenshotSettings(), workers=processes).benchmark)

        measured(f"ours, {given.processes} processes", lambda: take(benchmark, "ours", given.processes))
        measured("ours, 1 process", lambda: take(few, "alone", 1))
        measured("plain typst, 1 process", lambda: plainly(few, folder))


if __name__ == "__main__":
    main()
