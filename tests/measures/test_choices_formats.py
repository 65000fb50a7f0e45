from typing import Any

import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from tests.measures.tables import results

MEASURE = MEASURES["format-hits"]


def said(marked: bool | None, item: str = "1", reading: str | None = "chosen", **more: Any) -> dict[str, Any]:
    return {"item": item, "marked": marked, "reading": reading, "score": 0.0, **more}


CHOICE = [{"item": "1", "options": 4}, {"item": "2", "options": 4}]


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        (said(True), 1),
        (said(True, outcome="truncated"), 1),
        (said(True, metric="given", rule="given"), 1),
        (said(False), 0),
        (said(False, metric="given", rule="given"), 0),
        (said(True, rule="eyetest/2 stated by text"), 1),
        (said(None, reading="refused"), 0),
        (said(None, reading="unparsed"), 0),
        (said(None, reading="ambiguous"), 0),
    ],
)
def test_what_is_a_hit(answer: dict[str, Any], hits: int) -> None:
    measured = MEASURE.measure(results([answer], CHOICE), Settings())
    assert measured.table.get_column("format_hits").to_list() == [hits]


@pytest.mark.parametrize(
    "answer",
    [
        said(None, outcome="failed", reading=None),
        said(None, outcome="blocked", reading=None),
        said(None, reading=None),
        said(None, reading="text", metric="open"),
        said(None, method="likelihood"),
        said(None),
        said(None, reading="text", metric="given"),
        said(None, reading=None, metric="given"),
    ],
)
def test_what_does_not_count(answer: dict[str, Any]) -> None:
    with pytest.raises(NotMeasurable, match="format-hits: "):
        MEASURE.measure(results([answer], CHOICE), Settings())
    table = MEASURE.measure(results([answer | {"item": "2"}, said(True)], CHOICE), Settings()).table
    assert table.select("format_hits", "n", "answers").row(0) == (1, 1, 1)


def test_with_and_without_the_format_shot() -> None:
    rows = [
        *(said(marked, str(i)) for i, marked in enumerate([True, False, True, True])),
        *(said(True, str(i), shots="format") for i in range(4)),
    ]
    table = MEASURE.measure(results(rows), Settings()).table
    assert table.select("shots", "format_hits", "n").rows() == [("format", 1, 4), ("none", 0.75, 4)]
    low, high = table.select("format_hits_low", "format_hits_high").row(0)
    assert 0.4 < low < high == 1


def test_tests_of_an_item_are_one_item() -> None:
    rows = [said(True, template=n) for n in range(9)] + [said(None, "2", "unparsed")]
    table = MEASURE.measure(results(rows), Settings()).table
    assert table.select("format_hits", "n", "answers").row(0) == (0.5, 2, 10)


def test_by_tag() -> None:
    items = [{"item": "1", "tag.kind": "x"}, {"item": "2", "tag.kind": "y"}]
    rows = [said(True), said(None, "2", "unparsed")]
    table = MEASURE.measure(results(rows, items), Settings(by=("kind",))).table
    assert table.select("tag.kind", "format_hits").rows() == [("x", 1), ("y", 0)]


def test_the_interval_stays_within_1() -> None:
    rows = [said(bool(i or t), str(i), sample=t) for i in range(30) for t in (0, 1)]
    row = MEASURE.measure(results(rows), Settings()).table.row(0, named=True)
    assert row["format_hits"] == pytest.approx(59 / 60)
    assert row["format_hits_high"] < 1
    assert (row["n"], row["clusters"], row["answers"]) == (30, 30, 60)
