"""Objects in images: golds are those of COCO's file, read here without our reader."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from eyetest.records import Item
from eyetest.reform.reformers.answers import numbers_around
from tests.conftest import png
from tests.reform.conftest import NATIVE, Reformed, gold, written

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


def test_other_files_about_the_same_images_add_nothing(items: Reformed, tmp_path: Path) -> None:
    text = (NATIVE / "coco-counting/instances_val2017.json").read_text()
    alone = items("coco-counting", NATIVE / "coco-counting")
    folder = written(tmp_path / "annotations", instances_val2017_json=text, person_keypoints_val2017_json=text)
    assert [item.id for item in items("coco-counting", folder)] == [item.id for item in alone]


def covers(one: list[float], other: list[float]) -> float:
    """Share of the smaller box that is in the other, pixel column by pixel column."""
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    down = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return max(0, across) * max(0, down) / min(one[2] * one[3], other[2] * other[3])


def test_a_box_is_drawn_or_said(items: Reformed, tmp_path: Path) -> None:
    for number in (101, 102, 103):
        (tmp_path / f"COCO_val2017_{number:012d}.png").write_bytes(png("white", (640, 480)))
    drawn = items("coco-grounded", NATIVE / "coco-counting", images=tmp_path)
    assert len({item.images[0].sha256 for item in drawn}) == len(drawn), "each with a frame of its own"
    said = items("coco-grounded", NATIVE / "coco-counting", images=tmp_path, show="text")
    assert len({item.images[0].sha256 for item in said}) == 1, "the image as it is"
    assert "[10, 20, 110, 220]" in next(item.question for item in said if item.id == "101:9001")
    assert "640 × 480" in next(item.question for item in said if item.id == "101:9001")


def test_the_gold_stands_anywhere_among_numbers_near_it() -> None:
    chance = Random(1)
    ranks = Counter(sum(other < 7 for other in numbers_around(7, 4, chance, lowest=0)) for _ in range(4000))
    assert set(ranks) == {0, 1, 2, 3}
    assert min(ranks.values()) > 850
    assert {min(numbers_around(0, 4, chance, lowest=0)) for _ in range(50)} == {1}


def test_flaws_are_those_that_people_saw(items: Reformed) -> None:
    which = {item.id: item for item in items("vizwiz-quality", NATIVE / "vizwiz-quality/val.json")}
    assert {key: item.tags["flaw"] for key, item in which.items()} == {
        "VizWiz_val_00090001.jpg": "BLR",
        "VizWiz_val_00090002.jpg": "NON",
        "VizWiz_val_00090003.jpg": "ROT",
    }
    assert gold(which["VizWiz_val_00090001.jpg"]) == "It is blurred"
    assert "It is too dark" not in wrong(which["VizWiz_val_00090001.jpg"]), "one person saw it"
    votes = {entry["image"]: entry["flaws"] for entry in json.loads((NATIVE / "vizwiz-quality/val.json").read_text())}
    for item in items("vizwiz-quality-yes-no", NATIVE / "vizwiz-quality"):
        assert votes[item.id][item.tags["flaw"]] == item.tags["votes"] != 1
        assert gold(item) == ("yes" if item.tags["votes"] else "no")
