"""``eyetest import``: bring a benchmark of any known format into a benchmark folder."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.benchmarks import Import, import_benchmark
from eyetest.cli import options
from eyetest.cli.terminal import note, out, progress_bar, safe
from eyetest.records import Counts

_ABOUT = "What the benchmark says of itself"


def import_(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A file or folder of another tool.")],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The benchmark folder to write.")],
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
    answers: options.AnswersOption = None,
    drop: options.DropOption = None,
    allow_missing_gold: options.GoldOption = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad items out and list them in DIR/skipped.jsonl.")
    ] = False,
    overwrite: options.OverwriteOption = False,
    name: Annotated[str, typer.Option(help="Its name. (default: the file's)", rich_help_panel=_ABOUT)] = "",
    version: Annotated[str, typer.Option(help="Its version.", rich_help_panel=_ABOUT)] = "1",
    licence: Annotated[str, typer.Option(help="Under what licence.", rich_help_panel=_ABOUT)] = "",
    origin: Annotated[str, typer.Option("--source", help="Where it is from.", rich_help_panel=_ABOUT)] = "",
    canary: Annotated[str, typer.Option(help="Its canary string.", rich_help_panel=_ABOUT)] = "",
) -> None:
    """Bring a benchmark into a folder: items in Parquet, every picture once, a manifest.

    The format is recognised: VLMEvalKit TSV, Hugging Face Parquet (also MMMU's and MMStar's layouts), JSON Lines, a
    folder saved by datasets. The folder appears when it is complete; a bad item stops the import with one line.
    """
    how = Import(
        read=options.read_options(format_name, fields, images, answers, drop, allow_missing_gold),
        name=name,
        version=version,
        licence=licence,
        source=origin,
        canary=canary,
        skip_bad=skip_bad,
        overwrite=overwrite,
    )
    with progress_bar(f"importing {source.name}") as progress:
        benchmark, skipped = import_benchmark(source, to, how, progress)
    manifest = benchmark.manifest
    out.print(
        Text.assemble((safe(manifest.name), "bold"), f": {counted(manifest.counts)} → {safe(str(to))}"),
        soft_wrap=True,
    )
    if skipped:
        note(f"{len(skipped):,} bad items left out, listed in {to / 'skipped.jsonl'}; the first: {skipped[0].where}")


def counted(counts: Counts) -> str:
    """``1,000 items (540 choice, 460 text), 967 pictures``."""
    kinds = [f"{n:,} {kind}" for n, kind in ((counts.choice_items, "choice"), (counts.text_items, "text")) if n]
    return f"{counts.items:,} items ({', '.join(kinds)}), {counts.images:,} pictures"
