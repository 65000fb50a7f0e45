"""Answers that were collected elsewhere, in a file or in a notebook's own table, become a run."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from eyetest.api.open_ import Bench, Place, opened
from eyetest.benchmarks import copy_without_pictures
from eyetest.records import RunBenchmark
from eyetest.runs import BENCHMARK, Run
from eyetest.runs.importing import FieldMap, Source
from eyetest.runs.importing import import_answers as bring
from eyetest.wording import counted, listed

_FILE = "table.parquet"


def import_answers(
    answers: Place | pl.DataFrame,
    bench: Bench | None = None,
    *,
    to: Place,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Run:
    """Bring answers in: another tool's file, or a Polars table with a row an answer.

    The columns are ``item``, ``model``, ``text``, and where they vary ``sight``, ``ask``, ``order``, ``trial`` … (see
    docs/answers.md); ``columns`` says which of yours is which, ``constants`` what is the same for all rows.

    >>> said = pl.DataFrame({"item": ["q00", "q01"], "said": ["A", "I think it is B."]})
    >>> mine = et.import_answers(
    ...     said, "world/benchmark", columns={"text": "said"}, constants={"model": "mine"}, to="brought"
    ... )
    >>> et.score(mine)["choice"].to_list()
    ['A', 'B']
    """
    named = {field: tuple(column.split("+")) for field, column in (columns or {}).items()}
    fields = FieldMap(columns=named, constants=dict(constants or {}))
    benchmark = None if bench is None else opened(bench)
    with TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        if isinstance(answers, pl.DataFrame):
            answers.write_parquet(file)
        brought = bring(
            Source(path=file if isinstance(answers, pl.DataFrame) else Path(answers), fields=fields),
            Path(to),
            benchmark=RunBenchmark.of(benchmark.manifest, benchmark.path) if benchmark else None,
            known={i.id: tuple(choice.text for choice in i.choices) for i in benchmark} if benchmark else None,
            overwrite=overwrite,
            tell=lambda line: warnings.warn(line, stacklevel=2),
        )
    if benchmark:
        copy_without_pictures(benchmark, Path(to) / BENCHMARK)
    if brought.unknown:
        about = f"{counted(brought.unknown.total(), 'answer')} to items that the benchmark does not have"
        warnings.warn(f"{about} left out: {listed(brought.unknown)}", stacklevel=2)
    return Run(Path(to))
