"""The page about reformed datasets says how many items there are and how they were made, and shows them."""

import re
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest, OptionProvenance
from eyetest.reform.building import MISSING
from eyetest.reports.sections import gather_statistics, write_reform_page
from tests.conftest import png
from tests.support.accessibility import check_accessible
from tests.support.browser import Browser


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="<b>birds</b>", licence="CC BY 4.0")) as writer:
        image = writer.images.put(png())
        for number in range(40):
            wrong = [Choice(f"bird {n}", provenance=OptionProvenance(author="similarity")) for n in range(3)]
            wrong.insert(number % 4, Choice("a very long heron", correct=True))
            tags: dict[str, object] = {"dataset": "birds", "dimension": "CG", "task": "image classification"}
            images = (image,) if number else ()
            tags |= {} if number else {MISSING: ["x.jpg"]}
            writer.add(Item(id=str(number), question="Which?", images=images, choices=tuple(wrong), tags=tags))
        tags = {"dataset": "signs", "dimension": "STP", "task": "reading"}
        writer.add(Item(id="t", question="What does it say?", references=("one way",), images=(image,), tags=tags))
    return Benchmark(tmp_path / "b")


def test_statistics_are_counted_by_dataset(benchmark: Benchmark) -> None:
    birds, signs = gather_statistics([benchmark]).to_dicts()
    assert (birds["items"], birds["images missing"], birds["distractors by"]) == (40, 1, "similarity 100 %")
    assert (birds["gold is longest"], birds["longest by chance"]) == (1.0, 0.25)
    assert (signs["items"], signs["options"], signs["words an option or answer"]) == (1, "", 2.0)


def test_the_page_shows_items_and_escapes_names(benchmark: Benchmark, browser: Browser, tmp_path: Path) -> None:
    write_reform_page([benchmark], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "41 items of 2 datasets, 2 tasks." in page
    assert "&lt;b&gt;birds" in page
    assert "<b>birds" not in page
    assert len(re.findall('<article class="item">', page)) == 7
    assert "gold is longest" in page
    check_accessible(browser, tmp_path / "page.html")
