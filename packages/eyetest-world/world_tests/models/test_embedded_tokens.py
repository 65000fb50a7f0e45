"""Text as numbers and back: nothing is lost but case and spacing."""

import re

import msgspec
from eyetest_world.toy_models.cards import weights
from eyetest_world.toy_models.network import ASSISTANT, END, IMAGE, PAD, SPECIAL, USER, Tokens, pieces
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


SPACES = st.sampled_from([" ", "\t", "\u00a0", "\u2003"])


@given(st.lists(st.text("abcdefgh", min_size=2), min_size=1, max_size=6), SPACES)
def test_every_kind_of_space_keeps_words_apart(parts: list[str], space: str) -> None:
    assert TOKENS.decode(TOKENS.encode(space.join(parts))).lower() == " ".join(parts)


@given(st.text())
def test_one_token_at_a_time(text: str) -> None:
    """The words of tokens, as likelihoods name them, make up what is said; bytes of one character are told apart."""
    numbers = [number for number in TOKENS.encode(text) if number >= len(SPECIAL) + 256]
    assert words("".join(map(TOKENS.word, numbers))) == words(TOKENS.decode(numbers))


def test_pieces() -> None:
    assert pieces("The cat's 12 A_b.\nB. Don't") == [
        *(" the", " cat", "'", "s", " 1", "2", " A", "_", "b", ".", "\n"),
        *(" B", ".", " don", "'", "t"),
    ]
    assert pieces("Option A. a plan B") == [" option", " A", ".", " a", " plan", " B"]
    assert pieces("") == pieces(" \t ") == []


def test_broken_text_is_read_as_well() -> None:
    assert TOKENS.decode(TOKENS.encode("a \ud800 b")) == "A ? b"
    assert TOKENS.decode([len(SPECIAL) + 0xFF]) == "\ufffd"


def test_replies_begin_with_a_capital() -> None:
    assert TOKENS.decode(TOKENS.encode("the answer is a.\nanswer: b")) == "The answer is a.\nAnswer: b"


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


def test_the_lines_of_options_are_told_apart() -> None:
    numbers = TOKENS.encode("Which one?\nA. the red ball\nB. no\nAnswer with a letter. B. is")
    red, no = TOKENS.encode("red")[0], TOKENS.encode("no")[0]
    by_token = dict(zip(numbers, TOKENS.lines(numbers), strict=True))
    assert by_token[red] == TOKENS.encode("A")[0]
    assert by_token[no] == TOKENS.encode("B")[0]
    assert by_token[TOKENS.encode("which")[0]] == by_token[TOKENS.encode("letter")[0]] == PAD
    for letters in ("a. red\nb. no", "1. red\n2. no"):
        assert PAD not in TOKENS.lines(TOKENS.encode("\n" + letters))[1:4]


@given(st.text())
def test_lines_are_as_long_as_the_text(text: str) -> None:
    numbers = TOKENS.encode(text)
    assert len(TOKENS.lines(numbers)) == len(numbers)
