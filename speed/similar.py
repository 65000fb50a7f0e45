"""Measure how long the nearest of 100,000 items are searched for, and the memory it takes.

python speed/similar.py [ITEMS]
"""

import resource
import sys
import time

import numpy as np

from eyetest.similarity.search import nearest_rows


def main() -> None:
    """Search among random vectors of 512 numbers, as many as the text encoder gives."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rows = np.random.default_rng(0).standard_normal((items, 512), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    before, wall, cpu = _memory(), time.monotonic(), time.process_time()
    nearest_rows(rows, rows, 5, [np.arange(items)] * 2)
    took = f"{time.monotonic() - wall:.0f} s, {time.process_time() - cpu:.0f} s of CPU"
    print(f"{items:,} items × {items:,}: {took}, {_memory() - before:.0f} MB beyond the vectors ({before:.0f} MB)")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
