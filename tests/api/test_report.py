"""The page that Python writes is the one that the command writes."""

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import eyetest as et
from eyetest.errors import InputError
from eyetest.jobs import report as job
from eyetest.reports.report import Report
from eyetest.reports.report_page import ReportDetails
from tests.reports.pages import Tags
from tests.runs.conftest import Eyetest


def words_of(page: str) -> str:
    return " ".join(" ".join(Tags(Path(page).read_text()).words).split())


def test_it_tells_what_the_command_tells(here: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[tuple[Report, ReportDetails]] = []
    monkeypatch.setattr(job, "write_report_page", lambda told, about, *_, **__: pages.append((told, about)))
    better = et.refine("world/benchmark", "chance-aware", "models.yaml", to="better")
    Path("elo.csv").write_text("seer,1200\nsquinter,1100\nlanguage,900\n")
    et.report(["run", better], page="page.html", tables="tables", external="elo.csv", resamples=100)
    eyetest("report", "run", "better", "--page", "page.html", "--with", "elo.csv", "--resamples", 100).fine()
    (told, about), (told_too, about_too) = pages
    assert {"duplicates", "external", "funnel"} <= {one.figure.name for one in told.drawn}
    assert [one.figure.name for one in told.drawn] == [one.figure.name for one in told_too.drawn]
    for one, other in zip(told.drawn, told_too.drawn, strict=True):
        assert_frame_equal(one.numbers, other.numbers)
    assert about.fallen
    assert (about.title, about.fallen, about.steps, about.method) == (
        about_too.title, about_too.fallen, about_too.steps, about_too.method
    )  # fmt: skip
    assert about_too.command.startswith("eyetest report run better")
    assert Path("tables/headline.tex").is_file()


def test_results_and_benchmarks_have_pages_too(here: Path) -> None:
    et.report(et.results("run"), page="results.html", resamples=100)
    assert "60 items · 3 models" in words_of("results.html")
    et.report(et.open("world/benchmark"), page="items.html", figures="figures", gallery=0)
    assert "60 items; no model was asked yet." in words_of("items.html")
    assert {"composition.svg", "composition.png"} <= {file.name for file in Path("figures").iterdir()}
    with pytest.raises(InputError, match="gallery: found -1"):
        et.report("run", page="refused.html", gallery=-1)
    assert not Path("refused.html").exists()
