"""Pages of a benchmark beside one another in one small image, for docs and for looking.

python -m tools.contact_sheet BENCH FILE.webp [--width 330] [--columns 6] [--first 0] [--count 20]
"""

import argparse
from pathlib import Path

from PIL import Image

from eyetest.benchmarks import Benchmark

_GAP = 8


def contact_sheet(images: list[Image.Image], width: int, columns: int) -> Image.Image:
    """Images at one width, each below the shortest column so far."""
    ends = [_GAP] * columns
    places = []
    for image in images:
        column = ends.index(min(ends))
        small = image.resize((width, max(1, image.height * width // image.width)), Image.Resampling.LANCZOS)
        places.append((small, (_GAP + column * (width + _GAP), ends[column])))
        ends[column] += small.height + _GAP
    sheet = Image.new("RGB", (_GAP + columns * (width + _GAP), max(ends)), (122, 122, 128))
    for small, corner in places:
        sheet.paste(small, corner)
    return sheet


def main() -> None:
    """Write one sheet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("bench", type=Path)
    parser.add_argument("file", type=Path)
    for name, default in (("width", 330), ("columns", 6), ("first", 0), ("count", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    bench = Benchmark(given.bench)
    items = list(bench)[given.first : given.first + given.count]
    images = [bench.images.open(item.images[0]).convert("RGB") for item in items]
    contact_sheet(images, given.width, given.columns).save(given.file, quality=72, method=6)


if __name__ == "__main__":
    main()
