"""Pages of results and of benchmarks."""

from pathlib import Path

import pytest

import eyetest as et
from eyetest.errors import InputError
from tests.reports.pages import Tags


def words_of(page: str) -> str:
    return " ".join(" ".join(Tags(Path(page).read_text()).words).split())


def test_results_and_benchmarks_have_pages_too(here: Path) -> None:
    et.report(et.results("run"), page="results.html", resamples=100)
    assert "60 items · 3 models" in words_of("results.html")
    et.report(et.open("world/benchmark"), page="items.html", figures="figures", gallery=0)
    assert "60 items; no model was asked yet." in words_of("items.html")
    assert {"composition.svg", "composition.png"} <= {file.name for file in Path("figures").iterdir()}
    with pytest.raises(InputError, match="gallery: found -1"):
        et.report("run", page="refused.html", gallery=-1)
    assert not Path("refused.html").exists()
