from typing import Any

import pytest

from tests.measures.tables import measure, results


def turned(item: str, scores: list[float | None], **more: Any) -> list[dict[str, Any]]:
    """An item in some orders."""
    return [{"item": item, "order": order, "score": score, **more} for order, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("asked", "grouped", "expected"),
    [
        ({"1": [1, 1, 1, 1], "2": [1, 1, 1, 0], "3": [0, 0, 0, 0]}, False, (1 / 3, 1.75 / 3, 3, 0)),
        ({"a1": [1], "a2": [1], "b1": [1], "b2": [0]}, True, (0.5, 0.75, 2, 0)),
        ({"a1": [1, 1], "a2": [1, 0]}, True, (0, 0.75, 1, 0)),
        ({"wrong": [None, 0], "unknown": [None, 1], "nothing": [None, None], "1": [1, 1]}, False, (0.5, 0.5, 2, 2)),
    ],
    ids=["every order", "rotated copies", "copies in orders", "failed calls"],
)
def test_right_in_every_order(asked: dict[str, Any], grouped: bool, expected: tuple[float, ...]) -> None:
    items = [{"item": item, "group": item[0], "cluster": item[0]} for item in asked if grouped]
    rows = [row for item, scores in asked.items() for row in turned(item, scores)]
    row = measure("circular", results(rows, items)).table.row(0, named=True)
    assert [row[name] for name in ("circular", "plain", "n", "undecided")] == pytest.approx(expected)
    assert row["difference"] == pytest.approx(row["circular"] - row["plain"])
    if row["n"] > 1 and row["difference"]:
        assert row["difference_low"] < row["difference"] < row["difference_high"]


def test_items_in_one_order_and_texts_are_out() -> None:
    texts = [dict(row, metric="open", reading="text") for row in turned("t", [1, 1])]
    measured = measure("circular", results([*turned("1", [1, 0]), *turned("2", [1]), *texts]))
    assert measured.table.select("circular", "n", "one_order", "undecided").row(0) == (0, 1, 1, 0)
    assert "1 item" in measured.notes[0]


def said(marked: bool | None, item: str = "1", reading: str | None = "chosen", **more: Any) -> dict[str, Any]:
    return {"item": item, "marked": marked, "reading": reading, "score": 0.0, **more}


CHOICE = [{"item": str(number), "options": 4} for number in range(4)]


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        (said(True, outcome="truncated"), 1),
        (said(True, metric="given", rule="given"), 1),
        (said(False), 0),
        (said(None, reading="refused"), 0),
        (said(None, outcome="blocked", reading=None), None),
        (said(None, reading="text", metric="open"), None),
        (said(None, method="likelihood"), None),
        (said(None), None),
        (said(None, reading=None, metric="given"), None),
    ],
)
def test_what_carries_an_option_mark(answer: dict[str, Any], hits: int | None) -> None:
    table = measure("length", results([said(True), answer | {"item": "2", "model": "x"}], CHOICE)).table
    assert table.filter(model="x").get_column("format_hits").to_list() in ([hits], [])


def test_with_and_without_the_format_shot() -> None:
    rows = [
        *(said(marked, str(i)) for i, marked in enumerate([True, False, True, True])),
        *(said(True, str(i), shots="format") for i in range(4)),
    ]
    table = measure("length", results(rows)).table
    assert table.select("shots", "format_hits", "choice_n").rows() == [("format", 1, 4), ("none", 0.75, 4)]
    low, high = table.select("format_hits_low", "format_hits_high").row(0)
    assert 0.4 < low < high == 1
