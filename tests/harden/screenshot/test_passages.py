"""What a text becomes on a page."""

import pytest

from eyetest.harden.screenshot.passages import Passages, breakable, direction, language, visible
from tests.harden.screenshot.pages import item


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


def test_unread_formulas_are_counted() -> None:
    assert Passages(item(r"$\foo$ and $\bar x$ and $\baz$")).unread == 2


def test_an_option_without_dollars_may_be_a_formula() -> None:
    passages = Passages(item("Which?", r"\frac{1}{2}", r"C:\temp is a folder", "1.7"))
    assert [type(option[0]["runs"][0]) for option in passages.options] == [dict, str, str]


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


def test_long_runs_can_be_broken() -> None:
    assert breakable("a" * 20) == "a" * 20
    assert breakable("a" * 60).split("\u200b") == ["a" * 24, "a" * 24, "a" * 12]
    assert breakable("a longer word", 5).split("\u200b") == ["a longe", "r word"]
    assert Passages(item("supercalifragilistic word"), 10).as_data()["widest"] == ["ragilistic", "supercalif", "word"]


def test_direction_and_language() -> None:
    assert direction("<image 1> שלום hello") == "rtl"
    assert direction("12 + 3", "rtl") == "rtl"
    assert direction("x שלום") == "ltr"
    assert [language(text) for text in ("漢字", "漢字かな", "한자 漢字", "abc")] == ["zh", "ja", "ko", ""]
