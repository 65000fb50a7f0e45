"""Answers in files of other tools become a run, checked against the benchmark."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from eyetest.benchmarks import Benchmark, copy_without_images, is_benchmark
from eyetest.errors import InputError, heading, nearest, param
from eyetest.records import RunBenchmark
from eyetest.runs import BENCHMARK
from eyetest.runs.importing import AnswerFile, Brought, answer_files, import_answers
from eyetest.runs.layouts import first_rows, matrix_rows
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
