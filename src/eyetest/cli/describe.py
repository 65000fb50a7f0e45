"""``eyetest describe``: a model writes down what is in the pictures, for readers who cannot see."""

from pathlib import Path
from typing import Annotated

import typer

from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import Words, option
from eyetest.cli.terminal import fail, note, out, safe
from eyetest.errors import InputError
from eyetest.jobs import describe as job
from eyetest.jobs.opening import open_bench
from eyetest.models import parse_models
from eyetest.recipes.refining import refuse_foreign
from eyetest.wording import counted


def describe(
    bench: options.BenchArgument,
    to: Annotated[Path, option("--to", "DIR/benchmark gets the descriptions, DIR/run keeps the answers.", "DIR")],
    model: Annotated[Words, option("--model -m", "Who describes (see eyetest run --help).", "SPEC")] = None,
    models: Annotated[Path | None, option("--models", "A models.yaml to take the model from.", "FILE")] = None,
    again: Annotated[bool, option("--again", "Also items that have a description already.")] = False,
    retry_failed: options.RetryOption = False,
    concurrency: Annotated[int, option("", "The most calls in flight.", min=1)] = 64,
    *,
    file: options.FileOptions,
) -> None:
    """Have a model describe every picture once; --sight caption then asks about the words instead of the picture.

    The describer sees the pictures, not the question, so that it cannot answer it. Run it again to go on.
    """
    entries = parse_models(model or [], models)
    if len(entries) != 1:
        raise InputError(f"one describer, not {len(entries)}: name it with --model")
    describer = next(iter(entries))
    refuse_foreign(to)
    benchmark = open_bench(bench, file.read(), TERMINAL)
    texts, asked, progress = job.ask(
        bench,
        benchmark,
        entries,
        to,
        again=again,
        retry_failed=retry_failed,
        concurrency=concurrency,
        observer=TERMINAL,
    )
    for why in progress.abandoned.values():
        fail(f"{describer} was given up: {why}")
    if progress.abandoned or (progress.left and progress.stopped):
        why = "" if progress.abandoned else f"{progress.stopped}; "
        note(f"{why}{counted(progress.left, 'call')} left. The same command goes on from here.")
        raise typer.Exit(2 if progress.abandoned else 130)
    folder = job.write_described(benchmark, describer, texts, to)
    if missing := asked - len(texts):
        note(f"{counted(missing, 'item')} without a description: the call failed or was refused (--retry-failed)")
    out.print(safe(f"{counted(len(texts), 'description')} by {describer} → {folder}"), soft_wrap=True)
