"""``eyetest card``: what a benchmark is, for those who will use it."""

from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CROISSANT, README
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import FileOptions, Words, argument, option
from eyetest.cli.terminal import note, out, program, safe
from eyetest.jobs.card import make_card
from eyetest.reports.dataset_card import Known, self_score
from eyetest.wording import counted, listed, typed


def card(
    bench: Annotated[
        Path, argument("BENCH|REFINED", "A benchmark, or the folder of a refinement (eyetest refine --to).")
    ],
    to: Annotated[
        Path | None, option("--to", "Write the card there. (default: into the benchmark folder)", "DIR")
    ] = None,
    settings: Annotated[
        Words,
        option(
            "--set",
            "What only you know: licence=CC-BY-4.0, contact=…, language=en, sources.NAME=MIT, "
            "practices.NAME=yes. Kept in card.yaml.",
            "KEY=VALUE",
        ),
    ] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace a card that a person wrote or changed.")] = False,
    *,
    file: FileOptions,
) -> None:
    """Write a benchmark's card: README.md for the Hugging Face hub and croissant.json for programs.

    It says what is in it, what was taken out and why, what is weak, under what licence it is, and scores itself
    against good practice. What nobody knows is called unknown; tell it with --set. A refinement writes its own card.
    """
    known, benchmark, target = make_card(
        bench, to, settings or [], read=file.read(), overwrite=overwrite, observer=TERMINAL
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
