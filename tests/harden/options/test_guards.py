"""What is turned down without asking anybody, and what is repaired."""

import pytest

from eyetest.harden.options.guards import Guard
from eyetest.records import Item
from eyetest.reform.distractors.written import Case


def guard(gold: str, *present: str, question: str = "Which is it?") -> Guard:
    return Guard(Case(Item(id="i", question=question), gold, present, 6))


WORDS = ("Heart", "Lung", "Liver", "Kidney")
NUMBERS = ("12.5 cm", "14.0 cm", "20.5 cm", "8.5 cm")


@pytest.mark.parametrize(
    ("options", "text", "reason"),
    [
        (WORDS, "  ", "no text"),
        (WORDS, "x" * 400, "too long"),
        (WORDS, "<image 2>", "shows an image"),
        (WORDS, "All of the above", "speaks of other options"),
        (WORDS, "the heart", "says the same as the gold"),
        (WORDS, "LIVER", "says the same as another option"),
        (WORDS, "Heart valve", "contains the gold or is part of it"),
        (WORDS, "The organ that makes bile out of what the blood brings", "differs in form from the other options"),
        (NUMBERS, "25/2 cm", "says the same as the gold"),
        (NUMBERS, "0.125 m", "says the same as the gold"),
        (NUMBERS, "140 mm", "says the same as another option"),
        (NUMBERS, "12.6 cm", "is too near the gold"),
        (NUMBERS, "17.5 kg", "differs in form from the other options"),
        (("red", "blue"), "maroon", "says the same as the gold"),
        (("1/3", "2/5"), "0.33", "is too near the gold"),
        (("2√3", "3√5", "4√7"), "√12", "says the same as the gold"),
        (("x²+2x+1", "x²-1"), "(x+1)²", "says the same as the gold"),
        (("x^2", "x^3"), "x²", "says the same as the gold"),
    ],
)
def test_a_bad_proposal_is_turned_down_and_why(options: tuple[str, ...], text: str, reason: str) -> None:
    own = guard(*options)
    assert own.refusal(own.repaired(text)) == reason


@pytest.mark.parametrize(
    ("options", "text", "repaired"),
    [
        (WORDS, "spleen", "Spleen"),
        (WORDS, "B) Spleen.", "Spleen"),
        (NUMBERS, "17 cm", "17.0 cm"),
        (("$5$", "$7$"), "9", "$9$"),
        (("a red house.", "a blue house."), "A green house", "a green house."),
        (("1,200", "3,400"), "5600", "5,600"),
    ],
)
def test_a_proposal_that_only_looks_different_is_mended(options: tuple[str, ...], text: str, repaired: str) -> None:
    own = guard(*options)
    assert own.repaired(text) == repaired
    assert own.refusal(repaired) == ""


def test_neighbours_of_counts_and_years_are_other_answers() -> None:
    assert guard("2014", question="In which year?").refusal("2015") == ""
    assert guard("41", question="How many people are there?").refusal("42") == "is too near the gold"
    assert guard("12", question="How many people are there?").refusal("13") == ""
    assert guard("250", "252", "254").refusal("251") == ""
