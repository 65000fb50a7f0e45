"""The second renderer, where there is a browser."""

import shutil
import socket
from collections.abc import Iterator

import pytest

from eyetest.harden.screenshot.chromium import Chromium
from eyetest.harden.screenshot.composing import SetsPages
from eyetest.harden.screenshot.drawing import fonts_of
from eyetest.harden.screenshot.factors import FACTORS, LOOK, PLAINEST
from eyetest.harden.screenshot.fonts import families
from eyetest.harden.screenshot.painting import as_png
from eyetest.harden.screenshot.typesetting import CannotShow
from eyetest.records import ImageRef, Turn
from tests.harden.screenshot.pages import item
from tests.harden.screenshot.test_pages import HOSTILE, inside, page_of


@pytest.fixture(scope="module")
def browser() -> Iterator[SetsPages]:
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    browser = Chromium()
    yield browser
    browser.close()


def test_whole_pages_the_same_again(browser: SetsPages) -> None:
    picture = ImageRef("a" * 64, "png", 900, 500, 1)
    whole = item(
        "What is in <image 1>? $\\frac{a}{b}$ " + "word " * 60,
        *("short", "a longer option " * 9, "<image 2>"),
        images=(picture, picture),
        hint="Look twice.",
        history=(Turn("And before?", "Nothing."),),
    )
    for frame in FACTORS["screen"]["look_frame"]:
        factors = {**PLAINEST, LOOK: "phone", "look_frame": frame, "look_options": "chips"}
        first, second = (page_of(whole, browser, factors) for _ in range(2))
        inside(first)
        assert {("option", 3), ("question", 1), ("turn", 1), ("picture", 2)} <= {
            (box.part, box.number) for box in first.composed.boxes
        }
        assert as_png(first.composed.picture) == as_png(second.composed.picture)


def test_typefaces_differ(browser: SetsPages) -> None:
    names = fonts_of("chromium")
    assert len(names) >= 12
    assert not any(families()[name].package == "typst" for name in names)
    asked = item("Which of these is it?", "one", "two")
    files = {as_png(page_of(asked, browser, {**PLAINEST, "look_font": name}).composed.picture) for name in names}
    assert len(files) == len(names)


def test_nothing_is_run_or_loaded(browser: SetsPages) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        port = str(listening.getsockname()[1])
        for name, text in HOSTILE.items():
            shown = item(text.replace("{port}", port), text[:200], "other")
            if name == "formula":
                with pytest.raises(CannotShow, match="too wide"):
                    page_of(shown, browser)
            else:
                inside(page_of(shown, browser))
        with pytest.raises(BlockingIOError):
            listening.accept()
