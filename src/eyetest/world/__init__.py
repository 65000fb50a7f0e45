"""Drawn scenes about which everything is known."""

from eyetest.world.drawn import draw_benchmark
from eyetest.world.spoilt import spoil_benchmark

__all__ = ["draw_benchmark", "spoil_benchmark"]
