"""The rules on hand-written replies with their right readings (`design/reading.md` is the guide).

They are oddities: what somebody could think of, not what models say. ``written`` and ``written_more`` were looked at
while the rules were written; no reply of ``held_out`` was. How the rules do on what models say is asked in
``test_real_replies``.
"""

import json
from pathlib import Path

import pytest

from eyetest.scoring.rules import read_choice

REPLIES = Path(__file__).parent.parent / "replies"


@pytest.mark.parametrize(("name", "least"), [("written", 0.948), ("written_more", 0.79), ("held_out", 0.937)])
def test_labelled_replies_are_read_right(name: str, least: float) -> None:
    rows = [json.loads(line) for line in (REPLIES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = []
    for row in rows:
        letters = row.get("letters", row.get("marks", "upper"))
        found = read_choice(row["reply"], row["options"], letters=letters)
        kind = "unparsed" if found.kind == "cut off" else found.kind  # the labels know four kinds
        if (kind, found.index) != (row["reading"], row["index"]):
            wrong.append((row["id"], row["reading"], row["index"], found))
    assert 1 - len(wrong) / len(rows) >= least, wrong[:40]
