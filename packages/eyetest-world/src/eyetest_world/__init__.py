"""Drawn scenes about which everything is known."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eyetest_world.building import new_world
    from eyetest_world.flaws import FLAWS, Rates, Truth, load_rates, read_truth
    from eyetest_world.grading import calibrations, grade, rankings

__all__ = ["FLAWS", "Rates", "Truth", "calibrations", "grade", "load_rates", "new_world", "rankings", "read_truth"]
_HOMES = {"new_world": "building", **dict.fromkeys(("calibrations", "grade", "rankings"), "grading")}


def __getattr__(name: str) -> Any:  # so that the help of a command loads neither numpy nor PIL
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'flaws')}"), name)
