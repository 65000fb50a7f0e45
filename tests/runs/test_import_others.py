"""Answers that others asked for, failed at and scored: nothing of that is mistaken for our own."""

from pathlib import Path
from typing import Any

import pytest

from tests.running.benches import make_bench
from tests.runs.written import API_FAILURE, REQUEST_FAILED, answers, jsonl, separated
from tests.support.command import call, measured


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return make_bench(tmp_path / "b", golds=(1,)).path


def rows_of(*texts: str | None, **more: Any) -> list[dict[str, Any]]:
    return [{"item": f"q{n}", "model": "m", "text": text, **more} for n, text in enumerate(texts)]


def test_failed_calls_have_no_score_though_others_gave_one(tmp_path: Path, bench: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", *rows_of("B", "B", API_FAILURE, REQUEST_FAILED, given=1))
    for about in ((), ("--bench", bench)):
        run = tmp_path / f"run{len(about)}"
        said = call("import", path, "--to", run, *about).fine()
        assert "(2 answered, 2 failed, 2 with scores from elsewhere)" in said
        assert "2 texts are only error messages, and count as failed calls" in said
        assert [answer.given for answer in answers(run)] == [1, 1, None, None]
        (row,) = measured("accuracy", run)
        assert (row["accuracy"], row["n"]) == (1, 2)


def test_every_screen_says_who_scored(tmp_path: Path, bench: Path) -> None:
    run = tmp_path / "run"
    unread = rows_of("I cannot see any image, sorry.", "Hm.", "B", given=1)
    told = call("import", jsonl(tmp_path / "a.jsonl", *unread), "--to", run, "--bench", bench).fine()
    assert "(3 answered, 3 with scores from elsewhere)" in told
    assert "3 answers have scores from elsewhere" in call("show", run).fine()
    for said in (call("score", run).fine(), call("measure", "accuracy", run).fine()):
        assert "all 3 answers were scored by others" in said
    own = [row | {"model": "ours"} for row in rows_of("B", "A", "Hm.")]
    call("import", jsonl(tmp_path / "c.jsonl", *own), "--to", run, "--bench", bench).fine()
    said = call("measure", "accuracy", run).fine()
    assert "3 of 6 answers were scored by others (m), whose scores stand as given; the other 3 by our rules" in said
    assert "scored by others" not in call("measure", "accuracy", run, "--where", "model=ours").fine()


# Columns without a mapping.


def test_what_looks_like_a_condition_is_named_before_anything_is_written(tmp_path: Path) -> None:
    rows = [("q1", "m", "text", "1.2", "A"), ("q2", "m", "image", "3.4", "B")]
    path = separated(tmp_path / "a.csv", ("item", "model", "condition", "latency", "text"), *rows)
    printed = call("import", path, "--to", tmp_path / "run")
    assert "columns that look like conditions are not mapped: condition; map them with --map" in printed.err
    mapped = ("--map-values", "modality=condition:text>no-image")
    assert call("import", path, "--to", tmp_path / "r", *mapped).err == ""
    assert "look" not in call("import", path, "--to", tmp_path / "s", "--where", "condition=text").err


def test_answers_that_would_be_one_are_refused(tmp_path: Path) -> None:
    header = ("item", "model", "seed", "ms", "text")
    rows = [("q1", "m", "1", "17", "A"), ("q2", "m", "1", "18", "A"), ("q1", "m", "2", "17", "B")]
    refused = call("import", separated(tmp_path / "a.csv", header, *rows), "--to", tmp_path / "run").refused()
    assert "map the column that tells them apart with --map" in refused
    assert "row 3: item 'q1' was answered by 'm' under the same condition in a.csv row 1 already" in refused
    assert not (tmp_path / "run").exists()
