"""Screens: verdicts on items from a panel's answers. A module here that defines ``SCREENS`` adds its own."""

from eyetest.registry import Registry
from eyetest.screens.base import Evidence, PanelAnswer, Screen, ScreenInput, Seat

SCREENS: Registry[Screen] = Registry("screen", __name__, "SCREENS", "filter")

__all__ = ["SCREENS", "Evidence", "PanelAnswer", "Screen", "ScreenInput", "Seat"]
