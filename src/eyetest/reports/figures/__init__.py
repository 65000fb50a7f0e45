"""The figures of a report: each a table of numbers, and a chart drawn of it.

A module here that defines ``FIGURE``, an object like `Figure`, adds one: no other file has to be touched. Figures are
loaded when they are first asked for, because drawing takes longer to load than all else.
"""

from typing import TYPE_CHECKING, Protocol

import polars as pl

from eyetest.measures import Results
from eyetest.registry import Registry
from eyetest.reports.material import Material

if TYPE_CHECKING:
    from altair.typing import ChartType


class Figure(Protocol):
    """One figure."""

    name: str
    place: int
    """Where in the story it stands; smaller comes first."""
    title: str
    reading: str
    """A sentence on how to read it."""
    needs: str
    """What would bring it, where it cannot be drawn."""

    def numbers(self, material: Material) -> pl.DataFrame:
        """What is drawn, as the measures gave it; raises `NotMeasurable` where there is nothing to show."""
        ...

    def draw(self, frame: pl.DataFrame) -> "ChartType":
        """The chart of such numbers."""
        ...


FIGURES: Registry[Figure] = Registry("figure", __name__, "FIGURE")


def in_order() -> list[Figure]:
    """All figures, as the story goes."""
    return sorted(FIGURES.values(), key=lambda figure: figure.place)


def chart(name: str, results: Results) -> "ChartType":
    """A figure of some results, for a notebook."""
    from eyetest.pages.plots import dressed  # noqa: PLC0415 (loads altair, which a page without figures spares)

    figure = FIGURES[name]
    return dressed(figure.draw(figure.numbers(Material(results))))
