"""How time and memory of asking grow with the number of items, here and in an older checkout, side by side.

    python speed/growth.py [--sizes 100000,300000,1000000] [--old CHECKOUT] [--what take,left] [--old-most 300000]

take     all items of a benchmark, in the order in which they are asked
left     what is left to ask of a run in which nine of ten calls are answered: ids that are planned and not stored
resume   the whole plan of that run gone through, with prompts made and counted, as `eyetest run --dry-run` does
rest     what is left of that run asked, in a copy of it
ask      everything asked of a fake model, into a new run
panels   the same of three fake models under a stopping rule
judge    questions of somebody else's making, and what was said read back

Each is a process of its own. Seconds are those of the clock and, for busy machines, of the processor. Memory is the
most that it held, with Python and its libraries; what those alone take is told too. Folders are made once a size, by
the older checkout where one is given, so that both can read them.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.models import parse_models
from eyetest.records import Choice, ImageRef, Item, Manifest, Message, Prompt, Response, RunStep, StoppingRule, Words
from eyetest.records.tables import Cut
from eyetest.running import Asking, Session
from eyetest.running.session import Questions
from eyetest.runs import Run, RunWriter

SHARING = 3
"""So many neighbours show the same image."""
RULE = StoppingRule(falls=Cut(op=">=", value=2), models=3)


def make(folder: Path, size: int) -> None:
    """A benchmark, and a run in which nine of ten calls are answered."""
    with BenchmarkWriter(folder / "bench", Manifest(name="growth")) as writer:
        for n in range(size):
            image = ImageRef(f"{n // SHARING:064x}", "png", 640, 480, 1_000)
            choices = tuple(Choice(f"option {k} of {n}", k == n % 4) for k in range(4))
            writer.add(Item(id=f"item-{n}", question=f"What is shown in {n}?", images=(image,), choices=choices))
    session = new_session(folder, 1)
    with RunWriter(folder / "run") as run:
        with run.planning() as plan:
            for n, item in enumerate(session.plan.items()):
                for call in session.plan.applicable(item, session.models):
                    plan.add(call.asked, call.id)
                    if n % 10:
                        run.journal.append(Response(request=call.id, outcome="answered", text="A. option"))
        run.record(RunStep(what="ask"), session.entries, session.about)


def new_session(folder: Path, models: int, stop: StoppingRule | None = None) -> Session:
    """Fake models that are right more and more often."""
    names = parse_models([f"m{n}=scripted:right=0.{5 + n}" for n in range(models)])
    benchmark = Benchmark(folder / "bench")
    return Session(benchmark, names, Asking(stop=stop), hit=lambda item, condition, response: response.text == "A")


def take(folder: Path) -> int:
    """All items, a few at a time."""
    benchmark = Benchmark(folder / "bench")
    order = benchmark.by_image()
    return sum(len(benchmark.take(order[start : start + 500])) for start in range(0, len(order), 500))


def left(folder: Path) -> int:
    """What is planned and not stored."""
    run = Run(folder / "run")
    if not hasattr(run, "errors"):  # an older checkout
        settled, planned = set(run.outcomes()), run.planned()  # type: ignore[attr-defined]
        return len({request for request in planned.values() if request not in settled})
    return len(set(run.plan().column("request").to_pylist()) - set(run.errors()["request"]))


def resume(folder: Path) -> int:
    """The plan gone through, and what is left of it counted."""
    return new_session(folder, 1).estimate(folder / "run").calls


def rest(folder: Path) -> int:
    """The tenth that is left asked, and the plan written anew."""
    with tempfile.TemporaryDirectory(dir=folder) as to:
        shutil.copytree(folder / "run", Path(to) / "run")
        return new_session(folder, 1).run(Path(to) / "run").done


def ask(folder: Path) -> int:
    """Everything asked."""
    with tempfile.TemporaryDirectory(dir=folder) as to:
        return new_session(folder, 1).run(Path(to) / "run").done


def panels(folder: Path) -> int:
    """Everything asked that the rule needs."""
    with tempfile.TemporaryDirectory(dir=folder) as to:
        return new_session(folder, 3, RULE).run(Path(to) / "run").done


def judge(folder: Path) -> int:
    """One question about each item."""
    benchmark = Benchmark(folder / "bench")

    def prompts() -> Iterator[tuple[Item, Prompt]]:
        return ((item, Prompt((Message("user", (Words(f"Is {item.id} fair?"),)),))) for item in benchmark)

    with tempfile.TemporaryDirectory(dir=folder) as to:
        questions = Questions(Path(to) / "run", benchmark, parse_models(["m=scripted:right=1"]))
        said, _ = questions.ask("m", prompts, "judge")
        return sum(response is not None for response in said)


WHAT: dict[str, Callable[[Path], int]] = {
    "take": take,
    "left": left,
    "resume": resume,
    "rest": rest,
    "ask": ask,
    "panels": panels,
    "judge": judge,
}


def measure(what: str, folder: Path) -> None:
    """One measurement, in this process."""
    libraries = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began, worked = time.perf_counter(), time.process_time()
    count = WHAT[what](folder)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"count": count, "seconds": seconds, "work": work, "libraries": libraries, "most": most}))


def elsewhere(checkout: Path, *arguments: object) -> str:
    """Run this script on the code of a checkout."""
    paths = os.pathsep.join(str(checkout / part) for part in ("src", "."))
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def main() -> None:
    """Make folders of each size, and measure everything on them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100000,300000,1000000")
    parser.add_argument("--old", type=Path, help="a checkout to compare with")
    parser.add_argument("--old-most", type=int, default=300_000, help="the largest size at which it is measured")
    parser.add_argument("--what", default=",".join(WHAT))
    parser.add_argument("--folder", type=Path, help="where to keep what is made, for the next time")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one[0], Path(options.one[1]))
    elif options.make:
        make(Path(options.make[0]), int(options.make[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            compare(options, options.folder or Path(temporary))


def compare(options: argparse.Namespace, parent: Path) -> None:
    """The table: a row a size, seconds and megabytes, the older checkout's first."""
    here = Path(__file__).resolve().parent.parent
    print("seconds on the clock (of the processor), and the most memory; older checkout, then this one")
    for size in map(int, options.sizes.split(",")):
        folder = parent / str(size)
        if not (folder / "run/run.json").exists():
            elsewhere(options.old or here, "--make", folder, size)
        for what in options.what.split(","):
            cells = []
            for checkout in (options.old if size <= options.old_most else None, here):
                told = json.loads(elsewhere(checkout, "--one", what, folder)) if checkout else {}
                cells.append(f"{told['seconds']:.1f} ({told['work']:.1f}) s {told['most']:.0f} MB" if told else "")
            print(f"{what:8} {size:10,} {told['count']:10,} {cells[0]:>26} {cells[1]:>26}", flush=True)
    print(f"libraries alone: {told['libraries']:.0f} MB")


if __name__ == "__main__":
    main()
