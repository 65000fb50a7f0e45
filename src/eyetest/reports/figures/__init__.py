"""Figures of a report, plug-ins loaded on first use: numbers, and a chart of them."""

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
    title: str
    numbers: Callable[[Material], pl.DataFrame]
    """What is drawn; raises `NotMeasurable` where there is nothing to show."""
    chart: "Callable[..., ChartType]"
    """Draws such numbers; if ``linked``, also given a `ReportItems`, or None."""
    reading: str
    needs: str  # what would provide it, where it cannot be drawn
    part: str = ""
    """Its part of the page; where no figure of it can be drawn, none is reported as missing."""
    by: str = "benchmark"  # column: each value has a chart of its own, one below the other
    counts: "Callable[[pl.DataFrame, ReportItems], Counts] | None" = None
    """The links of numbers that count items."""
    linked: bool = False

    def draw(self, frame: pl.DataFrame, items: "ReportItems | None" = None) -> "ChartType":
        """The styled chart of such numbers; with ``items``, linked to them."""
        from eyetest.pages.plots import dressed, one_each  # noqa: PLC0415 (loads altair, which most pages spare)

        chart = partial(self.chart, items=items) if self.linked else self.chart
        return dressed(one_each(frame, self.by, chart))


FIGURES: Registry[Figure] = Registry("figure", __name__, "FIGURE", "figure")


def chart(name: str, results: Results) -> "ChartType":
    """A figure of some results, for a notebook."""
    return FIGURES[name].draw(FIGURES[name].numbers(Material(results)))
