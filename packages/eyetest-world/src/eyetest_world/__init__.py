"""Drawn scenes about which everything is known."""

from eyetest_world.building import new_world
from eyetest_world.flaws import FLAWS, Rates, Truth, load_rates, read_truth
from eyetest_world.grading import calibrations, grade, rankings

__all__ = ["FLAWS", "Rates", "Truth", "calibrations", "grade", "load_rates", "new_world", "rankings", "read_truth"]
