"""The answer that a report begins with: true for odd results too, and never more than tests and intervals allow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.records import ModelEntry
from eyetest.reports.answer import cautions, details, first_sentence, lacks, nothing_scored
from eyetest.reports.report import Material, Report, ReportItems
from eyetest.reports.report_page import ReportDetails, write_report_page
from tests.measures.tables import asked, measure, results

ITEMS = 400


def scored(model: str, share: float, modality: str, **more: Any) -> list[dict[str, Any]]:
    """A model that is right on the first items, so that better ones are right wherever worse ones are."""
    return asked(model, [float(i < share * ITEMS) for i in range(ITEMS)], modality, **more)


def told(rows: Sequence[dict[str, Any]], options: int | None = 4, **models: ModelEntry) -> Report:
    names = sorted({row.get("benchmark", "bench") for row in rows}) or ["bench"]
    known = {"options": options, "position": 0 if options else None, "gold": "A" if options else None}
    items = [{"benchmark": name, "item": str(i), **known} for name in names for i in range(ITEMS)]
    return Report(Material(results(rows, items, models)), [], [])


def mixed(rows: Sequence[dict[str, Any]]) -> Report:
    return Report(Material(results(rows, MIXED_ITEMS)), [], [])


def said(report: Report) -> str:
    return " ".join([first_sentence(report), *details(report)])


def test_a_benchmark_that_needs_its_images() -> None:
    seen = scored("a", 0.8, "image") + scored("b", 0.6, "image")
    text = said(told(seen + scored("a", 0.24, "no-image") + scored("b", 0.22, "no-image")))
    assert text.startswith(
        "This benchmark needs its images: a scores 80.0 [75.8, 83.6] with the image; without it, a "
    )
    assert "not significantly below guessing (25.0); of 2 models with the image, 2 significantly better and 0" in text
    assert "on average; the interval of 2 of 2 gains lies above 0." in text


def test_items_answered_without_the_image() -> None:
    rows = scored("a", 0.8, "image") + scored("b", 0.51, "image") + scored("c", 0.3, "image")
    text = said(told(rows + scored("a", 0.5, "no-image")))
    assert text.startswith("Part of this benchmark does not need the image: ")
    assert (
        ", significantly above guessing (25.0); of 3 models with the image, 1 significantly better and 1 worse."
        in text
    )


def test_no_model_with_the_image_is_better() -> None:
    rows = scored("a", 0.26, "image") + scored("b", 0.1, "image") + scored("a", 0.26, "no-image")
    text = said(told(rows))
    assert text.startswith("There is no evidence that the images are needed: ")
    assert "of 2 models with the image, 0 significantly better and 1 worse." in text
    assert "The image adds 0.0 [−0.7, 0.7] points" in text
    assert text.endswith("the interval of 0 of 1 gain lies above 0.")


def test_without_blind_answers_it_says_so_and_how_to_get_them() -> None:
    report = told(scored("a", 0.8, "image") + scored("b", 0.6, "image"))
    [(what, command)] = lacks(report)
    assert what == "No model was asked without the image."
    assert "--condition no-image-guess" in command
    assert said(report) == "a scores 80.0 [75.8, 83.6] with the image."


def test_without_answers_with_the_image_it_claims_nothing_of_them() -> None:
    report = told(scored("a", 0.6, "no-image") + scored("b", 0.4, "no-image-guess"))
    assert said(report).startswith("Part of this benchmark does not need the image: without it, a scores 60.0 [")
    assert "with the image" not in said(report)
    assert [what for what, _ in lacks(report)] == ["No model was asked with the image."]


def test_open_questions_have_nothing_to_guess_from() -> None:
    report = told(scored("a", 0.8, "image") + scored("b", 0.2, "no-image"), options=None)
    assert said(report).startswith("The images help: ")
    assert "guessing" not in said(report)
    assert lacks(report) == []


@pytest.mark.parametrize(("scores", "words"), [([None], "no answer has a score"), ([], "no model was asked yet")])
def test_nothing_scored_and_no_model_asked(scores: list[None], words: str) -> None:
    report = told([row | {"score": None} for row in scored("a", 0.5, "image") * len(scores)])
    assert nothing_scored(report, ReportItems(report.material)) == f"{ITEMS} items; {words}."
    assert (first_sentence(report), details(report)) == ("", [])
    assert lacks(report)[0][1]


def test_several_benchmarks_are_told_one_by_one() -> None:
    rows = []
    for name, blind in (("knows", 0.6), ("sees", 0.25)):
        for model, share, modality in (("a", 0.8, "image"), ("a", blind, "no-image"), ("b", 0.59, "image")):
            rows += scored(model, share, modality, benchmark=name)
    first, second, *_ = details(told(rows))
    assert first.startswith("Without the image on knows, a scores 60.0 [")
    assert (
        "significantly above guessing (25.0); of 2 models with the image, 1 significantly better and 0 worse."
        in first
    )
    assert second.startswith("Without the image on sees, a scores 25.0 [")


@pytest.mark.parametrize(
    ("blind", "words"),
    [
        (0.5, "Leakage is significant for 1 of the 2 measured, most for a: 20.0 ["),
        (0.3, "Leakage is significant for 0 of"),
    ],
)
def test_leaks_are_told_where_their_interval_allows(blind: float, words: str) -> None:
    base = ModelEntry(spec="scripted:", base="lm")
    rows = scored("a", 0.8, "image") + scored("b", 0.7, "image") + scored("lm", 0.3, "no-image")
    report = told(rows + scored("a", blind, "no-image") + scored("b", 0.3, "no-image"), a=base, b=base)
    assert words in said(report)
    assert lacks(report) == []


@pytest.mark.parametrize("shared", [0.0, 0.8], ids=["alone", "with shared habits"])
@pytest.mark.parametrize("rivals", [False, True], ids=["beside guessing", "beside models with the image"])
def test_the_best_of_many_is_no_discovery(rivals: bool, shared: float) -> None:
    """Where all guess, models that see and models that do not, hardly ever anything is significant."""
    draw, found, runs = np.random.default_rng(5), 0, 60
    for _ in range(runs):
        habit = {modality: draw.random(80) for modality in ("image", "no-image")}
        rows = [
            row
            for number in range(6)
            for modality, usual in habit.items()
            for row in asked(
                f"m{number}", np.where(draw.random(80) < shared, usual, draw.random(80)) < 0.25, modality
            )
        ]
        known = results(rows, [{"item": str(i), "options": 4, "position": 0} for i in range(80)])
        table = measure("best-no-image", known).table
        shown = table.filter(pl.col("rival").is_not_null() == rivals)
        found += bool((shown.get_column("p_adjusted") < 0.05).any())
    assert found <= 0.15 * runs


MIXED_ITEMS = [
    {"item": str(i)} | ({"options": 4, "position": i % 4, "gold": "ABCD"[i % 4]} if i < 12 else {}) for i in range(20)
]
"""Twelve items with four options, eight with free answers."""


MIXED = asked("a", [*[1.0] * 9, *[0.0] * 11]) + asked("b", [0.0] * 20) + asked("c", [1.0] * 3)


def test_guessing_stands_beside_the_score_on_the_same_items() -> None:
    """Nine of twelve items with options, none of eight without: 45 % beside 25 % would compare two benchmarks."""
    blind = mixed(MIXED + asked("a", [*[1.0] * 6, *[0.0] * 14], "no-image"))
    assert first_sentence(blind).endswith("(50.0 on items with options, guessing 25.0).")


def test_who_has_not_answered_everything_is_told_first() -> None:
    report = mixed(MIXED)
    assert report.headline is not None
    assert dict(report.headline.select("model", "missing").iter_rows()) == {"a": 0, "b": 0, "c": 17}
    assert cautions(report) == ["1 of 3 models did not answer all items: up to 17 are missing."]
    assert report.asked.get_column("missing").to_list() == [17]
    assert cautions(mixed(asked("a", [1.0] * 20))) == []


def test_unread_answers_stand_beside_accuracy_and_are_told_first() -> None:
    """An accuracy of 0 says nothing about a model whose replies could not be read."""
    report = mixed(asked("a", [1.0] * 20) + asked("b", [0.0] * 20, reading="unparsed"))
    assert report.headline is not None
    assert report.headline.columns[:5] == ["model", "accuracy", "accuracy_low", "accuracy_high", "unread"]
    assert dict(report.headline.select("model", "unread").iter_rows()) == {"a": 0.0, "b": 1.0}
    assert "b 100.0 % (20 of 20, mostly unparsed)" in cautions(report)[0]


GIVEN = {"rule": "given", "metric": "given"}


def test_scores_of_others_are_told_first_and_nothing_else_is_claimed(tmp_path: Path) -> None:
    rows = asked("a", [1.0] * 20, reading="refused", **GIVEN) + asked("b", [0.0] * 20)
    report = mixed(rows)
    first = cautions(report)[0]
    assert first.startswith("20 of 40 answers were scored by others")
    assert "the other 20 by our rules" in first
    write_report_page(report, ReportDetails("t"), tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    assert first in page[: page.index('id="asked"')], "on the first screen"
    assert "20 answers came with external scores" in page
    assert "A refusal or an unreadable answer scores 0." not in page
    write_report_page(mixed(asked("b", [0.0] * 20)), ReportDetails("t"), tmp_path / "ours.html")
    ours = (tmp_path / "ours.html").read_text()
    assert "A refusal or an unreadable answer scores 0." in ours
    assert "scored by others" not in ours


@pytest.mark.parametrize("modality", ["no-image", "no-image-guess", "gray"])
def test_the_gain_says_how_blind_was_asked(modality: str) -> None:
    rows = MIXED + asked("a", [*[1.0] * 4, *[0.0] * 16], modality) + asked("b", [0.0] * 20, modality)
    report = mixed(rows)
    assert "The image adds 12.5 " in said(report)


def test_the_mean_gain_is_that_of_the_headline_not_of_other_ways_to_ask() -> None:
    """One model, asked directly and with reasoning: the last row of all gains would be the wrong one."""
    rows = asked("a", [1.0] * 20) + asked("a", [0.0] * 20, "no-image")
    rows += asked("a", [1.0] * 20, ask="cot") + asked("a", [1.0] * 20, "no-image", ask="cot")
    report = mixed(rows + asked("b", [1.0] * 20))
    assert "The image adds 100.0 " in said(report)
