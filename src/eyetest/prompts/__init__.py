"""How an item is put to a model: item and condition become a prompt."""

from eyetest.prompts.building import SCREENSHOT_STEP, CannotApply, build, task_kind
from eyetest.prompts.wording import TaskKind, template_count, templates

__all__ = ["SCREENSHOT_STEP", "CannotApply", "TaskKind", "build", "task_kind", "template_count", "templates"]
