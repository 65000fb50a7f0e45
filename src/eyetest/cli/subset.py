"""``eyetest subset``: a part of a benchmark, by what it is about, by whom it is to compare, or small and telling."""

from pathlib import Path
from typing import Annotated

from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import Words, argument, option
from eyetest.cli.tables import print_measured, print_table_as
from eyetest.cli.terminal import note, out, safe
from eyetest.jobs import subset as job
from eyetest.jobs.opening import open_bench
from eyetest.recipes.refining import BENCHMARK
from eyetest.wording import counted


def subset(
    bench: options.BenchArgument,
    to: Annotated[Path, option("--to", "DIR/benchmark is the part.", "DIR")],
    only: Annotated[
        Words, option("--only", "Only items with these values of a tag; again for another tag.", "TAG=A,B")
    ] = None,
    unseen_by: Annotated[
        Path | None, option("--unseen-by", "models.yaml: leave out what any of them was trained on.", "FILE")
    ] = None,
    source: Annotated[str, option("--source", "The tag that names the dataset.", "TAG")] = "source",
    answers: Annotated[
        list[Path] | None,
        option("--answers", "Draw a small part that tells these models apart (with --share).", "RUN"),
    ] = None,
    share: Annotated[float, option("--share", "Of the items, with --answers.", min=0.001, max=1)] = 0.1,
    sight: Annotated[str, option("--sight", "Which answers of the run count.", "NAME")] = "image",
    seed: Annotated[int, option("--seed", "Of the drawing.", min=0)] = 0,
    overwrite: options.OverwriteOption = False,
    *,
    file: options.FileOptions,
) -> None:
    """Take a part of a benchmark: the tasks you care about, what no compared model was trained on, or a small part.

    With --answers, items that tell the run's models apart are likelier to be drawn; a new model is asked the part
    alone, and eyetest estimate says what it would score on the whole. How well that works is tried on models that
    were held out, and printed.
    """
    benchmark = open_bench(bench, file.read(), TERMINAL)
    part = job.Part(only or (), unseen_by, source, answers or (), share, sight, seed)
    items, validation = job.subset(benchmark, to, part, overwrite=overwrite, observer=TERMINAL)
    if validation is not None:
        print_table_as("terminal", validation)
        note("tried on models that were held out of the fit; mae is how far their full scores were missed")
    out.print(safe(f"{counted(items, 'item')} of {len(benchmark):,} → {to / BENCHMARK}"), soft_wrap=True)


def estimate(
    part: Annotated[Path, argument("DIR", "A part that eyetest subset --answers drew.")],
    runs: Annotated[list[Path], argument("RUN...", "Runs on DIR/benchmark, or on all of it.")],
    sight: Annotated[str, option("--sight", "Which answers count.", "NAME")] = "image",
    as_json: options.JsonOption = False,
) -> None:
    """Estimate the score on the whole benchmark from answers to a small part of it (p-IRT), with its error."""
    print_measured("estimate", job.estimate(part, runs, sight), "json" if as_json else "terminal")
