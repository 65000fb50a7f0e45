"""What each sight leaves of an item, and when a condition cannot be put to an item at all."""

from typing import Literal

import msgspec

from eyetest.errors import EyetestError
from eyetest.records import Condition, Item
from eyetest.records.condition import Sight

SCREENSHOT_STEP = "screenshot"
"""The step in an item's lineage that put its question and options into a picture."""


class CannotApply(EyetestError):  # noqa: N818  (it is no mistake: such calls are left out and counted)
    """A condition has no meaning for an item. ``reason`` is short and the same for all such items, to be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class View(msgspec.Struct, frozen=True):
    """What is shown of an item."""

    pictures: Literal["true", "grey", "words", "none"] = "true"
    question: bool = True
    options: bool = True

    def placed(self, item: Item) -> int:
        """How many of the item's pictures have something to stand in their place."""
        return len(item.images) if self.pictures in ("true", "grey") else 0


VIEWS: dict[Sight, View] = {
    "image": View(),
    "blind": View(pictures="none"),
    "blind-guess": View(pictures="none"),
    "no-question": View(question=False),
    "nothing": View(pictures="none", question=False),
    "grey": View(pictures="grey"),
    "caption": View(pictures="words"),
    "screenshot": View(question=False, options=False),
}


def refuse(item: Item, condition: Condition) -> None:
    """Raise CannotApply where the condition would not be what its name says."""
    if condition.method == "likelihood":
        if not item.choices:
            raise CannotApply("no options")
        if condition.ask != "direct":
            raise CannotApply("likelihood is asked directly")
    match condition.sight:
        case "grey" | "no-question" if not item.images:
            raise CannotApply("no picture")
        case "nothing" if not item.choices:
            raise CannotApply("no options")
        case "caption" if not item.description.strip():
            raise CannotApply("no description")
        case "screenshot":
            _refuse_screenshot(item, condition)
    if condition.ask == "ocr" and (VIEWS[condition.sight].pictures != "true" or not item.images):
        raise CannotApply("no picture")


def _refuse_screenshot(item: Item, condition: Condition) -> None:
    """Options inside a picture can be neither reordered, nor marked anew, nor left out."""
    if not any(step.step == SCREENSHOT_STEP for step in item.lineage):
        raise CannotApply("not a screenshot")
    if not item.images:
        raise CannotApply("no picture")
    as_drawn = condition.order == 0 and condition.marks == "upper" and condition.method == "generate"
    if item.choices and not as_drawn:
        raise CannotApply("options are drawn in the picture")
