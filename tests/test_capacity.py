"""design/capacity.md says what its script computes."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "speed/capacity.py"))


def test_the_page_quotes_the_script() -> None:
    page = (ROOT / "design/capacity.md").read_text().splitlines()
    told = list(SCRIPT["all_lines"](SCRIPT["MEASURED"].read_text()))
    assert len(told) > 35
    assert [line for line in told if line not in page] == []


def test_a_straight_line_goes_on_and_a_bend_is_told() -> None:
    row, slope = SCRIPT["Row"], SCRIPT["slope"]
    line = slope([row(1_000, 3.0, 110), row(2_000, 4.0, 120), row(4_000, 10.0, 140)])
    assert line.at(5_000) == row(5_000, pytest.approx(13.0), pytest.approx(150))
    assert line.bend == pytest.approx(3.0)


def test_hours_follow_from_operations() -> None:
    """One model of 7 × 10⁹ parameters that reads 1,000 tokens and writes none, by hand."""
    case = SCRIPT["CASES"][1]._replace(text=400, picture=600, out=0, encoder=0.0)
    an_answer = 2 * 7e9 * 1_000 / (SCRIPT["PEAK"] * case.reading)
    models = 19 + 4 * 13 / 7
    assert SCRIPT["gpu_hours"](case)["generation"] == pytest.approx(models * 5 * 521_712 * an_answer / 3600)
