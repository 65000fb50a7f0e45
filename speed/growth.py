"""How time and memory of asking grow with the number of items, here and in an older checkout, side by side.

    python speed/growth.py [--sizes 100000,300000,1000000] [--old CHECKOUT] [--what take,left,resume,ask,panels,judge]

take     all items of a benchmark, in the order in which they are asked
left     what is left to ask of a run in which nine of ten calls are answered: the ids that are planned and not stored
resume   the whole plan of that run gone through, with prompts made and counted, as `eyetest run --dry-run` does
ask      everything asked of a fake model, into a new run
panels   the same of three fake models under a stopping rule
judge    questions of somebody else's making, all handed over at once

Each is a process of its own; memory is the most that it held, with Python and its libraries. Folders are made once a
size, by the older checkout where one is given, so that both can read them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

WHAT = ("take", "left", "resume", "ask", "panels", "judge")
SHARING = 3
"""So many neighbours show the same picture."""


def make(folder: Path, size: int) -> None:
    """A benchmark, and a run in which nine of ten calls are answered."""
    from eyetest.benchmarks import Benchmark, BenchmarkWriter
    from eyetest.records import Choice, ImageRef, Item, Manifest, Response
    from eyetest.runs import RunWriter

    with BenchmarkWriter(folder / "bench", Manifest(name="growth")) as writer:
        for n in range(size):
            image = ImageRef(f"{n // SHARING:064x}", "png", 640, 480, 1_000)
            choices = tuple(Choice(f"option {k} of {n}", k == n % 4) for k in range(4))
            writer.add(Item(id=f"item-{n}", question=f"What is shown in {n}?", images=(image,), choices=choices))
    session = _session(Benchmark(folder / "bench"), 1)
    with RunWriter(folder / "run") as run:
        with run.planning() as plan:
            for n, item in enumerate(session.plan.items()):
                for call in session.plan.calls(item, session.models):
                    assert not isinstance(call, tuple)
                    plan.add(call.asked, call.id)
                    if n % 10:
                        run.journal.append(Response(request=call.id, outcome="answered", text="A. option"))
        run.record(session._step(session.plan.estimate({})[0]) if False else _step(), session.entries, session.about)


def _step() -> "RunStep":  # noqa: F821
    from eyetest.records import RunStep

    return RunStep(what="ask")


def _session(bench: "Benchmark", models: int, stop: str = "") -> "Session":  # noqa: F821
    from eyetest.models import parse_models
    from eyetest.running import Asking, Session

    names = parse_models([f"m{n}=scripted:right=0.{5 + n}" for n in range(models)])
    return Session(bench, names, Asking(stop=stop), hit=lambda item, condition, response: response.text == "A")
