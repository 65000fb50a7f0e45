"""``eyetest demo``: draw a benchmark, spoil it on purpose, and see what the audit finds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from eyetest.benchmarks import FORMATS, Benchmark, Import, export_benchmark, import_benchmark
from eyetest.cli import options
from eyetest.cli.audit import card
from eyetest.cli.terminal import out, program, step_bar
from eyetest.curate import repair_benchmark
from eyetest.errors import ExportError
from eyetest.probes import PROBES, Subject
from eyetest.probes.audit import Audit, run_audit
from eyetest.reports import write_audit_page
from eyetest.wording import counted
from eyetest.world import draw_benchmark, spoil_benchmark

_ITEMS = 160


def demo(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where to put it.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed draws other pictures.")] = 0,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Draw a benchmark, spoil some of its items on purpose, audit it, mend it, and write a page to look at."""
    clean = draw_benchmark(to / "drawn", items=_ITEMS, seed=seed, overwrite=overwrite)
    spoilt, planted = spoil_benchmark(clean, to / "spoilt", seed=seed, overwrite=overwrite)
    out.print(f"Drew {counted(len(clean), 'item')} and spoilt some on purpose:", soft_wrap=True)
    out.print("  " + ", ".join(f"{flaw} ({len(ids)})" for flaw, ids in planted.items()) + ", golds crowded at C\n")
    before = _audit(spoilt, seed)
    out.print(card(before, spoilt.path))
    write_audit_page(before, spoilt, to / "audit.html", overwrite=overwrite)
    uneven = [finding.numbers["options"] for finding in before.alarms if finding.probe == "positions"]
    repairs = repair_benchmark(spoilt, to / "mended", rebalance=uneven, seed=seed, overwrite=overwrite)
    after = _audit(Benchmark(to / "mended"), seed, [name for name in PROBES if name != "duplicate-images"])
    left = ", ".join(finding.kind for finding in after.alarms)
    out.print(f"\nMended copy:  {counted(len(repairs), 'repair')}; left for people to decide: {left}", soft_wrap=True)
    out.print(f"Formats:      {_through_formats(clean, to, overwrite=overwrite)}", soft_wrap=True)
    out.print(f"\nThe page with pictures:  {to / 'audit.html'}", soft_wrap=True)
    out.print(f"Your own file:           {program()} audit mybench.tsv --html audit.html", soft_wrap=True)


def _audit(benchmark: Benchmark, seed: int, probes: Sequence[str] = ()) -> Audit:
    with step_bar("auditing") as progress:
        return run_audit(Subject(benchmark, seed=seed, progress=progress), probes)


def _through_formats(benchmark: Benchmark, to: Path, *, overwrite: bool) -> str:
    """Write the benchmark in every format and read it back."""
    equal, cannot = [], []
    for name, format_ in FORMATS.items():
        place = to / "exports" / (f"drawn-{name}" if format_.is_folder else f"drawn-{name}{_suffix(name)}")
        try:
            export_benchmark(benchmark, name, place, overwrite=overwrite)
        except ExportError:
            cannot.append(name)
            continue
        how = Import(name=benchmark.manifest.name, overwrite=overwrite)
        back, _ = import_benchmark(place, to / "read-back" / name, how)
        if back.manifest.fingerprint == benchmark.manifest.fingerprint:
            equal.append(name)
    return f"written and read back equal as {', '.join(equal)}" + (
        f"; {', '.join(cannot)} cannot hold it" if cannot else ""
    )


def _suffix(name: str) -> str:
    return ".tsv" if name == "vlmevalkit" else ".parquet"
