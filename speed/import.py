"""Import a large VLMEvalKit TSV, side by side with what people do today: pandas, then one file an image.

    python speed/import.py [--items 20000] [--keep DIR]

Both read the same file and leave every image as a file on disk; eyetest also hashes, checks and indexes them.
Each runs in a process of its own, after the file has been read once so that both find it equally warm.
"""

import argparse
import base64
import io
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

IMAGE_BYTES = 100_000
PANDAS = """
import base64, os, sys
import pandas as pd
table = pd.read_csv(sys.argv[1], sep="\\t")
os.makedirs(sys.argv[2])
for index, image in zip(table["index"], table["image"]):
    with open(f"{sys.argv[2]}/{index}.jpg", "wb") as file:
        file.write(base64.b64decode(image))
"""
EYETEST = """
import sys
from pathlib import Path
from eyetest.benchmarks import import_benchmark
import_benchmark(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def images(count: int) -> list[bytes]:
    """A few JPEGs of about the wanted size; `unlike` makes any number of different ones from them."""
    made = []
    for seed in range(count):
        noise = random.Random(seed).randbytes(350 * 350 * 3)
        data = io.BytesIO()
        Image.frombytes("RGB", (350, 350), noise).save(data, "JPEG", quality=88)
        made.append(data.getvalue())
    return made


def unlike(image: bytes, number: int) -> bytes:
    """The same image with a comment segment of its own: other bytes, other hash, still a sound JPEG."""
    comment = f"image {number}".encode()
    return image[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + image[2:]


def write_tsv(path: Path, items: int) -> None:
    """A benchmark of this many items, every cell quoted."""
    made = images(16)
    with path.open("w") as file:
        file.write("\t".join(f'"{c}"' for c in ("index", "image", "question", "A", "B", "C", "D", "answer")) + "\n")
        for number in range(items):
            image = base64.b64encode(unlike(made[number % len(made)], number)).decode()
            question = f"Which of the four is image {number}?"
            cells = (number, image, question, "one", "two", "three", "four", "ABCD"[number % 4])
            file.write("\t".join(f'"{cell}"' for cell in cells) + "\n")


def measure(name: str, code: str, *arguments: str) -> float:
    """Run Python code in a process of its own and print what it cost."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        sys.exit(f"{name} failed")
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{name:10} {wall:7.1f} s wall  {cpu:7.1f} s CPU  {usage.ru_maxrss / 1024:8,.0f} MB peak", flush=True)
    return wall


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tsv = Path(folder) / "large.tsv"
        write_tsv(tsv, options.items)
        print(f"{options.items:,} items, {tsv.stat().st_size / 1e9:.2f} GB, images of {len(images(1)[0]):,} bytes")
        ratios = []
        for number in range(options.rounds):
            ours = measure("eyetest", EYETEST, str(tsv), f"{folder}/ours{number}")
            theirs = measure("pandas", PANDAS, str(tsv), f"{folder}/theirs{number}")
            ratios.append(theirs / ours)
        print("pandas / eyetest, wall: " + ", ".join(f"{ratio:.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
