"""Drawn scenes about which everything is known."""

from eyetest.world.building import new_world
from eyetest.world.calibration import auroc, calibrations
from eyetest.world.flaws import FLAWS, Rates, load_rates
from eyetest.world.grading import Found, Grade, grade, read_verdicts
from eyetest.world.ranking import Rankings, rankings
from eyetest.world.truth import Truth, read_truth

__all__ = [
    "FLAWS",
    "Found",
    "Grade",
    "Rankings",
    "Rates",
    "Truth",
    "auroc",
    "calibrations",
    "grade",
    "load_rates",
    "new_world",
    "rankings",
    "read_truth",
    "read_verdicts",
]
