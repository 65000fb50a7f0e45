"""Prompts from items and conditions."""

from eyetest.prompts.building import SCREENSHOT_STEP, CannotApply, build, tells_history

__all__ = ["SCREENSHOT_STEP", "CannotApply", "build", "tells_history"]
