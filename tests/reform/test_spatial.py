"""Spatial relations: CLEVR's options are those of the kind it asks for, MP3D's are as published."""

import json
from pathlib import Path

from tests.reform.conftest import Reformed, gold, sample, written


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
