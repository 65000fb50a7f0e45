"""``eyetest describe``: a model writes down what is in the pictures, for readers who cannot see."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from eyetest.benchmarks import BenchmarkWriter
from eyetest.cli import options
from eyetest.cli.live import watching
from eyetest.cli.terminal import fail, note, out, safe
from eyetest.errors import InputError
from eyetest.models import parse_models
from eyetest.prompts.describing import description_prompt
from eyetest.recipes.refining import BENCHMARK, RUN, refuse_foreign
from eyetest.records import Lineage
from eyetest.running import Limits
from eyetest.running.questions import Questions
from eyetest.wording import counted


def describe(
    bench: options.BenchArgument,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="DIR", help="DIR/benchmark gets the descriptions, DIR/run keeps the answers."),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="SPEC", help="Who describes (see eyetest run --help)."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option("--models", metavar="FILE", help="A models.yaml to take the model from.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also items that have a description already.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what failed before.")] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="The most calls in flight.")] = 64,
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
) -> None:
    """Have a model describe every picture once; --sight caption then asks about the words instead of the picture.

    The describer sees the pictures, not the question, so that it cannot answer it. Run it again to go on.
    """
    entries = parse_models(model or [], models)
    if len(entries) != 1:
        raise InputError(f"one describer, not {len(entries)}: name it with --model")
    describer = next(iter(entries))
    refuse_foreign(to)
    read = options.read_options(format_name, fields, images, None, None, allow_missing_gold=True)
    benchmark = options.open_with_bar(bench, read)
    seen = [item for item in benchmark if item.images]
    items = [item for item in seen if again or not item.description]
    if not seen:
        raise InputError(f"{bench}: no item has a picture")
    if not items:
        raise InputError(f"{bench}: every item that has a picture has a description already (--again)")
    prompts = [(item, description_prompt(item)) for item in items]
    questions = Questions(to / RUN, benchmark, entries, Limits(concurrency=concurrency), retry_failed=retry_failed)
    said, progress = questions.ask(describer, prompts, "describe", watching)
    texts = {
        item.id: (response.text or "").strip()
        for item, response in zip(items, said, strict=True)
        if response is not None and response.outcome in ("answered", "truncated") and (response.text or "").strip()
    }
    for why in progress.abandoned.values():
        fail(f"{describer} was given up: {why}")
    if progress.abandoned or (progress.left and progress.stopped):
        why = "" if progress.abandoned else f"{progress.stopped}; "
        note(f"{why}{counted(progress.left, 'call')} left. The same command goes on from here.")
        raise typer.Exit(2 if progress.abandoned else 130)
    old = benchmark.manifest
    step = Lineage(step="describe", source=f"{old.name} {old.version}", note=f"described by {describer}")
    manifest = msgspec.structs.replace(old, lineage=(*old.lineage, step))
    with BenchmarkWriter(to / BENCHMARK, manifest, overwrite=True, gold_required=False) as writer:
        for item in benchmark:
            described = msgspec.structs.replace(item, description=texts.get(item.id, item.description))
            writer.adopt(described, benchmark)
    if missing := len(items) - len(texts):
        note(f"{counted(missing, 'item')} without a description: the call failed or was refused (--retry-failed)")
    out.print(safe(f"{counted(len(texts), 'description')} by {describer} → {to / BENCHMARK}"), soft_wrap=True)
