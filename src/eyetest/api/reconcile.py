"""Why two scores of one run differ, in Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from eyetest.api.views import card, words_of
from eyetest.jobs import reconcile as job
from eyetest.jobs.measure import Where
from eyetest.jobs.opening import AnyRun, Bench, several
from eyetest.results.reconcile import ExplainedNumber
from eyetest.results.reconcile.tables import causes_table, groups_table, items_table, points, ways_table


@dataclass(frozen=True, repr=False)
class GapTable:
    """A gap between two scores, and what every point of it comes from.

    >>> told = et.reconcile("run", "run", rules_b="mmmu", model="squinter", where={"sight": "image"})
    >>> round(sum(told.frame["points"]), 9) == round(told.gap, 9)
    True
    """

    told: job.Reconciliation

    @property
    def gap(self) -> float:
        """B less A, in points."""
        return points(self.told.told.gap)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a cause; the points sum to the gap."""
        return causes_table(self.told.told.causes)

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row for each item and cause, with what either side read."""
        return items_table(self.told.told.shares)

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row a model and condition, where there are several."""
        return groups_table(self.told.groups)

    @cached_property
    def ways(self) -> pl.DataFrame:
        """Against a published number: every way of counting that was tried, the likeliest first."""
        told = self.told.told
        return ways_table(told.ways, told.number.value) if isinstance(told, ExplainedNumber) else pl.DataFrame()

    def __repr__(self) -> str:
        head = f"gap {self.gap:+.2f} points"
        lines = [f"{row['cause']}: {row['points']:+.2f} ({row['rows']:,} rows)" for row in self.frame.to_dicts()]
        return "\n".join([head, *lines, *(f"note: {line}" for line in self.told.notes)])

    def _repr_html_(self) -> str:
        return card(
            "reconciliation", words_of(self.frame), self.told.notes, sentences=[f"gap {self.gap:+.2f} points"]
        )


def reconcile(
    a: AnyRun,
    b: AnyRun | float,
    *,
    rules_a: str | None = None,
    rules_b: str | None = None,
    map_a: str | Sequence[str] = (),
    map_b: str | Sequence[str] = (),
    bench: Bench | None = None,
    model: str | Sequence[str] = (),
    where: Where = (),
) -> GapTable:
    """Attribute every point between two scores of one run to items and causes.

    ``a`` and ``b`` are runs or files of other tools; ``b`` may be a published number, as ``54.0`` or ``"698/1730"``.
    ``rules_a`` and ``rules_b`` read the replies by a rule set, ``"given"`` takes the scores that came along; with a
    number, ``rules_b`` keeps to ways of counting by those rules. ``map_a`` and ``map_b`` name columns of a file
    (``"given=hit"``).

    >>> told = et.reconcile("run", "run", rules_b="mmmu")
    >>> told.groups["group"].n_unique()
    6
    """
    columns: list[list[str]] = [several(map_a), several(map_b)]
    names: list[str] = several(model)
    wishes = job.ReconcileWishes((rules_a, rules_b), (columns[0], columns[1]), bench, names, where)
    return GapTable(job.reconcile(a, b, wishes))
