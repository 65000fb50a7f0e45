"""What people decided, from Python."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import polars as pl

from eyetest.api.renamed import renamed
from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.jobs import review_tools as tools
from eyetest.jobs import revise as revising
from eyetest.jobs.opening import AnyPath
from eyetest.jobs.review import find_review
from eyetest.records import Decision, columns
from eyetest.review.decisions import OBJECTS
from eyetest.store.urls import local_path

_TYPES: dict[str, type[pl.DataType]] = {"round": pl.Int64, "seconds": pl.Float64, "adjudicates": pl.Boolean}


def review_decisions(place: AnyPath) -> pl.DataFrame:
    """Everything that people decided in a review, in order; edits and labels are JSON.

    ``place`` is the folder of the review, or the refinement or benchmark that it is about.

    >>> et.review_decisions("bench-review").select("item", "reviewer", "decision")  # doctest: +SKIP
    """
    with find_review(local_path(place)) as project:
        said = project.decisions()
    texts = [
        msgspec.structs.asdict(one) | {name: msgspec.json.encode(getattr(one, name)).decode() for name in OBJECTS}
        for one in said
    ]
    return pl.DataFrame(texts, schema={name: _TYPES.get(name, pl.String) for name in columns(Decision)})


def review_outcomes(place: AnyPath) -> pl.DataFrame:
    """What people came to, a row an item: ``review`` while it is open or in dispute.

    >>> et.review_outcomes("bench-review").filter(verdict="drop")  # doctest: +SKIP
    """
    with find_review(local_path(place)) as project:
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


@renamed(format="tool")
def export_review(
    place: AnyPath,
    to: AnyPath,
    *,
    tool: str = "csv",
    round: int | None = None,  # noqa: A002 (as the option is called)
    with_pictures: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """What waits in a review and what was decided, as files of another tool: csv, label-studio or argilla.

    >>> et.export_review("bench-review", to="studio", tool="label-studio")  # doctest: +SKIP
    """
    exported = tools.export_review(
        [local_path(place)],
        local_path(to),
        tool=tool,
        round=round,
        with_pictures=with_pictures,
        overwrite=overwrite,
    )
    return [local_path(to) / name for name in exported.files]


@renamed(format="tool")
def import_review(
    file: AnyPath,
    on: AnyPath,
    *,
    tool: str | None = None,
    reviewer: str | Mapping[str, str] = "",
) -> int:
    """Take decisions into a review that were made in another tool; gives how many of them were new.

    ``reviewer`` is who decided where the file does not say, or a name for each user of the tool.

    >>> et.import_review("export.json", on="bench-review", reviewer={"3": "Ann"})  # doctest: +SKIP
    """
    named = reviewer if isinstance(reviewer, Mapping) else {"": reviewer}
    names = {str(user): name for user, name in named.items() if name}
    return tools.import_review(local_path(file), local_path(on), tool=tool, reviewers=names, observer=NOTEBOOK).added
