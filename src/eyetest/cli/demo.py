"""``eyetest demo``: draw a small benchmark, take it through every format and back, and show it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from eyetest.benchmarks import FORMATS, Benchmark, export_benchmark, import_benchmark
from eyetest.benchmarks.opening import Import
from eyetest.cli import options
from eyetest.cli.show import item_panel
from eyetest.cli.terminal import out, program
from eyetest.errors import ExportError
from eyetest.world import draw_benchmark

_SHOWN = "5"


def demo(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where to put it.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed draws other pictures.")] = 0,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Draw a small benchmark, write it in every format, read it back, and show it."""
    benchmark = draw_benchmark(to / "drawn", seed=seed, overwrite=overwrite)
    out.print(f"Drew {len(benchmark)} items with {benchmark.manifest.counts.images} pictures → {benchmark.path}\n")
    table = Table("format", "size", "read back", "written to", box=None, header_style="dim", pad_edge=False)
    for name, format_ in FORMATS.items():
        place = to / "exports" / (f"drawn-{name}" if format_.is_folder else f"drawn-{name}{_suffix(name)}")
        try:
            export_benchmark(benchmark, name, place, overwrite=overwrite)
        except ExportError as error:
            table.add_row(name, "–", "cannot hold it", str(error))
            continue
        how = Import(name=benchmark.manifest.name, overwrite=overwrite)
        back, _ = import_benchmark(place, to / "read-back" / name, how)
        table.add_row(name, _size(place), _verdict(benchmark, back), str(place))
    out.print(table, "")
    out.print(item_panel(benchmark, benchmark[_SHOWN]))
    out.print(f"\nLook at another one:   {program()} show {benchmark.path} 3", soft_wrap=True)
    out.print(f"Bring your own file:   {program()} import mybench.tsv --to mybench", soft_wrap=True)


def _suffix(name: str) -> str:
    return ".tsv" if name == "vlmevalkit" else ".parquet"


def _verdict(benchmark: Benchmark, back: Benchmark) -> str:
    same = benchmark.manifest.fingerprint == back.manifest.fingerprint
    return f"{len(back)} items, all equal" if same else "items differ"


def _size(place: Path) -> str:
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    return f"{sum(file.stat().st_size for file in files) / 1024:,.0f} KB"
