"""Long texts are shown by both ends: what is printed does not grow with them."""

import json
from pathlib import Path

import pytest

from eyetest.commands.results import LONGEST_SHOWN
from tests.support.command import call

FIELDS = ("question", "options", "answer", "hint", "description", "tag", "id")


@pytest.mark.parametrize("asked", [(), ("--condition", "image")], ids=["item", "prompt"])
def test_an_item(tmp_path: Path, asked: tuple[str, ...]) -> None:
    for field, piece in [*((field, "x") for field in FIELDS), ("options", "é \t"), ("hint", "a\n" * 9)]:
        sizes = []
        for length in (2 * LONGEST_SHOWN, 50 * LONGEST_SHOWN):
            text = f"begin{piece * (length // len(piece))}end"
            row: dict[str, object] = {"id": "1", "question": "What?", "answer": "a"}
            row |= {"options": [text, "b"], "answer": "A"} if field == "options" else {field: text}
            (tmp_path / f"{length}.jsonl").write_text(json.dumps(row))
            shown = call("show", tmp_path / f"{length}.jsonl", row["id"], *asked).fine()
            sizes.append(len(shown))
        assert sizes[1] < sizes[0] + 2_000, field
        if not asked and field not in ("tag", "description", "id"):
            assert " characters … " in " ".join(shown.split())


def test_many_parts(tmp_path: Path) -> None:
    row = {"id": "1", "question": "What?", "answer": [f"a{n}" for n in range(2_000)]}
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps(row | {f"tag {n}": n for n in range(2_000)}))
    shown = call("show", path, "1").fine()
    assert len(shown.splitlines()) < 300
    assert shown.count("and 1,900 more (--output json prints all)") == 2
    assert len(json.loads(call("show", path, "1", "--output", "json").fine())["tags"]) == 2_000
