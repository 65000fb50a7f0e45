"""A run as Every Eval Ever keeps it, and back."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from eyetest.results.every_eval_ever import EVERY_EVAL_EVER
from tests.runs.written import answers, jsonl, xlsx
from tests.support.command import call

BENCH = (
    {"id": "1", "question": "Which?", "options": ["cat", "dog"], "answer": "A", "kind": "x"},
    {"id": "2", "question": "Which else?", "options": ["cat", "dog"], "answer": "B", "kind": "x"},
    {"id": "3", "question": "How many?", "answer": "7", "kind": "y"},
)
ROWS = (
    {"item": "1", "model": "me/one", "text": "A"},
    {"item": "2", "model": "me/one", "text": "A", "order": "reversed", "sample": 1},
    {"item": "3", "model": "me/one", "text": "It is 7.", "modality": "no-image", "outcome": "truncated"},
    {"item": "1", "model": "me/one", "text": None, "given": 0.5, "sample": 2},
    {"item": "3", "model": "me/one", "text": None, "outcome": "failed"},
    {"item": "1", "model": "flat", "text": "cannot say"},
)
FILE_PATH = (
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}_samples\.jsonl"
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    bench = jsonl(tmp_path / "quiz.jsonl", *BENCH)
    call("import", jsonl(tmp_path / "a.jsonl", *ROWS), "--to", tmp_path / "run", "--bench", bench).fine()
    return tmp_path / "run"


def exported(run: Path, to: Path) -> tuple[str, dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]]:
    said = call("export", run, "--to", to, "--format", EVERY_EVAL_EVER).fine()
    found = {}
    for file in to.glob("data/*/*/*/*_samples.jsonl"):
        aggregate = json.loads(file.with_name(file.name.replace("_samples.jsonl", ".json")).read_text())
        details = aggregate["detailed_evaluation_results"]
        assert re.fullmatch(FILE_PATH, details["file_path"])
        assert (to / details["file_path"]) == file
        assert details["checksum"] == sha256(file.read_bytes()).hexdigest()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert details["total_rows"] == len(lines)
        found[aggregate["model_info"]["id"]] = (aggregate, lines)
    return said, found


def test_what_the_schema_asks_for(run: Path, tmp_path: Path) -> None:
    """Rules of schema 0.3.0 that its own validator checked on such files, kept here as far as we could break them."""
    said, found = exported(run, tmp_path / "out")
    assert "5 answers as every-eval-ever" in said
    assert "1 answer without a score" in said
    assert "flat: no developer in the name" in said
    aggregate, lines = found["me/one"]
    ids = {result["evaluation_result_id"] for result in aggregate["evaluation_results"]}
    assert {line["evaluation_result_id"] for line in lines} == ids
    assert all(line["evaluation_id"] == aggregate["evaluation_id"] for line in lines)
    for line in lines:
        assert all(isinstance(value, str) for value in line["metadata"].values())
        hashed = line["input"]["raw"] + "".join(line["input"]["reference"])
        assert line["sample_hash"] == sha256(hashed.encode()).hexdigest()
        assert isinstance(line["evaluation"]["is_correct"], bool)
    first, second, third, verdict = lines
    assert first["input"]["choices"] == ["cat", "dog"]
    assert second["input"]["choices"] == ["dog", "cat"]
    assert second["answer_attribution"][0]["extracted_value"] == "dog"
    assert second["evaluation"] == {"score": 1.0, "is_correct": True}
    assert third["error"] == "truncated"
    assert third["evaluation_name"] == "quiz (no-image)"
    assert verdict["output"] == {"raw": []}
    assert verdict["evaluation"] == {"score": 0.5, "is_correct": False}
    results = {result["evaluation_name"]: result["score_details"] for result in aggregate["evaluation_results"]}
    assert results["quiz (no-image)"]["score"] == 1.0
    assert results["quiz (no-image)"]["details"] == {"items_without_a_score": "0", "unread_share": "0.000000"}
    assert found["flat"][1][0]["answer_attribution"] == []


def test_what_has_a_score_comes_back(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "out")
    call("import", tmp_path / "out", "--to", tmp_path / "again", "--bench", tmp_path / "quiz.jsonl").fine()
    before = [answer for answer in answers(run) if answer.outcome != "failed"]
    assert sorted(answers(tmp_path / "again"), key=repr) == sorted(before, key=repr)


def test_another_tool_s_instances(tmp_path: Path) -> None:
    """Rows of other converters have no key of ours; options tell the order, several outputs are samples."""
    bench = jsonl(tmp_path / "quiz.jsonl", *BENCH)
    common = {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "lab/m", "interaction_type": "single_turn"}
    evaluation = {"score": 1.0, "is_correct": True}
    theirs = {"input": {"raw": "q", "reference": ["A"], "choices": ["dog", "cat"]}, "evaluation": evaluation}
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "seven"}]
    rows = (
        common | theirs | {"sample_id": "1", "output": {"raw": ["B", "A"]}},
        common | {"sample_id": "3", "messages": said, "evaluation": evaluation, "input": {"raw": "q"}},
        common | theirs | {"sample_id": "2", "output": {"raw": [""]}, "error": "timeout"},
    )
    path = jsonl(tmp_path / "x_samples.jsonl", *rows)
    call("import", path, "--to", tmp_path / "run", "--bench", bench, "--map", "given=score").fine()
    found = {(one.item, one.sample): (one.text, one.order != 0, one.outcome) for one in answers(tmp_path / "run")}
    assert found == {
        ("1", 0): ("B", True, "answered"),
        ("1", 1): ("A", True, "answered"),
        ("3", 0): ("seven", False, "answered"),
        ("2", 0): (None, True, "failed"),
    }


def test_the_bridge_from_vlmevalkit(tmp_path: Path) -> None:
    """Every Eval Ever has no converter for VLMEvalKit: bring in, take out."""
    bench = jsonl(tmp_path / "quiz.jsonl", *BENCH)
    theirs = xlsx(tmp_path / "gpt_quiz.xlsx", ["index", "prediction"], [1, "The answer is A."], [2, "A"])
    call("import", theirs, "--to", tmp_path / "run", "--bench", bench, "--model", "openai/gpt-4o").fine()
    _, found = exported(tmp_path / "run", tmp_path / "out")
    aggregate, lines = found["openai/gpt-4o"]
    assert aggregate["evaluation_results"][0]["score_details"]["score"] == 0.5
    assert [line["evaluation"]["is_correct"] for line in lines] == [True, False]
    assert aggregate["eval_library"]["additional_details"] == {"answers_brought_in_from": "gpt_quiz.xlsx"}


def test_unknown_format(run: Path, tmp_path: Path) -> None:
    said = call("export", run, "--to", tmp_path / "out", "--format", "every").refused()
    assert 'no format "every"; known: every-eval-ever' in said
