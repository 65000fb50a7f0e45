"""``eyetest import``: bring a benchmark of any known format into a benchmark folder."""

from functools import partial
from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.benchmarks import Import, import_benchmark
from eyetest.cli import options
from eyetest.cli.terminal import note, out, progress_bar, safe
from eyetest.records import ItemCounts

about = partial(options.option, panel="What the benchmark says of itself")


def import_(
    source: Annotated[Path, options.argument("SRC", "A file or folder of another tool.")],
    to: Annotated[Path, options.option("--to", "The benchmark folder to write.", "DIR")],
    *,
    file: options.GoldFileOptions,
    allow_missing_gold: options.GoldOption = False,
    skip_bad: Annotated[
        bool, options.option("--skip-bad", "Leave bad items out and list them in DIR/skipped.jsonl.")
    ] = False,
    overwrite: options.OverwriteOption = False,
    name: Annotated[str, about("", "Its name. (default: the file's)")] = "",
    version: Annotated[str, about("", "Its version.")] = "1",
    licence: Annotated[str, about("", "Under what licence.")] = "",
    origin: Annotated[str, about("--source", "Where it is from.")] = "",
    canary: Annotated[str, about("", "Its canary string.")] = "",
) -> None:
    """Bring a benchmark into a folder: items in Parquet, every picture once, a manifest.

    The format is recognised: VLMEvalKit TSV, Hugging Face Parquet (also MMMU's and MMStar's layouts), JSON Lines, a
    folder saved by datasets. The folder appears when it is complete; a bad item stops the import with one line.
    """
    how = Import(
        read=file.read_all(gold_required=not allow_missing_gold),
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


def counted(counts: ItemCounts) -> str:
    """``1,000 items (540 choice, 460 text), 967 pictures``."""
    kinds = [f"{n:,} {kind}" for n, kind in ((counts.choice_items, "choice"), (counts.text_items, "text")) if n]
    return f"{counts.items:,} items ({', '.join(kinds)}), {counts.images:,} pictures"
