"""Families of phrasings (`readings.jsonl`); the labelled files hold many more."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eyetest.records.tables import Letters
from eyetest.scoring.rules import Reading, judged, read_choice

ANIMALS = ("cat", "dog", "bird", "fish")
READINGS = [json.loads(line) for line in Path(__file__).with_name("readings.jsonl").read_text("utf-8").splitlines()]


def told(text: str, options: tuple[str, ...] = ANIMALS, letters: Letters = "upper") -> int | str:
    reading = read_choice(text, options, letters=letters)
    return reading.kind if reading.index is None else reading.index


@pytest.mark.parametrize("row", READINGS, ids=lambda row: f"{row['about']}: {row['text'][:40]}")
def test_each_phrasing_is_read_as_stated(row: dict[str, Any]) -> None:
    assert told(row["text"], tuple(row["options"])) == row["read"]


@pytest.mark.parametrize("count", range(2, 27))
def test_two_to_26_options(count: int) -> None:
    options = tuple(f"word{n}" for n in range(count))
    last = chr(ord("A") + count - 1)
    for text, letters in product((f"Answer: {last}", f"({last})", f"word{count - 1}"), ("upper", "lower")):
        assert told(text, options, letters) == count - 1  # type: ignore[arg-type]
    assert told(f"The answer is {count}.", options, "digit") == count - 1
    assert told(str(count), options) == "unparsed"


def test_the_span_is_in_the_raw_reply() -> None:
    text = "<think>It is A.</think>\n**Answer:** \\boxed{\\text{C}} I hope it helps."
    reading = read_choice(text, ANIMALS)

    assert reading.span is not None
    assert text[slice(*reading.span)] == "C"


@pytest.mark.parametrize(
    ("said", "reading"),
    [
        ("B", Reading("chosen", 1, "judge", marked=False)),
        ("**b**.", Reading("chosen", 1, "judge", marked=False)),
        ("REFUSED", Reading("refused", rule="judge", why="says the judge")),
        ("AMBIGUOUS", Reading("ambiguous", rule="judge", why="says the judge")),
        ("NONE", Reading("unparsed", rule="judge", why="judge found no commitment")),
        ("E", Reading("unparsed", rule="judge", why="judge named no option")),
        ("I think the reply says B", Reading("unparsed", rule="judge", why="judge gave no verdict")),
    ],
)
def test_a_judge_reads_what_rules_cannot(said: str, reading: Reading) -> None:
    assert judged(said, len(ANIMALS)) == reading
