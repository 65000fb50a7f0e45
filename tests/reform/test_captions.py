"""Captions, and questions with answers, in every form that their files are published in."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from eyetest.records import Item
from tests.reform.conftest import Reformed, gold, golds, written

TWO = {"a.jpg": ("A red boat.", "Boat, on sand"), "b.jpg": ("Two ducks.", "Ducks swim")}


@pytest.fixture(scope="module")
def captions(shared: Path) -> dict[str, list[str]]:
    """COCO's captions by the number of the image."""
    stated = defaultdict(list)
    for entry in json.loads((shared / "data/native/COCO/captions_val2017.json").read_text())["annotations"]:
        stated[str(entry["image_id"])].append(entry["caption"].strip())
    return stated


def references(items: list[Item]) -> dict[str, tuple[str, ...]]:
    return {item.id: item.references for item in items}


def test_captions_of_coco_are_the_references(items: Reformed, captions: dict[str, list[str]], shared: Path) -> None:
    for path in (shared / "data/native/COCO", shared / "data/native/COCO/captions_val2017.json"):
        assert references(items("coco-caption", path)) == {key: tuple(stated) for key, stated in captions.items()}


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
        {"filename": name, "imgid": n, "split": "test", "sentences": [{"raw": text, "tokens": []} for text in stated]}
        for n, (name, stated) in enumerate(TWO.items())
    ]
    texts = {
        "dataset_json": json.dumps({"images": karpathy, "dataset": "flickr30k"}),
        "test_json": json.dumps([{"image": name, "caption": list(stated)} for name, stated in TWO.items()]),
        "captions_txt": "".join(
            f"{name}#{n}\t{text}\r\n" for name, stated in TWO.items() for n, text in enumerate(stated)
        ),
        "captions_csv": "image,caption\n"
        + "".join(f'{name},"{text}"\n' for name, stated in TWO.items() for text in stated),
        "rows_jsonl": "\n".join(
            json.dumps({"image": name, "caption": text}) for name, stated in TWO.items() for text in stated
        ),
    }
    paths = {}
    for name, text in texts.items():
        (paths[name],) = written(folder / name, **{name: text}).iterdir()
    return paths


def test_every_form_gives_the_same_references(items: Reformed, tmp_path: Path) -> None:
    for name, path in forms(tmp_path).items():
        assert references(items("flickr30k", path)) == TWO, name


QUESTIONS = [
    {"image_id": 9, "question": "Which sport is it?", "question_id": 91},
    {"image_id": 12, "question": "Which plant is it?", "question_id": 121},
]
ANSWERS = [
    {"question_id": 91, "answers": [{"answer": "rowing"}, {"answer": "rowing"}, {"answer": "tennis"}]},
    {"question_id": 121, "answers": [{"answer": "fern"}]},
]


def test_both_halves_are_named(items: Reformed, tmp_path: Path) -> None:
    written(tmp_path / "Questions", q_json=json.dumps(QUESTIONS))
    answers = written(tmp_path / "Answers", a_json=json.dumps({"annotations": ANSWERS}))
    assert golds(items("okvqa", tmp_path / "Questions", answers)) == {"91": "rowing", "121": "fern"}
