"""What people decided, from Python."""

from pathlib import Path

import msgspec
import polars as pl

from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.jobs import revise as revising
from eyetest.jobs.opening import AnyPath
from eyetest.jobs.review import find_review
from eyetest.records import Decision, columns

_TYPES: dict[str, type[pl.DataType]] = {"round": pl.Int64, "seconds": pl.Float64, "adjudicates": pl.Boolean}
_JSON = ("edits", "labels")


def review_decisions(place: AnyPath) -> pl.DataFrame:
    """Everything that people decided in a review, in order; edits and labels are JSON.

    ``place`` is the folder of the review, or the refinement or benchmark that it is about.

    >>> et.review_decisions("bench-review").select("item", "reviewer", "decision")  # doctest: +SKIP
    """
    with find_review(Path(place)) as project:
        said = project.decisions()
    texts = [
        msgspec.structs.asdict(one) | {name: msgspec.json.encode(getattr(one, name)).decode() for name in _JSON}
        for one in said
    ]
    return pl.DataFrame(texts, schema={name: _TYPES.get(name, pl.String) for name in columns(Decision)})


def review_outcomes(place: AnyPath) -> pl.DataFrame:
    """What people came to, a row an item: ``review`` while it is open or in dispute.

    >>> et.review_outcomes("bench-review").filter(verdict="drop")  # doctest: +SKIP
    """
    with find_review(Path(place)) as project:
        outcomes = project.outcomes()
    rows = [(item, one.verdict, one.reason, one.n, one.agree) for item, one in outcomes.items()]
    schema = {"item": pl.String, "verdict": pl.String, "reason": pl.String, "n": pl.Int64, "agree": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def revise(place: AnyPath, to: AnyPath, *, complete: bool = False, overwrite: bool = False) -> Benchmark:
    """The next version of a benchmark: what people decided in a review, carried out.

    ``changes.csv`` beside its items says what was changed, by whom and why. With ``complete`` nothing is written
    while an item is open. Measured with ``bench=`` this one, runs on the version before count by what people decided.

    >>> et.revise("bench-review", to="bench-2")  # doctest: +SKIP
    <Benchmark 'world-7': 58 items in bench-2>
    """
    return revising.revise(place, to, complete=complete, overwrite=overwrite, observer=NOTEBOOK).benchmark
