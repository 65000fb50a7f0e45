"""Whether a choice was there to be read by its mark is a property of every reading, whoever read it."""

import pytest

from eyetest.scoring.rules import RULE_SETS, Reply

ANIMALS = ("cat", "dog", "bird", "fish")
VITAMINS = ("vitamin A", "vitamin B", "vitamin C")
CARRIED: tuple[str, ...] = (
    *("B", "(B)", "b)", "**B**", "B. dog", "(B) dog", "(B) dog.", "B: dog", "The answer is (B).", "Answer: B"),
    *("The answer is (B) dog.", "It is a dog, so option B.", r"\boxed{B}", "<answer>B</answer>", "Option B"),
    *("I see it barking.\n\n(B) dog", "dog (B)", "The correct answer is B) dog because it barks."),
)
WORDS_ONLY = ("dog", "Dog.", "A dog", "It is a dog.", "The answer is: dog", "a dog, I think", "It must be the dog.")


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
