"""What joins a run: answers in files of other tools, checked against the benchmark, and other runs about it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from eyetest.benchmarks import Benchmark, copy_without_images, is_benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.records import RunBenchmark
from eyetest.results.scores import ItemRepair, read_repairs, write_repairs
from eyetest.runs import BENCHMARK, Run
from eyetest.runs.importing import AnswerFile, Brought, answer_files, import_answers
from eyetest.runs.layouts import first_rows, matrix_rows
from eyetest.runs.merging import MergedRuns, merge_runs
from eyetest.store.urls import known_path
from eyetest.tabular.inspect_logs import is_inspect_log

_ROWS = ("item", "model")


def bring_answers(
    source: AnswerFile,
    to: Path,
    benchmark: Benchmark | None = None,
    tell: Callable[[str], None] = lambda line: None,
    *,
    model: str | None = None,
    overwrite: bool = False,
) -> Brought:
    """Import the answers of a file, or of each file of a folder; ``model`` gave all of them.

    Items are checked against the benchmark and kept beside the answers.
    """
    if model is not None:
        if not model.strip():
            raise InputError(f"{heading('model')}: the name is empty")
        if "model" in source.fields.columns or "model" in source.fields.constants:
            both = f"{param('columns')} or {param('constants')}"
            raise InputError(f"{heading('model')}: {both} names the model as well; use one of them")
        constants = source.fields.constants | {"model": model.encode("utf-8", "replace").decode()}
        source = replace(source, fields=replace(source.fields, constants=constants))
    source = replace(source, matrix=_matrix(source, benchmark, tell))
    brought = Brought()
    for number, file in enumerate(files := answer_files(source)):
        about = benchmark or _own_benchmark(file.path, to)
        new = about if about and about.path != to / BENCHMARK else None
        made = RunBenchmark.of(new.manifest, new.path) if new else None
        known = {item.id: tuple(choice.text for choice in item.choices) for item in about} if about else None
        try:
            brought.add(import_answers(file, to, benchmark=made, known=known, overwrite=overwrite, tell=tell))
        except InputError as error:
            before = f"{number:,} of {len(files):,} files were imported before it, and may be again"
            raise InputError(f"{error}; {before}" if number else str(error)) from None
        if new:
            copy_without_images(new, to / BENCHMARK)
    return brought


def _matrix(source: AnswerFile, benchmark: Benchmark | None, tell: Callable[[str], None]) -> str:
    """What the rows of a matrix are: as stated, else as found where nothing is mapped; empty for a table."""
    if source.matrix and source.matrix not in _ROWS:
        hint = nearest(source.matrix, _ROWS)
        raise InputError(f'{heading("matrix")}: rows are items or models, not "{source.matrix}"; {hint}')
    if source.matrix or source.path.is_dir() or source.fields.columns:
        return source.matrix
    rows = matrix_rows(first_rows(source.path), {item.id for item in benchmark} if benchmark else ())
    if source.header and not rows:
        raise InputError(f"{param('header')} is about a matrix: add {param('matrix', 'item')}")
    if rows:
        other = "item" if rows == "model" else "model"
        tell(f"a 0/1 matrix, rows are {rows}s and columns {other}s ({param('matrix', other)} turns it)")
    return rows


def _own_benchmark(path: Path, to: Path) -> Benchmark | None:
    """The benchmark of a run, by which the options in a log of inspect-ai are recognised."""
    if not is_inspect_log(path):
        return None
    if not is_benchmark(to / BENCHMARK):
        raise InputError(f"{path} is a log of inspect-ai; name the benchmark that it asks with {param('bench')}")
    return Benchmark(to / BENCHMARK)


def merge_into(
    runs: Sequence[Run],
    target: Path,
    tell: Callable[[str], None] = lambda line: None,
    *,
    prefer_first: bool = False,
) -> MergedRuns:
    """Combine runs in a new folder."""
    every = [*{run.path.resolve(): run for run in runs}.values()]
    if len(every) < 2:
        raise InputError(f"nothing to merge: only {every[0].path} was named; name another run")
    about, repairs = _same_benchmark(every, tell), _same_repairs(every)
    for run in every:
        if run.writer:
            tell(f"{run.path} is being written by process {run.writer}; later answers are not merged")

    def complete(folder: Path) -> None:
        kept = (Benchmark(run.path / BENCHMARK) for run in every if is_benchmark(run.path / BENCHMARK))
        if (items := next(kept, None)) is not None:
            copy_without_images(items, folder / BENCHMARK)
        if repairs:
            write_repairs(folder, repairs)

    return merge_runs(every, about, target, tell, complete, prefer_first=prefer_first)


def _same_benchmark(runs: Sequence[Run], tell: Callable[[str], None]) -> RunBenchmark | None:
    """The benchmark of all runs, at a path where it can be opened, if there is one."""
    known = [(run, about) for run in runs if (about := run.manifest.benchmark) and about.fingerprint]
    if not known:
        return next((run.manifest.benchmark for run in runs if run.manifest.benchmark), None)
    about = known[0][1]
    if others := [pair for pair in known if pair[1].fingerprint != about.fingerprint]:
        pairs = (known[0], others[0])
        names = [f"{run.path} ({short(asked.name, 40)}, {asked.items:,} items)" for run, asked in pairs]
        why = f"{names[0]} and {names[1]} are about different benchmarks, or versions of one"
        raise InputError(f"{why}; they cannot become one run, but measure and report take several")
    for run in runs:
        if all(run is not one for one, _ in known):
            unknown = f"{run.path} does not say what benchmark it is about"
            tell(f"{unknown}; taken to be about {short(about.name)}")
    return next((asked for _, asked in known if asked.path and is_benchmark(known_path(asked.path))), about)


def _same_repairs(runs: Sequence[Run]) -> list[ItemRepair]:
    """Repairs of the items by people, in any of the runs."""
    repairs: dict[str, ItemRepair] = {}
    for run in runs:
        for name, repair in read_repairs(run.path).items():
            mine = repairs.setdefault(name, repair)
            if mine.item != repair.item:
                raise InputError(f"{run.path}: item {short(name)} was repaired differently in another of the runs")
            if mine.requests is not None and repair.requests is not None:
                requests = tuple(sorted({*mine.requests, *repair.requests}))
                repairs[name] = replace(mine, requests=requests)
    return list(repairs.values())
