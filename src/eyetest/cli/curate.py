"""``eyetest subset|estimate|describe|card``: a part of a benchmark, its pictures in words, its card."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CROISSANT, README
from eyetest.cli import options
from eyetest.cli.options import FileOptions, Words, argument, option
from eyetest.cli.tables import print_measured
from eyetest.cli.terminal import fail, note, out, program, safe
from eyetest.errors import InputError
from eyetest.jobs import describe as describing
from eyetest.jobs import subset as parts
from eyetest.jobs.card import make_card
from eyetest.jobs.opening import open_bench
from eyetest.models import parse_models
from eyetest.recipes.refining import refuse_foreign
from eyetest.records.recipe import BENCHMARK
from eyetest.reports.dataset_card import Known, self_score
from eyetest.wording import counted, listed, typed


def subset(
    bench: options.BenchArgument,
    to: Annotated[Path, option("--to", "DIR/benchmark is the part.", "DIR")],
    only: Annotated[
        Words, option("--only", "Only items with these values of a tag; again for another tag.", "TAG=A,B")
    ] = None,
    unseen_by: Annotated[
        Path | None, option("--unseen-by", "models.yaml: leave out what any of them was trained on.", "FILE")
    ] = None,
    dataset_tag: Annotated[str, option("--dataset-tag", "The tag that names the dataset.", "TAG")] = "source",
    answers: Annotated[
        list[Path] | None,
        option("--answers", "Draw a small part that tells these models apart (with --share).", "RUN"),
    ] = None,
    share: Annotated[float, option("--share", "Of the items, with --answers.", min=0.001, max=1)] = 0.1,
    sight: Annotated[str, option("--sight", "Which answers of the run count.", "NAME")] = "image",
    seed: Annotated[int, option("--seed", "Random seed.", min=0)] = 0,
    option_count: Annotated[
        int | None, option("--option-count", "So many options each: the gold and the first distractors.", min=2)
    ] = None,
    overwrite: options.OverwriteOption = False,
    *,
    file: options.FileOptions,
) -> None:
    """Take a part of a benchmark: the tasks you care about, what no compared model was trained on, or a small part.

    With --answers (of nine models or more), half of the part are the items that together say most about the whole,
    and of the rest those that tell the run's models apart are likelier to be drawn; a new model is asked the part
    alone, and eyetest estimate says what it would score on the whole. How well that works is tried on models and
    items that were held out, and printed.
    """
    benchmark = open_bench(bench, file.read())
    part = parts.subset(
        benchmark,
        to=to,
        only=only or (),
        unseen_by=unseen_by,
        dataset_tag=dataset_tag,
        answers=answers or (),
        share=share,
        sight=sight,
        seed=seed,
        option_count=option_count,
        overwrite=overwrite,
    )
    for line in part.notes:
        note(line)
    items = counted(len(part.benchmark), "item")
    out.print(safe(f"{items} of {len(benchmark):,} → {to / BENCHMARK}"), soft_wrap=True)


def estimate(
    part: Annotated[Path, argument("DIR", "A part that eyetest subset --answers drew.")],
    runs: Annotated[list[Path], argument("RUN...", "Runs on DIR/benchmark, or on all of it.")],
    sight: Annotated[str, option("--sight", "Which answers count.", "NAME")] = "image",
    as_json: options.JsonOption = False,
) -> None:
    """Estimate the score on the whole benchmark from answers to a small part of it (p-IRT).

    Intervals are as wide as models of the panel were missed by when they were left out; how many they held is told.
    """
    found = parts.estimate(part, runs, sight=sight)
    print_measured("estimate", found.frame, found.notes, "json" if as_json else "terminal")


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
    benchmark = open_bench(bench, file.read())
    texts, asked, progress = describing.ask(
        bench, benchmark, entries, to, again=again, retry_failed=retry_failed, concurrency=concurrency
    )
    for why in progress.abandoned.values():
        fail(f"{describer} was given up: {why}")
    if progress.abandoned or (progress.left and progress.stopped):
        why = "" if progress.abandoned else f"{progress.stopped}; "
        note(f"{why}{counted(progress.left, 'call')} left. The same command goes on from here.")
        raise typer.Exit(2 if progress.abandoned else 130)
    folder = describing.write_described(benchmark, describer, texts, to)
    if missing := asked - len(texts):
        note(f"{counted(missing, 'item')} without a description: the call failed or was refused (--retry-failed)")
    out.print(safe(f"{counted(len(texts), 'description')} by {describer} → {folder}"), soft_wrap=True)


def card(
    bench: Annotated[
        Path, argument("BENCH|REFINED", "A benchmark, or the folder of a refinement (eyetest refine --to).")
    ],
    to: Annotated[
        Path | None, option("--to", "Write the card there. (default: into the benchmark folder)", "DIR")
    ] = None,
    fact: Annotated[
        Words,
        option(
            "--fact",
            "What only you know: licence=CC-BY-4.0, contact=…, language=en, sources.NAME=MIT. Kept in card.yaml.",
            "KEY=VALUE",
        ),
    ] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace a card that a person wrote or changed.")] = False,
    *,
    file: FileOptions,
) -> None:
    """Write a benchmark's card: README.md for the Hugging Face hub and croissant.json for programs.

    It says what is in it, what was taken out and why, what is weak, under what licence it is, and scores itself
    against good practice. What nobody knows is called unknown; tell it with --fact. A refinement writes its own card.
    """
    known, benchmark, target = make_card(bench, to, fact or [], read=file.read(), overwrite=overwrite)
    _report(known, target)
    if to is not None and not is_benchmark(target):
        whose = _folder(bench, benchmark)
        note(f"the card speaks of a benchmark folder: lay it beside items.parquet and images/ ({whose})")


def _folder(bench: Path, benchmark: Benchmark) -> str:
    if benchmark.path.is_relative_to(bench):
        return f"those of {benchmark.path}"
    return f"{typed(program(), 'import', bench)} --to FOLDER makes one"


def _report(known: Known, to: Path) -> None:
    """Where it is, and what it could not say."""
    score = self_score(known).values()
    out.print(Text(f"{README}, {CROISSANT} → {safe(str(to))}", "bold"), soft_wrap=True)
    out.print(f"{sum(score)} of {counted(len(score), 'good practice')} on record")
    if not known.licence.is_known:
        note("the licence is unknown: --fact licence=…")
    if known.unlicensed:
        names = listed([source.name for source in known.unlicensed])
        note(f"of {counted(len(known.unlicensed), 'source')} the licence is unknown ({names}): --fact sources.NAME=…")
    if absent := [name for name in ("about", "language", "contact", "citation") if not getattr(known.said, name)]:
        note(f"nobody has said: {', '.join(absent)} (--fact KEY=VALUE)")
