"""Pages read back part by part: which word belongs to which part, and what is not judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from eyetest.errors import MissingExtraError
from eyetest.harden.screenshot.page import Box, Composed
from eyetest.harden.screenshot.photo import photographed
from eyetest.harden.screenshot.style import PLAINEST
from eyetest.harden.screenshot.taking import lowest, read_back
from eyetest.ocr import Engine, ReadLine, ReadWord, choose_engine

QUESTION = "Which of these birds cannot fly at all?"
OPTIONS = ("The ostrich and the emu", "A heron at noon", "Two grey owls", "The common swift")


def paragraph(*runs: Any) -> list[dict[str, Any]]:
    return [{"kind": "paragraph", "direction": "ltr", "runs": list(runs)}]


PARTS = {("question", 1): paragraph(QUESTION)} | {
    ("option", number): paragraph(text) for number, text in enumerate(OPTIONS, 1)
}


def page() -> Composed:
    """A question above four options in two columns, and boxes as layout would give them."""
    image = Image.new("RGB", (760, 220), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(24)
    boxes = []
    corners = [(30, 20), (30, 90), (400, 90), (30, 150), (400, 150)]
    for number, (corner, text) in enumerate(zip(corners, (QUESTION, *OPTIONS), strict=True)):
        mark = f"{'ABCD'[number - 1]}. " if number else ""
        draw.text(corner, mark + text, fill="black", font=font)
        box = draw.textbbox(corner, mark + text, font=font)
        boxes.append(Box("option" if number else "question", number or 1, *box))
    return Composed(image, tuple(boxes))


@dataclass
class ScriptedEngine:
    """An engine with a scripted reading of the page, and one of every cut-out."""

    page: Sequence[ReadLine]
    cut_out: str = ""
    seen: list[tuple[int, int]] = field(default_factory=list)
    name = "scripted"

    def missing(self) -> str:
        return ""

    def scripts(self) -> frozenset[str]:
        return frozenset({"latin"})

    def read(self, image: Image.Image) -> Sequence[ReadLine]:
        self.seen.append(image.size)
        if len(self.seen) == 1:
            return self.page
        return [line(self.cut_out, 0, 0)] if self.cut_out else []


def line(text: str, left: float, middle: float) -> ReadLine:
    """Words ten pixels a letter, from a point on."""
    words = []
    for word in text.split():
        words.append(ReadWord(word, left, middle - 8, left + 10 * len(word), middle + 8))
        left += 10 * len(word) + 10
    return ReadLine(tuple(words))


def blank(*boxes: Box) -> Composed:
    """An empty page just large enough for these boxes."""
    size = max(int(box.right) for box in boxes), max(int(box.bottom) for box in boxes)
    return Composed(Image.new("RGB", size), boxes)


def test_words_go_to_the_smallest_box_around_them_in_the_order_of_lines() -> None:
    question, image = Box("question", 1, 0, 0, 400, 100), Box("image", 1, 0, 60, 400, 100)
    composed = blank(question, image, Box("option", 1, 0, 110, 90, 130))
    reported = ScriptedEngine(
        [line("second row", 10, 40), line("label inside", 10, 80), line("first", 10, 20), line("yes", 40, 120)]
    )
    parts = {("question", 1): paragraph("first second row"), ("option", 1): paragraph("yes")}
    rows = read_back("i", composed, parts, reported, 0.9)
    assert [(row.part, row.similarity, row.read) for row in rows] == [
        ("question", 1.0, "first second row"),
        ("option", 1.0, "yes"),
    ]
    assert len(reported.seen) == 1


def test_a_line_across_two_columns_is_shared_between_their_options() -> None:
    composed = blank(Box("option", 1, 0, 0, 72, 20), Box("option", 2, 80, 0, 220, 20))
    parts = {("option", 1): paragraph("left"), ("option", 2): paragraph("right")}
    rows = read_back("i", composed, parts, ScriptedEngine([line("A. left B. right", 0, 10)]), 0.9)
    assert [row.read for row in rows] == ["left", "right"]
    assert lowest(rows) == 1.0


def test_a_part_that_is_misread_on_the_page_is_read_once_more_by_itself() -> None:
    composed = Composed(Image.new("RGB", (100, 60)), (Box("option", 1, 20, 20, 80, 40),))
    reported = ScriptedEngine([line("S", 30, 30)], cut_out="A) 5")
    [row] = read_back("i", composed, {("option", 1): paragraph("5")}, reported, 0.9)
    assert (row.similarity, row.read) == (1.0, "5")
    assert reported.seen == [(100, 60), (136, 56)]


def test_short_parts_are_judged_together() -> None:
    composed = blank(*(Box("option", number, 0, 20 * number, 100, 20 * number + 16) for number in (1, 2, 3, 4)))
    lines = [line(text, 40, 20 * number + 8) for number, text in enumerate(("12", "13", "l4", "15"), 1)]
    parts = {("option", number): paragraph(str(number + 11)) for number in (1, 2, 3, 4)}
    rows = read_back("i", composed, parts, ScriptedEngine(lines), 0.9)
    assert [row.similarity for row in rows] == [1.0, 1.0, 0.5, 1.0]
    assert lowest(rows) == pytest.approx(0.875)


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        (paragraph("so ", {"formula": []}), "formula"),
        (paragraph("about 3 m²"), "formula"),
        (paragraph(r"\unknown{3}"), "formula"),
        ([{"kind": "table", "rows": []}], "table"),
        ([{"kind": "image", "number": 1}], "no words"),
        (paragraph("图中有几只鸟"), "script"),
    ],
)
def test_what_an_engine_cannot_be_held_to_is_not_judged(blocks: list[dict[str, Any]], why: str) -> None:
    composed = blank(Box("question", 1, 0, 0, 100, 20))
    [row] = read_back("i", composed, {("question", 1): blocks}, ScriptedEngine([]), 0.9)
    assert (row.similarity, row.unjudged) == (None, why)
    assert lowest([row]) is None


def test_words_of_a_steep_photograph_are_found_by_the_way_back() -> None:
    flat = page()
    taken = photographed(flat, {**PLAINEST["photo"], "look_angle": "steep"}, np.random.default_rng(4))
    lines = []
    for box, text in zip(flat.boxes, (QUESTION, *OPTIONS), strict=True):
        width = (box.right - box.left) / len(text.split())
        across = [(box.left + width * (number + 0.5)) for number in range(len(text.split()))]
        points = taken.camera.seen(np.array([(x, (box.top + box.bottom) / 2) for x in across]))
        words = (
            ReadWord(word, x - 5, y - 5, x + 5, y + 5) for word, (x, y) in zip(text.split(), points, strict=True)
        )
        lines.append(ReadLine(tuple(words)))
    rows = read_back("i", taken, PARTS, ScriptedEngine(lines), 0.9)
    assert [row.similarity for row in rows] == [1.0] * 5


@pytest.fixture(scope="module")
def engine() -> Engine:
    try:
        return choose_engine()
    except MissingExtraError as missing:
        pytest.skip(str(missing))


def test_a_plain_page_and_its_photograph_are_read(engine: Engine) -> None:
    flat = page()
    taken = photographed(flat, {**PLAINEST["photo"], "look_angle": "turned"}, np.random.default_rng(2))
    for composed, least in ((flat, 0.97), (taken, 0.85)):
        rows = read_back("i", composed, PARTS, engine, 0.9)
        assert [(row.part, row.number) for row in rows] == list(PARTS)
        assert np.mean([row.similarity or 0.0 for row in rows]) >= least, rows


def test_an_option_that_cannot_be_read_is_the_lowest(engine: Engine) -> None:
    flat = page()
    left, top, right, bottom = map(round, flat.boxes[3][2:])
    blank = flat.image.copy()
    blank.paste((235, 235, 235), (left, top, right, bottom))
    rows = read_back("i", Composed(blank, flat.boxes), PARTS, engine, 0.9)
    assert min(rows, key=lambda row: row.similarity or 0.0).number == 3
    assert lowest(rows) == 0.0
