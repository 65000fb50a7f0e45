"""A million answers, stage by stage: seconds, processor, memory and disk, at several sizes.

    python speed/million.py [--sizes 10000,100000,1000000] [--models 1] [--stages journal,status,open] [--folder DIR]

journal  answers of about 300 bytes through the journal and sealing, and nothing else
import   a JSONL file becomes a benchmark; so many items show one image_file: see `SHARING`
pool     `eyetest pool` of ten benchmarks with a tenth of the items each, a third of which show the same images
plan     `eyetest run --dry-run` of a run that does not exist: prompts made, counted and named by their hashes
ask      `eyetest run` with scripted models, until nine of ten calls are answered
left     `eyetest run --dry-run` of that run: what is left of it
ids      what is left by the plan and the answers on disk alone, from Python
rest     `eyetest run` of the tenth that is left
status   `eyetest show`
score    `eyetest score`; then `measure`, `report` and `audit`
open     `eyetest open`, from the start of the process to the last byte of its first page; scores are on disk
later    the same server's memory `LATER` seconds after that page

A size is a number of answers: that many items for one model, a tenth of it for ten. Each stage is a process of its
own; memory is the most that the system saw it hold. Stages need those before them; --folder keeps them.
"""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

EYETEST = [sys.executable, "-m", "eyetest"]
SHARING = 20
"""Items that show the same image."""
SOURCES = 10
LATER = 30
_MB = 2**20
_REPLY = (
    "The image shows a kettle on the left and, a little behind it, the handle of a second one. "
    "The first option names only one of them, the third names neither, so that cannot be meant.\nAnswer: "
)


class Spent(NamedTuple):
    """What a process took."""

    seconds: float
    processor: float
    peak: float
    """Megabytes."""


def question(number: int) -> dict[str, Any]:
    """One of as many items as are wanted."""
    return {
        "id": f"item-{number}",
        "question": f"Which of these things stands on the table of kitchen {number}, beside the window?",
        "choices": [f"{thing} {number}" for thing in ("the kettle", "a tractor", "one pelican", "no bread")],
        "answer": "ABCD"[number * 7 % 4],
        "image": f"images/{number // SHARING}.png",
        "task": f"task {number % 12:02d}",
    }


def write_file(folder: Path, items: int) -> None:
    """A file of questions to import, with its images beside it."""
    (folder / "images").mkdir()
    for number in range(-(-items // SHARING)):
        colour = (number % 256, number // 256 % 256, number // 65_536)
        Image.new("RGB", (8, 8), colour).save(folder / f"images/{number}.png")
    with (folder / "items.jsonl").open("w") as file:
        file.writelines(json.dumps(question(number)) + "\n" for number in range(items))


def write_benchmark(folder: Path, items: int) -> None:
    """The same questions as a benchmark whose images nobody has: scripted models look at none."""
    from eyetest.benchmarks import BenchmarkWriter
    from eyetest.records import Choice, ImageRef, Item, Manifest

    with BenchmarkWriter(folder / "bench", Manifest(name="million")) as writer:
        for number in range(items):
            told = question(number)
            image = ImageRef(f"{number // SHARING:064x}", "png", 640, 480, 1_000)
            choices = tuple(Choice(text, "ABCD"[n] == told["answer"]) for n, text in enumerate(told["choices"]))
            asked = {"id": told["id"], "question": told["question"], "tags": {"task": told["task"]}}
            writer.add(Item(images=(image,), choices=choices, **asked))


def write_sources(folder: Path, items: int) -> None:
    """Ten benchmarks about images of their own and, a third, of all; the last repeats one question in a hundred."""
    from eyetest.benchmarks import BenchmarkWriter
    from eyetest.records import Choice, Item, Manifest

    for source in range(SOURCES):
        with BenchmarkWriter(folder / f"source-{source}", Manifest(name=f"source-{source}")) as writer:
            for number in range(items // SOURCES):
                if number % SHARING == 0:
                    shown = number // SHARING
                    colours = (shown % 256, shown // 256, 0 if shown % 3 == 0 else source + 1)
                    Image.new("RGB", (8, 8), colours).save(data := io.BytesIO(), "png")
                    image = writer.images.put(data.getvalue())
                repeats = source == SOURCES - 1 and number % 100 == 0
                asked = question((source - repeats) * items + number)
                choices = tuple(Choice(text, "ABCD"[n] == asked["answer"]) for n, text in enumerate(asked["choices"]))
                about = {"id": asked["id"], "question": asked["question"], "tags": {"task": asked["task"]}}
                writer.add(Item(images=(image,), choices=choices, **about))


def write_journal(folder: Path, answers: int) -> None:
    """Append and seal; tells how many bytes an answer is as a line and as Parquet."""
    from hashlib import blake2b

    from eyetest.records import Response
    from eyetest.runs import Journal

    journal = Journal(folder / "journal-only")
    for number in range(answers):
        request = blake2b(number.to_bytes(8), digest_size=16).hexdigest()
        text = _REPLY + "ABCD"[number % 4]
        journal.append(
            Response(request=request, outcome="answered", text=text, finish="stop", tokens_in=412, tokens_out=57)
        )
    journal.close()


def find_left(folder: Path, answers: int) -> None:
    """What is planned and not stored, by ids alone."""
    from eyetest.runs import Run
    from eyetest.runs.stored import scan_table

    run = Run(folder / "run")
    planned = scan_table(run.path / "plan.parquet").select("request").unique().collect()
    print(len(planned.join(run.errors(), on="request", how="anti")))


IN_PROCESS: dict[str, Callable[[Path, int], None]] = {"journal": write_journal, "ids": find_left}


def stages(answers: int, models: int) -> dict[str, list[str]]:
    """How each stage is called, in the order in which they need each other."""
    asked = [
        word for n in range(models) for word in ("--model", f"m{n}=scripted:right=0.{5 + n % 4},style=cot,seed={n}")
    ]
    run = [*EYETEST, "run", "bench", *asked, "--concurrency", "64"]
    here = [sys.executable, str(Path(__file__).resolve()), "--one"]
    return {
        "journal": [*here, "journal", str(answers)],
        "import": [*EYETEST, "import", "items.jsonl", "--to", "bench"],
        "pool": [*EYETEST, "pool", *(f"source-{source}" for source in range(SOURCES)), "--to", "pool"],
        "plan": [*run, "--to", "none", "--dry-run"],
        "ask": [*run, "--to", "run", "--budget", f"calls={answers * 9 // 10}"],
        "left": [*run, "--to", "run", "--dry-run"],
        "ids": [*here, "ids", str(answers)],
        "rest": [*run, "--to", "run"],
        "status": [*EYETEST, "show", "run"],
        "score": [*EYETEST, "score", "run"],
        "measure": [*EYETEST, "measure", "accuracy", "run"],
        "report": [*EYETEST, "report", "run", "--page", "report.html", "--overwrite"],
        "audit": [*EYETEST, "audit", "bench"],
        "open": [*EYETEST, "open", "run", "--address", ":0"],
    }


def spent_by(command: list[str], folder: Path) -> Spent:
    """Run a command to its end; one that stopped at its budget has done what it was told."""
    log = folder / "log.txt"
    with log.open("w") as file:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status and "--budget" not in command:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2_000:]}")
    return Spent(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def opened(command: list[str], folder: Path, later: float) -> Iterator[tuple[str, Spent]]:
    """Start the server, ask for its first page as soon as it says where, and look again after a while."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address, "the server did not start"
            with urllib.request.urlopen(address[0]) as answer:
                assert b"</html>" in answer.read()
            yield "open", Spent(time.perf_counter() - began, *_of_process(server.pid))
            time.sleep(later)
            yield "later", Spent(time.perf_counter() - began, *_of_process(server.pid))
        finally:
            server.terminate()


def _of_process(process: int) -> tuple[float, float]:
    """Seconds of processor and megabytes at most, of a process that goes on."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert peak
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak[1]) / 1024


def size_of(path: Path) -> int:
    """Bytes on disk of a file or folder."""
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def measure(folder: Path, answers: int, models: int, wanted: list[str], later: float) -> Iterator[tuple[str, Spent]]:
    """All stages that are wanted, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    if "import" in wanted:
        write_file(folder, answers // models)
    elif wanted != ["pool"] and not (folder / "bench").exists():
        write_benchmark(folder, answers // models)
    if "pool" in wanted and not (folder / "source-0").exists():
        write_sources(folder, answers)
    for name, command in stages(answers, models).items():
        if name in wanted and name == "open":
            yield from opened(command, folder, later)
        elif name in wanted:
            yield name, spent_by(command, folder)


def main() -> None:
    """The table: a row a stage and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--models", type=int, default=1)
    parser.add_argument("--stages", default=",".join(stages(0, 1)))
    parser.add_argument("--later", type=float, default=LATER)
    parser.add_argument("--folder", type=Path, help="where to keep what is made, for the next time")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        IN_PROCESS[options.one[0]](Path(), int(options.one[1]))
        return
    print(f"{'stage':8} {'answers':>10} {'seconds':>8} {'CPU s':>8} {'a second':>9} {'peak MB':>8} {'load':>5}")
    with tempfile.TemporaryDirectory() as temporary:
        for answers in map(int, options.sizes.split(",")):
            folder = (options.folder or Path(temporary)).resolve() / f"{answers}x{options.models}"
            for name, spent in measure(folder, answers, options.models, options.stages.split(","), options.later):
                rate, told = answers / spent.seconds, name if options.models == 1 else f"{name}/{options.models}"
                print(
                    f"{told:8} {answers:10,} {spent.seconds:8.1f} {spent.processor:8.1f} {rate:9,.0f} "
                    f"{spent.peak:8,.0f} {os.getloadavg()[0]:5.1f}",
                    flush=True,
                )
            for part in ("bench", "journal-only/responses", "run/plan.parquet", "run/responses", "run/scores"):
                if (folder / part).exists():
                    print(f"{'disk':8} {answers:10,} {size_of(folder / part) / answers:8.1f} bytes an answer: {part}")


if __name__ == "__main__":
    main()
