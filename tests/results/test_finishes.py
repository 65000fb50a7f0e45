"""Stored replies are counted by the present table of finish reasons, whatever was known of them when they came."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import eyetest as et
from eyetest.runs import read_responses
from eyetest.runs.journal import to_table
from eyetest.runs.stored import write_part
from tests.running.benches import make_bench

FINISHES = {
    "stop": "answered",
    "SAFETY": "blocked",
    "content_filter: PROHIBITED_CONTENT": "blocked",
    "MAX_TOKENS": "truncated",
    "model_length": "truncated",
    "abort": "failed",
    "error": "failed",
    "flux": "failed",
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of an earlier version, which took every reply for an answer."""
    make_bench(tmp_path / "b", 9, image_count=0)
    et.run(tmp_path / "b", models={"m": "scripted:right=1"}, condition="no-image", to=tmp_path / "r")
    stored = list(read_responses(tmp_path / "r"))
    changed = [
        msgspec.structs.replace(response, finish=finish) for response, finish in zip(stored, FINISHES, strict=False)
    ]
    changed.append(msgspec.structs.replace(stored[-1], text="\u200b \u00ad\ufeff"))
    write_part(tmp_path / "r", pl.DataFrame(pl.from_arrow(to_table(changed))))
    return tmp_path / "r"


def test_a_score_reads_stored_finish_reasons_by_the_table(run: Path) -> None:
    outcomes = Counter(et.score(run).scores["outcome"].to_list())
    assert outcomes == Counter(FINISHES.values()) + Counter(["failed"])
    measured = et.measure("accuracy", run).frame.row(0, named=True)
    assert measured["n"] == 1 + 2 + 2, "failed calls are not scored, blocked and truncated ones are"


def test_failed_replies_are_asked_again(run: Path) -> None:
    again: dict[str, Any] = {"models": {"m": "scripted:right=1"}, "condition": "no-image", "to": run}
    assert et.run(run.parent / "b", **again).progress.to_ask == 0
    asked = et.run(run.parent / "b", **again, retry_failed=True)
    assert asked.progress.to_ask == 3
    assert set(et.run(run.parent / "b", **again).errors()["error"]) == {"", "failed"} - {"failed"}


def test_a_word_that_the_user_names_is_an_answer_from_then_on(run: Path) -> None:
    assert Counter(et.score(run).scores["outcome"])["answered"] == 1
    manifest = json.loads((run / "run.json").read_text())
    del manifest["checksum"]
    manifest["models"]["m"]["finishes"] = {"Flux": "answered"}
    (run / "run.json").write_text(json.dumps(manifest))
    assert Counter(et.score(run).scores["outcome"])["answered"] == 2
    assert et.measure("accuracy", run).frame["n"][0] == 6
