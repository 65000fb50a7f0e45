"""Drawn scenes about which everything is known."""

from eyetest.world.drawn import draw_benchmark

__all__ = ["draw_benchmark"]
