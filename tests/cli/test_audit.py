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
from tests.support.command import call
from tests.support.drawn import draw_benchmark
from tests.support.tables import read_csv

pytestmark = pytest.mark.journey

Planted = tuple[Path, dict[str, list[str]]]
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
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
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


def test_the_card_names_what_was_planted(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(planted[0])
    text = " ".join(call("audit", "corrupted", *QUICK).fine().split())
    assert "4 items have two equal options" in text
    assert '4 items have an option that says "nan"' in text
    assert "3 repeats of another item" in text
    assert re.search(r"The gold is C in [\d.]+ % of the", text)
    assert "Look first: eyetest show corrupted" in text
    assert call("audit", "corrupted", *QUICK, "--strict").code == 1
    call("audit", "drawn", "--probe", "malformed", "--strict").fine()


def test_json_verdicts_and_repair(planted: Planted) -> None:
    folder, kinds = planted
    outputs = ("--output", "json", "--verdicts-to", folder / "v.parquet", "--fix", folder / "repaired")
    done = call("audit", folder / "corrupted", *QUICK, *outputs)
    assert done.code == 0, done.err
    found = {finding["kind"] for finding in json.loads(done.out)["findings"]}
    assert {"equal-options", "lost-option", "duplicate-items", "more-images-named"} <= found
    verdicts = pq.read_table(folder / "v.parquet").to_pylist()
    assert tuple(verdicts[0]) == columns(Verdict)
    assert {v["item"] for v in verdicts} == {item.id for item in Benchmark(folder / "corrupted")}
    assert {v["item"] for v in verdicts if v["reason"] == "lost-option"} == set(kinds["nan"])
    assert {v["item"] for v in verdicts if v["reason"] == "duplicate-items"} == set(kinds["copy"])
    repairs = read_csv(folder / "repaired-repairs.csv")
    assert {r["item"] for r in repairs if r["change"] == "removed"} == set(kinds["copy"])
    again = json.loads(call("audit", folder / "repaired", *QUICK, "--output", "json").out)
    left = {f["kind"] for f in again["findings"] if f["severity"] in ("bad", "suspect")}
    assert left <= {"answer-in-question"}


def test_a_probe_of_ones_own(planted: Planted) -> None:
    docs = (ROOT / "CONTRIBUTING.md").read_text()
    example = re.search(r"```python\n(import eyetest as et\nfrom eyetest.records import Finding.*?)```", docs, re.S)
    assert example
    code = example[1].replace('"😀" in item.question', '"clock" in item.question')
    space: dict[str, Any] = {}
    exec(code.replace("mybench.tsv", str(planted[0] / "drawn")), space)
    assert "25 questions smile" in repr(space["found"])


def test_no_output_replaces_a_file_that_stands_there(workdir: Path) -> None:
    draw_benchmark(workdir / "b", items=8)
    (workdir / "precious.html").write_text("precious")
    for option in ("--page", "--verdicts-to"):
        assert "already there" in call("audit", "b", "--probe", "malformed", option, "precious.html").refused()
    call("audit", "b", "--probe", "malformed", "--fix", "b").refused()
    assert (workdir / "precious.html").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probe", "postions"], 'did you mean "positions"?'),
        (["--probe", "malformed", "--verdicts-to", "v.xlsx"], "a table is written as .parquet, .csv, .jsonl"),
    ],
)
def test_bad_options(tmp_path: Path, arguments: list[str], message: str) -> None:
    draw_benchmark(tmp_path / "b", items=8)
    assert message in call("audit", tmp_path / "b", *arguments).refused()


@pytest.mark.parametrize("named", [{"image_source": "COCO_{}"}, {"image": "COCO_{}.jpg"}, {"img": None}, {}])
def test_without_images_nothing_is_called_a_repeat_and_nothing_is_removed(
    workdir: Path, named: dict[str, str | None]
) -> None:
    with (workdir / "b.jsonl").open("w") as file:
        for n in range(120):
            images = {column: name and name.format(n) for column, name in named.items()}
            answer = ("yes", "no")[n % 2]
            row = {"id": n, "question": f"Is there a {n % 3} in it?", "options": ["yes", "no"], "answer": answer}
            file.write(json.dumps(row | images) + "\n")
    done = call("audit", "b.jsonl", *QUICK, "--fix", "repaired", "--page", "page.html")
    assert done.code == 0, done.err
    first, said, *_ = done.out.splitlines()
    assert first.startswith("b · 120 items")
    assert said.startswith("No image is here, and 120 of" if any(named.values()) else "No item has an image")
    assert "Not tested" in done.out
    assert "Not run, so not tested: " in done.out
    assert "repeat of" not in done.out
    assert len(Benchmark(workdir / "repaired")) == 120
    page = (workdir / "page.html").read_text()
    assert "<h2>Not tested</h2>" in page
    assert "nothing that needs images was tested" in page
    call("show", "b.jsonl", "7").fine()
