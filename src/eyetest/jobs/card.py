"""The card of a benchmark, or of what a refinement made: where its records lie, and where it goes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eyetest.benchmarks import Benchmark, ReadOptions, is_benchmark
from eyetest.benchmarks.folder import README, SAID
from eyetest.benchmarks.opening import refuse_one_above
from eyetest.errors import InputError, heading, param
from eyetest.jobs.opening import AnyPath, Bench, open_bench
from eyetest.jobs.refine import RefinedFolder
from eyetest.records.recipe import ABOUT, BENCHMARK, VERDICTS
from eyetest.reports.dataset_card import (
    EXPORTS,
    Known,
    card_of,
    read_said,
    refuse_edited,
    with_settings,
    write_card,
    write_readme,
    write_said,
)
from eyetest.reports.refinements import Records
from eyetest.store.urls import local_path


def make_card(
    bench: Path,
    to: Path | None,
    words: Sequence[str],
    *,
    read: ReadOptions | None = None,
    overwrite: bool = False,
) -> tuple[Known, Benchmark, Path]:
    """Write a card into the benchmark's folder, or elsewhere; returns its content, the benchmark and the folder."""
    home, records = home_of(bench)
    refuse_one_above(home if records is None else home / BENCHMARK)
    if records is None and not is_benchmark(home) and to is None:
        hint = f"name one with {param('to')}"
        raise InputError(f"{bench} is no benchmark folder, so there is no place for its card; {hint}")
    if to is not None and to.exists() and not to.is_dir():
        raise InputError(f"{heading('to')}: {to} is a file; a card goes into a folder")
    folder = home / BENCHMARK if records else home
    benchmark = open_bench(folder, read)
    target = to or folder
    if not overwrite:
        refuse_edited(target)
    kept = (to or home) / SAID
    said = with_settings(read_said(kept if kept.exists() else home / SAID), words)
    known = card_of(benchmark, said, records)
    write_card(known, benchmark, target)
    if words:
        write_said(kept, said)
    return known, benchmark, target


def home_of(bench: Path) -> tuple[Path, Records | None]:
    """The folder of a refinement with what it left, also where its benchmark was named; else what was named."""
    inside = bench if bench.name else bench.resolve()
    for folder in (bench, inside.parent if inside.name == BENCHMARK else None):
        if folder is not None and (folder / ABOUT).is_file() and (folder / VERDICTS).is_file():
            if not is_benchmark(folder / BENCHMARK):
                raise InputError(f"{folder} holds no benchmark yet: no item is left, or a stage waits for people")
            return folder, Records(folder / ABOUT, folder / VERDICTS)
    return bench, None


def write_beside(bench: Path, benchmark: Benchmark, format_name: str, folder: Path) -> None:
    """The card for people, beside an export that is uploaded as it is; nothing beside any other."""
    if format_name in EXPORTS:
        home, records = home_of(bench)
        known = card_of(benchmark, read_said(home / SAID), records)
        write_readme(known._replace(data_files=EXPORTS[format_name], exported=True), folder)


def card(
    bench: Bench | RefinedFolder,
    *,
    said: Mapping[str, str] | None = None,
    to: AnyPath | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a benchmark's card, README.md and croissant.json, into its folder or into ``to``; gives its place.

    ``said`` is what only you know (licence, contact, ``sources.NAME``), kept in card.yaml. A
    refinement has a card already; its folder is where to say more.

    >>> bench, _ = et.import_benchmark(Path("mine.tsv"), Path("mine"))
    >>> et.card(bench, said={"licence": "CC-BY-4.0"}).name
    'README.md'
    """
    path = bench.path if isinstance(bench, RefinedFolder | Benchmark) else local_path(bench)
    words = [f"{key}={value}" for key, value in (said or {}).items()]
    *_, folder = make_card(path, None if to is None else local_path(to), words, overwrite=overwrite)
    return folder / README
