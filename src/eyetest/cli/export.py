"""``eyetest export``: give a benchmark to another tool."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from eyetest.benchmarks import FORMATS, Benchmark, export_benchmark
from eyetest.cli import options
from eyetest.cli.terminal import note, out, safe


def export(
    bench: options.BenchArgument,
    format_name: Annotated[str, typer.Option("--format", metavar="NAME", help=f"One of {', '.join(FORMATS)}.")],
    to: Annotated[Path, typer.Option("--to", metavar="DST", help="The file or folder to write.")],
    overwrite: options.OverwriteOption = False,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
    answers: options.AnswersOption = None,
    drop: options.DropOption = None,
    allow_missing_gold: options.GoldOption = False,
) -> None:
    """Write a benchmark as another tool's file, from which the same items can be read again.

    A folder that can be uploaded as it is (lmms-eval, datasets) gets the benchmark's card along.
    """
    FORMATS[format_name]
    read = options.read_options(None, fields, images, answers, drop, allow_missing_gold)
    benchmark = options.open_with_bar(bench, read)
    beside = partial(_card, bench, benchmark, format_name)
    for message in export_benchmark(benchmark, format_name, to, overwrite=overwrite, beside=beside):
        note(message)
    out.print(f"{len(benchmark):,} items as {format_name} → {safe(str(to))}", soft_wrap=True)


def _card(bench: Path, benchmark: Benchmark, format_name: str, place: Path) -> None:
    """The benchmark's card, beside an export that is a folder."""
    from eyetest.recipes.carding import write_beside  # noqa: PLC0415 (slow to load, and most exports are files)

    write_beside(bench, benchmark, format_name, place)
