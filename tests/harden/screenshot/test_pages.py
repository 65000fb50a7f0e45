"""Pages: what a text becomes on them, and as they are set: whole, in order, safe, and the same again."""

import random
import socket
from collections.abc import Mapping
from itertools import combinations

import msgspec
import numpy as np
import pytest
from PIL import Image

from eyetest.harden.screenshot.page import (
    Box,
    CannotShow,
    Composed,
    Passages,
    Typesetter,
    as_png,
    compose,
    visible,
)
from eyetest.harden.screenshot.style import FACTORS, PLAINEST
from eyetest.records import Choice, ImageRef, Item, Turn
from tests.harden.screenshot.pages import item


def page_of(shown: Item, renderer: Typesetter, factors: Mapping[str, str] = PLAINEST["screen"]) -> Composed:
    def grey(image: ImageRef) -> Image.Image:
        return Image.new("RGB", (image.width, image.height), (1, 2, 3))

    page, _ = compose(shown, factors, random.Random(5), renderer, grey)
    return page


def inside(page: Composed) -> None:
    """Nothing leaves the page, and no option lies over another or over the question."""
    width, height = page.image.size
    boxes = page.boxes
    for box in boxes:
        assert min(box.left, box.top) >= 0
        assert box.right <= width + 0.5
        assert box.bottom <= height + 0.5
    apart = [box for box in boxes if box.part in ("question", "hint", "option")]
    for one, other in combinations(apart, 2):
        across = min(one.right, other.right) - max(one.left, other.left)
        down = min(one.bottom, other.bottom) - max(one.top, other.top)
        assert min(across, down) < 1, (one, other)


@pytest.mark.parametrize("layout", ["list", "columns", "cards", "chips"])
def test_every_frame_holds_the_whole_item(typesetter: Typesetter, layout: str) -> None:
    image = ImageRef("a" * 64, "png", 900, 500, 1)
    whole = item(
        "What is in <image 1>? " * 2 + "word " * 60,
        *("short", "a longer option " * 9, "<image 2>", r"$\frac{a}{b}$"),
        images=(image, image),
        hint="Look twice.",
        history=(Turn("And before?", "Nothing."),),
    )
    for frame in FACTORS["screen"]["look_frame"]:
        page = page_of(whole, typesetter, {**PLAINEST["screen"], "look_frame": frame, "look_options": layout})
        inside(page)
        parts = [(box.part, box.number) for box in page.boxes]
        assert {part for part in parts if part[0] == "option"} == {("option", n) for n in (1, 2, 3, 4)}
        assert {("question", 1), ("hint", 1), ("turn", 1), ("image", 1), ("image", 2)} <= set(parts)
        question, first = _box(page, "question"), _box(page, "option")
        assert question.bottom <= first.top + 0.5


def _box(page: Composed, part: str) -> Box:
    return next(box for box in page.boxes if (box.part, box.number) == (part, 1))


def test_the_gold_leaves_no_trace(typesetter: Typesetter) -> None:
    asked = item("Which?", "one", "two", "three")
    files = set()
    for gold in range(3):
        choices = tuple(Choice(choice.text, at == gold) for at, choice in enumerate(asked.choices))
        page = page_of(msgspec.structs.replace(asked, choices=choices), typesetter)
        files.add(as_png(page.image))
    assert len(files) == 1
    file = files.pop()
    assert [name for name in (b"tEXt", b"iTXt", b"eXIf", b"tIME", b"pHYs") if name in file] == []


HOSTILE = {
    "script": "<script>fetch('http://127.0.0.1:{port}/')</script><img src=http://127.0.0.1:{port}/x.png>",
    "file": "<img src='file:///etc/passwd'> ![x](file:///etc/passwd) <iframe src=file:///etc/hostname>",
    "style": "<style>@import url(http://127.0.0.1:{port}/a.css);</style>",
    "typst": '#read("/etc/passwd") #import "@preview/cetz:0.2.0": * #eval("1/0") $ #sys.version $ ]) #panic()',
    "json": '"}} \\" \\u0000 {{"style": 1',
    "zero-width": "a\u200bb\u200cc\u200dd\u2060e\ufeff",
    "bidi": "\u202edesrever\u202c \u2067isolated\u2069 plain",
    "emoji": "👩‍👩‍👧‍👦 🇫🇷 👍🏽 ❤️",
    "control": "a\x00b\x07c\x1b[31md\x7f\x85e",
    "long word": "x" * 3_000 + " " + "中" * 500,
    "lines": "\n" * 100 + "end",
    "table": "|" + "a|" * 60 + "\n|" + "---|" * 60 + "\n|" + "b|" * 60,
    "formula": "$" + r"\frac{1}{" * 20 + "x" + "}" * 20 + "$ $" + "x" * 120 + "$",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_shown_as_letters(name: str, typesetter: Typesetter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        text = HOSTILE[name].replace("{port}", str(listening.getsockname()[1])).replace("{{", "{").replace("}}", "}")
        inside(page_of(item(text, text[:200], "other"), typesetter))
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize("layout", ["columns", "chips"])
def test_long_words_stay_in_their_lines(typesetter: Typesetter, layout: str) -> None:
    levels = {"look_width": "narrow", "look_options": layout, "look_font": "JetBrains Mono"}
    word = "pneumonoultramicroscopicsilicovolcanoconiosis"
    page = page_of(item(word, word, word, word.upper()[:30]), typesetter, {**PLAINEST["screen"], **levels})
    inside(page)
    pixels = np.asarray(page.image.convert("L"), int)
    around = np.ones(pixels.shape, bool)
    for box in page.boxes:
        across, down = (17 if layout == "chips" else 2), 14  # an option's border; letters below their line
        around[int(box.top) - down : int(box.bottom) + down, int(box.left) - across : int(box.right) + across] = False
    assert page.image.width > 500
    assert pixels[around].min() > 200


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (item("word " * 50_000, "a", "b"), "too long for one page"),
        (item("What is ก?", "a", "b"), "no typeface has U+0E01"),
        (item("$" + r"\text{" + "w" * 600 + "}$", "a"), "a formula is too wide for the page"),
    ],
    ids=["50,000 words", "no letter", "wide formula"],
)
def test_what_no_page_can_show_is_named_in_one_line(shown: Item, reason: str, typesetter: Typesetter) -> None:
    with pytest.raises(CannotShow, match=reason.replace("+", r"\+")):
        page_of(shown, typesetter)


def test_the_compiler_sees_nothing_but_its_template(typesetter: Typesetter) -> None:
    assert [path.name for path in typesetter._root.iterdir()] == ["page.typ"]
    with pytest.raises(RuntimeError, match="cannot access file system"):
        typesetter._compiler.eval('read("/etc/passwd")')


def runs(text: str) -> list[object]:
    (block,) = Passages(item(text)).question
    return [run if isinstance(run, str) else "formula" for run in block["runs"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs $5 and $10.", ["It costs $5 and $10."]),
        ("$5-$10 a day", ["$5-$10 a day"]),
        ("Is $x$ larger than $y$?", ["Is ", "formula", " larger than ", "formula", "?"]),
        (r"Is \(x\) large?", ["Is ", "formula", " large?"]),
        (r"The fee is \$5.", ["The fee is $5."]),
        (r"Look: $\foo{x}$", [r"Look: $\foo{x}$"]),
        ('#read("/etc/passwd") <script>1</script>', ['#read("/etc/passwd") <script>1</script>']),
    ],
)
def test_dollars_are_money_or_formulas(text: str, expected: list[str]) -> None:
    assert runs(text) == expected


def test_tables_code_and_lines() -> None:
    text = "Look:\n\n| a | b |\n|---|---|\n| 1 | 2 | 3 |\n\n```py\nx = 1\n```\nand $$x$$ so"
    kinds = [block["kind"] for block in Passages(item(text)).question]
    assert kinds == ["paragraph", "table", "code", "paragraph", "formula", "paragraph"]
    table = Passages(item(text)).question[1]
    assert table["columns"] == 3
    assert table["rows"] == [[["a"], ["b"], []], [["1"], ["2"], ["3"]]]


def test_what_cannot_be_seen_is_left_out() -> None:
    assert visible("a\x00b\u202ec\u200bd\r\ne\x1b[0m") == "a bcd\ne [0m"
    assert visible("می‌شود") == "می‌شود"
