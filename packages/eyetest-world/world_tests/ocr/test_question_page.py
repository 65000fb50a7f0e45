"""A page taken apart by its pixels and the words an engine read on it."""

import pytest
from eyetest_world.screenshot_reader import largest_image, understand
from PIL import Image, ImageDraw

from eyetest.ocr import ReadLine, ReadWord

SQUARE = (60, 40, 220, 200)


def line(text: str, left: float, middle: float) -> ReadLine:
    """Words of ten pixels a letter and twenty high; two spaces are a wide gap."""
    words = []
    for word in text.split(" "):
        if word:
            words.append(ReadWord(word, left, middle - 10, left + 10 * len(word), middle + 10))
        left += 10 * len(word) + 10 if word else 60
    return ReadLine(tuple(words))


def blank() -> Image.Image:
    return Image.new("RGB", (700, 600), "white")


def with_image(ground: str = "#f4efe2", page: str = "white") -> Image.Image:
    """A page with an image that has a ground and shapes of its own, below a heading and above a rule."""
    made = Image.new("RGB", (700, 600), page)
    draw = ImageDraw.Draw(made)
    draw.line((20, 20, 680, 20), fill="black", width=2)
    draw.rectangle((SQUARE[0], SQUARE[1], SQUARE[2] - 1, SQUARE[3] - 1), fill=ground)
    draw.ellipse((90, 70, 140, 120), fill="#c02030")
    draw.polygon([(160, 180), (200, 180), (180, 130)], fill="#2040c0")
    draw.rectangle((110, 140, 140, 170), outline="black", width=3)
    return made


QUESTION = [line("Which of these things can", 60, 260), line("fly over the sea?", 60, 290)]


@pytest.mark.parametrize(
    "rows",
    [
        [line("A. owl", 60, 340), line("B. heron", 60, 370), line("C. wren", 60, 400)],
        [line("(A) owl  (B) heron  (C) wren", 60, 340)],
        [line("A  owl", 60, 340), line("B  heron", 60, 390), line("Cc  wren", 60, 440)],
        [line("@) owl", 60, 340), line("CQ) heron", 60, 370), line("©) wren", 60, 400)],
        [line("A)owl  B)heron", 60, 340), line("C)wren", 60, 370)],
        [line("A. owl", 60, 340), line("heron", 80, 390), line("C. wren", 60, 440)],
    ],
    ids=["list", "in a row", "letters apart", "circles", "letters that stick", "a mark that is lost"],
)
def test_options_are_found_however_their_letters_are_read(rows: list[ReadLine]) -> None:
    page = understand(blank(), [*rows, *QUESTION])
    assert page.question == "Which of these things can fly over the sea?"
    assert page.options == ("owl", "heron", "wren")
    assert page.text.splitlines()[1:] == ["A. owl", "B. heron", "C. wren"]


@pytest.mark.parametrize(("ground", "page"), [("#f4efe2", "white"), ("white", "#20242c"), ("#d8e8d0", "#f8f8ff")])
def test_the_image_is_found_with_its_ground(ground: str, page: str) -> None:
    region = largest_image(with_image(ground, page), [(60, 250, 300, 270), (60, 280, 230, 300)])
    assert region == pytest.approx(SQUARE, abs=6)


def test_words_inside_the_image_are_no_part_of_the_question() -> None:
    page = understand(
        with_image(), [line("OWL", 100, 100), *QUESTION, line("A. yes", 60, 340), line("B. no", 60, 370)]
    )
    assert page.question.startswith("Which")
    assert page.options == ("yes", "no")
