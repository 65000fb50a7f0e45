"""The first filter: what stands side by side rests on the same items, and says whose scores it shows."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.results import own_settings
from eyetest.reports.answer import cautions, protocol_words, tiles
from eyetest.reports.report import Material, Report
from eyetest.reports.report_page import ReportDetails, write_report_page
from tests.measures.tables import results

ITEMS = [
    {
        "item": str(i),
        "options": 4 if i < 12 else None,
        "position": i % 4 if i < 12 else None,
        "gold": "ABCD"[i % 4] if i < 12 else None,
    }
    for i in range(20)
]
"""Twelve items with four options, eight with free answers."""


def asked(model: str, scores: list[float | None], modality: str = "image", **more: Any) -> list[dict[str, Any]]:
    return [{"model": model, "item": str(i), "modality": modality, "score": s, **more} for i, s in enumerate(scores)]


def told(rows: list[dict[str, Any]], items: list[dict[str, Any]] = ITEMS) -> Report:
    return Report(Material(results(rows, items)), [], [])


def tile(report: Report, name: str) -> tuple[str, str]:
    [found] = [(figure, unit) for title, figure, unit in tiles(report) if title == name]
    return found


MIXED = asked("a", [*[1.0] * 9, *[0.0] * 11]) + asked("b", [0.0] * 20) + asked("c", [1.0] * 3)


def test_guessing_stands_beside_the_score_on_the_same_items() -> None:
    """Nine of twelve items with options, none of eight without: 45 % beside 25 % would compare two benchmarks."""
    report = told(MIXED)
    assert tile(report, "best accuracy with the image")[0] == "45.0 %"
    assert tile(report, "random guessing") == ("25 %", "on 12 items with options; a 75 % there")
    assert report.headline is not None
    rows = {row["model"]: row for row in report.headline.to_dicts()}
    assert (rows["a"]["with_options"], rows["a"]["guessing"], rows["a"]["options_n"]) == (0.75, 0.25, 12)
    assert rows["c"]["options_n"] == 3


def test_where_all_items_have_options_guessing_is_on_the_same() -> None:
    report = told(asked("a", [1.0] * 12) + asked("b", [0.0] * 12), ITEMS[:12])
    assert tile(report, "random guessing") == ("25 %", "on the same 12 items")
    assert report.headline is not None
    assert "with_options" not in report.headline.columns


def test_who_has_not_answered_everything_is_told_first() -> None:
    report = told(MIXED)
    assert report.headline is not None
    assert dict(report.headline.select("model", "missing").iter_rows()) == {"a": 0, "b": 0, "c": 17}
    assert cautions(report) == ["1 of 3 models did not answer all items: up to 17 are missing."]
    assert report.asked.get_column("missing").to_list() == [17]
    assert cautions(told(asked("a", [1.0] * 20))) == []


def test_unread_answers_stand_beside_accuracy_and_are_told_first() -> None:
    """An accuracy of 0 says nothing about a model whose replies could not be read."""
    report = told(asked("a", [1.0] * 20) + asked("b", [0.0] * 20, reading="unparsed"))
    assert report.headline is not None
    assert report.headline.columns[:5] == ["model", "accuracy", "accuracy_low", "accuracy_high", "unread"]
    assert dict(report.headline.select("model", "unread").iter_rows()) == {"a": 0.0, "b": 1.0}
    assert "b 100 % (20 of 20, mostly unparsed)" in cautions(report)[0]


GIVEN = {"rule": "given", "metric": "given"}


def test_scores_of_others_are_told_first_and_nothing_else_is_claimed(tmp_path: Path) -> None:
    rows = asked("a", [1.0] * 20, reading="refused", **GIVEN) + asked("b", [0.0] * 20)
    report = told(rows)
    first = cautions(report)[0]
    assert first.startswith("20 of 40 answers were scored by others")
    assert "the other 20 by our rules" in first
    write_report_page(report, ReportDetails("t"), tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    assert first in page[: page.index('id="asked"')], "on the first screen"
    assert "20 answers came with external scores" in page
    assert "A refusal or an unreadable answer scores 0." not in page
    write_report_page(told(asked("b", [0.0] * 20)), ReportDetails("t"), tmp_path / "ours.html")
    ours = (tmp_path / "ours.html").read_text()
    assert "A refusal or an unreadable answer scores 0." in ours
    assert "scored by others" not in ours


def test_pairs_told_apart_are_counted_as_the_comparison_counts_them() -> None:
    shares = [0.2, 0.3, 0.4, 0.5, 0.6]
    items = [{"item": str(i)} for i in range(60)]
    rows = [
        row
        for n, share in enumerate(shares)
        for row in asked(f"m{n}", [float((7 * i + n) % 60 < 60 * share) for i in range(60)])
    ]
    report = told(rows, items)
    measure = MEASURES["differences"]
    pairs = measure.measure(report.material.results, Settings(own=own_settings(measure, {}))).table
    surely, alone = (pairs.filter(pl.col(name) < 0.05).height for name in ("p_adjusted", "p"))
    assert surely < alone
    assert tile(report, "separable pairs")[1] == f"{surely} of 10 pairs of models, all tested together (Holm)"


@pytest.mark.parametrize("modality", ["no-image", "no-image-guess", "gray"])
def test_the_gain_says_how_blind_was_asked(modality: str) -> None:
    rows = MIXED + asked("a", [*[1.0] * 4, *[0.0] * 16], modality) + asked("b", [0.0] * 20, modality)
    report = told(rows)
    assert tile(report, "mean gain")[0] == "12.5"
    assert tile(report, "mean gain")[1].endswith(", 2 models")
    assert tile(report, "best without the image")[1].endswith(protocol_words(f"{modality} direct"))
    assert report.headline is not None
    assert dict(report.headline.select("model", "no_image_by").iter_rows())["a"] == modality


def test_the_mean_gain_is_that_of_the_headline_not_of_other_ways_to_ask() -> None:
    """One model, asked directly and with reasoning: the last row of all gains would be the wrong one."""
    rows = asked("a", [1.0] * 20) + asked("a", [0.0] * 20, "no-image")
    rows += asked("a", [1.0] * 20, ask="cot") + asked("a", [1.0] * 20, "no-image", ask="cot")
    report = told(rows + asked("b", [1.0] * 20))
    assert report.headline is not None
    assert dict(report.headline.select("model", "gain").iter_rows()) == {"a": 1.0, "b": None}
    assert tile(report, "gain")[0] == "100.0"


def test_a_gain_over_fewer_items_than_the_score_says_so() -> None:
    report = told(asked("a", [1.0] * 20) + asked("a", [0.0] * 5, "no-image"))
    assert report.headline is not None
    assert report.headline.select("n", "gain_n").row(0) == (20, 5)


def test_above_guessing_is_a_measure_of_its_own() -> None:
    found: Results = results(MIXED, ITEMS)
    rows = {row["model"]: row for row in MEASURES["guessing"].measure(found, Settings()).table.to_dicts()}
    assert (rows["a"]["accuracy"], rows["a"]["guessing"], rows["a"]["above"], rows["a"]["n"]) == (0.75, 0.25, 0.5, 12)
    assert rows["a"]["above_low"] < 0.5 < rows["a"]["above_high"]
    assert rows["b"]["above"] == -0.25
