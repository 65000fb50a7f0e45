from typing import Any

import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from tests.measures.tables import results

MEASURE = MEASURES["circular"]
VALUES = ("circular", "plain", "difference", "n")


def turned(item: str, scores: list[float | None], **more: Any) -> list[dict[str, Any]]:
    """An item in some orders."""
    return [{"item": item, "order": order, "score": score, **more} for order, score in enumerate(scores)]


def test_right_in_every_order() -> None:
    rows = [*turned("1", [1, 1, 1, 1]), *turned("2", [1, 1, 1, 0]), *turned("3", [0, 0, 0, 0])]
    found = MEASURE.measure(results(rows), Settings()).table
    assert found.select(VALUES).row(0) == pytest.approx((1 / 3, 1.75 / 3, (1 - 1.75) / 3, 3))
    assert found.row(0, named=True)["difference_low"] < -0.25 < found.row(0, named=True)["difference_high"]


def test_rotated_copies_are_one_item() -> None:
    items = [{"item": name, "group": name[0], "cluster": name[0]} for name in ("a1", "a2", "b1", "b2")]
    scores = {"a1": 1.0, "a2": 1.0, "b1": 1.0, "b2": 0.0}
    found = MEASURE.measure(results([{"item": item, "score": s} for item, s in scores.items()], items), Settings())
    assert found.table.select(VALUES).row(0) == (0.5, 0.75, -0.25, 2)


def test_copies_in_several_orders_all_have_to_be_right() -> None:
    items = [{"item": name, "group": "a"} for name in ("a1", "a2")]
    found = MEASURE.measure(results([*turned("a1", [1, 1]), *turned("a2", [1, 0])], items), Settings()).table
    assert found.select("circular", "plain", "n").row(0) == (0, 0.75, 1)


def test_failed_calls() -> None:
    rows = [
        *turned("wrong", [None, 0]),
        *turned("unknown", [None, 1]),
        *turned("nothing", [None, None]),
        *turned("1", [1, 1]),
    ]
    found = MEASURE.measure(results(rows), Settings()).table
    assert found.select("circular", "plain", "n", "undecided").row(0) == (0.5, 0.5, 2, 2)


def test_items_in_one_order_and_texts_are_out() -> None:
    texts = [dict(row, metric="open", reading="text") for row in turned("t", [1, 1])]
    measured = MEASURE.measure(results([*turned("1", [1, 0]), *turned("2", [1]), *texts]), Settings())
    assert measured.table.select("circular", "n", "one_order", "undecided").row(0) == (0, 1, 1, 0)
    assert "1 item" in measured.notes[0]


def test_other_tests_have_to_be_right_too() -> None:
    rows = [*turned("1", [1, 1]), *turned("1", [1, 0], template=2)]
    measured = MEASURE.measure(results(rows), Settings())
    assert measured.table.select("circular", "plain").row(0) == (0, 0.75)
    assert "template varied too" in measured.notes[0]


def test_by_model_and_tag() -> None:
    items = [{"item": "1", "tag.kind": "x"}, {"item": "2", "tag.kind": "y"}]
    rows = [*turned("1", [1, 1], model="a"), *turned("2", [1, 0], model="a"), *turned("1", [0, 1], model="b")]
    found = MEASURE.measure(results(rows, items), Settings(by=("kind",))).table
    assert found.select("model", "tag.kind", "circular").rows() == [("a", "x", 1), ("a", "y", 0), ("b", "x", 0)]


def test_one_order_cannot_be_turned() -> None:
    with pytest.raises(NotMeasurable, match="circular: no item was asked in two orders"):
        MEASURE.measure(results(turned("1", [1])), Settings())


def test_the_interval_of_plain_accuracy_stays_within_1() -> None:
    rows = [row for i in range(10) for row in turned(str(i), [1, 1, 1, float(i > 0)])]
    found = MEASURE.measure(results(rows), Settings()).table.row(0, named=True)
    assert found["plain"] < found["plain_high"] < 1
