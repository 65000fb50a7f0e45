import re
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest

from eyetest.prompts.building import TaskKind, template_file, templates
from eyetest.records.tables import Ask

LISTS = [(kind, ask) for kind in get_args(TaskKind) for ask in get_args(Ask) if templates(kind, ask)]
IMAGE_WORDS = re.compile(r"\b(image|photo|figure|visual|diagram)", re.IGNORECASE)


def examples() -> Iterator[dict[str, Any]]:
    for shots, kind in product(("format", "two"), ("choice", "text", "caption")):
        yield from template_file("shots")[shots][kind]


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


def test_examples_are_sound_and_do_not_mention_images() -> None:
    shots = template_file("shots")
    assert [len(example["options"]) for example in shots["format"]["choice"]] == [2, 3, 4, 7, 10]
    assert [len(example["options"]) for example in shots["two"]["choice"]] == [2, 2, 4, 4]
    assert len(shots["two"]["text"]) == len(shots["two"]["caption"]) == 2
    for example in examples():
        texts = " ".join(example[name] for name in ("question", "reason", "answer"))
        options = example.get("options", [])
        assert not IMAGE_WORDS.search(texts)
        assert "\n" not in texts
        assert len(set(options)) == len(options)
        assert not options or example["answer"] in options
    assert len({example["question"] for example in examples()}) == len(list(examples()))


def test_sentences_about_images_have_a_plural() -> None:
    for name in ("missing", "described", "screenshot", "place"):
        sentence = template_file("modalities")[name]
        assert "images" in sentence["several"]
        assert "images" not in sentence["one"]
