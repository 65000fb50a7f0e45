"""What scores come to: each measure computed one way, with its uncertainty.

In: a table of scores, what is known of the items and the models. Out: a small table of estimates, intervals and
counts. A module here that defines ``MEASURES``, a tuple of objects like `Measure`, adds them: no other file has to be
touched. ``stats/`` holds the formulas, which know arrays and nothing of benchmarks.
"""

from eyetest.measures.results import Measure, Measured, NotMeasurable, Results, Settings
from eyetest.registry import Registry

MEASURES: Registry[Measure] = Registry("measure", __name__, "MEASURES")

__all__ = ["MEASURES", "Measure", "Measured", "NotMeasurable", "Results", "Settings"]
