"""The figures of a report: each a table of numbers, and a chart drawn of it.

A module here that defines ``FIGURE``, one or several, adds them: no other file has to be touched. Figures are
loaded when they are first asked for, because drawing takes longer to load than all else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from eyetest.measures import Results
from eyetest.registry import Registry
from eyetest.reports.material import Material

if TYPE_CHECKING:
    from altair.typing import ChartType

    from eyetest.reports.report_items import Counts, ReportItems


@dataclass(frozen=True)
class Figure:
    """One figure."""

    name: str
    place: int
    """Where in the story it stands; smaller comes first."""
    title: str
    numbers: Callable[[Material], pl.DataFrame]
    """What is drawn, as the measures gave it; raises `NotMeasurable` where there is nothing to show."""
    chart: "Callable[..., ChartType]"
    """Draws such numbers; of a figure that is ``linked``, also given a `ReportItems`, or None."""
    reading: str
    """A sentence on how to read it."""
    needs: str
    """What would bring it, where it cannot be drawn."""
    part: str = ""
    """The part of the page that it belongs to with others; where none of them can be drawn, none is missed."""
    by: str = "benchmark"
    """A column: each of its values has a chart of its own, one below the other."""
    counts: "Callable[[pl.DataFrame, ReportItems], Counts] | None" = None
    """Where numbers of the table lead that count items."""
    linked: bool = False
    """Whether parts of its chart stand for items, and lead to them."""

    def draw(self, frame: pl.DataFrame, items: "ReportItems | None" = None) -> "ChartType":
        """The chart of such numbers, dressed; with ``items``, as it leads to them."""
        from eyetest.pages.plots import dressed, one_each  # noqa: PLC0415 (loads altair, which most pages spare)

        chart = partial(self.chart, items=items) if self.linked else self.chart
        return dressed(one_each(frame, self.by, chart))


FIGURES: Registry[Figure] = Registry("figure", __name__, "FIGURE")


def in_order() -> list[Figure]:
    """All figures, as the story goes."""
    return sorted(FIGURES.values(), key=lambda figure: figure.place)


def chart(name: str, results: Results) -> "ChartType":
    """A figure of some results, for a notebook."""
    return FIGURES[name].draw(FIGURES[name].numbers(Material(results)))
