"""``eyetest export``: give a benchmark to another tool."""

from pathlib import Path
from typing import Annotated

import typer

from eyetest.benchmarks import FORMATS, export_benchmark
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
    """Write a benchmark as another tool's file, from which the same items can be read again."""
    FORMATS[format_name]
    read = options.read_options(None, fields, images, answers, drop, allow_missing_gold)
    benchmark = options.open_with_bar(bench, read)
    for message in export_benchmark(benchmark, format_name, to, overwrite=overwrite):
        note(message)
    out.print(f"{len(benchmark):,} items as {format_name} → {safe(str(to))}", soft_wrap=True)
