"""Files that only say which answer is right: answers to them are measured, and nothing is asked about them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from eyetest_world.editions import EditionSettings, draw_again

from eyetest.benchmarks import Benchmark, Import, ReadOptions, export_benchmark, import_benchmark
from eyetest.commands.audit import audit
from eyetest.commands.harden_options import harden_options
from eyetest.commands.harden_screenshot import harden_screenshot
from eyetest.errors import InputError, ItemError, ReadingWarning
from eyetest.recipes.reviews import ReviewSettings, open_review
from eyetest.records import Item
from eyetest.running.planning import Plan
from tests.runs.conftest import Eyetest

GOLDS = "id,gold,category,options\nq1,B,charts,4\nq2,C,charts,3\nq3,42,maps,\nq4,AC,maps,ABC\n"


def imported(path: Path, text: str, **read: object) -> list[Item]:
    path.write_text(text)
    return list(import_benchmark(path, path.parent / "b", Import(read=ReadOptions(**read), overwrite=True))[0])  # type: ignore[arg-type]


def letters(item: Item) -> str:
    return "".join(choice.text for choice in item.choices)


def test_golds_become_items_without_questions(tmp_path: Path) -> None:
    first, second, third, fourth = imported(tmp_path / "golds.csv", GOLDS)

    assert [item.question for item in (first, second, third, fourth)] == [""] * 4
    assert (letters(first), first.gold, first.tags) == ("ABCD", (1,), {"category": "charts"})
    assert (letters(second), second.gold) == ("ABC", (2,))
    assert (third.choices, third.references) == ((), ("42",))
    assert (letters(fourth), fourth.gold) == ("ABC", (0, 2))
    assert Benchmark(tmp_path / "b").manifest.is_gold_list


def test_the_highest_gold_tells_how_many_options_there_are(tmp_path: Path) -> None:
    with pytest.warns(ReadingWarning, match=r"golds\.csv does not say how many options .* 4 \(A to D\)"):
        items = imported(tmp_path / "golds.csv", "id,gold\n1,A\n2,D\n3,yes\n")
    assert list(map(letters, items)) == ["ABCD", "ABCD", ""]


@pytest.mark.parametrize(("style", "gold"), [("index", 1), ("number", 0)])
def test_golds_may_be_numbers_of_options(tmp_path: Path, style: str, gold: int) -> None:
    (item,) = imported(tmp_path / "golds.csv", "id,answer,options\n1,1,4\n", gold_style=style)
    assert (letters(item), item.gold) == ("ABCD", (gold,))


@pytest.mark.parametrize(
    "text",
    [
        "id,stem,answer\n1,Who is it?,me\n2,Why is it?,so\n",
        "id,answer,image_path\n1,A,1.png\n",
        "id,category\n1,charts\n",
    ],
)
def test_questions_of_another_name_and_images_are_no_gold_list(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"golds\.csv: no column for the question among"):
        imported(tmp_path / "golds.csv", text)


def test_a_gold_beyond_the_options_is_refused(tmp_path: Path) -> None:
    for options in ("3", "1", "99"):
        with pytest.raises(ItemError, match=r"golds\.csv row 1: (answer|options): found"):
            imported(tmp_path / "golds.csv", f"id,answer,options\n1,D,{options}\n")


@pytest.mark.parametrize("name", ["jsonl", "csv", "datasets", "parquet"])
def test_exports_come_back(tmp_path: Path, name: str) -> None:
    items = imported(tmp_path / "golds.csv", GOLDS)
    to = tmp_path / ("e.parquet" if name == "parquet" else "e")
    export_benchmark(Benchmark(tmp_path / "b"), name, to)
    again = import_benchmark(to, tmp_path / "again")[0]
    assert list(again) == items
    assert again.manifest.is_gold_list


@pytest.mark.parametrize("name", ["vlmevalkit", "lmms-eval"])
def test_files_for_asking_are_not_made_of_it(tmp_path: Path, name: str) -> None:
    imported(tmp_path / "golds.tsv", GOLDS.replace(",", "\t"))
    with pytest.raises(InputError, match=f"golds is a gold list, .* nothing to write for {name}"):
        export_benchmark(Benchmark(tmp_path / "b"), name, tmp_path / "e")


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    imported(tmp_path / "golds.csv", GOLDS)
    return tmp_path / "b"


NEEDING_QUESTIONS: dict[str, Callable[[Benchmark, Path], object]] = {
    "audit": lambda bench, to: audit(bench),
    "ask": lambda bench, to: Plan(bench, [], []),
    "draw": lambda bench, to: harden_screenshot(bench, to=to),
    "draw again": lambda bench, to: draw_again(bench, to, EditionSettings()),
    "write options for": lambda bench, to: harden_options(bench, to=to),
    "look at": lambda bench, to: open_review([bench.path], ReviewSettings(items="all"), to),
}


@pytest.mark.parametrize("verb", NEEDING_QUESTIONS)
def test_what_needs_questions_says_so(golds: Path, tmp_path: Path, verb: str) -> None:
    with pytest.raises(InputError, match=f"golds is a gold list, .* nothing to {verb}; answers to it can be"):
        NEEDING_QUESTIONS[verb](Benchmark(golds), tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_answers_to_it_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest) -> None:
    """Straight from the file: imported, scored, compared, reported, and a part taken."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYETEST_CACHE", "cache")
    Path("golds.csv").write_text(GOLDS)
    said = {("m", "image"): ("B", "C. it is", "42", "A"), ("m", "no-image"): ("A", "C", "7", "C")}
    with Path("answers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("item", "model", "modality", "text"))
        for (model, modality), texts in said.items():
            rows.writerows((f"q{n}", model, modality, text) for n, text in enumerate(texts, 1))

    assert "8 answers" in eyetest("import", "answers.csv", "--to", "run", "--bench", "golds.csv").fine()
    rows = json.loads(eyetest("measure", "accuracy", "run", "--by", "category", "--output", "json").fine())["rows"]
    found = {(row["modality"], row["category"]): row["accuracy"] for row in rows}
    assert found == {
        ("image", "charts"): 1,
        ("image", "maps"): 1,
        ("no-image", "charts"): 0.5,
        ("no-image", "maps"): 0.5,
    }
    assert "0.5" in eyetest("measure", "gain", "run").fine()
    eyetest("report", "run", "--page", "report.html").fine()
    assert "2 items of 4" in eyetest("subset", "golds.csv", "--only", "category=charts", "--to", "part").fine()
    assert Benchmark(tmp_path / "part/benchmark").manifest.is_gold_list
