"""The first pass reads plain replies as the whole rules do, and leaves all others to them."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.rules import Reading, Reply
from eyetest.scoring.rules.cues import load_cues
from eyetest.scoring.rules.eyetest import EyetestRules
from eyetest.scoring.rules.plain import read_plain
from tools.reading.replies import read_replies

OPTIONS = ("a red bus", "a blue car", "a bicycle", "a tram")
LEADS = (
    "",
    "The bus is red.\n\n",
    "Options:\n(A) a red bus\n(B) a blue car\n",
    "I first thought of A. ",
    "> quote\n",
)
ENDS = (
    *("B", "(B)", "**B**", "B. a blue car", "(B) a blue car.", "Answer: B", "**Answer:** B", "The answer is (B)."),
    *("Therefore, the correct answer is B. a blue car.", "Final answer: $\\boxed{B}$", "So the best option is (B)"),
    *(
        "Answer: B2",
        "Answer: BC",
        "Answer: B. a tram",
        "The answer is not B.",
        "answer is: E",
        "(D) a tram",
        "B or C",
    ),
)
whole_rules = EyetestRules(load_cues())  # with a table of its own no first pass is taken


def outcome(reading: Reading) -> tuple[str, int | None]:
    return reading.kind, reading.index


@pytest.mark.parametrize(("lead", "end"), [*product(LEADS, ENDS)])
def test_the_first_pass_agrees_with_the_whole_rules(lead: str, end: str) -> None:
    reply = Reply(f"{lead}{end}", OPTIONS)
    plain = read_plain(reply)
    assert plain is None or outcome(plain) == outcome(whole_rules.read(reply))


@given(
    st.lists(st.sampled_from([*LEADS, *ENDS, "\n", " ", "</think>", "Question: ", "However, ", "~~A~~"]), max_size=5)
)
def test_the_first_pass_agrees_on_any_sequence_of_these(parts: list[str]) -> None:
    reply = Reply("".join(parts), OPTIONS)
    plain = read_plain(reply)
    assert plain is None or outcome(plain) == outcome(whole_rules.read(reply))


@pytest.mark.parametrize("end", ENDS[3:11])
def test_a_stated_mark_at_the_end_needs_no_more(end: str) -> None:
    plain = read_plain(Reply(f"The light is red.\n{end}", OPTIONS))
    assert plain is not None
    assert plain.index == 1


@pytest.mark.science
def test_the_first_pass_agrees_on_real_replies(shared: Path) -> None:
    """On 68,849 published replies it reads 51,538, two of them otherwise than the whole rules."""
    replies = [row.reply for row in read_replies(shared, []) if not row.label]
    replies = [reply for reply in replies if all(isinstance(option, str) for option in reply.options)][::4]
    plain = [(reply, reading) for reply in replies if (reading := read_plain(reply))]
    others = [reply for reply, reading in plain if outcome(reading) != outcome(whole_rules.read(reply))]
    assert len(plain) >= 0.7 * len(replies)
    assert len(others) <= 0.001 * len(plain), others
