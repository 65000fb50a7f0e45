"""The white box on a report: there where choices were weighed, and nowhere else."""

import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from eyetest.measures import Results
from eyetest.pages import palette
from eyetest.pages.charts import for_page
from eyetest.records import ModelEntry
from eyetest.records.order import order_of
from eyetest.reports import FIGURES
from eyetest.reports.material import Material
from eyetest.reports.report import Report, tell
from eyetest.reports.report_page import ReportDetails, write_report_page
from tests.measures.tables import choice_items, weighed
from tests.reports.pages import HOSTILE
from tests.reports.synthetic import panel

NAMES = ["generation-likelihood", "normalisations", "image-use", "option-prior"]
ITEMS = 30
MODELS = ("a", "b", HOSTILE[0])
METHODS = ("generate", "likelihood", "first-token")


def answers(names: tuple[str, ...], methods: tuple[str, ...]) -> Results:
    """Models that write and weigh the same items, with and without image and question, letters in four orders."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for item in range(ITEMS):
        for model in names:
            about = {"item": str(item), "model": model}
            rows.append(about | {"choice": "AB"[item % 2], "score": float(rng.random() < 0.6)})
            for modality in ("image", "no-image", "gray", "no-question"):
                weights = [(value, 1 + item % 3, 4 + item % 5) for value in rng.normal(-3, 1, 4).tolist()]
                rows.append(about | {"method": "likelihood", "modality": modality, "choice": "A", "weights": weights})
            for order in range(4):
                places = np.argsort(order_of(str(item), 4, order))
                logs = [(value, 1, 1) for value in (rng.normal(0, 1, 4) - places).tolist()]
                rows.append(about | {"method": "first-token", "order": order, "choice": "B", "weights": logs})
    kept = [row for row in rows if row.get("method", "generate") in methods]
    bases = {name: ModelEntry(spec="scripted:", base=f"lm {number // 2}") for number, name in enumerate(names)}
    return weighed(kept, choice_items([[number % 4] for number in range(ITEMS)], 4), bases)


@cache
def told(names: tuple[str, ...] = MODELS, methods: tuple[str, ...] = METHODS) -> Report:
    return tell(Material(answers(names, methods)), [FIGURES[name] for name in ("accuracy", *NAMES)])


def test_all_of_it_is_drawn_in_known_colours_and_known_words() -> None:
    known = set(re.findall(r'="(#\w+)"', palette.dark_rules()))
    free = {"none", "transparent", palette.ON_BRIGHT, palette.PAPER, "white"}
    report = told()
    assert [one.figure.name for one in report.drawn] == ["accuracy", *NAMES]
    for one in report.drawn[1:]:
        root = ElementTree.fromstring(one.svg)
        colours = {element.attrib.get(part, "none") for element in root.iter() for part in ("fill", "stroke")}
        assert colours <= known | free, one.figure.name
        assert float(root.attrib["width"]) < 900, one.figure.name
        words = set(ElementTree.fromstring(for_page(one.svg, "t")).itertext())
        assert HOSTILE[0] in words, one.figure.name
        assert not {"null", "NaN", "undefined"} & words, one.figure.name


def test_numbers_are_those_of_the_measures_with_the_image() -> None:
    drawn = {one.figure.name: one.numbers for one in told().drawn}
    gaps = drawn["generation-likelihood"]
    assert gaps.filter(weighed_by="likelihood")["series"].to_list() == [
        "a",
        "b",
        "lm 0: 2 models",
        MODELS[2],
        "all models",
    ]
    material = told().material
    table = material.measured("generation-likelihood", scope="all").filter(weighed_by="first-token", models=1)
    assert gaps.filter(weighed_by="first-token", models=1)["kappa"].to_list() == table["kappa"].to_list()
    assert drawn["normalisations"]["normalisation"].n_unique() == 5
    assert set(drawn["image-use"]["series"]) == set(MODELS)
    prior = material.measured("option-prior", scope="all")
    assert drawn["option-prior"]["prior"].to_list() == prior["prior"].to_list()
    assert drawn["option-prior"]["difference"].null_count() == 0


def test_nothing_of_it_where_no_choice_was_weighed() -> None:
    report = tell(Material(panel(["a", "b"])))
    titles = {FIGURES[name].title for name in NAMES}
    assert not titles & {one.figure.title for one in report.drawn}
    assert not titles & {one.title for one in report.missing}


def test_what_lacks_of_it_is_said_where_there_is_some() -> None:
    report = told(("a",), ("likelihood",))
    assert [one.figure.name for one in report.drawn] == ["accuracy", "normalisations", "image-use"]
    lost = {one.title: one for one in report.missing}
    assert lost.keys() == {FIGURES[name].title for name in ("generation-likelihood", "option-prior")}
    assert "--condition first-token+order=" in lost[FIGURES["option-prior"].title].needs


def test_what_models_write_is_the_usual_however_often_letters_were_weighed() -> None:
    assert told().material.usual_protocols == ["image direct"]
    assert told(("a",), ("likelihood", "first-token")).material.usual_protocols == ["image direct first-token"]


def test_the_page_has_one_heading_for_it(tmp_path: Path) -> None:
    write_report_page(told(), ReportDetails("t"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count(">White box</h2>") == 1
    assert page.count("<h3>Effect of the image on probabilities</h3>") == 1
    (link,) = re.findall(r'<a href="#([\w-]+)">White box</a>', page)
    assert f'id="{link}"' in page
    plain = tell(Material(panel(["a"])), [FIGURES["accuracy"], FIGURES["option-prior"]])
    write_report_page(plain, ReportDetails("t"), tmp_path / "plain.html")
    assert "White box" not in (tmp_path / "plain.html").read_text()
