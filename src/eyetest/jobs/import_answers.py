"""What other tools asked is brought into a run."""

from pathlib import Path

import msgspec

from eyetest.benchmarks import copy_without_pictures
from eyetest.errors import InputError, heading, nearest, param
from eyetest.jobs.opening import SILENT, Bench, Observer, open_bench
from eyetest.records import RunBenchmark
from eyetest.runs import BENCHMARK
from eyetest.runs.importing import AnswerFile, Brought, FieldMap
from eyetest.runs.importing import import_answers as bring

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
    """Bring answers in; ``model`` answered all of them. The items of a benchmark are checked and kept beside them."""
    if source.matrix and source.matrix not in _ROWS:
        known = nearest(source.matrix, _ROWS)
        raise InputError(f'{heading("matrix")}: rows are items or models, not "{source.matrix}"; {known}')
    if source.header and not source.matrix:
        rows = f"{param('matrix', 'item')} or {param('matrix', 'model')}"
        raise InputError(f"{param('header')} is about a matrix: add {rows}")
    source = msgspec.structs.replace(source, fields=_answered_by(model, source.fields))
    benchmark = None if bench is None else open_bench(bench, None, observer)
    brought = bring(
        source,
        to,
        benchmark=RunBenchmark.of(benchmark.manifest, benchmark.path) if benchmark else None,
        known={item.id: tuple(choice.text for choice in item.choices) for item in benchmark} if benchmark else None,
        overwrite=overwrite,
        tell=observer.note,
    )
    if benchmark:
        copy_without_pictures(benchmark, to / BENCHMARK)
    return brought


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
