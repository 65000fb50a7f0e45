"""Text as numbers and back: nothing is lost but case and spacing."""

import re

import msgspec
from eyetest_world.toy_models.cards import weights
from eyetest_world.toy_models.network import ASSISTANT, END, IMAGE, SPECIAL, USER, Tokens, pieces
from hypothesis import given
from hypothesis import strategies as st

from eyetest.records import ImagePart, ImageRef, Message, Prompt, Words
from tests.strategies import words as awkward

TOKENS = Tokens(msgspec.json.decode(weights("tokens.json").read_bytes()))
FEW = Tokens(["\n", " the", " cat", "s", ".", " A", " B", " a", " 1"])


def words(text: str) -> str:
    """A text without case and spacing."""
    return re.sub(r"\s+", "", text).upper().casefold()


@given(st.one_of(st.text(), awkward), st.sampled_from([TOKENS, FEW]))
def test_any_text_comes_back(text: str, tokens: Tokens) -> None:
    numbers = tokens.encode(text)
    assert words(tokens.decode(numbers)) == words(text)
    assert all(len(SPECIAL) <= number < tokens.size for number in numbers), "a text cannot forge a turn"


def test_pieces() -> None:
    assert pieces("The cat's 12 A_b.\nB. Don't") == [
        *(" the", " cat", "'", "s", " 1", "2", " A", "_", "b", ".", "\n"),
        *(" B", ".", " don", "'", "t"),
    ]
    assert pieces("Option A. a plan B") == [" option", " A", ".", " a", " plan", " B"]
    assert pieces("") == pieces(" \t ") == []


def test_a_prompt_is_turns() -> None:
    image = ImagePart(ImageRef("0" * 64, "png", 8, 8, 1))
    prompt = Prompt(
        (
            Message("system", (Words("the"),)),
            Message("user", (Words("cat"), image, Words("the"))),
            Message("assistant", (Words("cats"),)),
            Message("user", (Words("cat"),)),
        ),
        prefill="A",
    )
    the, cat, mark = (FEW.encode(word)[0] for word in ("the", "cat", "A"))
    style = SPECIAL.index("<words>")
    cats = FEW.encode("cats")
    assert FEW.encode_prompt(prompt, "words") == [
        *(USER, the, USER, cat, IMAGE, the, ASSISTANT, *cats, END, USER, cat, ASSISTANT, style, mark)
    ]
