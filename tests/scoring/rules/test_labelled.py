"""The rules on replies whose right reading people wrote down (`design/reading.md` is the guide)."""

from pathlib import Path

import pytest

from tests.scoring.rules.accuracy import measure

REPLIES = Path(__file__).parent.parent / "replies"


@pytest.mark.parametrize(("name", "least"), [("written", 0.99), ("written_more", 0.98), ("held_out", 0.97)])
def test_labelled_replies_are_read_right(name: str, least: float) -> None:
    accuracy = measure(REPLIES / f"{name}.jsonl")

    assert accuracy.overall >= least, accuracy.report()
