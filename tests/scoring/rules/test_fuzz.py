"""Hostile replies: nothing is raised, and work grows no faster than the reply."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.records.tables import Letters
from eyetest.scoring.rules import RULE_SETS, read_choice
from eyetest.scoring.rules.cleaning import HEAD, TAIL
from tests.support.work import steps

PIECES = [
    *("the answer is ", "Answer: ", "A", "b", "(C)", "D.", "\\boxed{", "}", "<think>", "</think>", "<answer>"),
    *("</answer>", "not ", "cat", "dog", "A dog", ", ", " or ", "\n", "**", "$", "wait, ", "I cannot see ", *"1[]()"),
    *("3.5", '{"answer": ', '"', "选", "答案是", "Ｂ", "ß", "\u0130", "\ud800", "\x00", "  ", "- [x] ", "~~"),
    *("option ", "is correct", "USER:", "<|channel|>final<|message|>", "so ", "none of the above", "..."),
    "Question:",
]
OPTIONS = st.lists(
    st.one_of(
        st.sampled_from(["cat", "dog", "A", "1", "", "<image 1>", "1/2", "None of the above", "both A and B"]),
        st.text(),
    ),
    min_size=1,
    max_size=26,
)
REPLIES = st.one_of(
    st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=60).map("".join)
)


@given(REPLIES, OPTIONS, st.sampled_from(["upper", "lower", "digit"]), st.sampled_from(sorted(RULE_SETS)))
def test_any_reply_is_read(text: str, options: list[str], letters: Letters, rules: str) -> None:
    reading = read_choice(text, options, rules, letters=letters)

    assert (reading.index is not None) == (reading.kind == "chosen")
    assert reading.index is None or 0 <= reading.index < len(options)
    assert reading.span is None or 0 <= reading.span[0] <= reading.span[1] <= len(text)
    assert reading.kind in ("chosen", "refused") or reading.why


HOSTILE: dict[str, Callable[[int], str]] = {
    "statements": lambda n: "the answer is " * (n // 14),
    "statements on lines": lambda n: "the answer is\n" * (n // 14),
    "brackets": lambda n: "(" * n,
    "closing brackets": lambda n: "([{" * (n // 6) + "}])" * (n // 6),
    "spaces": lambda n: " " * n,
    "spaces and a mark": lambda n: "the answer is" + " " * n + "B",
    "newlines": lambda n: "\n" * n,
    "thinking": lambda n: "<think>" * (n // 7),
    "thinking closed": lambda n: "<think></think>" * (n // 15),
    "boxes": lambda n: "\\boxed{" * (n // 7),
    "boxes closed": lambda n: "\\boxed{" * (n // 8) + "}" * (n // 8),
    "letters": lambda n: "A, B, " * (n // 6),
    "verdicts": lambda n: "A is B is " * (n // 10),
    "options": lambda n: "cat or dog " * (n // 11),
    "negations": lambda n: "not cat not " * (n // 12),
    "quotes": lambda n: '"answer": ' * (n // 10),
    "list items": lambda n: "A. cat\n" * (n // 7),
    "one word": lambda n: "a" * n,
    "turns": lambda n: "\nUSER:" * (n // 6),
    "so": lambda n: "so it is " * (n // 9),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_no_faster_than_the_reply(name: str) -> None:
    """A reply of a megabyte takes at most as many times longer as it is larger (generously), for there is a cap."""
    options, size = ("cat", "dog", "bird", "fish"), (HEAD + TAIL) * 10
    small, large = HOSTILE[name](size), HOSTILE[name](4 * size)
    read_choice(small, options)

    assert steps(lambda: read_choice(large, options)) <= 6 * steps(lambda: read_choice(small, options)) + 2_000


def test_a_megabyte_is_read_from_both_ends() -> None:
    filler = "bla " * 250_000

    assert read_choice(f"B. dog\n\n{filler}.", ("cat", "dog")).index == 1
    last = read_choice(f"{filler}.\nAnswer: B", ("cat", "dog"))
    assert last.index == 1
    assert last.span == (len(filler) + 10, len(filler) + 11)
