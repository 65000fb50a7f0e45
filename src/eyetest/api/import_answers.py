"""Answers that were collected elsewhere, in a file or in a notebook's own table, become a run."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from eyetest.api.run import NOTEBOOK
from eyetest.jobs import import_answers as job
from eyetest.jobs.opening import Bench, Place
from eyetest.runs import Run
from eyetest.runs.importing import AnswerFile, FieldMap
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
    with TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        if isinstance(answers, pl.DataFrame):
            answers.write_parquet(file)
        source = AnswerFile(path=file if isinstance(answers, pl.DataFrame) else Path(answers), fields=fields)
        brought = job.import_answers(source, Path(to), bench, overwrite=overwrite, observer=NOTEBOOK)
    if brought.unknown:
        about = f"{counted(brought.unknown.total(), 'answer')} to items that the benchmark does not have"
        warnings.warn(f"{about} left out: {listed(brought.unknown)}", stacklevel=2)
    return Run(Path(to))
