import re
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

from eyetest.prompts import TaskKind, templates
from eyetest.prompts.building import Example, Instructions, modality_words, shot_words
from eyetest.records.tables import Ask

LISTS = [(kind, ask) for kind in get_args(TaskKind) for ask in get_args(Ask) if templates(kind, ask)]
IMAGE_WORDS = re.compile(r"\b(image|image|photo|figure|visual|diagram)", re.IGNORECASE)


def examples() -> Iterator[Example]:
    for shots in (shot_words().format, shot_words().two):
        yield from (*shots.choice, *shots.text, *shots.caption)


def test_every_kind_can_be_asked_in_every_way() -> None:
    assert set(LISTS) == {(k, a) for k in ("choice", "text", "caption") for a in get_args(Ask)} | {("open", "direct")}


@pytest.mark.parametrize(("kind", "ask"), LISTS)
def test_instructions(kind: TaskKind, ask: Ask) -> None:
    wordings = templates(kind, ask)
    assert len(wordings) == 6
    assert len({re.sub(r"\W", "", wording.lower()) for wording in wordings}) == 6
    for wording in wordings:
        assert set(re.findall(r"{(\w*)}", wording)) == ({"mark"} if kind == "choice" else set()) | (
            {"place"} if ask == "ocr" else set()
        )
        assert ('"Answer: X"' in wording) == (ask != "direct")
        assert not IMAGE_WORDS.search(wording)
        assert wording[0].isupper()
        assert wording.endswith(".")


def test_examples_are_sound_and_say_nothing_of_images() -> None:
    assert [len(example.options) for example in shot_words().format.choice] == [2, 3, 4, 7, 10]
    assert [len(example.options) for example in shot_words().two.choice] == [2, 2, 4, 4]
    assert len(shot_words().two.text) == len(shot_words().two.caption) == 2
    for example in examples():
        assert not IMAGE_WORDS.search(f"{example.question} {example.reason} {example.answer}")
        assert len(set(example.options)) == len(example.options)
        assert "\n" not in example.reason + example.answer + example.question
    assert len({example.question for example in examples()}) == len(list(examples()))


def test_unknown_keys_and_wrong_answers_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `drect`"):
        msgspec.convert({"direct": ["x"] * 6, "drect": []}, Instructions)
    with pytest.raises(msgspec.ValidationError, match="length >= 6"):
        msgspec.convert({"direct": ["x"] * 5}, Instructions)
    with pytest.raises(msgspec.ValidationError, match="exactly one of the options"):
        msgspec.convert({"question": "q", "answer": "c", "reason": "r", "options": ["a", "b"]}, Example)


def test_what_is_said_about_images_has_a_plural() -> None:
    words = modality_words()
    for sentence in (words.missing, words.described, words.screenshot, words.place):
        assert "images" in sentence.of(2)
        assert "images" not in sentence.of(1)
