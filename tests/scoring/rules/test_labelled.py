"""The rules on hand-written replies with their right readings (`design/reading.md` is the guide).

They are oddities: what somebody could think of, not what models say. ``written`` and ``written_more`` were looked at
while the rules were written; no reply of ``held_out`` was. How the rules do on what models say is asked in
``test_real_replies``.
"""

from pathlib import Path

import pytest

from tests.scoring.rules.accuracy import measure

REPLIES = Path(__file__).parent.parent / "replies"


@pytest.mark.parametrize(("name", "least"), [("written", 0.948), ("written_more", 0.79), ("held_out", 0.937)])
def test_labelled_replies_are_read_right(name: str, least: float) -> None:
    accuracy = measure(REPLIES / f"{name}.jsonl")

    assert accuracy.overall >= least, accuracy.report()
