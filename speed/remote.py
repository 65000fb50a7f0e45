"""Ask 20,000 questions, each with an image of its own, from a disk and from S3: CPU of eyetest's own process.

    python speed/remote.py [--items 20000] [--rounds 3] [--peers PYTHON]

The same benchmark lies on this disk and in a bucket of moto's server on this machine; the run is written where the
benchmark lies. One mock endpoint (EYETEST_SHARED/tools, in the peers' environment) answers all of them. "cold" has an
empty mirror, so that every image is fetched; "warm" has it from the round before. User and system time of the
command alone count; server and endpoint are processes of their own.
"""

import argparse
import hashlib
import io
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from PIL import Image

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Choice, Item, Manifest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(os.environ.get("EYETEST_SHARED", ROOT.parent / "shared")) / "tools"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
BUCKET = "s3://measured"
IMAGE_BYTES = 30_000


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving(command: Sequence[object], url: str) -> Iterator[None]:
    """A server in a process of its own, until the block ends."""
    with Path(os.devnull).open("w") as nowhere:
        server = subprocess.Popen([str(part) for part in command], stdout=nowhere, stderr=nowhere)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            sys.exit(f"{url} does not answer")
        yield
    finally:
        server.terminate()
        server.wait()


def draw(to: Path, items: int) -> None:
    """A benchmark of images that differ in a comment of random length, as no decoder minds."""
    file = io.BytesIO()
    Image.effect_noise((96, 96), 60).convert("RGB").save(file, "JPEG", quality=90)
    start, rest = file.getvalue()[:2], file.getvalue()[2:]
    room = IMAGE_BYTES - len(file.getvalue())
    with BenchmarkWriter(to, Manifest(name="measured")) as writer:
        for number in range(items):
            noise = hashlib.shake_256(str(number).encode()).digest(room + number % 5_000)
            data = start + b"\xff\xfe" + (len(noise) + 2).to_bytes(2, "big") + noise + rest
            choices = tuple(Choice(f"option {place}", place == number % 4) for place in range(4))
            question = f"(item {number:06d}) Which one?"
            writer.add(Item(id=str(number), question=question, images=(writer.images.put(data),), choices=choices))


def eyetest(*words: object) -> float:
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "eyetest", *(str(word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-500:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def send(bench: Path, url: str) -> None:
    """The benchmark as eyetest puts it into a bucket."""
    code = (
        "import sys; from pathlib import Path\n"
        "from eyetest.benchmarks import Benchmark, BenchmarkWriter\n"
        "from eyetest.store.urls import local_path\n"
        "source = Benchmark(Path(sys.argv[1]))\n"
        "with BenchmarkWriter(local_path(sys.argv[2]), source.manifest) as writer:\n"
        "    for item in source: writer.adopt(item, source)\n"
    )
    subprocess.run([sys.executable, "-c", code, bench, url], check=True)


def measure(folder: Path, endpoint: str, rounds: int, items: int) -> None:
    """All three, in turn."""
    os.environ["EYETEST_CACHE"] = str(folder / "cache")
    subprocess.run(
        [sys.executable, "-c", f"import fsspec; fsspec.filesystem('s3').mkdir('{BUCKET.removeprefix('s3://')}')"],
        check=True,
    )
    send(folder / "bench", f"{BUCKET}/bench")
    cost: dict[str, list[float]] = {"disk": [], "cold": [], "warm": []}
    for number in range(rounds):
        places = {"disk": folder, "cold": BUCKET, "warm": BUCKET}
        for name, place in places.items():
            if name == "cold":
                shutil.rmtree(folder / "cache", ignore_errors=True)
            to = f"{place}/run-{name}-{number}"
            model = f"openai:mock-vlm@{endpoint}/v1"
            seconds = eyetest("run", f"{place}/bench", "--model", model, "--to", to, "--concurrency", 64)
            cost[name].append(seconds)
            print(f"{name}  {seconds:6.1f} s of CPU  {1000 * seconds / items:.2f} ms a question", flush=True)
    for name in ("cold", "warm"):
        ratios = sorted(there / here for there, here in zip(cost[name], cost["disk"], strict=True))
        told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"S3 / disk, {name}: {median(ratios):.2f}, the middle of {told}")


def main() -> None:
    """Measure and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=Path, default=PEERS, help="A Python that has the mock endpoint's packages.")
    options = parser.parse_args()
    for needed, repair in ((TOOLS, "set EYETEST_SHARED"), (options.peers, "run `make peers`")):
        if not needed.exists():
            sys.exit(f"{needed} is missing: {repair}")
    s3, endpoint = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    os.environ |= {"AWS_ENDPOINT_URL": s3, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    os.environ |= {"AWS_DEFAULT_REGION": "us-east-1", "OPENAI_API_KEY": "x"}
    store = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", s3.rpartition(":")[2]]
    mock = [options.peers, TOOLS / "mock_openai.py", "--port", endpoint.rpartition(":")[2]]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(store, s3),
        serving(mock, f"{endpoint}/stats"),
    ):
        draw(Path(folder) / "bench", options.items)
        measure(Path(folder), endpoint, options.rounds, options.items)


if __name__ == "__main__":
    main()
