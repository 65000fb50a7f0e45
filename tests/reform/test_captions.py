"""Captions: references and options are those of the files, in every form that they are published in."""

import json
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.errors import InputError
from eyetest.records import Item
from tests.conftest import png
from tests.reform.conftest import NATIVE, Reformed, gold, written

TWO = {"a.jpg": ("A red boat.", "Boat, on sand"), "b.jpg": ("Two ducks.", "Ducks swim")}


@pytest.fixture(scope="module")
def captions(shared: Path) -> dict[str, list[str]]:
    """COCO's captions by the number of the image."""
    said = defaultdict(list)
    for entry in json.loads((shared / "data/native/COCO/captions_val2017.json").read_text())["annotations"]:
        said[str(entry["image_id"])].append(entry["caption"].strip())
    return said


def references(items: list[Item]) -> dict[str, tuple[str, ...]]:
    return {item.id: item.references for item in items}


def test_captions_of_coco_are_the_references(items: Reformed, captions: dict[str, list[str]], shared: Path) -> None:
    for path in (shared / "data/native/COCO", shared / "data/native/COCO/captions_val2017.json"):
        assert references(items("coco-caption", path)) == {key: tuple(said) for key, said in captions.items()}


def test_captions_of_coco_match_their_image_and_no_other(
    items: Reformed, captions: dict[str, list[str]], shared: Path
) -> None:
    matching = items("coco-matching", shared / "data/native/COCO")
    for item in matching:
        asked = item.question.partition('"')[2].rstrip('"')
        assert gold(item) == ("yes" if asked in captions[item.id] else "no")
    assert 20 < sum(gold(item) == "yes" for item in matching) < 60
    for item in items("coco-selection", shared / "data/native/COCO"):
        assert gold(item) in captions[item.id]
        assert len(item.choices) == 4
        words = [set(choice.text.lower().replace(",", " ").replace(".", " ").split()) for choice in item.choices]
        small = {"a", "an", "the", "of", "on", "in", "to", "is", "at", "it", "by", "with", "and", "are", "his", "her"}
        small |= {"as", "up", "he", "its", "that", "there", "their", "into", "from", "for", "this"}
        assert all((one & other) <= small for one in words for other in words if one is not other)


def forms(folder: Path) -> dict[str, Path]:
    karpathy = [
        {"filename": name, "imgid": n, "split": "test", "sentences": [{"raw": text, "tokens": []} for text in said]}
        for n, (name, said) in enumerate(TWO.items())
    ]
    texts = {
        "dataset_json": json.dumps({"images": karpathy, "dataset": "flickr30k"}),
        "test_json": json.dumps([{"image": name, "caption": list(said)} for name, said in TWO.items()]),
        "results_csv": "image_name| comment_number| comment\n"
        + "".join(f"{name}| {n}| {text}\n" for name, said in TWO.items() for n, text in enumerate(said)),
        "short_csv": "image_name| comment_number| comment\na.jpg| 0| A red boat.\na.jpg| 1   Boat, on sand\n"
        "b.jpg| 0| Two ducks.\nb.jpg| 1| Ducks swim\n",
        "captions_txt": "".join(
            f"{name}#{n}\t{text}\r\n" for name, said in TWO.items() for n, text in enumerate(said)
        ),
        "captions_csv": "image,caption\n"
        + "".join(f'{name},"{text}"\n' for name, said in TWO.items() for text in said),
        "annotations_csv": "raw,split,filename,img_id\n"
        + "".join(
            f'"{json.dumps(said)}",test,{name},{name}\n'.replace('", "', '"", ""')
            .replace('["', '[""')
            .replace('"]', '""]')
            for name, said in TWO.items()
        ),
        "rows_jsonl": "\n".join(
            json.dumps({"image": name, "caption": text}) for name, said in TWO.items() for text in said
        ),
    }
    paths = {}
    for name, text in texts.items():
        (paths[name],) = written(folder / name, **{name: text}).iterdir()
    return paths


def test_every_form_gives_the_same_references(items: Reformed, tmp_path: Path) -> None:
    for name, path in forms(tmp_path).items():
        assert references(items("flickr30k", path)) == TWO, name


def test_a_table_of_the_hub_brings_its_images(items: Reformed, tmp_path: Path) -> None:
    rows = [
        {"image": {"bytes": png(), "path": None}, "answer": list(said), "file_name": name}
        for name, said in TWO.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "test.parquet")
    reformed = items("nocaps", tmp_path / "test.parquet")
    assert references(reformed) == TWO
    assert all(item.images for item in reformed)


def test_splits_without_captions_say_so(items: Reformed, tmp_path: Path) -> None:
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}]
    folder = written(tmp_path / "x", test_json=json.dumps({"images": images}))
    with pytest.raises(InputError, match="no caption: 2"):
        items("nocaps", folder)
    with pytest.raises(InputError, match="expected captions"):
        items("nocaps", written(tmp_path / "y", test_json=json.dumps({"something": "else"})))


def test_textcaps_entries_of_one_image_are_one_item(items: Reformed) -> None:
    entries = json.loads((NATIVE / "textcaps/TextCaps_0.1_val.json").read_text())["data"]
    expected = {entry["image_id"]: tuple(entry["reference_strs"]) for entry in entries}
    assert references(items("textcaps", NATIVE / "textcaps")) == expected
