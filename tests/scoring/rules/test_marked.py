"""Whether a choice was there to be read by its mark is a property of every reading, whoever read it."""

import json
import re
from typing import cast

import pytest

from eyetest.records.tables import Letters, mark
from eyetest.scoring.rules import RULE_SETS, Reply
from tests.conftest import ROOT

ANIMALS = ("cat", "dog", "bird", "fish")
VITAMINS = ("vitamin A", "vitamin B", "vitamin C")
CARRIED: tuple[str, ...] = (
    *("B", "(B)", "b)", "**B**", "B. dog", "(B) dog", "(B) dog.", "B: dog", "The answer is (B).", "Answer: B"),
    *("The answer is (B) dog.", "It is a dog, so option B.", r"\boxed{B}", "<answer>B</answer>", "Option B"),
    *("I see it barking.\n\n(B) dog", "dog (B)", "The correct answer is B) dog because it barks."),
)
WORDS_ONLY = ("dog", "Dog.", "A dog", "It is a dog.", "The answer is: dog", "a dog, I think", "It must be the dog.")
REPLIES = sorted((ROOT / "tests/scoring/replies").glob("written*.jsonl"))


@pytest.mark.parametrize(
    ("reply", "marked"),
    [
        *((Reply(text, ANIMALS), True) for text in CARRIED),
        *((Reply(text, ANIMALS), False) for text in WORDS_ONLY),
        *((Reply(text, VITAMINS), False) for text in ("vitamin B", "It is vitamin B.")),
        *((Reply(text, VITAMINS), True) for text in ("B. vitamin B", "(b)")),
        *((Reply(text, ANIMALS, "digit"), True) for text in ("(2) dog", "2", "2. dog", "The answer is (2).")),
    ],
)
def test_a_mark_is_seen_and_a_letter_of_the_text_is_none(reply: Reply, marked: bool) -> None:
    found = RULE_SETS["eyetest"].read(reply)
    assert (found.kind, found.index, found.marked) == ("chosen", 1, marked)


@pytest.mark.parametrize("rules", sorted(RULE_SETS))
def test_every_choice_of_every_rule_set_says_so(rules: str) -> None:
    """Nothing is left to the names of rules; and where a mark was seen, it is in the reply."""
    read = RULE_SETS[rules].read
    seen = set()
    cases = [Reply(text, ANIMALS) for text in (*CARRIED, *WORDS_ONLY)]
    for path in REPLIES:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            cases.append(Reply(row["reply"], tuple(row["options"]), row.get("letters", "upper")))
    for reply in cases:
        found = read(reply)
        assert (found.marked is not None) == (found.kind == "chosen"), reply
        if found.marked and found.index is not None and rules == "eyetest":
            sign = mark(cast(Letters, reply.letters), found.index)
            has_sign = re.search(rf"(?<![a-z0-9]){sign}(?![a-z0-9])", reply.text, re.IGNORECASE)
            assert has_sign or not reply.text.isascii() or set(reply.text.strip()) <= {*"ABCD"}, reply
        seen.add(found.marked)
    assert {True, None} <= seen
