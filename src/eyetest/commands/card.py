"""The card of a benchmark, or of the result of a refinement: its facts, and where it is written."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CROISSANT, FACTS, README
from eyetest.benchmarks.opening import export_benchmark, refuse_one_above
from eyetest.commands.base import observer, open_bench
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, heading, listed, param, typed
from eyetest.records.recipe import ABOUT, BENCHMARK, VERDICTS
from eyetest.reports import dataset_card
from eyetest.reports.dataset_card import EXPORTED
from eyetest.store.hub import HubDataset, push_folder

UPLOADED = "lmms-eval"
"""The format whose exports are uploaded as they are, and so get a card."""


def write_card_of(bench: Path, to: Path | None, facts: Sequence[str], *, overwrite: bool) -> Written:
    """Write a card into the benchmark's folder, or elsewhere; facts are kept in card.yaml."""
    home, refined = home_of(bench)
    refuse_one_above(home if refined is None else home / BENCHMARK)
    if refined is None and not is_benchmark(home) and to is None:
        raise InputError(f"{bench} is no benchmark folder to hold its card; name one with {param('to')}")
    if to is not None and to.exists() and not to.is_dir():
        raise InputError(f"{heading('to')}: {to} is a file; a card goes into a folder")
    folder = home / BENCHMARK if refined else home
    benchmark = open_bench(folder)
    target = to or folder
    if not overwrite:
        dataset_card.refuse_edited(target)
    kept = (to or home) / FACTS
    stated = dataset_card.with_settings(dataset_card.read_facts(kept if kept.exists() else home / FACTS), facts)
    known = dataset_card.card_of(benchmark, stated, refined)
    dataset_card.write_card(known, benchmark.path, target)
    if facts:
        dataset_card.write_facts(kept, stated)
    notes = []
    if not known.licence.is_known:
        notes.append(f"the licence is unknown: {param('fact', 'licence=…')}")
    if known.unlicensed:
        names, fix = listed(source.name for source in known.unlicensed), param("fact", "sources.NAME=…")
        notes.append(f"{counted(len(known.unlicensed), 'source')} without a known licence ({names}): {fix}")
    if absent := [name for name in ("about", "language", "contact", "citation") if not getattr(known.facts, name)]:
        notes.append(f"not stated: {', '.join(absent)} ({param('fact', 'KEY=VALUE')})")
    if to is not None and not is_benchmark(target):
        inside = benchmark.path.is_relative_to(bench)
        whose = f"of {benchmark.path}" if inside else f"that {typed('eyetest', 'import', bench)} --to FOLDER writes"
        notes.append(f"the card describes a benchmark folder: put it beside items.parquet and images/ {whose}")
    files = {"card": str(target / README), "croissant": str(target / CROISSANT)}
    return Written(f"{README}, {CROISSANT} → {target}", files, notes)


def home_of(bench: Path) -> tuple[Path, Path | None]:
    """The folder of a refinement twice, also where its benchmark was named; else what was named, and None."""
    inside = bench if bench.name else bench.resolve()
    for folder in (bench, inside.parent if inside.name == BENCHMARK else None):
        if folder is not None and (folder / ABOUT).is_file() and (folder / VERDICTS).is_file():
            if not is_benchmark(folder / BENCHMARK):
                raise InputError(f"{folder} holds no benchmark yet: no item is left, or a stage waits for people")
            return folder, folder
    return bench, None


def write_beside(bench: Path, benchmark: Benchmark, folder: Path) -> dataset_card.Known:
    """Write the card beside an export that is uploaded as it is."""
    home, refined = home_of(bench)
    known = dataset_card.card_of(benchmark, dataset_card.read_facts(home / FACTS), refined)
    known = known._replace(data_files=EXPORTED, exported=True)
    dataset_card.write_card(known, folder, folder)
    return known


def push(bench: Path, dataset: HubDataset, *, overwrite: bool) -> Written:
    """Push a benchmark to the hub: Parquet with its images, a card, and Croissant."""
    benchmark = open_bench(bench)
    about = f"{benchmark.manifest.name} {benchmark.manifest.version}"
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / EXPORTED).parent.mkdir()
        export_benchmark(benchmark, "parquet", folder / EXPORTED)
        known = write_beside(bench, benchmark, folder)
        with observer().steps(title := f"pushing {dataset}") as step:
            step(title, 0)
            page, is_new = push_folder(dataset, folder, f"{about}, written by eyetest", overwrite=overwrite)
    notes = [f"a new dataset is private; {page} has the setting"] if is_new else []
    if not known.licence.is_known:
        notes.append(
            f"the licence is unknown: {param('format', 'card')} {param('fact', 'licence=…')}, then push again"
        )
    facts = {"kind": "items", "items": len(benchmark), "format": "parquet", "to": str(dataset)}
    return Written(f"{len(benchmark):,} items, {README}, {CROISSANT} → {dataset}", facts, notes)
