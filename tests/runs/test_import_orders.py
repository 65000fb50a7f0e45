"""Which option a letter means depends on the order that was shown, which the file has to say."""

import csv
from pathlib import Path

import pytest

from eyetest.records import REVERSED, Choice, Item, order_shown
from tests.running.benches import read_scores
from tests.runs.written import answers, jsonl
from tests.scoring.test_table import animals, make_bench
from tests.support.command import call, measured

WORDS = ("cat", "dog", "bird", "fish")
PASSES = [{"item": f"q{n}", "model": "m", "pass": i, "text": "AB"[(n % 2) ^ i]} for n in range(20) for i in (0, 1)]
"""The same option in either pass, the second of which shows the two options the other way round."""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Twenty items of two options, and one of four."""
    pairs = [tuple(Choice(f"{word} {n}", not i) for i, word in enumerate(WORDS[:2])) for n in range(20)]
    items = [Item(id=f"q{n}", question="Which?", choices=pair) for n, pair in enumerate(pairs)]
    return make_bench(tmp_path / "b", [*items, animals("four", 1)]).path


def choices(run: Path, item: str) -> list[str]:
    return read_scores(run).filter(item=item).get_column("choice").to_list()


def test_two_passes_of_two_options(tmp_path: Path, bench: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", *PASSES)
    run = tmp_path / "run"
    call("import", path, "--to", run, "--bench", bench, "--map-values", "order=pass:0>original,1>reversed").fine()
    assert measured("instability", run, "--where", "model=m")[0]["entropy"] == 0
    assert choices(run, "q3") == ["B", "B"]
    (row,) = measured("circular", run)
    assert (row["circular"], row["plain"], row["n"]) == (0.5, 0.5, 20)
    table = call("show", run).fine()
    assert "reversed" in table
    assert str(REVERSED) not in table + call("score", run).fine() + call("reconcile", run, run).fine()
    assert measured("accuracy", run, "--where", "order=reversed")[0]["n"] == 20
    sides = ("--set", "from=order=0", "--set", "to=order=reversed")
    assert measured("linked", run, *sides, "--set", "over=items") == []


def test_a_number_is_no_order(tmp_path: Path, bench: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", *({"order": row["pass"], **row} for row in PASSES))
    refused = call("import", path, "--to", tmp_path / "run", "--bench", bench).refused()
    assert "line 2: order: found 1 (int), expected original, reversed" in refused
    assert not (tmp_path / "run").exists()
    assert (
        "order: found '1', expected" in call("import", path, "--to", tmp_path / "run", "--fill", "order=1").refused()
    )
    call("import", path, "--to", tmp_path / "run", "--map-values", "order=1>seed 1").fine()
    assert {answer.order for answer in answers(tmp_path / "run")} == {0, 1}


@pytest.mark.parametrize(
    ("order", "meant"),
    [
        ("BADC", "BADC"),
        ([1, 0, 3, 2], "BADC"),
        ("2,1,4,3", "BADC"),
        (["dog", "cat", "fish", "bird"], "BADC"),
        ('["Fish", "bird ", "dog", "cat"]', "DCBA"),
        ("reversed", "DCBA"),
        (None, "ABCD"),
        ("", "ABCD"),
        (0, "ABCD"),
    ],
)
def test_what_each_letter_means(tmp_path: Path, bench: Path, order: object, meant: str) -> None:
    rows = [{"item": "four", "model": f"m{mark}", "order": order, "text": mark} for mark in "ABCD"]
    run = tmp_path / "run"
    call("import", jsonl(tmp_path / "a.jsonl", *rows), "--to", run, "--bench", bench).fine()
    call("score", run).fine()
    assert "".join(choices(run, "four")) == meant


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ("BAD", "expected original, reversed"),
        (["dog", "cat", "fish", "cow"], "expected original, reversed"),
        ("BA", "'BA' names 2 options"),
        ({"B": 1}, "expected original, reversed"),
        (True, "expected original, reversed"),
        (1.5, "expected original, reversed"),
        (["a"] * 3_000, "expected original, reversed"),
        ("x" * 10_000, "expected original, reversed"),
    ],
)
def test_what_cannot_be_understood_is_one_line(tmp_path: Path, bench: Path, order: object, why: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"item": "four", "model": "m", "order": order, "text": "A"})
    refused = call("import", path, "--to", tmp_path / "run", "--bench", bench).refused()
    assert why in refused


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_orders_come_back_from_an_export(tmp_path: Path, bench: Path, suffix: str) -> None:
    orders = ("original", "reversed", "BADC", "CABD", "seed 5")
    path = jsonl(tmp_path / "a.jsonl", *({"item": "four", "model": "m", "order": o, "text": "A"} for o in orders))
    call("import", path, "--to", tmp_path / "run", "--bench", bench).fine()
    out = tmp_path / f"out{suffix}"
    call("export", tmp_path / "run", "--to", out).fine()
    call("import", out, "--to", tmp_path / "again", "--bench", bench).fine()
    assert answers(tmp_path / "again") == answers(tmp_path / "run")
    expected = [0, REVERSED, order_shown((1, 0, 3, 2)), order_shown((2, 0, 1, 3)), 5]
    assert [answer.order for answer in answers(tmp_path / "run")] == expected
    if suffix == ".csv":
        assert [int(row["order"]) for row in csv.DictReader(out.read_text().splitlines())] == expected
