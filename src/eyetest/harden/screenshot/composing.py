"""An item and the levels of its look become one finished page."""

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from PIL import Image

from eyetest.harden.screenshot import fonts
from eyetest.harden.screenshot.composed import Box, Composed
from eyetest.harden.screenshot.painting import paint_background, put_picture
from eyetest.harden.screenshot.passages import Passages
from eyetest.harden.screenshot.style import frame_words, letters_a_line, page_style
from eyetest.harden.screenshot.typesetting import CannotShow
from eyetest.records import ImageRef, Item

LONGEST_PAGE = 20_000
"""In letters' worth: a line counts as 40, a picture as 800. A longer page is none that anybody would read."""
_LINE, _PICTURE = 40, 800


class SetsPages(Protocol):
    """A renderer: page data and a resolution become pixels without pictures, and boxes known from layout."""

    def set_page(self, data: dict[str, Any], resolution: float) -> tuple[Image.Image, tuple[Box, ...]]:
        """The page without its pictures, and where its parts lie."""


class SetPage(NamedTuple):
    """A finished page, and the passages that it shows."""

    composed: Composed
    passages: Passages


def compose(
    item: Item,
    factors: Mapping[str, str],
    chance: random.Random,
    renderer: SetsPages,
    opened: Callable[[ImageRef], Image.Image],
) -> SetPage:
    """The page of an item in a look, pictures in their places. The gold takes no part in it."""
    worth = sum(len(text) + _LINE * text.count("\n") for text in (*item.texts, *_said_earlier(item)))
    if worth + _PICTURE * len(item.images) > LONGEST_PAGE:
        raise CannotShow("too long for one page")
    passages = Passages(item, letters_a_line(factors))
    if letters := fonts.missing(passages.text):
        raise CannotShow(fonts.told_missing(letters))
    data = {
        "style": page_style(factors, passages.language),
        "words": frame_words(chance),
        "item": passages.as_data(),
    }
    page, boxes = renderer.set_page(data, float(factors["look_resolution"]))
    page = paint_background(page, factors, chance)
    for box in boxes:
        if box.part == "picture":
            put_picture(page, box, opened(item.images[box.number - 1]))
    return SetPage(Composed(page, boxes), passages)


def _said_earlier(item: Item) -> list[str]:
    return [text for turn in item.history for text in (turn.question, turn.answer)]
