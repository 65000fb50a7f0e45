"""What is sent under each modality, and how placeholders of images are placed, labelled and removed."""

import re
from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from eyetest.prompts.building import CannotApply, build, label, label_within, remove
from eyetest.prompts.sets import load_prompts
from eyetest.records import Condition, GrayImage, Item, Turn, shown_order
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
