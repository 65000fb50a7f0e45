"""``report``: one page out of runs, refinements and benchmarks; figures and tables for a paper; what it refuses."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Manifest
from eyetest.reports.figures import FIGURES
from tests.conftest import ROOT, png
from tests.reports.pages import HOSTILE, Tags
from tests.support.command import call
from tests.support.drawn import draw_benchmark
from tests.support.tables import read_csv

pytestmark = pytest.mark.journey

MODELS = """
base: {spec: "scripted:right=0.3,blind=0.3,seed=9"}
alpha: {spec: "scripted:right=0.8,blind=0.45,seed=1,refuse=0.05", base: base}
beta: {spec: "scripted:right=0.6,blind=0.4,seed=2,dead=0.02,style=sentence", base: base}
gamma: {spec: "scripted:right=0.5,blind=0.5,seed=3,style=cot", base: base}
"""
RECIPE = """
panels: {inspectors: {size: 4, modality: no-image-guess, orders: 6}}
stages: [{filter: chance-aware, panel: inspectors, rate: 0.3}]
"""
SERVED = "http://127.0.0.1:8765/?"
_CSV = "data:text/csv;base64,"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn benchmark, a run over it, a refinement of it."""
    place = tmp_path_factory.mktemp("report")
    draw_benchmark(place / "bench", items=60, seed=3)
    (place / "models.yaml").write_text(MODELS)
    (place / "recipe.yaml").write_text(RECIPE)
    asked = ("--condition", "modality=image/no-image+order=0/1", "--to", place / "run")
    call("run", place / "bench", "--models", place / "models.yaml", *asked).fine()
    refined = ("--models", place / "models.yaml", "--to", place / "refined")
    call("refine", place / "bench", "--recipe", place / "recipe.yaml", *refined).fine()
    return place


@pytest.fixture(scope="module")
def whole(place: Path) -> Path:
    """The page of everything, with its figures and tables."""
    out = ("--page", place / "page.html", "--figures", place / "paper/figures")
    call("report", place / "run", place / "refined", *out).fine()
    return place


def words_of(page: Path) -> str:
    return " ".join(" ".join(Tags(page.read_text()).words).split())


def test_the_whole_story_is_told_in_order(whole: Path) -> None:
    words = words_of(whole / "page.html")
    chapters = [figure.title for figure in sorted(FIGURES.values(), key=lambda figure: figure.place)]
    page = (whole / "page.html").read_text()
    parts = (*chapters, "Removed items and answers to them", "Models and conditions", "Method")
    places = [page.index(f">{title}</h") for title in parts]
    assert places == sorted(places)
    assert "Not on this page" not in words
    assert page.index('id="board"') < page.index('class="plot"'), "the leaderboard is on the first screen"
    assert "60 items · 4 models · scores with the image, direct answer" in words
    for reported in ("alpha scores ", "The image adds", "Leakage ", "blind answers right, p ="):
        assert reported in words, reported


def test_the_page_stands_alone(whole: Path) -> None:
    page = (whole / "page.html").read_text()
    tags = Tags(page)
    tags.check_inert(_CSV, SERVED)
    tags.check_targets()
    assert "default-src 'none'" in "".join(tags.values("content"))
    assert page.count('class="plot"') == len(FIGURES)


def test_figures_for_a_paper(whole: Path) -> None:
    files = {path.name for path in (whole / "paper/figures").iterdir()}
    assert files == {f"{name}.{end}" for name in FIGURES for end in ("svg", "png", "csv")}
    for name in FIGURES:
        assert (whole / f"paper/figures/{name}.svg").read_text().startswith("<svg")
        with Image.open(whole / f"paper/figures/{name}.png") as image:
            assert image.width > 600
    rows = read_csv(whole / "paper/figures/modality.csv")
    assert [row["series"] for row in rows] == ["alpha", "base", "beta", "gamma"]
    assert float(rows[0]["gain_low"]) < float(rows[0]["gain"]) < float(rows[0]["gain_high"])


def test_a_run_alone_says_what_else_would_be_told(place: Path, tmp_path: Path) -> None:
    call("report", place / "run", "--page", tmp_path / "page.html", "--by", "task").fine()
    words = words_of(tmp_path / "page.html")
    assert "Not on this page" in words
    assert "no refinement was given. Needed: a refinement: name the folder that eyetest refine wrote." in words
    assert "Removed items" not in words
    assert not [item.id for item in Benchmark(place / "bench") if item.question in words]
    line = call("report", place / "run", "--page", tmp_path / "page.html").refused()
    assert "is already there" in line


def test_answers_that_a_run_and_a_refinement_share_count_once(place: Path, tmp_path: Path) -> None:
    asked = ("--condition", "no-image-guess+order=0,no-image-guess+order=1", "--to", tmp_path / "same")
    call("run", place / "bench", "--models", place / "models.yaml", *asked).fine()
    both, page = (tmp_path / "same", place / "refined"), tmp_path / "page.html"
    call("report", *both, "--page", page).fine()
    alone = et.results(place / "refined/run").scores.collect()
    together = et.results(tmp_path / "same", place / "refined/run")
    assert len(together.scores.collect()) == len(alone) > 0
    assert "60 items" in words_of(page)


def test_a_benchmark_alone(place: Path, tmp_path: Path) -> None:
    call("report", place / "bench", "--page", tmp_path / "page.html", "--figures", tmp_path / "f").fine()
    words = words_of(tmp_path / "page.html")
    assert "60 items; no model was asked yet." in words
    assert "name a run beside the benchmark" in words
    assert "composition.svg" in {path.name for path in (tmp_path / "f").iterdir()}
    first = (tmp_path / "page.html").read_bytes()
    again = ("--page", tmp_path / "page.html", "--figures", tmp_path / "f")
    call("report", place / "bench", *again, "--overwrite").fine()
    assert (tmp_path / "page.html").read_bytes().replace(b" --overwrite", b"") == first


def test_the_verdicts_of_an_audit_fill_the_gallery(tmp_path: Path) -> None:
    """Every text of the benchmark is an attack, and all of it is shown."""
    with BenchmarkWriter(tmp_path / "b", Manifest(name="".join(HOSTILE))) as writer:
        image = writer.images.put(png())
        for number, text in enumerate(HOSTILE * 2):
            choices = (Choice(text, correct=True), Choice("nan"))
            tags = {"core": text}
            writer.add(Item(id=f"{number} {text}", question=text, choices=choices, images=(image,), tags=tags))
    (tmp_path / "r.yaml").write_text("stages: [{select: {per: core, count: 1}}]")
    refined = tmp_path / "refined"
    call("refine", tmp_path / "b", "--recipe", tmp_path / "r.yaml", "--to", refined).fine()
    pairs = list(zip(HOSTILE, reversed(HOSTILE), strict=True))
    said = [(item.id, who, text) for item in Benchmark(tmp_path / "b") for who, text in pairs]
    pl.DataFrame(said, schema=["item", "model", "text"], orient="row").write_parquet(tmp_path / "a.parquet")
    call("import", tmp_path / "a.parquet", "--to", tmp_path / "r", "--bench", tmp_path / "b").fine()
    page = tmp_path / "page.html"
    call("report", tmp_path / "r", tmp_path / "b", refined, "--page", page).fine()
    shown = Tags(page.read_text())
    shown.check_inert(_CSV, SERVED)
    assert page.read_text().count("</style>") == 2
    assert "\x00" not in page.read_text()
    words = "".join(shown.words)
    for text in HOSTILE[:7]:
        assert text in words
    assert page.read_text().count('<article class="item">') == 8
    assert page.read_text().count('<ul class="replies">') == 8
    call("report", tmp_path / "b", refined, "--page", page, "--gallery", 0, "--overwrite").fine()
    assert '<article class="item">' not in page.read_text()


def test_the_documentation_holds(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    docs = (ROOT / "docs/reports.md").read_text()
    for name in FIGURES:
        assert f"| `{name}` |" in docs, name
    (notebook,) = re.findall(r"```python\n(.*?)```", docs, re.DOTALL)
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("### A figure")[2]
    figure = section.partition("```python\n")[2].partition("```")[0]
    space: dict[str, Any] = {}
    exec(notebook, space)
    assert space["drawn"].to_dict()
    exec(figure, space)
    assert space["FIGURE"].draw(pl.DataFrame({"group": ["a"], "items": [2]})).to_dict()


def test_a_report_for_maintainers_names_items_and_a_command_that_finds_them_again(tmp_path: Path) -> None:
    sound = {"options": ["nail", "bolt", "nut"], "answer": "A"}
    rows: list[dict[str, Any]] = [{"id": f"q{n}", "question": f"What is in box {n}?", **sound} for n in range(6)]
    rows[4] |= {"id": "q`4", "options": ["nail", "nut", "nut"]}
    (tmp_path / "boxes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    et.report(tmp_path / "boxes.jsonl", issue=True, page=tmp_path / "issue.md")
    text = (tmp_path / "issue.md").read_text()
    assert r"q\`4" in text
    assert "nail" not in text
    assert "What is in" not in text
    [command] = re.findall(r"^\$ eyetest (.*)$", text, re.MULTILINE)
    words = shlex.split(command)
    assert words[:2] == ["audit", str(tmp_path / "boxes.jsonl")]
    found = et.audit(words[1], probe=words[3])
    assert any("q`4" in finding.items for finding in found.findings)
    extra: Any
    for extra in (
        {"figures": "figs"},
        {"gallery": 0},
        {"model": "A"},
        {"level": 0.9},
        {"cluster": "image"},
    ):
        with pytest.raises(InputError, match=f"about a benchmark alone; leave out .*{next(iter(extra))}"):
            et.report(tmp_path / "boxes.jsonl", issue=True, page=tmp_path / "none.md", **extra)
    with pytest.raises(InputError, match="about one benchmark, found 2"):
        et.report(tmp_path / "boxes.jsonl", tmp_path / "boxes.jsonl", issue=True, page=tmp_path / "none.md")
    rows[4]["options"] = ["nail", "bolt", "nut"]
    even = [row | {"answer": "ABC"[n % 3]} for n, row in enumerate(rows)]
    (tmp_path / "sound.jsonl").write_text("\n".join(map(json.dumps, even)))
    with pytest.raises(InputError, match="no broken or suspicious item"):
        et.report(tmp_path / "sound.jsonl", issue=True, page=tmp_path / "none.md")


def test_a_report_for_maintainers_states_habits_of_the_whole_benchmark(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "question": f"What is in box {n}?", "options": ["nail", "bolt", "nut"], "answer": "A"}
        for n in range(60)
    ]
    (tmp_path / "boxes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    et.report(tmp_path / "boxes.jsonl", issue=True, page=tmp_path / "issue.md")
    text = (tmp_path / "issue.md").read_text()
    assert text.startswith("# Habits of boxes that may need attention")
    assert "The gold is A in 100.0 % of the 60 items" in text
    assert "as a whole and names no items" in text
    assert "q1" not in text
