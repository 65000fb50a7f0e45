"""Filters: verdicts on items from a panel's answers. A module here that defines ``FILTERS`` adds its own."""

from eyetest.filters.base import Evidence, Filter, FilterInput, PanelAnswer, Seat
from eyetest.registry import Registry

FILTERS: Registry[Filter] = Registry("filter", __name__, "FILTERS", "filter")

__all__ = ["FILTERS", "Evidence", "Filter", "FilterInput", "PanelAnswer", "Seat"]
