import re

import msgspec
import pytest

from eyetest.prompts import CannotApply, build, templates
from eyetest.records import Condition, GreyPicture, Item, Turn, shown_order
from tests.prompts.questions import asked, choice_item, image, said, screenshot, seen, spelt, text_item

DIRECT = templates("choice", "direct")[0].replace("{mark}", "letter")
PICTURE_WORDS = re.compile(r"picture|image|photo|figure|<|see\b|look", re.IGNORECASE)


def refusal(item: Item, **axes: object) -> str:
    with pytest.raises(CannotApply) as caught:
        asked(item, **axes)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


def test_unnamed_pictures_come_first_and_in_order() -> None:
    prompt = asked(choice_item(pictures=2))
    assert spelt(prompt) == [f"##Which colour is the car?\nA. red\nB. green\nC. blue\nD. white\n\n{DIRECT}"]
    assert seen(prompt) == [image(1), image(2)]


def test_named_pictures_stand_where_they_are_named() -> None:
    item = choice_item(
        "<image 3>", "as in <image 2>", question="Like <image 4>?", hint="Mind <image 1>.", pictures=5, gold=0
    )
    prompt = asked(item)
    assert spelt(prompt) == [f"#Mind #.\nLike #?\nA. #\nB. as in #\n\n{DIRECT}"]
    assert seen(prompt) == [image(n) for n in (5, 1, 4, 3, 2)]


def test_pictures_move_with_their_options() -> None:
    item = choice_item(*(f"<image {n}>" for n in range(1, 5)), pictures=4)
    order = shown_order(item, Condition(order=3))
    assert order != (0, 1, 2, 3)
    assert seen(asked(item, order=3)) == [image(position + 1) for position in order]


def test_a_picture_named_again_is_sent_once_and_labelled() -> None:
    item = choice_item(
        "<image 1>, <image 2>", "<image 2>, <image 1>", question="Rank <image 1> and <image 2>", pictures=2
    )
    prompt = asked(item)
    assert seen(prompt) == [image(1), image(2)]
    first, *_ = spelt(prompt)
    assert first.startswith(
        "Rank [picture 1]# and [picture 2]#\nA. [picture 1], [picture 2]\nB. [picture 2], [picture 1]"
    )


@pytest.mark.parametrize("sight", ["image", "blind", "grey", "caption", "blind-guess"])
def test_marks_of_more_images_than_there_are_stay_as_they_are_written(sight: str) -> None:
    """A composite image may have <image1> and <image2> printed inside it."""
    words = "Compare <image1> (left) with <IMAGE_2>: which is it?"
    item = choice_item("<image 1>", "as in <image2>", question=words, description="Two cars.")
    (text,) = spelt(asked(item, sight=sight))
    assert f"{words}\nA. <image 1>\nB. as in <image2>\n" in text
    assert text.count("#") == (sight in ("image", "grey"))
    assert item.names_more_images
    assert asked(item, method="likelihood").candidates == ("<image 1>", "as in <image2>")


def test_a_placeholder_goes_where_no_image_is() -> None:
    assert spelt(asked(choice_item(question="As in <image 7>, which is it? <image 0>", pictures=0)))[0].startswith(
        "As in, which is it?\n"
    )


@pytest.mark.parametrize("ask", ["direct", "cot"])
def test_blind_is_silent(ask: str) -> None:
    item = choice_item(question="Which colour has the car in <image 1> ?", hint="(<image 2>) A hint.", pictures=2)
    text = said(item, sight="blind", ask=ask)
    assert text.startswith("A hint.\nWhich colour has the car in?\nA. red")
    assert not PICTURE_WORDS.search(text)
    assert seen(asked(item, sight="blind")) == []


def test_blind_differs_from_image_in_the_pictures_alone() -> None:
    for item in (choice_item(), text_item(), choice_item(question="In <image 1> which car?", hint="h")):
        for shots in ("none", "format", "two"):
            with_picture, without = said(item, shots=shots), said(item, shots=shots, sight="blind")
            assert without.split() == with_picture.split()


def test_options_that_are_pictures_stay_apart_when_blind() -> None:
    item = choice_item(
        "<image 1>", "<image 2> <image 3>", "neither", "cup (<image 4>)", "cup (<image 5>)", pictures=5
    )
    text = said(item, sight="blind")
    assert (
        "A. [picture 1]\nB. [picture 2] [picture 3]\nC. neither\nD. cup ([picture 4])\nE. cup ([picture 5])\n" in text
    )
    assert "A. cup\n" in said(choice_item("cup (<image 1>)", "jug"), sight="blind")


def test_blind_guess_says_what_is_missing_and_asks_all_the_same() -> None:
    blind, guess = said(choice_item(), sight="blind"), said(choice_item(), sight="blind-guess")
    added = [line for line in guess.splitlines() if line not in blind.splitlines()]
    assert len(added) == 2
    assert "picture that belongs here is missing" in added[0]
    assert "best guess" in added[1]
    assert "pictures" in said(choice_item(pictures=2), sight="blind-guess")
    nothing_missing = said(choice_item(pictures=0), sight="blind-guess")
    assert "missing" not in nothing_missing
    assert "best guess" in nothing_missing
    assert "missing" in said(choice_item(pictures=0, question="See <image 1>."), sight="blind-guess")


def test_no_question_leaves_pictures_and_options() -> None:
    item = choice_item(
        "<image 2>",
        "car",
        pictures=2,
        question="SECRET <image 1>",
        hint="SECRET",
        history=(Turn("SECRET", "SECRET"),),
    )
    prompt = asked(item, sight="no-question")
    assert spelt(prompt) == [f"#A. #\nB. car\n\n{DIRECT}"]
    assert seen(prompt) == [image(1), image(2)]
    assert spelt(asked(text_item("SECRET"), sight="no-question"))[0].startswith("#Answer in a word")
    assert refusal(choice_item(pictures=0), sight="no-question") == "no picture"


def test_nothing_leaves_options_alone() -> None:
    item = choice_item(hint="SECRET", question="SECRET", history=(Turn("SECRET", "SECRET"),), description="SECRET")
    assert spelt(asked(item, sight="nothing")) == [f"A. red\nB. green\nC. blue\nD. white\n\n{DIRECT}"]
    assert refusal(text_item(), sight="nothing") == "no options"


def test_grey_has_the_same_places_and_sizes() -> None:
    item = choice_item("<image 2>", "none", pictures=3, question="Like <image 1>?")
    coloured, grey = asked(item), asked(item, sight="grey")
    assert spelt(coloured) == spelt(grey)
    assert seen(grey) == [GreyPicture(ref.width, ref.height) for ref in seen(coloured)]
    assert refusal(choice_item(pictures=0), sight="grey") == "no picture"


def test_a_description_stands_in_for_pictures() -> None:
    item = choice_item("<image 2>", "none", question="<image 1>\nAs in <image 1>, which?", pictures=2,
                       description=" A red car.\n")  # fmt: skip
    text = said(item, sight="caption")
    assert text.startswith(
        "What the pictures show, in words:\nA red car.\n\nAs in [picture 1], which?\nA. [picture 2]\n"
    )
    assert seen(asked(item, sight="caption")) == []
    assert refusal(msgspec.structs.replace(item, description=" \n"), sight="caption") == "no description"


def test_a_screenshot_speaks_for_itself() -> None:
    item = screenshot(choice_item())
    prompt = asked(item, sight="screenshot")
    (text,) = spelt(prompt)
    assert re.fullmatch(rf"#The question .* stands in the picture\.\n{DIRECT}", text)
    assert seen(prompt) == list(item.images)
    assert refusal(choice_item(), sight="screenshot") == "not a screenshot"
    assert refusal(msgspec.structs.replace(item, images=()), sight="screenshot") == "no picture"


@pytest.mark.parametrize("axes", [{"order": 2}, {"marks": "digit"}, {"method": "likelihood"}])
def test_options_inside_a_picture_stay_as_they_are(axes: dict[str, object]) -> None:
    drawn = "options are drawn in the picture"
    assert refusal(screenshot(choice_item()), sight="screenshot", **axes) == drawn
    if "method" not in axes:
        asked(screenshot(text_item()), sight="screenshot", **axes)
    assert asked(screenshot(choice_item()), sight="screenshot", method="first-token").candidates[0] == "A"


def test_dialogue() -> None:
    history = (Turn("What is it?", "A car."), Turn("Is it like <image 2>?", "Yes, <image 2>"), Turn("x", " "))
    prompt = asked(choice_item(history=history, pictures=2), shots="format")
    assert [message.role for message in prompt.messages] == ["user", "assistant"] * 3 + ["user"]
    assert spelt(prompt)[2:6] == ["#What is it?", "A car.", "Is it like #?", "Yes,"]
    assert spelt(prompt)[6].startswith("Which colour is the car?\nA. red")
    described = asked(choice_item(history=history, pictures=2, description="A car."), sight="caption")
    assert spelt(described)[0].endswith("in words:\nA car.\n\nWhat is it?")
    assert seen(asked(choice_item(history=history, pictures=2), sight="blind")) == []


def test_a_dialogue_with_own_answers() -> None:
    item = choice_item(history=(Turn("What is it?", "A car."), Turn("Whose?", "Hers.")), pictures=2)
    own = build(item, Condition(history="own"), answers=["A van.", "Mine, <image 2>"])
    gold = asked(item)
    assert [message.text for message in own.messages[1::2]] == ["A van.", "Mine,"]
    assert own.messages[::2] == gold.messages[::2]
    assert refusal(item, history="own") == "own answers are known only in a run"


@pytest.mark.parametrize("sight", ["no-question", "nothing"])
def test_history_changes_nothing_where_none_is_told(sight: str) -> None:
    item = choice_item(history=(Turn("What is it?", "A car."),))
    assert asked(item, sight=sight, history="own") == asked(item, sight=sight)
    assert asked(choice_item(), history="own") == asked(choice_item())


def test_a_question_of_pictures_alone() -> None:
    assert spelt(asked(text_item("<image 1>")))[0].startswith("#\n\nAnswer in a word")
    assert refusal(text_item("<image 1>"), sight="blind") == "no question"
    assert refusal(text_item(" <image 1> ", pictures=0)) == "no question"
    assert said(choice_item(question=" \n"), sight="blind").startswith("A. red")


def test_no_empty_words_are_sent() -> None:
    prompt = asked(text_item("<image 1> <image 2>\n<image 3>", pictures=3))
    assert [type(part).__name__ for part in prompt.messages[0].parts] == ["Picture"] * 3 + ["Words"]
