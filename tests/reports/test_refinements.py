"""Reasons that differ in their figures alone."""

from eyetest.pages.item_links import reason_kind
from eyetest.reports.refinements import together


def test_figures_become_ranges() -> None:
    told = ["17 of 36 blind answers right, p = 0.0032", "18 of 32 blind answers right, p = 1.6e-05"]
    assert reason_kind(told[0]) == reason_kind(told[1])
    assert together(told) == "17 to 18 of 32 to 36 blind answers right, p = 1.6e-05 to 0.0032"
    assert together(told[:1]) == told[0]
    assert together(["1,200 items", "900 items"]) == "900 to 1,200 items"


def test_names_keep_their_digits() -> None:
    assert reason_kind("qwen2 said 3") != reason_kind("qwen3 said 3")
    assert together(["qwen2 said 3", "qwen2 said 5"]) == "qwen2 said 3 to 5"


def test_any_text_can_be_a_reason() -> None:
    for text in ("", "7", "\0 is \0 not 4", "٣ of 4", "-1e999", "the # of 4"):
        assert together([text, text]) == text
