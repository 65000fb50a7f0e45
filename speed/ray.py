"""What a run on Ray costs beside a plain one: the same requests to the same fake models, CPU of all processes.

    python speed/ray.py [--requests 20000] [--workers 2] [--rounds 3]

plain   `eyetest run` in one process
ray     the same command with `--on ray`: driver, workers and Ray's own processes
start   `--on ray` with a handful of requests: Ray and workers started and ended, which is paid once

CPU is that of the command and of all its descendants, read twenty times a second from /proc, so that what ends is not
lost. Beyond the start is what `ray` takes more than `plain`, less the same difference for the handful.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import psutil

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Choice, ImageRef, Item, Manifest
from eyetest.runs import responses_table
from eyetest.runs.stored import answers_frame

FEW = 64
MODELS = ("a=scripted:right=0.7", "b=scripted:right=0.4")


def make(folder: Path, items: int) -> None:
    """A benchmark in which three neighbours show the same image."""
    with BenchmarkWriter(folder, Manifest(name="ray")) as writer:
        for n in range(items):
            image = ImageRef(f"{n // 3:064x}", "png", 640, 480, 1_000)
            choices = tuple(Choice(f"option {k} of {n}", k == n % 4) for k in range(4))
            writer.add(Item(id=f"item-{n}", question=f"What is shown in {n}?", images=(image,), choices=choices))


def run(bench: Path, to: Path, *more: str) -> tuple[float, float]:
    """Seconds by the clock and of all processes of one command."""
    command = [sys.executable, "-m", "eyetest", "run", str(bench), "--to", str(to), *more]
    for model in MODELS:
        command += ["--model", model]
    began = time.perf_counter()
    env = dict(os.environ) | {"RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env) as process:
        root, used = psutil.Process(process.pid), dict[tuple[int, float], float]()
        while process.poll() is None:
            note(root, used)
            time.sleep(0.05)
        if process.returncode:
            raise SystemExit(process.stderr.read().decode() if process.stderr else "failed")
    return time.perf_counter() - began, sum(used.values())


def note(root: psutil.Process, used: dict[tuple[int, float], float]) -> None:
    """What each process has used so far; one that ended keeps its last figure."""
    try:
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return
    for process in processes:
        try:
            times = process.cpu_times()
            used[process.pid, process.create_time()] = times.user + times.system
        except psutil.Error:
            continue


def same(here: Path, there: Path) -> bool:
    """Whether two runs hold the same, but for when."""

    def rows(folder: Path) -> pl.DataFrame:
        table = pl.from_arrow(responses_table(folder))
        assert isinstance(table, pl.DataFrame)
        return table.drop("seconds", "time").sort("request")

    frames = [answers_frame(folder).collect() for folder in (here, there)]
    return frames[0].equals(frames[1]) and rows(here).equals(rows(there))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    said = parser.parse_args()
    on = ("--on", f"ray:{said.workers}")
    beyond = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "many", said.requests // len(MODELS))
        make(folder / "few", FEW // len(MODELS))
        for number in range(said.rounds):
            cpu = {}
            for bench in ("few", "many"):
                for how, more in (("plain", ()), ("ray", on)):
                    to = folder / f"{how}-{bench}-{number}"
                    clock, cpu[bench, how] = run(folder / bench, to, *more)
                    print(
                        f"{how:5} {bench:4}: {clock:6.1f} s by the clock, {cpu[bench, how]:6.1f} s of CPU", flush=True
                    )
                is_same = same(folder / f"plain-{bench}-{number}", folder / f"ray-{bench}-{number}")
                print(f"      {bench}: tables are the same: {is_same}")
            start = cpu["few", "ray"] - cpu["few", "plain"]
            more_cpu = cpu["many", "ray"] - cpu["many", "plain"] - start
            beyond.append(more_cpu / cpu["many", "plain"])
            print(f"start {start:.1f} s of CPU; beyond it {more_cpu:+.1f} s, {beyond[-1]:+.1%} of the plain run")
    print(f"beyond Ray's start, the middle of {said.rounds}: {sorted(beyond)[len(beyond) // 2]:+.1%}")


if __name__ == "__main__":
    main()
