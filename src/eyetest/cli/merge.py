"""``eyetest merge``: runs of several people or sites become one."""

from pathlib import Path
from typing import Annotated

from eyetest.cli.live import TERMINAL
from eyetest.cli.options import JsonOption, argument, option
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.jobs import merge as job
from eyetest.wording import counted


def merge(
    runs: Annotated[list[Path], argument("RUN...", "Run folders about one benchmark.")],
    to: Annotated[Path, option("--to", "The run that they become; one that is there is added to.", "RUN")],
    prefer: Annotated[
        str | None,
        option("--prefer", "Where runs differ: what the first one says, or the newest answer.", "first|newest"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put runs of several people or sites together as one run.

    What runs answered differently is counted and refused, unless --prefer says which counts; only a failure gives way
    to an answer by itself. Scores are made anew when they are next asked for, and run asks only what is left.
    """
    merged = job.merge(runs, to, prefer, TERMINAL)
    if as_json:
        print_json(merged)
        return
    for run, answers in merged.brought.items():
        out.print(safe(f"{answers:>9,}  answers of {run}"), soft_wrap=True)
    about = f"{counted(merged.planned, 'planned call')} of {counted(merged.models, 'model')}"
    out.print(safe(f"{about} → {to}" if merged.new else f"{to} held all of it already"), soft_wrap=True)
    if merged.gave_way:
        note(f"{counted(merged.gave_way, 'failure')} gave way to an answer")
    if merged.decided:
        note(f"{counted(merged.decided, 'answer')} differed; the {prefer} was taken (--prefer)")
