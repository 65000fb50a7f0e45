import re
from typing import Any, get_args

import msgspec
import pytest

from eyetest.prompts.building import CannotApply, build
from eyetest.prompts.sets import TaskKind, load_prompts
from eyetest.records import Condition, Item, mark, shown_order
from eyetest.records.tables import Ask, Letters
from tests.prompts.questions import asked, choice_item, image, said, screenshot, text_item

templates = load_prompts().plain.templates
LAST_LINE = re.compile(r'"Answer: X"')
IMAGE_WORDS = re.compile(r"\b(image|image|photo|figure|visual|diagram)", re.IGNORECASE)


def options_of(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)\. (.*)$", text, re.MULTILINE))


def many(count: int) -> Item:
    return choice_item(*(f"option number {n}" for n in range(count)), gold=0)


@pytest.mark.parametrize("item", [choice_item(), text_item(), text_item(tags={"task": "captioning"})])
def test_asks(item: Item) -> None:
    direct, cot, ocr = (said(item, ask=ask) for ask in get_args(Ask))
    assert not LAST_LINE.search(direct)
    assert LAST_LINE.search(cot)
    assert LAST_LINE.search(ocr)
    assert "as it stands in the image" in ocr
    assert not IMAGE_WORDS.search(direct + cot)
    assert "in the images" in said(msgspec.structs.replace(item, images=(image(1), image(2))), ask="ocr")


@pytest.mark.parametrize("modality", ["no-image", "no-image-guess", "nothing", "gray", "caption"])
def test_nothing_is_transcribed_from_a_image_that_is_not_there(modality: str) -> None:
    with pytest.raises(CannotApply, match="no image"):
        asked(choice_item(description="A car."), modality=modality, ask="ocr")
    with pytest.raises(CannotApply, match="no image"):
        asked(choice_item(images=0), ask="ocr")
    assert asked(screenshot(choice_item()), modality="screenshot", ask="ocr")


@pytest.mark.parametrize("order", [0, 1, 7, -3])
def test_order_only_permutes(order: int) -> None:
    item = many(6)
    as_written, shuffled = said(item), said(item, order=order)
    places = shown_order(item, Condition(order=order))
    assert options_of(shuffled) == {mark("upper", i): item.choices[p].text for i, p in enumerate(places)}
    assert sorted(options_of(shuffled).values()) == sorted(options_of(as_written).values())
    assert re.sub(r"(?m)^\w\. .*$", "", shuffled) == re.sub(r"(?m)^\w\. .*$", "", as_written)


@pytest.mark.parametrize(("count", "example"), [(1, 2), (2, 2), (3, 3), (5, 4), (8, 7), (10, 10), (26, 10)])
def test_the_format_shot_has_no_more_options_than_the_item(count: int, example: int) -> None:
    shot, answer, question = asked(many(count), shots="format").messages
    assert (shot.role, answer.role, question.role) == ("user", "assistant", "user")
    assert len(options_of(shot.text)) == example
    assert not IMAGE_WORDS.search(shot.text + answer.text)
    assert len(options_of(question.text)) == count


@pytest.mark.parametrize("style", get_args(Letters))
def test_examples_answer_as_they_are_asked_to(style: Letters) -> None:
    for shots, count in (("format", 1), ("two", 2)):
        for n in (2, 3, 4, 7, 10):
            for ask, pattern in (
                ("direct", r".*\((\w+)\)"),
                ("cot", r"\S.*\nAnswer: (\w+)"),
                ("ocr", r"(?s).*\nAnswer: (\w+)"),
            ):
                *messages, question = asked(many(n), shots=shots, ask=ask, letters=style, template=4).messages
                assert len(messages) == 2 * count
                for user, assistant in zip(messages[::2], messages[1::2], strict=True):
                    found = re.fullmatch(pattern, assistant.text)
                    assert found
                    assert found[1] in options_of(user.text)
                    last = question.text.rsplit("\n\n", 1)[1].replace(" as it stands in the image", "")
                    assert user.text.endswith(last)
                    if ask == "ocr":
                        assert assistant.text.startswith(user.text.rsplit("\n\n", 1)[0])


def test_likelihood_weighs_the_choices_as_written() -> None:
    item = choice_item(" red", "green")
    prompt = asked(item, method="likelihood")
    assert prompt.candidates == (" red", "green")
    assert not options_of(prompt.messages[-1].text)
    assert "words" in prompt.messages[-1].text
    assert len({said(item, method="likelihood", template=n) for n in range(len(templates("open", "direct")))}) >= 6
    assert asked(item).candidates == ()


@pytest.mark.parametrize(
    ("item", "axes", "reason"),
    [
        (text_item(), {}, "no options"),
        (choice_item("<image 1>", "<image 2>", images=2), {}, "options are images"),
        (choice_item("red", " "), {}, "empty option"),
        (choice_item(), {"ask": "cot"}, "likelihood is asked directly"),
    ],
)
def test_what_cannot_be_weighed(item: Item, axes: dict[str, Any], reason: str) -> None:
    with pytest.raises(CannotApply) as caught:
        asked(item, method="likelihood", **axes)
    assert caught.value.reason == reason


def test_first_token_weighs_the_letters_of_options_that_are_shown() -> None:
    item = choice_item("red", "green", "blue")
    prompt = asked(item, method="first-token", order=7, letters="lower")
    plain = asked(item, order=7, letters="lower")
    assert prompt.first_token
    assert prompt.messages == plain.messages
    for choice, shown in zip(item.choices, prompt.candidates, strict=True):
        assert f"{shown}. {choice.text}" in prompt.messages[-1].text
    assert build(item, Condition(method="first-token", shots="format"), prefill=True).prefill
    images = choice_item("<image 1>", "<image 2>", images=2)
    assert asked(images, method="first-token").candidates == ("A", "B")
    many = choice_item(*(f"colour {n}" for n in range(10)))
    assert asked(many, method="first-token").candidates[-1] == "J"
    with pytest.raises(CannotApply, match="several digits"):
        asked(many, method="first-token", letters="digit")


LISTS = [(kind, ask) for kind in get_args(TaskKind) for ask in get_args(Ask) if templates(kind, ask)]


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
