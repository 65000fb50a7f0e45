import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Verdict, columns
from tests.conftest import ROOT
from tests.support.command import run
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.journey

QUICK = [word for name in ("malformed", "positions", "duplicate-items", "named-answer") for word in ("--probe", name)]


def with_texts(item: Item, change: Callable[[list[str], int], None]) -> Item:
    """An item whose options have other texts; a change gets them and the position of the gold."""
    texts = [choice.text for choice in item.choices]
    change(texts, item.gold[0])
    choices = tuple(Choice(text, choice.correct) for text, choice in zip(texts, item.choices, strict=True))
    return msgspec.structs.replace(item, choices=choices)


def lose_option(texts: list[str], gold: int) -> None:
    texts[gold - 1] = "nan"


def repeat_option(texts: list[str], gold: int) -> None:
    texts[gold - 1] = f"{texts[gold - 2]} "


def gold_to_c(item: Item) -> Item:
    choices = list(item.choices)
    choices.insert(2, choices.pop(item.gold[0]))
    return msgspec.structs.replace(item, choices=tuple(choices))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """A drawn benchmark, ``corrupted``, its copy with errors of published ones, and the items of each error."""
    folder = tmp_path_factory.mktemp("audit")
    clean = draw_benchmark(folder / "drawn", items=200)
    items = {item.id: item for item in clean}
    free = [item.id for item in clean if len(item.choices) >= 4 and "<image" not in item.choices[0].text]
    for name in free[::2]:
        items[name] = gold_to_c(items[name])
    kinds = {"nan": free[0:4], "twice": free[4:8], "named": free[8:20], "image": free[20:23], "copy": free[23:26]}
    for name in kinds["nan"]:
        items[name] = with_texts(items[name], lose_option)
    for name in kinds["twice"]:
        items[name] = with_texts(items[name], repeat_option)
    for name in (*kinds["named"], *kinds["image"]):
        gold = items[name].choices[items[name].gold[0]].text
        more = f"(They say it is {gold}.)" if name in kinds["named"] else "Compare with <image 9>."
        items[name] = msgspec.structs.replace(items[name], question=f"{items[name].question} {more}")
    items |= {f"copy-{name}": msgspec.structs.replace(items[name], id=f"copy-{name}") for name in kinds["copy"]}
    with BenchmarkWriter(folder / "corrupted", clean.manifest) as writer:
        for item in items.values():
            writer.adopt(item, clean)
    return folder, kinds | {"copy": [f"copy-{name}" for name in kinds["copy"]]}


def test_the_card_names_what_was_planted(planted: tuple[Path, dict[str, list[str]]]) -> None:
    folder, _ = planted
    done = run("audit", "corrupted", *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "4 items have two equal options" in text
    assert '4 items have an option that says "nan"' in text
    assert "3 repeats of another item" in text
    assert re.search(r"The gold is C in [\d.]+ % of the", text)
    assert "Look first: eyetest show corrupted" in text
    assert run("audit", "corrupted", *QUICK, "--strict", cwd=folder).returncode == 1
    assert run("audit", "drawn", "--probe", "malformed", "--strict", cwd=folder).returncode == 0


def test_json_verdicts_and_repair(planted: tuple[Path, dict[str, list[str]]]) -> None:
    folder, kinds = planted
    outputs = ("--output", "json", "--verdicts-to", "v.parquet", "--fix", "repaired")
    done = run("audit", "corrupted", *QUICK, *outputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = {finding["kind"] for finding in json.loads(done.stdout)["findings"]}
    assert {"equal-options", "lost-option", "duplicate-items", "more-images-named"} <= found
    verdicts = pq.read_table(folder / "v.parquet").to_pylist()
    assert tuple(verdicts[0]) == columns(Verdict)
    assert {v["item"] for v in verdicts} == {item.id for item in Benchmark(folder / "corrupted")}
    assert {v["item"] for v in verdicts if v["reason"] == "lost-option"} == set(kinds["nan"])
    assert {v["item"] for v in verdicts if v["reason"] == "duplicate-items"} == set(kinds["copy"])
    repairs = list(csv.DictReader((folder / "repaired-repairs.csv").read_text().splitlines()))
    assert {r["item"] for r in repairs if r["change"] == "removed"} == set(kinds["copy"])
    again = json.loads(run("audit", "repaired", *QUICK, "--output", "json", cwd=folder).stdout)
    left = {f["kind"] for f in again["findings"] if f["severity"] in ("bad", "suspect")}
    assert left <= {"answer-in-question"}


def test_a_probe_of_ones_own(planted: tuple[Path, dict[str, list[str]]]) -> None:
    folder, _ = planted
    docs = (ROOT / "CONTRIBUTING.md").read_text()
    example = re.search(r"```python\n(import eyetest as et\nfrom eyetest.records import Finding.*?)```", docs, re.S)
    assert example
    code = example[1].replace('"😀" in item.question', '"clock" in item.question')
    space: dict[str, Any] = {}
    exec(code.replace("mybench.tsv", str(folder / "drawn")), space)
    assert "25 questions smile" in repr(space["found"])


def test_no_output_replaces_a_file_that_stands_there(tmp_path: Path) -> None:
    draw_benchmark(tmp_path / "b", items=8)
    (tmp_path / "precious.html").write_text("precious")
    for option in ("--page", "--verdicts-to"):
        done = run("audit", "b", "--probe", "malformed", option, "precious.html", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "already there" in done.stderr
    done = run("audit", "b", "--probe", "malformed", "--fix", "b", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (tmp_path / "precious.html").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probe", "postions"], 'did you mean "positions"?'),
        (["--probe", "malformed", "--verdicts-to", "v.xlsx"], "a table is written as .parquet, .csv, .jsonl"),
    ],
)
def test_bad_options(tmp_path: Path, arguments: list[str], message: str) -> None:
    draw_benchmark(tmp_path / "b", items=8)
    done = run("audit", "b", *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("named", [{"image_source": "COCO_{}"}, {"image": "COCO_{}.jpg"}, {"img": None}, {}])
def test_without_images_nothing_is_called_a_repeat_and_nothing_is_removed(
    tmp_path: Path, named: dict[str, str | None]
) -> None:
    with (tmp_path / "b.jsonl").open("w") as file:
        for n in range(120):
            images = {column: name and name.format(n) for column, name in named.items()}
            answer = ("yes", "no")[n % 2]
            row = {"id": n, "question": f"Is there a {n % 3} in it?", "options": ["yes", "no"], "answer": answer}
            file.write(json.dumps(row | images) + "\n")
    done = run("audit", "b.jsonl", *QUICK, "--fix", "repaired", "--page", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, said, *_ = done.stdout.splitlines()
    assert first.startswith("b · 120 items")
    assert said.startswith("No image is here, and 120 of" if any(named.values()) else "No item has an image")
    assert "Not tested" in done.stdout
    assert "Not run, so not tested: " in done.stdout
    assert "repeat of" not in done.stdout
    assert len(Benchmark(tmp_path / "repaired")) == 120
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Not tested</h2>" in page
    assert "nothing that needs images was tested" in page
    assert run("show", "b.jsonl", "7", cwd=tmp_path).returncode == 0
