"""Answers in files of other tools, checked against the benchmark that was asked and kept as a run."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from eyetest.benchmarks import Benchmark, ReadOptions, copy_without_images, is_benchmark, open_benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.records import RunBenchmark
from eyetest.runs import BENCHMARK
from eyetest.runs.importing import AnswerFile, Brought, answer_files, import_answers
from eyetest.runs.layouts import first_rows, matrix_rows
from eyetest.tabular.inspect_log import is_inspect_log, read_inspect_log

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

    Items are checked against the benchmark and kept beside the answers. A log of inspect-ai has its own items.
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
    """What the rows of a matrix of 0 and 1 are, as stated or as found where nothing is mapped; empty for a table."""
    if source.matrix and source.matrix not in _ROWS:
        known = nearest(source.matrix, _ROWS)
        raise InputError(f'{heading("matrix")}: rows are items or models, not "{source.matrix}"; {known}')
    if source.matrix or source.path.is_dir() or source.fields.columns:
        return source.matrix
    rows = matrix_rows(first_rows(source.path), {item.id for item in benchmark} if benchmark else ())
    if source.header and not rows:
        either = f"{param('matrix', 'item')} or {param('matrix', 'model')}"
        raise InputError(f"{param('header')} is about a matrix: add {either}")
    if rows:
        other = "item" if rows == "model" else "model"
        tell(f"a 0/1 matrix, rows are {rows}s and columns {other}s ({param('matrix', other)} turns it)")
    return rows


def _own_benchmark(path: Path, to: Path) -> Benchmark | None:
    """The questions of a log of inspect-ai; those of the run, where these are the same.

    Samples are often called 1, 2, 3 …, so that a log of another task could be mistaken for answers to this one.
    """
    if not is_inspect_log(path):
        return None
    if not is_benchmark(to / BENCHMARK):
        return open_benchmark(path, ReadOptions(format="inspect", gold_required=False, images_required=False))
    kept = Benchmark(to / BENCHMARK)
    asked = {item.id: item.question.split() for item in kept}
    for _, sample in read_inspect_log(path):
        if asked.get(str(sample.id), known := sample.question.split()) != known:
            raise InputError(
                f"{path}: sample {short(str(sample.id), 40)} asks something else than the item of that id in {to}; "
                f"choose another run, or name {param('bench')} if the questions only look different"
            )
    return kept
