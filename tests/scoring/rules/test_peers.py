"""What the tools of today read out of the same replies."""

import pytest

from eyetest.records import letter
from eyetest.scoring.rules import read_choice

ANIMALS = ("cat", "dog", "bird", "fish")
LONG = "The correct answer is D. It lives in water, while A, B and C are land animals."
GUESS = "guess"


def told(text: str, rules: str) -> str:
    """A letter, ``guess`` where that tool would draw at random, or the kind of reading."""
    reading = read_choice(text, ANIMALS, rules)
    if reading.index is not None:
        return letter(reading.index)
    return GUESS if reading.would_guess else reading.kind


@pytest.mark.parametrize(
    ("text", "vlmevalkit", "lmms_eval", "right"),
    [
        ("b", GUESS, GUESS, "B"),
        ("A dog", "A", "A", "B"),
        ("The answer is not B", "B", "B", "unparsed"),
        (LONG, "D", "C", "D"),
        ("\\boxed{B}", "B", GUESS, "B"),
        ("<answer>B</answer>", GUESS, GUESS, "B"),
        ("It is in the USA and so on", GUESS, "A", "unparsed"),
        ("[REQUEST_FAILED after 5 retries]", GUESS, "D", "unparsed"),
    ],
)
def test_the_table_of_mistakes(text: str, vlmevalkit: str, lmms_eval: str, right: str) -> None:
    assert told(text, "vlmevalkit") == vlmevalkit
    assert told(text, "lmms-eval") == lmms_eval
    assert told(text, "eyetest") == right


@pytest.mark.parametrize(
    ("text", "place"), [("b) dog", 1), ("(C)", 2), ("Option D", 3), ("The answer is a", 0), ("It is B", None)]
)
def test_mmstar_looks_at_four_places(text: str, place: int | None) -> None:
    reading = read_choice(text, ANIMALS, "mmstar")

    assert reading.index == place
    assert not reading.would_guess


def test_refusal_strings_and_ties_between_letters() -> None:
    assert told("I can't process this file.", "vlmevalkit") == "refused"
    assert told("Failed to obtain answer via API. A", "vlmevalkit") == GUESS
    assert told("(A) or maybe (B), certainly not (C)", "mmmu") == "C"
    assert told("(A)\nAnswer: B", "mmmu") == "B"
    assert told("(A)\nAnswer: B", "lmms-eval") == "A"
