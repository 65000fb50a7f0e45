"""What was found and decided becomes a better benchmark."""

from eyetest.curate.repair import Repair, repair_benchmark

__all__ = ["Repair", "repair_benchmark"]
