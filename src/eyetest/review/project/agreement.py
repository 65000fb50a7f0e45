"""How far people agree, about decisions and about each field of their form."""

from collections.abc import Iterable
from typing import Any

import msgspec
import polars as pl

from eyetest.measures.agreement import decisions_agreement
from eyetest.measures.results import Settings
from eyetest.records import Decision
from eyetest.review.decisions import votes_table
from eyetest.review.project.plan import ReviewPlan

DECISION = "decision"
"""What agreement is about where it is not a field of a form."""
COEFFICIENTS = {
    "observed": "say the same",
    "fleiss": "Fleiss' κ",
    "krippendorff": "Krippendorff's α",
    "cohen": "Cohen's κ",
    "gwet": "Gwet's AC1",
}
_RESAMPLES = 500
_MOST_PAIRED = 6
"""Of more reviewers not every pair is told."""


class AgreementRow(msgspec.Struct, frozen=True, kw_only=True):
    """One coefficient, over all reviewers of a round or between two; round 0 is all rounds together."""

    about: str
    round: int
    coefficient: str
    a: str | None
    b: str | None
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    n: int
    raters: int


def agreement_rows(words: Iterable[Decision], plan: ReviewPlan) -> list[AgreementRow]:
    """Of decisions and of each field of the form: by round, and of all rounds where they count together."""
    said = [one for one in words if not one.adjudicates]
    fields = dict.fromkeys(name for one in said for name in one.labels)
    tables = {DECISION: votes_table(said)} | {name: _label_table(said, name) for name in fields}
    rows = []
    for about, table in tables.items():
        votes = table
        if plan.together and table.get_column("round").n_unique() > 1:
            votes = pl.concat([table, table.with_columns(round=pl.lit(0, pl.Int64))])
        pairs = votes.get_column("reviewer").n_unique() <= _MOST_PAIRED
        settings = Settings(resamples=_RESAMPLES, own={"pairs": pairs})
        rows += [{"about": about} | row for row in decisions_agreement(_rated_twice(votes), settings).to_dicts()]
    return msgspec.convert(rows, list[AgreementRow])


def _rated_twice(votes: pl.DataFrame) -> pl.DataFrame:
    """Rounds in which some item has two reviewers: elsewhere there is nothing to agree about."""
    several = votes.group_by("round", "item").len().filter(pl.col("len") > 1)
    return votes.filter(pl.col("round").is_in(several.get_column("round").unique().implode()))


def _label_table(said: Iterable[Decision], name: str) -> pl.DataFrame:
    """Answers to one field of the form, as votes."""
    rows: list[list[Any]] = [
        [one.item, one.round, one.reviewer, " + ".join(value) if isinstance(value, list) else str(value)]
        for one in said
        if (value := one.labels.get(name)) is not None
    ]
    schema = {"item": pl.String, "round": pl.Int64, "reviewer": pl.String, "decision": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
