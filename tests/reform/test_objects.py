"""Objects in images: golds are those of COCO's file, read here without our reader; words, and where things are."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.records import Item
from tests.reform.conftest import Reformed, gold, golds, sample, written

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


def test_a_word_is_cut_out_or_its_box_is_drawn(tmp_path: Path, items: Reformed) -> None:
    Image.new("RGB", (1024, 768), "white").save(tmp_path / "00f1.jpg")
    images = {}
    for show in ("crop", "drawn"):
        item = items("textocr", sample("textocr"), images=tmp_path, show=show)[0]
        images[show] = Benchmark(tmp_path / "reformed").images.open(item.images[0]).convert("RGB")
    assert images["crop"].size == (200, 40)
    assert {images["drawn"].getpixel(corner) for corner in ((100, 50), (300, 90), (200, 50))} == {(255, 0, 0)}


def test_images_called_alike_in_two_lists_are_two(tmp_path: Path, items: Reformed) -> None:
    for split, word in (("train", "Tea"), ("test", "Milk")):
        (tmp_path / split).mkdir()
        (tmp_path / split / "gt.txt").write_text(f'word_1.png, "{word}"\n')
    words = {item.id: item.references for item in items("ic15", tmp_path)}
    assert words == {"train/gt:word_1.png": ("Tea",), "test/gt:word_1.png": ("Milk",)}


def test_a_torn_line_is_named(tmp_path: Path, items: Reformed) -> None:
    (tmp_path / "gt_img_1.txt").write_text("1,2,3,4,5,6,7,8,a\n1,2,3\n")
    with pytest.raises(InputError, match=r"gt_img_1.txt line 2: found '1,2,3', expected a line such as '1,2,3,4"):
        items("ic15", tmp_path / "gt_img_1.txt")


def test_clevr_asks_among_answers_of_the_kind(items: Reformed) -> None:
    found = {item.question: item for item in items("clevr", sample("clevr"))}
    assert list(map(gold, found.values())) == ["3", "cyan", "yes", "rubber"]
    number, colour, truth, material = ([choice.text for choice in item.choices] for item in found.values())
    assert set(number) <= set(map(str, range(11)))
    assert len(number) == 4
    assert set(colour) <= {"gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"}
    assert len(colour) == 4
    assert truth == ["yes", "no"]
    assert material == ["rubber", "metal"]


def test_published_questions_of_mp3d_keep_their_options(items: Reformed, tmp_path: Path) -> None:
    entry = {"question_id": 7, "image": "a.png", "questions": ["Where is the sofa?", "?"], "answer": 1}
    options = ["left of the door", "right of the door", "behind the door"]
    data = {"version": "2.0", "split": "test", "data": [entry | {"answer_options": options}]}
    (item,) = items("MP3D", written(tmp_path / "a", mp3d_json=json.dumps(data)))
    assert (item.id, item.question) == ("7", "Where is the sofa?")
    assert {choice.text for choice in item.choices} == set(options)
    assert gold(item) == "right of the door"
