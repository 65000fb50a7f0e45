"""Objects in images: golds are those of COCO's file, read here without our reader."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from eyetest.records import Item
from tests.reform.conftest import Reformed, gold, golds, written

Objects = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def coco(shared: Path) -> Objects:
    """The objects of each image, by its number."""
    document = json.loads((shared / "data/native/COCO/instances_val2017.json").read_text())
    names = {entry["id"]: entry["name"] for entry in document["categories"]}
    objects = defaultdict(list)
    for entry in document["annotations"]:
        objects[str(entry["image_id"])].append(entry | {"name": names[entry["category_id"]]})
    return objects


def wrong(item: Item) -> set[str]:
    return {choice.text for choice in item.choices if not choice.correct}


def test_present_and_missing_objects_are_as_annotated(items: Reformed, coco: Objects, shared: Path) -> None:
    file = shared / "data/native/COCO/instances_val2017.json"
    for item in items("coco-classes", file):
        present = {entry["name"] for entry in coco[item.id]}
        assert gold(item) in present
        assert not wrong(item) & present
    for item in items("coco-missing", file):
        present = {entry["name"] for entry in coco[item.id]}
        assert gold(item) not in present
        assert wrong(item) <= present
        assert len(item.choices) >= 3


def test_counts_are_as_annotated(items: Reformed, coco: Objects, shared: Path) -> None:
    counted = items("coco-counting", shared / "data/native/COCO")
    expected = {
        f"{image}:{name}": str(count)
        for image, entries in coco.items()
        for name, count in Counter(entry["name"] for entry in entries).items()
        if count <= 20 and not any(entry["iscrowd"] for entry in entries if entry["name"] == name)
    }
    assert {item.id: gold(item) for item in counted} == expected
    for item in counted:
        numbers = sorted(int(choice.text) for choice in item.choices)
        assert numbers == list(range(numbers[0], numbers[0] + 4))
        assert numbers[0] >= 0


def test_a_question_with_a_number_as_answer_has_numbers_near_it(items: Reformed, tmp_path: Path) -> None:
    questions = [{"question_id": n, "image_id": n, "question": "How many?"} for n in range(4)]
    answers = [
        {"question_id": n, "image_id": n, "question_type": "counting", "answers": [{"answer": answer}]}
        for n, answer in enumerate(("5", "Two", "many", "400"))
    ]
    files = written(
        tmp_path / "q", q_json=json.dumps({"questions": questions}), a_json=json.dumps({"annotations": answers})
    )
    found = items("tdiuc-counting", files)
    assert golds(found) == {"0": "5", "1": "2"}
    for item in found:
        numbers = sorted(int(choice.text) for choice in item.choices)
        assert numbers == list(range(numbers[0], numbers[0] + 4))


def test_a_box_holds_what_is_annotated_and_no_distractor_shares_it(
    items: Reformed, coco: Objects, shared: Path
) -> None:
    for item in items("coco-grounded", shared / "data/native/COCO"):
        image, _, key = item.id.partition(":")
        (entry,) = (entry for entry in coco[image] if str(entry["id"]) == key)
        assert gold(item) == entry["name"]
        assert item.tags["box"] == [round(side, 2) for side in entry["bbox"]]
        here = {other["name"] for other in coco[image] if covers(other["bbox"], entry["bbox"]) >= 0.5}
        assert not wrong(item) & here


def covers(one: list[float], other: list[float]) -> float:
    """Share of the smaller box that is in the other, pixel column by pixel column."""
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    down = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return max(0, across) * max(0, down) / min(one[2] * one[3], other[2] * other[3])
