"""What is sent under each modality and way of asking, and how placeholders of images are placed and removed."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import msgspec
import pytest

from eyetest.prompts.building import CannotApply, build, label, label_within, remove
from eyetest.prompts.sets import TaskKind, load_prompts
from eyetest.records import Condition, GrayImage, Item, Turn, mark, shown_order
from eyetest.records.tables import Ask, Letters
from tests.prompts.questions import asked, choice_item, image, said, screenshot, seen, spelt, text_item
from tests.support.work import steps

DIRECT = load_prompts().plain.templates("choice", "direct")[0].replace("{mark}", "letter")
IMAGE_WORDS = re.compile(r"image|image|photo|figure|<|see\b|look", re.IGNORECASE)


def refusal(item: Item, **axes: object) -> str:
    with pytest.raises(CannotApply) as caught:
        asked(item, **axes)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


def test_named_images_stand_where_they_are_named() -> None:
    item = choice_item(
        "<image 3>", "as in <image 2>", question="Like <image 4>?", hint="Mind <image 1>.", images=5, gold=0
    )
    prompt = asked(item)
    assert spelt(prompt) == [f"#Mind #.\nLike #?\nA. #\nB. as in #\n\n{DIRECT}"]
    assert seen(prompt) == [image(n) for n in (5, 1, 4, 3, 2)]


def test_images_move_with_their_options() -> None:
    item = choice_item(*(f"<image {n}>" for n in range(1, 5)), images=4)
    order = shown_order(item, Condition(order=3))
    assert order != (0, 1, 2, 3)
    assert seen(asked(item, order=3)) == [image(position + 1) for position in order]


def test_a_image_named_again_is_sent_once_and_labelled() -> None:
    item = choice_item(
        "<image 1>, <image 2>", "<image 2>, <image 1>", question="Rank <image 1> and <image 2>", images=2
    )
    prompt = asked(item)
    assert seen(prompt) == [image(1), image(2)]
    first, *_ = spelt(prompt)
    assert first.startswith("Rank [image 1]# and [image 2]#\nA. [image 1], [image 2]\nB. [image 2], [image 1]")


@pytest.mark.parametrize("modality", ["image", "no-image", "gray", "caption", "no-image-guess"])
def test_letters_of_more_images_than_there_are_stay_as_they_are_written(modality: str) -> None:
    """A composite image may have <image1> and <image2> printed inside it."""
    words = "Compare <image1> (left) with <IMAGE_2>: which is it?"
    item = choice_item("<image 1>", "as in <image2>", question=words, description="Two cars.")
    (text,) = spelt(asked(item, modality=modality))
    assert f"{words}\nA. <image 1>\nB. as in <image2>\n" in text
    assert text.count("#") == (modality in ("image", "gray"))
    assert item.names_more_images
    assert asked(item, method="likelihood").candidates == ("<image 1>", "as in <image2>")


def test_a_placeholder_goes_where_no_image_is() -> None:
    assert spelt(asked(choice_item(question="As in <image 7>, which is it? <image 0>", images=0)))[0].startswith(
        "As in, which is it?\n"
    )


@pytest.mark.parametrize("ask", ["direct", "cot"])
def test_blind_is_silent(ask: str) -> None:
    item = choice_item(question="Which colour has the car in <image 1> ?", hint="(<image 2>) A hint.", images=2)
    text = said(item, modality="no-image", ask=ask)
    assert text.startswith("A hint.\nWhich colour has the car in?\nA. red")
    assert not IMAGE_WORDS.search(text)
    assert seen(asked(item, modality="no-image")) == []


def test_options_that_are_images_stay_apart_when_blind() -> None:
    item = choice_item("<image 1>", "<image 2> <image 3>", "neither", "cup (<image 4>)", "cup (<image 5>)", images=5)
    text = said(item, modality="no-image")
    assert "A. [image 1]\nB. [image 2] [image 3]\nC. neither\nD. cup ([image 4])\nE. cup ([image 5])\n" in text
    assert "A. cup\n" in said(choice_item("cup (<image 1>)", "jug"), modality="no-image")


def test_blind_guess_says_what_is_missing_and_asks_all_the_same() -> None:
    blind, guess = said(choice_item(), modality="no-image"), said(choice_item(), modality="no-image-guess")
    added = [line for line in guess.splitlines() if line not in blind.splitlines()]
    assert len(added) == 2
    assert "image that belongs here is missing" in added[0]
    assert "best guess" in added[1]
    assert "images" in said(choice_item(images=2), modality="no-image-guess")
    nothing_missing = said(choice_item(images=0), modality="no-image-guess")
    assert "missing" not in nothing_missing
    assert "best guess" in nothing_missing
    assert "missing" in said(choice_item(images=0, question="See <image 1>."), modality="no-image-guess")


def test_no_question_leaves_images_and_options() -> None:
    item = choice_item(
        "<image 2>", "car", images=2, question="SECRET <image 1>", hint="SECRET", history=(Turn("SECRET", "SECRET"),)
    )
    prompt = asked(item, modality="no-question")
    assert spelt(prompt) == [f"#A. #\nB. car\n\n{DIRECT}"]
    assert seen(prompt) == [image(1), image(2)]
    assert spelt(asked(text_item("SECRET"), modality="no-question"))[0].startswith("#Answer in a word")
    assert refusal(choice_item(images=0), modality="no-question") == "no image"


def test_grey_has_the_same_places_and_sizes() -> None:
    item = choice_item("<image 2>", "none", images=3, question="Like <image 1>?")
    coloured, grey = asked(item), asked(item, modality="gray")
    assert spelt(coloured) == spelt(grey)
    assert seen(grey) == [GrayImage(ref.width, ref.height) for ref in seen(coloured)]
    assert refusal(choice_item(images=0), modality="gray") == "no image"


def test_a_description_stands_in_for_images() -> None:
    item = choice_item("<image 2>", "none", question="<image 1>\nAs in <image 1>, which?", images=2,
                       description=" A red car.\n")  # fmt: skip
    text = said(item, modality="caption")
    assert text.startswith("What the images show, in words:\nA red car.\n\nAs in [image 1], which?\nA. [image 2]\n")
    assert seen(asked(item, modality="caption")) == []
    assert refusal(msgspec.structs.replace(item, description=" \n"), modality="caption") == "no description"


@pytest.mark.parametrize("axes", [{"order": 2}, {"letters": "digit"}, {"method": "likelihood"}])
def test_options_inside_a_image_stay_as_they_are(axes: dict[str, object]) -> None:
    drawn = "options are drawn in the image"
    assert refusal(screenshot(choice_item()), modality="screenshot", **axes) == drawn
    if "method" not in axes:
        asked(screenshot(text_item()), modality="screenshot", **axes)
    assert asked(screenshot(choice_item()), modality="screenshot", method="first-token").candidates[0] == "A"


def test_dialogue() -> None:
    history = (Turn("What is it?", "A car."), Turn("Is it like <image 2>?", "Yes, <image 2>"), Turn("x", " "))
    prompt = asked(choice_item(history=history, images=2), shots="format")
    assert [message.role for message in prompt.messages] == ["user", "assistant"] * 3 + ["user"]
    assert spelt(prompt)[2:6] == ["#What is it?", "A car.", "Is it like #?", "Yes,"]
    assert spelt(prompt)[6].startswith("Which colour is the car?\nA. red")
    described = asked(choice_item(history=history, images=2, description="A car."), modality="caption")
    assert spelt(described)[0].endswith("in words:\nA car.\n\nWhat is it?")
    assert seen(asked(choice_item(history=history, images=2), modality="no-image")) == []


def test_a_dialogue_with_own_answers() -> None:
    item = choice_item(history=(Turn("What is it?", "A car."), Turn("Whose?", "Hers.")), images=2)
    own = build(item, Condition(history="own"), answers=["A van.", "Mine, <image 2>"])
    gold = asked(item)
    assert [message.text for message in own.messages[1::2]] == ["A van.", "Mine,"]
    assert own.messages[::2] == gold.messages[::2]
    assert refusal(item, history="own") == "own answers are known only in a run"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("two  spaces <image>", "two  spaces <image>"),
        ("a <image 1> b", "a b"),
        ("a<image 1>b", "a b"),
        ("如图<image 1>所示", "如图所示"),
        ("<image 1> What?", "What?"),
        ("<image 1>\nWhat?", "What?"),
        ("Q\n <image 1> <image 2>\nWhat?", "Q\nWhat?"),
        ("Look at <image 1>.", "Look at."),
        ("the circuit (<image 1>) has", "the circuit has"),
        ("[<image 1>]", ""),
        ("(<image 1> left)", "(left)"),
        ("<image 1> <image 2>", ""),
        ("keep  this <image 1> as  it is", "keep  this as  it is"),
        ("in <image1> than in <IMAGE_2>?", "in than in?"),
        ("<img 1><img2>What? <|image_3|>", "What?"),
        ("<image x> and <imagination 1>", "<image x> and <imagination 1>"),
    ],
)
def test_removal_leaves_no_gap(text: str, left: str) -> None:
    assert remove(text) == left


def test_labels() -> None:
    assert label("as <image 01> and <image 2>") == "as [image 1] and [image 2]"
    assert label("as <image 1> and <image 2>", known=1) == "as <image 1> and [image 2]"
    assert label_within("<image 1>\n See <image 2> <image 3>\n<image 2>", images=2) == " See [image 2]\n"


@pytest.mark.parametrize(
    "hostile",
    [
        lambda n: "<image 1> " * n,
        lambda n: "<image 1>" + " " * 10 * n,
        lambda n: "(" * 4 * n + "<image 1>",
        lambda n: "<image " * 2 * n,
    ],
)
def test_work_on_hostile_texts_grows_as_they_do(hostile: Callable[[int], str]) -> None:
    """Calls are counted here; what happens inside patterns is measured in ``speed/hostile.py``."""
    small, large = hostile(2_000), hostile(8_000)
    works: list[Callable[[str], str]] = [remove, label, lambda text: label_within(text, 1)]
    for work in works:
        assert steps(partial(work, large)) <= 4.5 * steps(partial(work, small)) + 100


templates = load_prompts().plain.templates
LAST_LINE = re.compile(r'"Answer: X"')
WORDS_OF_IMAGES = re.compile(r"\b(image|image|photo|figure|visual|diagram)", re.IGNORECASE)


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
    assert not WORDS_OF_IMAGES.search(direct + cot)
    assert "in the images" in said(msgspec.structs.replace(item, images=(image(1), image(2))), ask="ocr")


@pytest.mark.parametrize("modality", ["no-image", "no-image-guess", "nothing", "gray", "caption"])
def test_nothing_is_transcribed_from_a_image_that_is_not_there(modality: str) -> None:
    assert refusal(choice_item(description="A car."), modality=modality, ask="ocr") == "no image"
    assert refusal(choice_item(images=0), ask="ocr") == "no image"
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
    assert not WORDS_OF_IMAGES.search(shot.text + answer.text)
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
    assert refusal(item, method="likelihood", **axes) == reason


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
    assert "several digits" in refusal(many, method="first-token", letters="digit")


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
        assert not WORDS_OF_IMAGES.search(wording)
        assert wording[0].isupper()
        assert wording.endswith(".")
