from typing import Any

import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from tests.measures.tables import results

MEASURE = MEASURES["format-hits"]


def said(rule: str | None, item: str = "1", reading: str | None = "chosen", **more: Any) -> dict[str, Any]:
    return {"item": item, "rule": rule, "reading": reading, "score": 0.0, **more}


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        (said("eyetest/2 bare mark"), 1),
        (said("eyetest/2 stated"), 1),
        (said("eyetest/2 mark with text"), 1),
        (said("mmmu/1 behind Answer:", outcome="truncated"), 1),
        (said("eyetest/2 stated by text"), 0),
        (said("eyetest/2 whole text"), 0),
        (said("mmmu/1 option text"), 0),
        (said("eyetest/2 refusal", reading="refused"), 0),
        (said("eyetest/2 none", reading="unparsed"), 0),
        (said("eyetest/2 stated", reading="ambiguous"), 0),
        (said(None, reading=None), 0),
    ],
)
def test_what_is_a_hit(answer: dict[str, Any], hits: int) -> None:
    assert MEASURE.measure(results([answer]), Settings()).table.get_column("format_hits").to_list() == [hits]


@pytest.mark.parametrize(
    "answer",
    [
        said("eyetest/2 stated", outcome="failed", reading=None),
        said(None, outcome="blocked", reading=None),
        said(None, reading="text", metric="open"),
        said("likelihood", method="likelihood"),
        said("given", metric="given"),
    ],
)
def test_what_does_not_count(answer: dict[str, Any]) -> None:
    with pytest.raises(NotMeasurable, match="format-hits: "):
        MEASURE.measure(results([answer]), Settings())
    table = MEASURE.measure(results([answer | {"item": "2"}, said("eyetest/2 stated")]), Settings()).table
    assert table.select("format_hits", "n", "answers").row(0) == (1, 1, 1)


def test_with_and_without_the_format_shot() -> None:
    rows = [
        *(
            said(f"eyetest/2 {rule}", str(i))
            for i, rule in enumerate(["stated", "stated by text", "stated", "stated"])
        ),
        *(said("eyetest/2 bare mark", str(i), shots="format") for i in range(4)),
    ]
    table = MEASURE.measure(results(rows), Settings()).table
    assert table.select("shots", "format_hits", "n").rows() == [("format", 1, 4), ("none", 0.75, 4)]
    low, high = table.select("format_hits_low", "format_hits_high").row(0)
    assert 0.4 < low < high == 1


def test_tests_of_an_item_are_one_item() -> None:
    rows = [said("eyetest/2 stated", template=n) for n in range(9)] + [said("eyetest/2 none", "2", "unparsed")]
    table = MEASURE.measure(results(rows), Settings()).table
    assert table.select("format_hits", "n", "answers").row(0) == (0.5, 2, 10)


def test_by_tag() -> None:
    items = [{"item": "1", "tag.kind": "x"}, {"item": "2", "tag.kind": "y"}]
    rows = [said("eyetest/2 stated"), said("eyetest/2 none", "2", "unparsed")]
    table = MEASURE.measure(results(rows, items), Settings(by=("kind",))).table
    assert table.select("tag.kind", "format_hits").rows() == [("x", 1), ("y", 0)]


def test_the_interval_stays_within_1() -> None:
    rows = [
        said("eyetest/2 stated" if i or t else "eyetest/2 whole text", str(i), trial=t)
        for i in range(30)
        for t in (0, 1)
    ]
    row = MEASURE.measure(results(rows), Settings()).table.row(0, named=True)
    assert row["format_hits"] == pytest.approx(59 / 60)
    assert row["format_hits_high"] < 1
    assert (row["n"], row["clusters"], row["answers"]) == (30, 30, 60)
