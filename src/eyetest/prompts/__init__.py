"""Prompts from items and conditions."""

from eyetest.prompts.building import (
    SCREENSHOT_STEP,
    CannotApply,
    TaskKind,
    build,
    task_kind,
    tells_history,
    templates,
)

__all__ = [
    "SCREENSHOT_STEP", "CannotApply", "TaskKind", "build", "task_kind", "tells_history",
    "templates",
]  # fmt: skip
