"""Figures of results, as Altair charts that a notebook shows and changes."""

from typing import TYPE_CHECKING

from eyetest.api.results import Measurable, as_results
from eyetest.reports import FIGURES
from eyetest.reports import chart as draw

if TYPE_CHECKING:
    from altair.typing import ChartType


def chart(name: str, runs: Measurable) -> "ChartType":
    """Draw a figure of some runs, or of what `et.results` gave: an Altair chart. `et.charts` names them.

    >>> drawn = et.chart("accuracy", "run")
    >>> "mark" in str(drawn.to_dict())
    True
    """
    return draw(name, as_results(runs))


def charts() -> dict[str, str]:
    """The figures that there are, and how to read each.

    >>> "accuracy" in et.charts()
    True
    """
    return {name: FIGURES[name].reading for name in FIGURES}
