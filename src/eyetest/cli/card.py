"""``eyetest card``: what a benchmark is, for those who will use it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CROISSANT, README
from eyetest.cli import options
from eyetest.cli.terminal import note, out, program, safe
from eyetest.recipes.carding import make_card
from eyetest.reports.dataset_card import Known, self_score
from eyetest.wording import counted, listed, typed


def card(
    bench: Annotated[
        Path,
        typer.Argument(
            metavar="BENCH|REFINED", help="A benchmark, or the folder of a refinement (eyetest refine --to)."
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Write the card there. (default: into the benchmark folder)"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="What only you know: licence=CC-BY-4.0, contact=…, language=en, sources.NAME=MIT, "
            "practices.NAME=yes. Kept in card.yaml.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a card that a person wrote or changed.")
    ] = False,
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
) -> None:
    """Write a benchmark's card: README.md for the Hugging Face hub and croissant.json for programs.

    It says what is in it, what was taken out and why, what is weak, under what licence it is, and scores itself
    against good practice. What nobody knows is called unknown; tell it with --set. A refinement writes its own card.
    """
    read = options.read_options(format_name, fields, images, allow_missing_gold=True)
    known, benchmark, target = make_card(
        bench, to, settings or [], lambda place: options.open_with_bar(place, read), overwrite=overwrite
    )
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
    score = self_score(known)
    out.print(Text(f"{README}, {CROISSANT} → {safe(str(to))}", "bold"), soft_wrap=True)
    kept, decided, asked = score.count("yes"), score.count("yes", "no"), score.count("ask")
    out.print(f"{kept} of {counted(decided, 'practice')} kept; {asked} only a person can answer")
    if not known.licence.is_known:
        note("the licence is unknown: --set licence=…")
    if known.unlicensed:
        names = listed([source.name for source in known.unlicensed])
        note(f"of {counted(len(known.unlicensed), 'source')} the licence is unknown ({names}): --set sources.NAME=…")
    if absent := [name for name in ("about", "language", "contact", "citation") if not getattr(known.said, name)]:
        note(f"nobody has said: {', '.join(absent)} (--set KEY=VALUE)")
