"""Real harnesses with a scripted model on the same real items; every point between their score and ours explained."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import eyetest as et
from eyetest.integrations.recording import Recorder
from tests.integrations.harnesses import reply

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-harnesses/bin/python"
ITEMS = 36


@pytest.fixture(scope="module")
def bench(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of PuzzleVQA that have their images: 36 of all kinds."""
    source, folder = shared / "data/puzzlevqa", tmp_path_factory.mktemp("puzzles")
    rows = [json.loads(line) for line in (source / "items.jsonl").read_text("utf-8").splitlines()]
    there = [row for row in rows if row["image"] and (source / row["image"]).is_file()]
    kept = there[:: len(there) // ITEMS][:ITEMS]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    et.import_file(folder / "items.jsonl", to=folder / "bench", images=source)
    return folder / "bench"


def carried_out(harness: str, bench: Path, out: Path) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.skip("other harnesses are in an environment of their own: make harnesses")
    script = Path(__file__).with_name("harnesses.py")
    out.mkdir(exist_ok=True)
    done = subprocess.run([PYTHON, script, harness, bench, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((out / "scores.json").read_text())
    return found


def ours(bench: Path) -> float:
    """The share of items whose scripted reply names the right letter, by the rules of eyetest."""
    hits = []
    for number, item in enumerate(et.open(bench)):
        letters = "ABCDEFGH"[: len(item.choices)]
        read = et.read_choice(reply(number, letters[item.gold[0]], letters), [choice.text for choice in item.choices])
        hits.append(read.index == item.gold[0])
    return sum(hits) / len(hits)


def explained(found: Any, theirs: float, mine: float) -> None:
    """The causes add up to the gap, and each is one of reading: the items and replies are the same."""
    assert found.gap == pytest.approx(100 * (mine - theirs))
    assert sum(found.frame["points"]) == pytest.approx(found.gap)
    assert {*found.frame["cause"]} <= {"reading", "unread"}, found.frame
    assert found.items["item"].n_unique() > 3
    assert abs(found.gap) > 5  # a strict parser misses answers, a lax one finds letters in other words


@pytest.mark.slow
def test_inspect_ai(bench: Path, tmp_path: Path) -> None:
    scores = carried_out("inspect", bench, tmp_path / "logs")
    assert scores["status"] == "success"
    assert scores["extraction"] == pytest.approx(ours(bench))
    assert scores["unread"] == pytest.approx(8 / 36)
    et.import_file(scores["log"], to=tmp_path / "run", bench=bench, map="given=match")
    found = et.reconcile(tmp_path / "run", tmp_path / "run", rules_a="given")
    explained(found, scores["match"], scores["extraction"])
