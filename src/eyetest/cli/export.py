"""``eyetest export``: give a benchmark to another tool."""

from functools import partial
from pathlib import Path
from typing import Annotated

from eyetest.benchmarks import FORMATS, Benchmark, export_benchmark
from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.terminal import note, out, safe
from eyetest.jobs.opening import open_bench, read_options


def export(
    bench: options.BenchArgument,
    format_name: Annotated[str, options.option("--format", f"One of {', '.join(FORMATS)}.", "NAME")],
    to: Annotated[Path, options.option("--to", "The file or folder to write.", "DST")],
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
    read = read_options(None, fields or (), images, answers, drop or (), gold_required=not allow_missing_gold)
    benchmark = open_bench(bench, read, TERMINAL)
    beside = partial(_card, bench, benchmark, format_name)
    for message in export_benchmark(benchmark, format_name, to, overwrite=overwrite, beside=beside):
        note(message)
    out.print(f"{len(benchmark):,} items as {format_name} → {safe(str(to))}", soft_wrap=True)


def _card(bench: Path, benchmark: Benchmark, format_name: str, folder: Path) -> None:
    """The benchmark's card, beside an export that is a folder."""
    from eyetest.jobs.card import write_beside  # noqa: PLC0415 (slow to load, and most exports are files)

    write_beside(bench, benchmark, format_name, folder)
