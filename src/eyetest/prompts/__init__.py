"""How an item is put to a model: item and condition become a prompt."""

from eyetest.prompts.building import SCREENSHOT_STEP, CannotApply, build, task_kind, tells_history
from eyetest.prompts.wording import TaskKind, template_count, templates

__all__ = [
    "SCREENSHOT_STEP",
    "CannotApply",
    "TaskKind",
    "build",
    "task_kind",
    "tells_history",
    "template_count",
    "templates",
]
