"""Candidates become distractors only where they contradict every right answer."""

import random

import pytest

from eyetest.reform.distractors.candidates import from_candidates, stance
from eyetest.reform.distractors.words import plain


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("yes, it is", "yes"),
        ("i think so", "yes"),
        ("i don't think so", "no"),
        ("there are none", "no"),
        ("can't tell", "unsure"),
        ("i see 2", "number"),
        ("black and white", "other"),
    ],
)
def test_answers_are_told_by_their_first_words(answer: str, kind: str) -> None:
    assert stance(answer) == kind


def test_a_polar_question_gets_the_opposite_and_nothing_else() -> None:
    candidates = ["yeah", "no, not at all", "no", "2", "red", "can't tell"]
    assert from_candidates("is it old?", ["yes it is"], candidates, 3, random.Random(0)) == ["no"]
    assert from_candidates("is it old?", ["i can't tell"], candidates, 3, random.Random(0)) == []


def test_other_questions_get_what_shares_no_telling_word() -> None:
    candidates = ["white and grey", "red", "it is white", "yes", "no", "5", "blue", "Red."]
    drawn = from_candidates("what color is it?", ["white"], candidates, 3, random.Random(1))
    assert sorted(plain(text) for text in drawn) == ["blue", "red"]
