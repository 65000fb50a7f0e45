"""Whether a choice was there to be read by its mark is a property of every reading, whoever read it."""

import json
import re

import pytest

from eyetest.records.order import mark
from eyetest.scoring.rules import RULE_SETS, Reply
from tests.conftest import ROOT

ANIMALS = ("cat", "dog", "bird", "fish")
CARRIED: tuple[str, ...] = (
    *("B", "(B)", "b)", "**B**", "B. dog", "(B) dog", "(B) dog.", "B: dog", "The answer is (B).", "Answer: B"),
    *("The answer is (B) dog.", "It is a dog, so option B.", r"\boxed{B}", "<answer>B</answer>", "Option B"),
    *("I see it barking.\n\n(B) dog", "dog (B)", "The correct answer is B) dog because it barks."),
)
WORDS_ONLY = ("dog", "Dog.", "A dog", "It is a dog.", "The answer is: dog", "a dog, I think", "It must be the dog.")
REPLIES = sorted((ROOT / "tests/scoring/replies").glob("written*.jsonl"))


@pytest.mark.parametrize("text", CARRIED)
def test_a_mark_in_any_dress(text: str) -> None:
    found = RULE_SETS["eyetest"].read(Reply(text, ANIMALS))
    assert (found.kind, found.index, found.marked) == ("chosen", 1, True)


@pytest.mark.parametrize("text", WORDS_ONLY)
def test_words_alone(text: str) -> None:
    found = RULE_SETS["eyetest"].read(Reply(text, ANIMALS))
    assert (found.kind, found.index, found.marked) == ("chosen", 1, False)


def test_a_letter_inside_the_options_text_is_no_mark() -> None:
    options = ("vitamin A", "vitamin B", "vitamin C")
    for text, marked in (("vitamin B", False), ("It is vitamin B.", False), ("B. vitamin B", True), ("(b)", True)):
        found = RULE_SETS["eyetest"].read(Reply(text, options))
        assert (found.kind, found.index, found.marked) == ("chosen", 1, marked), text


@pytest.mark.parametrize("text", ["(2) dog", "2", "2. dog", "The answer is (2)."])
def test_digits(text: str) -> None:
    found = RULE_SETS["eyetest"].read(Reply(text, ANIMALS, "digit"))
    assert (found.index, found.marked) == (1, True)


@pytest.mark.parametrize("rules", sorted(RULE_SETS))
def test_every_choice_of_every_rule_set_says_so(rules: str) -> None:
    """Nothing is left to the names of rules; and where a mark was seen, it is in the reply."""
    read = RULE_SETS[rules].read
    seen = set()
    cases = [Reply(text, ANIMALS) for text in (*CARRIED, *WORDS_ONLY)]
    for path in REPLIES:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            cases.append(Reply(row["reply"], tuple(row["options"]), row.get("marks", "upper")))
    for reply in cases:
        found = read(reply)
        assert (found.marked is not None) == (found.kind == "chosen"), reply
        if found.marked and found.index is not None and rules == "eyetest":
            sign = re.compile(rf"(?<![a-z0-9]){mark(reply.marks, found.index)}(?![a-z0-9])", re.IGNORECASE)
            assert sign.search(reply.text) or not reply.text.isascii() or set(reply.text.strip()) <= {*"ABCD"}, reply
        seen.add(found.marked)
    assert {True, None} <= seen
