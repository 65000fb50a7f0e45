"""Audit a large benchmark of noisy images: wall time, CPU and memory of `eyetest audit`, all probes.

    python speed/audit.py [--items 20000] [--keep DIR]

There is no peer to run beside it, so each probe's share is printed instead.
"""

import argparse
import io
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil
from PIL import Image

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Choice, Item, Manifest


def image_file(seed: int) -> bytes:
    """A JPEG of noise of about 100 KB, unlike any other."""
    data = io.BytesIO()
    noise = random.Random(seed).randbytes(350 * 350 * 3)
    Image.frombytes("RGB", (350, 350), noise).save(data, "JPEG", quality=88)
    return data.getvalue()


def items(count: int) -> Iterator[tuple[dict[str, object], bytes]]:
    """Questions with random options and one image_file each."""
    words = [f"word{n}" for n in range(5_000)]
    rng = random.Random(0)
    with ProcessPoolExecutor() as pool:
        for number, data in enumerate(pool.map(image_file, range(count), chunksize=64)):
            options = [" ".join(rng.choices(words, k=rng.randint(1, 5))) for _ in range(4)]
            gold = rng.randrange(4)
            choices = tuple(Choice(text, i == gold) for i, text in enumerate(options))
            question = " ".join(rng.choices(words, k=12)) + "?"
            yield {"id": str(number), "question": question, "choices": choices}, data


def build(to: Path, count: int) -> None:
    """Write the benchmark."""
    with BenchmarkWriter(to, Manifest(name="large")) as writer:
        for fields, data in items(count):
            writer.add(Item(images=(writer.images.put(data),), **fields))  # type: ignore[arg-type]


def measure(*arguments: str) -> None:
    """Run one audit and print what it cost, workers included."""
    command = [sys.executable, "-c", "from eyetest.cli import main; main()", "audit", *arguments]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    stop = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not stop.is_set():
            try:
                tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
                peak = max(peak, sum(p.memory_info().rss for p in tree))
            except psutil.Error:
                pass
            time.sleep(0.1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    stop.set()
    watcher.join()
    wall = time.perf_counter() - started
    cpu = usage.ru_utime + usage.ru_stime
    name = " ".join(arguments[1:]) or "all probes"
    print(f"{name:32} {wall:7.1f} s wall  {cpu:7.1f} s CPU  {peak / 2**20:7,.0f} MB  exit {status}", flush=True)


def main() -> None:
    """Build, then measure all probes together and each alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--probe", action="append", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large"
        build(path, options.items)
        print(f"{options.items:,} items, images of {len(image_file(0)):,} bytes")
        measure(str(path))
        for name in options.probe:
            measure(str(path), "--probe", name)


if __name__ == "__main__":
    main()
