"""Figures of a report, plug-ins loaded on first use: a query for numbers, and a chart of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from eyetest.benchmarks.media import MediumNames
from eyetest.pages.page import template_data
from eyetest.registry import Registry

if TYPE_CHECKING:
    from altair.typing import ChartType

    from eyetest.reports.report import Counts, Material, ReportItems


@dataclass(frozen=True)
class Figure:
    """One figure."""

    name: str
    place: int  # its position on the page
    title: str
    numbers: "Callable[[Material], pl.DataFrame]"
    """The query: the numbers to draw; raises `NotMeasurable` if there are none."""
    chart: "Callable[[pl.DataFrame], ChartType]"
    """Draws such numbers."""
    reading: str
    needs: str  # what would provide it, if it cannot be drawn
    by: str = "benchmark"  # column: each value has a chart of its own, one below the other
    counts: "Callable[[pl.DataFrame, ReportItems], Counts] | None" = None
    """The links of numbers that count items."""

    def about(self, medium: MediumNames) -> "Figure":
        """Return the figure with texts about a medium of that name instead of the image."""
        return replace(
            self,
            title=medium.in_sentence(self.title),
            reading=medium.in_sentence(self.reading),
            needs=medium.in_sentence(self.needs),
        )

    def draw(self, frame: pl.DataFrame) -> "ChartType":
        """The styled chart of such numbers."""
        from eyetest.pages.plots import dressed, one_each  # noqa: PLC0415 (loads altair, which most pages do not need)

        return dressed(one_each(frame, self.by, self.chart))


FIGURES: Registry[Figure] = Registry("figure", __name__, "FIGURE", "figure")


def described(
    name: str,
    numbers: "Callable[[Material], pl.DataFrame]",
    chart: "Callable[[pl.DataFrame], ChartType]",
    counts: "Callable[[pl.DataFrame, ReportItems], Counts] | None" = None,
) -> Figure:
    """A built-in figure; its position and texts are in ``templates/figures.yaml``."""
    return Figure(name=name, numbers=numbers, chart=chart, counts=counts, **template_data("figures.yaml")[name])
