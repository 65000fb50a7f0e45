"""Scores become verdicts: what a panel said about an item decides whether it stays.

In: a stage of a recipe, the items, what the panel's models answered. Out: one verdict for each item, with its reason,
its counts and the responses it rests on. A module here that defines ``SCREENS``, a tuple of objects like `Screen`,
adds them: no other file has to be touched.
"""

from eyetest.registry import Registry
from eyetest.screens.base import Evidence, PanelAnswer, Screen, ScreenInput, Seat

SCREENS: Registry[Screen] = Registry("screen", __name__, "SCREENS")

__all__ = ["SCREENS", "Evidence", "PanelAnswer", "Screen", "ScreenInput", "Seat"]
