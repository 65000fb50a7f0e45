"""How the search for look-alike pictures grows: time, memory and what it finds among made-up thumbnails.

    python speed/lookalikes.py [100000 300000 1000000]

Half of the thumbnails vary a few hundred templates, as charts do, and the others are their own; one in a hundred has
a copy, stretched, shifted and noisy as a crop of up to 4 % a side makes it. Each size runs in a process of its own;
CPU time is told beside wall time, since a busy machine slows only the latter.
"""

import argparse
import math
import resource
import subprocess
import sys
import time

import numpy as np
import numpy.typing as npt

from eyetest.probes.lookalikes import Thumbnail, promising_pairs

_COARSE, _SIDE, _TEMPLATES = 10, 32, 300
Floats = npt.NDArray[np.float32]


def sampled(low: float = 0.0, high: float = 1.0) -> Floats:
    """What reads a coarse field between two ends of it, at the side of a thumbnail."""
    at = np.linspace(low, high, _SIDE) * (_COARSE - 1)
    return np.asarray(np.maximum(0, 1 - np.abs(at[:, None] - np.arange(_COARSE))), np.float32)


def thumbnail(field: Floats, rng: np.random.Generator, across: Floats, down: Floats) -> Thumbnail:
    """A field as it is seen, with the noise of JPEG."""
    shades = down @ field @ across.T + rng.normal(0, 2, (_SIDE, _SIDE))
    return np.clip(shades, 0, 255).astype(np.uint8)


def made_up(count: int) -> tuple[list[Thumbnail], set[tuple[int, int]]]:
    """So many thumbnails, and which pairs of them are copies."""
    rng = np.random.default_rng(count)
    templates = rng.uniform(0, 255, (_TEMPLATES, _COARSE, _COARSE)).astype(np.float32)
    thumbnails: list[Thumbnail] = []
    copies = set()
    plain = sampled()
    while len(thumbnails) < count:
        field = rng.uniform(0, 255, (_COARSE, _COARSE)).astype(np.float32)
        if rng.random() < 0.5:
            kept = rng.random((_COARSE, _COARSE)) < 0.8
            field = np.where(kept, templates[rng.integers(_TEMPLATES)], field)
        thumbnails.append(thumbnail(field, rng, plain, plain))
        if rng.random() < 0.01 and len(thumbnails) < count:
            cut = [sampled(rng.uniform(0, 0.04), rng.uniform(0.96, 1)) for _ in range(2)]
            copies.add((len(thumbnails) - 1, len(thumbnails)))
            thumbnails.append(thumbnail(field, rng, cut[0], cut[1]))
    order = rng.permutation(count)
    where = np.argsort(order)
    moved = {(int(min(where[i], where[j])), int(max(where[i], where[j]))) for i, j in copies}
    return [thumbnails[index] for index in order], moved


def measure(count: int) -> None:
    """One size: seconds, CPU seconds, megabytes at most, pairs, and the share of copies among them."""
    thumbnails, copies = made_up(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    pairs = promising_pairs(thumbnails, 24, 0.05, lambda share: None)
    taken, used = time.perf_counter() - started, time.process_time() - cpu
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    caught = len(copies & {(one, other) for one, other in pairs.tolist()}) / len(copies)
    print(count, round(taken, 1), round(used, 1), round(memory), len(pairs), round(caught, 4))


def main() -> None:
    """All sizes, and how steeply the CPU time grows between them (1 is linear, 2 is all with all)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", type=int, nargs="*", default=[100_000, 300_000])
    parser.add_argument("--one", action="store_true", help="measure in this process")
    given = parser.parse_args()
    if given.one:
        measure(given.sizes[0])
        return
    print(f"{'pictures':>10} {'seconds':>9} {'CPU s':>9} {'MB more':>8} {'pairs':>9} {'copies':>7} {'slope':>6}")
    before: tuple[int, float] | None = None
    for size in given.sizes:
        command = [sys.executable, __file__, "--one", str(size)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        cpu = float(told[2])
        slope = f"{math.log(cpu / before[1]) / math.log(size / before[0]):.2f}" if before else ""
        print("{:>10} {:>9} {:>9} {:>8} {:>9} {:>7} {:>6}".format(*told, slope), flush=True)
        before = size, cpu


if __name__ == "__main__":
    main()
