"""What merging two runs takes, in seconds and megabytes, by their size.

    python speed/merge.py [--sizes 100000,300000,1000000] [--letters 200]

Each run holds 55 % of the answers, so that one in ten is in both. Each merge is a process of its own: seconds are
those of the clock and of the processor, memory is the most that it held, with Python and its libraries; what those
alone take is told first, as a merge of ten answers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

from eyetest.records import Asked, ModelEntry, Response, RunBenchmark, RunStep
from eyetest.results.merging import merge_into
from eyetest.runs import Run, RunWriter

SHARE = 0.55


def make(folder: Path, numbers: range, letters: int) -> None:
    """A run with answers of about so many letters to some items."""
    about = RunBenchmark(name="speed", fingerprint="f" * 64, items=numbers.stop)
    with RunWriter(folder) as run:
        with run.planning() as plan:
            for n in numbers:
                plan.add(Asked(item=f"item-{n}", model="m"), request(n))
        run.record(RunStep(what="ask"), {"m": ModelEntry(spec="scripted:")}, about)
        for n in numbers:
            text = f"{n} {blake2b(str(n).encode()).hexdigest()} " * (1 + letters // 135)
            run.journal.append(Response(request=request(n), outcome="answered", text=text[:letters], time=1.0 + n))


def request(n: int) -> str:
    """An id as evenly spread as a real one."""
    return blake2b(b"%d" % n, digest_size=16).hexdigest()


def measured(folder: Path) -> None:
    """One merge, in this process."""
    began, used = time.perf_counter(), time.process_time()
    merged = merge_into([Run(folder / "a"), Run(folder / "b")], folder / "all")
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([sum(merged.brought.values()), seconds, cpu, most]))


def main() -> None:
    """Make runs of every size, and merge them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000,300000,1000000")
    parser.add_argument("--letters", type=int, default=200)
    parser.add_argument("--merge", type=Path, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.merge:
        measured(said.merge)
        return
    print(f"{'answers':>9}  {'seconds':>7}  {'of CPU':>6}  {'MB':>5}")
    for size in [10, *map(int, said.sizes.split(","))]:
        with tempfile.TemporaryDirectory() as folder:
            half = round(size * SHARE)
            make(Path(folder) / "a", range(half), said.letters)
            make(Path(folder) / "b", range(size - half, size), said.letters)
            words = [sys.executable, __file__, "--merge", folder]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            answers, seconds, cpu, most = json.loads(done.stdout)
            print(f"{answers:>9,}  {seconds:>7.1f}  {cpu:>6.1f}  {most:>5.0f}", flush=True)


if __name__ == "__main__":
    main()
