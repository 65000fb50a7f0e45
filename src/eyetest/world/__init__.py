"""Drawn scenes about which everything is known."""

from eyetest.world.building import new_world
from eyetest.world.flaws import FLAWS, Rates, Truth, load_rates, read_truth
from eyetest.world.grading import FlawGrade, Grade, auroc, calibrations, grade, read_verdicts
from eyetest.world.ranking import Rankings, rankings

__all__ = [
    "FLAWS",
    "FlawGrade",
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
