"""``eyetest card``: what a benchmark is, for those who will use it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CROISSANT, README
from eyetest.cli import options
from eyetest.cli.terminal import note, out, safe
from eyetest.errors import InputError
from eyetest.recipes.refining import ABOUT, BENCHMARK, VERDICTS
from eyetest.reports.dataset_card import (
    EXPORTS,
    SAID,
    Known,
    Records,
    card_of,
    read_said,
    refuse_edited,
    self_score,
    with_settings,
    write_card,
    write_readme,
    write_said,
)
from eyetest.wording import counted, listed


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
    home, records = home_of(bench)
    if records is None and not is_benchmark(home) and to is None:
        raise InputError(f"{bench} is no benchmark folder, so there is no place for its card; name one with --to DIR")
    if to is not None and to.exists() and not to.is_dir():
        raise InputError(f"--to: {to} is a file; a card goes into a folder")
    place = home / BENCHMARK if records else home
    benchmark = options.open_with_bar(
        place, options.read_options(format_name, fields, images, allow_missing_gold=True)
    )
    target = to or place
    if not overwrite:
        refuse_edited(target)
    kept = (to or home) / SAID
    said = with_settings(read_said(kept if kept.exists() else home / SAID), settings or [])
    known = card_of(benchmark, said, records)
    write_card(known, benchmark, target)
    if settings:
        write_said(kept, said)
    _report(known, target)
    if to is not None and not is_benchmark(target):
        note(f"the card speaks of a benchmark folder: lay it beside items.parquet and images/ ({_folder(benchmark)})")


def home_of(bench: Path) -> tuple[Path, Records | None]:
    """The folder of a refinement with what it left, also where its benchmark was named; else what was named."""
    inside = bench if bench.name else bench.resolve()
    for folder in (bench, inside.parent if inside.name == BENCHMARK else None):
        if folder is not None and (folder / ABOUT).is_file() and (folder / VERDICTS).is_file():
            if not is_benchmark(folder / BENCHMARK):
                raise InputError(f"{folder} holds no benchmark yet: no item is left, or a stage waits for people")
            return folder, Records(folder / ABOUT, folder / VERDICTS)
    return bench, None


def write_beside(bench: Path, benchmark: Benchmark, format_name: str, place: Path) -> None:
    """The card for people, beside an export that is uploaded as it is; nothing beside any other."""
    if layout := EXPORTS.get(format_name):
        home, records = home_of(bench)
        write_readme(card_of(benchmark, read_said(home / SAID), records)._replace(layout=layout), place)


def _folder(benchmark: Benchmark) -> str:
    return f"eyetest import makes one of {benchmark.manifest.origin.file or benchmark.manifest.name}"


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
