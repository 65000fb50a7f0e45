"""The package `argilla` itself reads our folders and writes them again; no server of Argilla takes part. Slow."""

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.records import Decision
from eyetest.review.exchange import Outgoing, read_files, write_files
from tests.conftest import ROOT
from tests.review.exchange.material import (
    DECISIONS,
    HOSTILE,
    ITEMS,
    assignments,
    by_item,
    decision,
    expected,
    settling,
    waiting,
)

PYTHON = ROOT / ".venv-argilla" / "bin" / "python"
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
ANA, BEN = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))


def through_argilla(folder: Path, *responses: tuple[int, str, Any, str]) -> tuple[dict[str, Any], Path]:
    """What the package says of a folder, and the folder that it writes once these responses are given."""
    if not PYTHON.exists():
        pytest.skip("no argilla is installed; `make argilla` makes an environment with it")
    target, told = folder.with_name(f"{folder.name}-back"), folder.with_name(f"{folder.name}-responses.json")
    told.write_text(json.dumps(responses))
    command = [PYTHON, Path(__file__).with_name("argilla_package.py"), folder, target, told]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    about: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return about, target


@pytest.mark.slow
def test_decisions_pass_through_the_package(tmp_path: Path) -> None:
    out = Outgoing(name="bench", decided=assignments(DECISIONS, (DOT, DOT)), reviewers={1: 2, 2: 1})
    write_files(out, "argilla", tmp_path / "out")
    read: list[Decision] = []
    for name in ("round-1-decided", "round-2-decided", "settle-2-decided"):
        about, back = through_argilla(tmp_path / "out" / name)
        assert about["shown"][:2] == ["picture-1", "picture-2"]
        read += read_files(back, expected())
    assert by_item(read) == by_item(DECISIONS)
    print(f"{len(read)} decisions came back as they were through argilla {about['version']}")


@pytest.mark.slow
def test_responses_that_the_package_writes_become_decisions(tmp_path: Path) -> None:
    asked = [waiting(item, pictures=(DOT,)) for item in ITEMS]
    write_files(
        Outgoing(name="bench", waiting=[*asked, settling("c")], reviewers={1: 2}), "argilla", tmp_path / "out"
    )
    about, back = through_argilla(
        tmp_path / "out" / "round-1",
        (0, "decision", "fix", ANA),
        (0, "edit_question", HOSTILE, ANA),
        (0, "edit_b", ITEMS["=1+1"].choices[1].text, ANA),
        (0, "label_level", "<hard>", ANA),
        (0, "label_wrong", ["text", "数字"], ANA),
        (0, "decision", "drop", BEN),
        (0, "reason", "the gold is wrong", BEN),
        (1, "decision", "unsure", ANA),
    )
    assert about["asked"]["label_wrong"] == "MultiLabelQuestion"
    labels = {"level": "<hard>", "wrong": ["text", "数字"]}
    assert read_files(back, expected(reviewers={ANA: "ana", BEN: "ben"})) == [
        decision("=1+1", "fix", time="", edits={"question": HOSTILE.strip()}, labels=labels),
        decision("=1+1", "drop", "ben", time="", reason="the gold is wrong"),
        decision("naïve/数 2", "unsure", time=""),
    ]
    about, back = through_argilla(
        tmp_path / "out" / "settle-1", (0, "decision", "drop", ANA), (0, "reason_text", "=why", ANA)
    )
    assert about["shown"][-1] == "earlier"
    *before, last = read_files(back, expected(reviewers={ANA: "flo"}))
    assert before == list(settling("c").earlier)
    assert last == msgspec.structs.replace(decision("c", "drop", "flo", time="", reason="=why"), adjudicates=True)
