"""The queue: what a person needs to decide, in a table that any spreadsheet opens and none obeys."""

import csv
import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Manifest, Verdict
from eyetest.studio.decisions import QUEUE, read_decisions, write_queue
from eyetest.tabular.table import restored
from tests.conftest import png

COLUMNS = ["item", "round", "stage", "reason", "question", "options", "gold", "images", "evidence", "form"]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        images = tuple(writer.images.put(png(colour)) for colour in ("red", "blue"))
        choices = (Choice("=cmd|' /C calc'!A0"), Choice("two, three", True), Choice('a "quote"\nand a line', True))
        writer.add(Item(id="=1+1", question="@SUM(A1)", images=images, choices=choices))
        writer.add(Item(id="text", question="-3 + x = 1?", references=("+4", "four")))
        writer.add(Item(id="plain", question="Wie heißt das? 図", choices=(Choice("a", True), Choice("b"))))
    return Benchmark(tmp_path / "b")


def queue(bench: Benchmark, folder: Path, *waiting: Verdict, form: str = "", number: int = 1) -> list[dict[str, str]]:
    asked = {"blind-hits": (number, form)}
    write_queue(folder, waiting, {item.id: item for item in bench}, bench, asked)
    with (folder / QUEUE).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def verdict(item: str, **more: str) -> Verdict:
    return Verdict(item=item, stage="blind-hits", verdict="review", reason="2 answers missing", **more)  # type: ignore[arg-type]


def test_all_that_it_takes_to_decide_and_no_formula(
    bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert queue(bench, tmp_path / "empty") == []
    evidence = json.dumps({"seats": {"m": [1, 2]}})
    (row,) = queue(bench, tmp_path / "r", verdict("plain", evidence=evidence), form="Is it in the image?", number=2)
    values = ("plain", "2", "blind-hits", "2 answers missing", "Wie heißt das? 図", "A. a\nB. b", "A", "", evidence)
    assert row == dict(zip(COLUMNS, (*values, "Is it in the image?"), strict=True))
    monkeypatch.chdir(tmp_path)
    rows = queue(Benchmark(Path("b")), Path("r"), verdict("=1+1"), verdict("text"), form="=HYPERLINK(1)")
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [row["question"] for row in rows] == ["'@SUM(A1)", "'-3 + x = 1?"]
    assert [row["gold"] for row in rows] == ["B, C", "'+4 | four"]
    options = ["A. =cmd|' /C calc'!A0", "B. two, three", 'C. a "quote"', "and a line"]
    assert rows[0]["options"].splitlines() == options
    paths = [Path(line) for line in rows[0]["images"].splitlines()]
    assert [(path.is_absolute(), path.read_bytes()[:4]) for path in paths] == [(True, b"\x89PNG")] * 2


def test_an_id_copied_out_of_the_queue_is_known(bench: Benchmark, tmp_path: Path) -> None:
    """A cell that was made harmless has a mark before it that the reviewer copies along."""
    rows = queue(bench, tmp_path / "r", verdict("=1+1"))
    path = tmp_path / "r/decisions.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["item", "decision"], [rows[0]["item"], "keep"]])
    assert list(read_decisions(path, {"=1+1", "text"})) == ["=1+1"]


def test_where_looking_changes_most_comes_first(bench: Benchmark, tmp_path: Path) -> None:
    stated = [verdict("plain"), verdict("text", evidence='{"log ratio": 0.4}')]
    stated.append(verdict("=1+1", evidence='{"log ratio": 2.1, "sent": 2}'))
    assert [restored(row["item"]) for row in queue(bench, tmp_path, *stated)] == ["=1+1", "text", "plain"]
    unsaid = [verdict("text", evidence="an option says nan"), verdict("plain", evidence="[]")]
    assert [row["item"] for row in queue(bench, tmp_path, *unsaid)] == ["text", "plain"], "as they come"


def test_a_queue_that_was_filled_in_is_not_replaced(bench: Benchmark, tmp_path: Path) -> None:
    """Some write into the queue itself; a command reads decisions before it writes the next queue."""
    queue(bench, tmp_path, verdict("plain"), verdict("text"))
    assert read_decisions(tmp_path / "decisions.csv") == {}
    queue(bench, tmp_path, verdict("text"))
    head, *lines = (tmp_path / QUEUE).read_text(encoding="utf-8").splitlines()
    (tmp_path / QUEUE).write_text("\n".join([f"{head},decision", *(f"{line},drop" for line in lines)]))
    with pytest.raises(InputError, match=r"queue\.csv was filled in; decisions are read from decisions\.csv"):
        read_decisions(tmp_path / "decisions.csv")
