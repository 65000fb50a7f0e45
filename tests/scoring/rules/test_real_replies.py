"""Real replies: labelled ones in the shared folder, and the shapes of those that older rules misread."""

from pathlib import Path

import pytest

from eyetest.scoring.rules import read_choice
from eyetest.scoring.rules.cues import load_cues
from eyetest.scoring.rules.eyetest import EyetestRules
from tools.reading.knife import cut_each, is_right
from tools.reading.replies import RealReply, read_labelled

LEAST_RIGHT, MOST_WRONG = 0.94, 0.035
"""On a random draw; the rules read 99 % of it right, and no more than 1 % as a wrong option."""


def told(text: str, options: tuple[str, ...]) -> int | str:
    reading = read_choice(text, options)
    return reading.kind if reading.index is None else reading.index


@pytest.fixture(scope="module")
def labelled(shared: Path) -> list[RealReply]:
    return list(read_labelled(shared / "data" / "replies" / "dev.jsonl"))


@pytest.mark.parametrize(
    ("drawn", "least", "most"), [("random", LEAST_RIGHT, MOST_WRONG), ("differing", 0.92, 0.035)]
)
def test_labelled_replies_are_read_right(labelled: list[RealReply], drawn: str, least: float, most: float) -> None:
    rows = [row for row in labelled if row.drawn == drawn]
    readings = [EyetestRules().read(row.reply) for row in rows]
    right = sum(is_right(reading, row) for reading, row in zip(readings, rows, strict=True))
    wrong = sum(r.index is not None and not is_right(r, row) for r, row in zip(readings, rows, strict=True))
    assert len(rows) >= 200
    assert right / len(rows) >= least
    assert wrong / len(rows) <= most


def test_the_knife_finds_what_a_cue_is_worth(labelled: list[RealReply]) -> None:
    rows = [row for row in labelled if row.drawn == "random"]
    cuts = {cut.cue: cut for cut in cut_each(rows, ["answer is", "box", "whole reply"])}
    assert set(cuts) == {"answer is", "box", "whole reply"}
    assert cuts["answer is"].lost > cuts["answer is"].gained
    assert cuts["box"].changed > 0


def test_every_reading_names_the_cue_that_won(labelled: list[RealReply]) -> None:
    names = {*load_cues().names, "nothing there", "echo", "none", "taken back"}
    assert {EyetestRules().read(row.reply).rule for row in labelled} <= names


SIGNED = ("-3", "3", "0")
CHANGES = ("-1.16", "-2.86", "2.86", "1.16")


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        ("Answer: -3", SIGNED, 0),
        ("The result is -3.", SIGNED, 0),
        ("\\boxed{-3}", SIGNED, 0),
        ("3", SIGNED, 1),
        ("(A) -1.16", CHANGES, 0),
        ("The correct answer is (A) -1.16.</s>", CHANGES, 0),
        ("2/3", ("3/2", "1/2"), "unparsed"),
        ("Answer: 3/2", ("3/2", "2/3"), 0),
        ("10:15", ("15:10", "12:00"), "unparsed"),
        ("\\boxed{1:1}", ("$1: 1$", "$2: 3$"), 0),
        ("\\boxed{3b - a}", ("3b", "a"), "unparsed"),
        ("\\boxed{180^\\circ - \\alpha}", ("$150^{\\circ}$", "$180^{\\circ}$"), "unparsed"),
        ("$\\frac{1}{2}+\\frac{\\sqrt{3}}{4}$", ("$\\frac{1}{2}$", "$\\frac{1}{2}+\\frac{\\sqrt{3}}{4}$"), 1),
        ("It takes 2 hours and 45 minutes.", ("2 hours", "3 hours"), "unparsed"),
        ("It takes 2 hours.", ("2 hours", "2 hours and 45 minutes"), 0),
        ("2 hours and 45 minutes", ("2 hours", "2 hours and 45 minutes"), 1),
        ("So it is dark red.", ("red", "dark red"), 1),
        ("The answer is 65.", ("$60 \\mathrm{~cm}^{2}$", "$65 \\mathrm{~cm}^{2}$"), 1),
    ],
)
def test_a_number_is_a_whole(text: str, options: tuple[str, ...], right: int | str) -> None:
    assert told(text, options) == right


ASKED = "Which one is heavier? Select from A, B and C. (A) the ball (B) the cube (C) both weigh the same\nanswer: "
WEIGHED = ("the ball", "the cube", "both weigh the same")
KNOWN = ("True", "False", "Insufficient information")
BIRDS = ("a heron", "a flamingo", "a stork")


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        (
            f"A chat between a user and an assistant. USER: Say a letter. answer: B\n{ASKED} ASSISTANT: A",
            WEIGHED,
            0,
        ),
        (f"<|im_start|> system\nAnswer. <|im_start|> user\n{ASKED} <|im_start|> assistant\nC", WEIGHED, 2),
        (
            "the sky is green. ( a ) true ( b ) false ( c ) insufficient information. answer : )",
            KNOWN,
            "unparsed",
        ),
        ("is it so? ( a ) true ( b ) false ( c ) insufficient information. answer : 7", KNOWN, "unparsed"),
        ("[Choices] (A) True (B) False (C) Insufficient information Answer: (B", KNOWN, 1),
        (
            "The question is: which bird?\nThe options are:\n(A) a heron\n(B) a flamingo\n(C) a stork",
            BIRDS,
            "unparsed",
        ),
        ("Answer: A flamingo is pink and stands on one leg.", BIRDS, 1),
        ("Surfing: Surfing is a popular sport at this coast.", ("Surfing", "Rowing"), 0),
        ("import math\nside = 3\nprint(side)", ("3", "4"), "unparsed"),
        ("None of the options matches exactly. However, option B is the closest.", BIRDS, 1),
        ("(A) a heron, as its neck is bent.\n\n(B) would be pink, and (C) has a straight neck.", BIRDS, 0),
    ],
)
def test_echoes_and_openings(text: str, options: tuple[str, ...], right: int | str) -> None:
    assert told(text, options) == right
