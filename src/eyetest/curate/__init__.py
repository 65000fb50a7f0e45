"""Make a better benchmark from findings and decisions."""

from eyetest.curate.repair import Repair, repair_benchmark

__all__ = ["Repair", "repair_benchmark"]
