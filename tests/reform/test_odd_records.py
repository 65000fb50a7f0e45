"""What a published file has wrong here and there loses that record, and never the others."""

import json
from pathlib import Path

import msgspec
import pytest
from PIL import Image

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.reform.building import MISSING
from eyetest.reform.catalog import Dataset
from tests.reform.conftest import NATIVE

BIRDS = Dataset(
    name="birds",
    dimension="CG",
    task="classification",
    reader="table",
    read={"fields": {"id": "n", "images": "file", "question": "q", "options": "choices", "gold": "right"}},
    reformer="choices",
)


def written(tmp_path: Path, *rows: tuple[str, str, str, int]) -> Path:
    entries = [
        {"n": n, "file": file, "q": question, "choices": ["wren", "crow"], "right": right}
        for n, file, question, right in rows
    ]
    path = tmp_path / "birds.json"
    path.write_text(json.dumps({"version": 2, "data": entries}))
    return path


def test_records_that_share_an_id_are_numbered_and_the_same_one_is_passed_over(tmp_path: Path) -> None:
    rows = [
        ("a", "x.jpg", "Which?", 0),
        ("a", "x.jpg", "Which?", 0),
        ("a", "x.jpg", "Which?", 1),
        ("b", "x.jpg", "Which?", 1),
    ]
    done = et.reform(BIRDS, annotations=[written(tmp_path, *rows)], to=tmp_path / "b")
    assert {item.id: (item.gold, item.lineage[0].item) for item in done.benchmark} == {
        "a": ((0,), "a"),
        "a#2": ((1,), "a"),
        "b": ((1,), "b"),
    }
    assert done.facts["passed_over"] == {"the same record again": 1}


def test_damaged_images_and_paths_that_lead_out_are_missing(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("RGB", (9, 9), "red").save(photos / "good.png")
    (photos / "broken.png").write_bytes((photos / "good.png").read_bytes()[:40])
    Image.new("RGB", (9, 9), "blue").save(tmp_path / "secret.png")
    files = ("good.png", "broken.png", "../secret.png")
    path = written(tmp_path, *((file, file, "Which?", 0) for file in files))
    done = et.reform(BIRDS, annotations=[path], images=photos, to=tmp_path / "b")
    missing = {item.id: item.tags.get(MISSING) for item in Benchmark(tmp_path / "b")}
    assert missing == {"good.png": None, "broken.png": ["broken.png"], "../secret.png": ["../secret.png"]}
    assert any(line.startswith("2 items without images") for line in done.notes)
    assert any(line.startswith("2 images cannot be used") and "'broken.png'" in line for line in done.notes)


def test_an_object_where_a_text_should_be_is_one_line(tmp_path: Path) -> None:
    instances = json.loads((NATIVE / "coco-counting" / "instances_val2017.json").read_text())
    for image in instances["images"]:
        image["file_name"] = ["a", 2]
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(instances))
    with pytest.raises(InputError, match=r"after 0 others: .* where a text should be"):
        et.reform("coco-counting", annotations=[path], to=tmp_path / "b")


def test_options_that_a_dataset_lists_right_first_can_be_shuffled(tmp_path: Path) -> None:
    path = written(tmp_path, *((str(n), "x.jpg", "Which?", 0) for n in range(40)))
    mixed = msgspec.structs.replace(BIRDS, settings={"shuffle": True})
    items = list(et.reform(mixed, annotations=[path], to=tmp_path / "b").benchmark)
    assert {item.choices[item.gold[0]].text for item in items} == {"wren"}
    assert 8 < sum(item.gold == (0,) for item in items) < 32
