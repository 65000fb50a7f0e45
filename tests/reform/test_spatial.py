"""Distractors of spatial relations exclude the true one; CLEVR's options are those of the kind it asks for."""

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import load_dataset
from eyetest.reform.reformers.statements import _MEANING, _RELATIONS, matched
from tests.reform.conftest import Reformed, sample

"""Relations that a view can make true together, written down independently of the table of exclusions."""
SAME = [
    {"near", "close to", "next to", "beside", "by", "adjacent to", "alongside", "at the side of"},
    {"below", "under", "beneath", "underneath"},
    {"inside", "in", "within", "enclosed by"},
    {"left of", "at the left side of", "to the left of"},
    {"right of", "at the right side of", "to the right of"},
    {"on", "on top of", "above", "over"},
    {"far from", "far away from", "away from"},
    {"in front of", "ahead of"},
    {"behind", "at the back of"},
    {"touching", "against", "next to", "near"},
    {"contains", "has as a part", "surrounding"},
]
TOGETHER = [
    ("left of", {"above", "below", "behind", "in front of", "near", "far from", "touching"}),
    ("behind", {"left of", "right of", "above", "near", "touching"}),
    ("on", {"touching", "above", "near", "at the left side of"}),
    ("under", {"touching", "near", "behind"}),
]


@cache
def distractors(relation: str) -> set[str]:
    pairs = [pair for pairs in _RELATIONS.excluding.values() for pair in pairs]
    meant = _MEANING.get(relation)
    return {word for pair in pairs if meant in pair for word in _RELATIONS.words[pair[meant == pair[0]]]}


def test_no_distractor_says_the_same_or_can_be_true_as_well() -> None:
    for words in SAME:
        for relation in words:
            assert not distractors(relation) & words, relation
    for relation, others in TOGETHER:
        assert distractors(relation)
        assert not distractors(relation) & others, relation


@pytest.mark.parametrize(
    ("relation", "opposite"),
    [("left of", "right of"), ("under", "above"), ("facing", "facing away from"), ("far from", "near")],
)
def test_opposites_exclude_each_other(relation: str, opposite: str) -> None:
    assert opposite in distractors(relation)
    assert relation in distractors(opposite)


def test_a_relation_that_excludes_nothing_has_no_distractor() -> None:
    assert not distractors("along")
    assert not distractors("")


def test_matched_captions_lend_each_other_their_relations(items: Reformed) -> None:
    found = {
        item.id: {choice.text for choice in item.choices} for item in items("vsr-relation", sample("vsr-relation"))
    }
    assert found == {
        "3": {"The basket contains the kitten.", "The basket is inside the kitten."},
        "5": {"The oar is inside the boat.", "The oar contains the boat."},
    }


@given(st.lists(st.sampled_from(["left of", "right of", "under", "on", "over", "near", "far from", "along", "in"])))
def test_a_matched_relation_is_wrong_as_often_as_right(relations: list[str]) -> None:
    partners = matched(relations, random.Random(0))
    assert Counter(relations[position] for position in partners) == Counter(word for word, _ in partners.values())
    for position, (word, _) in partners.items():
        assert word in distractors(relations[position])


def test_clevr_asks_among_answers_of_the_kind(items: Reformed) -> None:
    found = {item.question: item for item in items("clevr", sample("clevr"))}
    golds = [item.choices[item.gold[0]].text for item in found.values()]
    assert golds == ["3", "cyan", "yes", "rubber"]
    number, colour, truth, material = ([choice.text for choice in item.choices] for item in found.values())
    assert sorted(map(int, number)) == list(range(min(map(int, number)), min(map(int, number)) + 4))
    assert set(colour) <= {"gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"}
    assert len(colour) == 4
    assert truth == ["yes", "no"]
    assert material == ["rubber", "metal"]


def test_published_questions_of_mp3d_keep_their_options(tmp_path: Path) -> None:
    entry = {"question_id": 7, "image": "a.png", "questions": ["Where is the sofa?", "?"], "answer": 1}
    options = ["left of the door", "right of the door", "behind the door"]
    path = tmp_path / "mp3d.json"
    path.write_text(json.dumps({"version": "2.0", "split": "test", "data": [entry | {"answer_options": options}]}))
    plan = Reforming(dataset=load_dataset("MP3D"), annotations=(path,), to=tmp_path / "b")
    (item,) = reform(plan).benchmark
    assert (item.id, item.question) == ("7", "Where is the sofa?")
    assert {choice.text for choice in item.choices} == set(options)
    assert item.choices[item.gold[0]].text == "right of the door"
