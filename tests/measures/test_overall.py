"""Overall scores of several tasks."""

from typing import Any

import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from tests.measures.tables import grid, results

TASKS: dict[str, list[float]] = {"qa": [1, 1, 1, 0], "ocr": [0, 0], "caption": [1.5, 0.5]}
DOMAINS = {"qa": "words", "ocr": "words", "caption": "captions"}
METRICS = {"qa": "accuracy", "ocr": "accuracy", "caption": "cider"}


def table(**own: Any) -> dict[str, dict[str, Any]]:
    rows, items = [], []
    for task, scores in TASKS.items():
        for i, score in enumerate(scores):
            rows.append({"item": f"{task}{i}", "score": score, "metric": METRICS[task]})
            items.append({"item": f"{task}{i}", "tag.task": task, "tag.domain": DOMAINS[task]})
    settings = Settings(own={"task": "", "domain": "", **own})
    found = MEASURES["overall"].measure(results(rows, items), settings).table
    return {row["over"]: row for row in found.to_dicts()}


def test_weighted_and_plain_with_and_without_captions() -> None:
    found = table()
    assert (found["without captions"]["weighted"], found["without captions"]["plain"]) == (0.5, 0.375)
    assert found["with captions"]["weighted"] == pytest.approx(5 / 8)
    assert found["with captions"]["plain"] == pytest.approx((0.75 + 0 + 1) / 3)
    assert [found[over]["n"] for over in found] == [6, 8]
    assert found["without captions"]["weighted_low"] <= 0.5 <= found["without captions"]["weighted_high"]


def test_domains_join_tasks() -> None:
    found = table(domain="domain")
    assert (found["words"]["weighted"], found["words"]["tasks"]) == (0.5, 2)
    assert found["captions"]["plain"] == 1.0


def test_benchmarks_are_tasks_and_one_alone_has_none() -> None:
    rows = [{"item": "0", "benchmark": b, "score": float(b == "x")} for b in "xy"] + [
        {"item": "1", "benchmark": "x", "score": 1.0}
    ]
    found = MEASURES["overall"].measure(results(rows), Settings(own={"task": "", "domain": ""})).table
    assert found.get_column("weighted").to_list() == pytest.approx([2 / 3, 2 / 3])
    assert found.get_column("plain").to_list() == [0.5, 0.5]
    with pytest.raises(NotMeasurable, match="--set task=TAG"):
        MEASURES["overall"].measure(grid({"a": [1]}), Settings(own={"task": "", "domain": ""}))
