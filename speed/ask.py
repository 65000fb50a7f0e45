"""Ask 2,000 questions with images of 60–100 KB: eyetest, a bare aiohttp loop and inspect-ai, in one run.

    python speed/ask.py [--rounds 3] [--latencies 0,50] [--growth 50000]

All three talk to one mock endpoint on this machine (EYETEST_SHARED/tools), each in a process tree of its own; CPU is
that of the whole tree, start-up included. The peers live in an environment of their own: `make peers` makes it.
`--growth N` asks N items after the 2,000 and shows whether memory stays flat.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Manifest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(os.environ.get("EYETEST_SHARED", ROOT.parent / "shared")) / "tools"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
EYETEST = ROOT / ".venv" / "bin" / "eyetest"


class Bench:
    """One mock endpoint, one generated benchmark, and a way to measure a client against them."""

    def __init__(self, folder: Path, peers: Path, items: int, concurrency: int) -> None:
        self.folder, self.peers, self.items, self.concurrency = folder, peers, items, concurrency
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        mock = [str(peers), str(TOOLS / "mock_openai.py"), "--port", str(self.port)]
        self.mock = subprocess.Popen(mock, stdout=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.bench = folder / "bench"
        subprocess.run([peers, TOOLS / "make_bench.py", self.bench, "--n", str(items)], check=True)
        tsv = next(self.bench.glob("*.tsv"))
        subprocess.run([EYETEST, "import", tsv, "--to", folder / "imported"], check=True)
        self._wait()

    def _wait(self) -> None:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=5).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        sys.exit("the mock endpoint does not answer")

    def clients(self) -> dict[str, list[object]]:
        """How each client is called."""
        output = self.folder / "out"
        return {
            "eyetest": [
                *(EYETEST, "run", self.folder / "imported", "--model", f"openai:mock-vlm@{self.url}"),
                *("--to", output, "--concurrency", self.concurrency),
            ],
            "bare loop": [
                *(self.peers, TOOLS / "ref_client.py", "--lib", "aiohttp", "--encode", "each", "--bench", self.bench),
                *("--base", self.url, "--conc", self.concurrency, "--out", f"{output}.jsonl"),
            ],
            "inspect-ai": [self.peers, ROOT / "speed/peers/inspect_task.py", self.bench, self.concurrency, output],
        }

    def measure(self, name: str, command: list[object], latency: float) -> dict[str, Any]:
        """What one client costs."""
        for left in self.folder.glob("out*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        results = self.folder / "results.jsonl"
        config = json.dumps({"latency_ms": latency})
        arguments = ["--label", name, "--port", self.port, "--n", self.items, "--out", results, "--config", config]
        arguments += ["--log", self.folder / "client.log", "--artifacts", self.folder / "out"]
        environment = os.environ | {"MOCK_BASE_URL": self.url, "MOCK_API_KEY": "x", "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run(
            [str(part) for part in (self.peers, TOOLS / "measure.py", *arguments, "--", *command)],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        measured: dict[str, Any] = json.loads(results.read_text().splitlines()[-1])
        if measured["rc"] or measured["stats"]["items_answered"] != self.items:
            sys.exit(f"{name} did not finish: {(self.folder / 'client.log').read_text()[-500:]}")
        print(
            f"{latency:5.0f} ms  {name:10}  {measured['cpu_ms_per_sample']:7.2f} ms CPU/item  "
            f"{measured['samples_per_s']:7.0f} items/s  first request {measured['t_first_s']:5.2f} s  "
            f"{measured['peak_rss_mb']:5,} MB  {measured['artifact_bytes'] / 1e6:6.1f} MB written",
            flush=True,
        )
        return measured


def compare(bench: Bench, rounds: int, latencies: list[float]) -> None:
    """Every client at every latency, in turn."""
    for latency in latencies:
        cost: dict[str, list[float]] = {}
        for number in range(rounds):
            for name, command in bench.clients().items():
                if name == "inspect-ai" and number:  # a minute each; once is enough to see 30 ×
                    continue
                cost.setdefault(name, []).append(bench.measure(name, command, latency)["cpu_ms_per_sample"])
        ours, bare, inspect = (median(cost[name]) for name in ("eyetest", "bare loop", "inspect-ai"))
        print(f"{latency:5.0f} ms  eyetest / bare loop {ours / bare:.2f}, inspect-ai / eyetest {inspect / ours:.0f}")


def widen(source: Path, to: Path, items: int) -> None:
    """A benchmark of more items: the same images under ever new questions."""
    small = Benchmark(source)
    with BenchmarkWriter(to, Manifest(name="wide")) as writer:
        for number, item in zip(range(items), cycle(small), strict=False):
            question = f"(item {number:06d}) {item.question}"
            writer.adopt(msgspec.structs.replace(item, id=str(number), question=question), small)


def grow(bench: Bench, items: int) -> None:
    """The same with many more items: does memory stay flat?"""
    widen(bench.folder / "imported", bench.folder / "wide", items)
    for name, count in (("imported", bench.items), ("wide", items)):
        usual = bench.clients()["eyetest"]
        command = [bench.folder / name if part == bench.folder / "imported" else part for part in usual]
        bench.items = count
        bench.measure("eyetest", command, 0)


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latencies", default="0,50")
    parser.add_argument("--growth", type=int, default=0)
    parser.add_argument("--peers", type=Path, default=PEERS, help="A Python that has the peers.")
    options = parser.parse_args()
    for needed, repair in ((TOOLS, "set EYETEST_SHARED"), (options.peers, "run `make peers`")):
        if not needed.exists():
            sys.exit(f"{needed} is missing: {repair}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.peers, options.items, options.concurrency)
        try:
            compare(bench, options.rounds, [float(latency) for latency in options.latencies.split(",") if latency])
            if options.growth:
                grow(bench, options.growth)
        finally:
            bench.mock.terminate()
            bench.mock.wait()


if __name__ == "__main__":
    main()
