"""Figures: they show what measures found, in colours that have a twin in the dark."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.pages import palette
from eyetest.pages.plots import as_png, for_page
from eyetest.reports.figures import FIGURES
from eyetest.reports.report import Material, Report, chart, tell
from tests.measures.tables import asked, grid, results
from tests.reports.pages import HOSTILE
from tests.reports.synthetic import panel

pytestmark = pytest.mark.journey

NAMES = {"accuracy", "capabilities", "composition", "failures", "funnel", "instability", "modality"}
FUNNEL = pl.DataFrame({"stage": ["no-image", "review"], "into": [9, 5], "keep": [5, 4], "fix": [0, 1], "review": [1, 0],  # noqa: E501
                       "drop": [3, 0]})  # fmt: skip


@cache
def drawn_report(models: int = 30, hostile: bool = False) -> Report:
    names = [HOSTILE[i % len(HOSTILE)] + str(i) if hostile else f"model {i}" for i in range(models)]
    dimensions = HOSTILE if hostile else ("shape", "colour")
    found = panel(names, cores=dimensions)
    return tell(Material(found, funnel=FUNNEL))


def test_all_figures_are_there_and_say_how_to_be_read() -> None:
    assert set(FIGURES) == NAMES
    for figure in FIGURES.values():
        assert figure.title
        assert figure.needs
        assert figure.reading.endswith(".")


@pytest.mark.parametrize("models", [2, 30])
def test_two_models_or_thirty(models: int) -> None:
    report = drawn_report(models)
    drawn = {one.figure.name for one in report.drawn}
    assert (drawn, report.missing) == (NAMES, [])
    assert [one.figure.place for one in report.drawn] == sorted(one.figure.place for one in report.drawn)
    for one in report.drawn:
        assert float(ElementTree.fromstring(one.svg).attrib["height"]) < 2_400, one.figure.name


def colours(svg: str) -> Iterator[str]:
    for element in ElementTree.fromstring(svg).iter():
        yield from (element.attrib[name] for name in ("fill", "stroke") if name in element.attrib)


def test_every_colour_has_its_twin_in_the_dark() -> None:
    known = set(re.findall(r'="(#\w+)"', palette.dark_rules()))
    free = {"none", "transparent", palette.PAPER, "white"}
    for one in drawn_report(30).drawn:
        assert set(colours(one.svg)) <= known | free, one.figure.name
        assert float(ElementTree.fromstring(one.svg).attrib["width"]) < 1_100, one.figure.name


def test_what_a_dataset_says_stays_text() -> None:
    words = ""
    for one in drawn_report(4, hostile=True).drawn:
        page = for_page(one.svg, one.figure.title)
        root = ElementTree.fromstring(page)
        kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert kinds <= {"svg", "g", "path", "rect", "line", "circle", "text", "tspan"}
        attributes = {name for element in root.iter() for name in element.attrib}
        assert not [name for name in attributes if name.startswith("on") or "href" in name or name in ("id", "style")]
        words += "".join(root.itertext())
        assert not {"null", "NaN", "undefined"} & set(root.itertext()), one.figure.name
    assert HOSTILE[0] in words
    assert "\x1b" not in words
    assert "\u202e" not in words


def numbers(name: str, material: Material) -> pl.DataFrame:
    return FIGURES[name].numbers(material)


def test_numbers_are_those_of_the_measures() -> None:
    found = panel(["a", "b", "c"])
    material = Material(found)
    usual = Settings(own={"with_image": "image", "no_image": "no-image"})
    gain = MEASURES["gain"].measure(found, usual).table.filter(pl.col("with_image_by").is_not_null())
    shown = numbers("modality", material)
    assert shown.get_column("series").to_list() == ["a", "b", "c"]
    for column in ("gain", "gain_low", "gain_high", "unclipped", "leakage_high", "with_image", "no_image", "n"):
        assert shown.get_column(column).to_list() == gain.get_column(column).to_list(), column
    accuracy = MEASURES["accuracy"].measure(found, Settings()).table.sort("model", "modality")
    shown = numbers("accuracy", material).sort("series", "modality")
    assert shown.get_column("accuracy_low").to_list() == accuracy.get_column("accuracy_low").to_list()
    assert set(shown.get_column("random")) == {0.25}
    by_tag = MEASURES["accuracy"].measure(material.usual, Settings(by=("core",))).table
    shown = numbers("capabilities", material).filter(pl.col("tag") == "core")
    assert sorted(shown.get_column("accuracy")) == sorted(by_tag.get_column("accuracy"))


def test_failures_are_counted_by_kind() -> None:
    rows: list[dict[str, Any]] = [
        {"item": "1", "score": 1.0},
        {"item": "2", "outcome": "failed", "reading": None},
        {"item": "3", "outcome": "blocked", "reading": None, "score": 0.0},
        {"item": "4", "reading": "refused", "score": 0.0},
        {"item": "5", "reading": "unparsed", "score": 0.0},
        {"item": "6", "reading": None, "score": 1.0},
        {"item": "7", "reading": "ambiguous", "score": 0.0},
        {"item": "8", "reading": "text", "score": 0.5},
        {"item": "9", "reading": "refused", "score": 1.0, "rule": "given", "metric": "given"},
        {"item": "10", "reading": "cut off", "score": 0.0},
    ]
    row = numbers("failures", Material(results(rows))).row(0, named=True)
    assert row == {"series": "m", "share": 7 / 10, "failed": 1, "blocked": 1, "refused": 2, "ambiguous": 1,
                   "cut off": 1, "unreadable": 1, "scored above 0": 1, "calls": 10}  # fmt: skip


def test_the_usual_protocol_sees_and_is_the_most_asked() -> None:
    blind = [row for model in "abcd" for row in asked(model, [1.0] * 9, "no-image")]
    rows = [row for model in "ab" for row in asked(model, [1.0], ask="cot")]
    material = Material(results(blind + rows + [row for model in "abc" for row in asked(model, [0.0])]))
    assert material.usual_protocols == ["image direct"]
    assert set(material.measured("accuracy").get_column("accuracy")) == {0.0}
    assert Material(results(blind)).usual_protocols == ["no-image direct"]


def test_tags_are_those_that_name_capabilities_or_those_one_names() -> None:
    items = [
        {"item": str(i), "tag.core": "xy"[i % 2], "tag.split": "ab"[i % 2], "tag.task": "same", "tag.id": str(i)}
        for i in range(40)
    ]
    found = grid({"a": [1] * 40}, items)
    assert Material(found).tags == ("core",)
    assert Material(found, Settings(by=("split",))).tags == ("split",)


def test_a_chart_for_a_notebook() -> None:
    drawn = chart("accuracy", panel(["a", "b"]))
    spec = drawn.to_dict()
    assert spec["config"]["background"] == palette.PAPER
    assert as_png(drawn).startswith(b"\x89PNG")
    with pytest.raises(NotMeasurable):
        chart("modality", grid({"a": [1, 0]}))
