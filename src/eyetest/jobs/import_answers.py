"""What other tools asked is brought into a run."""

from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, ReadOptions, copy_without_pictures, is_benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import SILENT, Bench, Observer, open_bench
from eyetest.records import RunBenchmark
from eyetest.runs import BENCHMARK
from eyetest.runs.importing import AnswerFile, Brought, FieldMap, answer_files
from eyetest.runs.importing import import_answers as bring
from eyetest.tabular.inspect_log import is_inspect_log, read_inspect_log

_ROWS = ("item", "model")


def import_answers(
    source: AnswerFile,
    to: Path,
    bench: Bench | None = None,
    *,
    model: str | None = None,
    overwrite: bool = False,
    observer: Observer = SILENT,
) -> Brought:
    """Bring the answers of a file, or of each file of a folder, in; ``model`` answered all of them.

    The items of a benchmark are checked and kept beside them. A log of inspect-ai brings its own.
    """
    if source.matrix and source.matrix not in _ROWS:
        known = nearest(source.matrix, _ROWS)
        raise InputError(f'{heading("matrix")}: rows are items or models, not "{source.matrix}"; {known}')
    if source.header and not source.matrix:
        rows = f"{param('matrix', 'item')} or {param('matrix', 'model')}"
        raise InputError(f"{param('header')} is about a matrix: add {rows}")
    source = msgspec.structs.replace(source, fields=_answered_by(model, source.fields))
    benchmark = None if bench is None else open_bench(bench, None, observer)
    brought = Brought()
    for number, file in enumerate(files := answer_files(source)):
        about = benchmark or _own_benchmark(file.path, to, observer)
        try:
            brought.add(_bring(file, to, about, overwrite=overwrite, observer=observer))
        except InputError as error:
            before = f"; {number:,} of {len(files):,} files came in before it, and may come again" if number else ""
            raise InputError(f"{error}{before}") from None
    return brought


def _bring(
    file: AnswerFile, to: Path, benchmark: Benchmark | None, *, overwrite: bool, observer: Observer
) -> Brought:
    kept = benchmark is not None and benchmark.path == to / BENCHMARK
    brought = bring(
        file,
        to,
        benchmark=RunBenchmark.of(benchmark.manifest, benchmark.path) if benchmark and not kept else None,
        known={item.id: tuple(choice.text for choice in item.choices) for item in benchmark} if benchmark else None,
        overwrite=overwrite,
        tell=observer.note,
    )
    if benchmark and not kept:
        copy_without_pictures(benchmark, to / BENCHMARK)
    return brought


def _own_benchmark(path: Path, to: Path, observer: Observer) -> Benchmark | None:
    """The questions that a log of inspect-ai holds; those that the run was asked already, where these are the same.

    Samples are often called 1, 2, 3 …, so that a log of another task would pass for answers to this one.
    """
    if not is_inspect_log(path):
        return None
    if not is_benchmark(to / BENCHMARK):
        read = ReadOptions(format="inspect", gold_required=False, pictures_required=False)
        return open_bench(path, read, observer)
    kept = Benchmark(to / BENCHMARK)
    asked = {item.id: item.question.split() for item in kept}
    for _, sample in read_inspect_log(path):
        if asked.get(str(sample.id), known := sample.question.split()) != known:
            raise InputError(
                f"{path}: sample {short(str(sample.id), 40)} asks something else than the item of that id in {to}; "
                f"choose another run, or say {param('bench')} if the questions only look different"
            )
    return kept


def _answered_by(model: str | None, mapping: FieldMap) -> FieldMap:
    if model is None:
        return mapping
    if not model.strip():
        raise InputError(f"{heading('model')}: the name is empty")
    if "model" in mapping.columns or "model" in mapping.constants:
        both = f"{param('columns')} or {param('constants')}"
        raise InputError(f"{heading('model')}: {both} says who answered as well; say one of them")
    name = model.encode("utf-8", "replace").decode()
    return msgspec.structs.replace(mapping, constants=mapping.constants | {"model": name})
