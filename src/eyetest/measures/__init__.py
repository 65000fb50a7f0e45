"""Measures: tables of estimates with intervals. A module that defines ``MEASURES`` adds its own."""

from eyetest.measures.results import Measure, Measured, NotMeasurable, Results, Settings
from eyetest.registry import Registry

MEASURES: Registry[Measure] = Registry("measure", __name__, "MEASURES", "measure")

__all__ = ["MEASURES", "Measure", "Measured", "NotMeasurable", "Results", "Settings"]
