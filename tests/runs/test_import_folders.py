"""A folder of outputs comes in file by file; its names say who answered."""

from pathlib import Path

from tests.runs.conftest import Eyetest
from tests.runs.written import answers, jsonl

ROW = {"item": "1", "text": "A"}


def test_one_file_a_model(tmp_path: Path, eyetest: Eyetest) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    jsonl(outputs / "gpt-4.1.jsonl", ROW)
    jsonl(outputs / "mine.jsonl", ROW | {"model": "the file knows"})
    (outputs / "notes.txt").write_text("no answers")
    said = eyetest("import", outputs, "--to", tmp_path / "run").fine()
    assert "2 answers of 2 models" in said
    assert {answer.model for answer in answers(tmp_path / "run")} == {"gpt-4.1", "the file knows"}


def test_a_mistake_in_one_file(tmp_path: Path, eyetest: Eyetest) -> None:
    """Those before it stay, and may come again."""
    (tmp_path / "outputs").mkdir()
    jsonl(tmp_path / "outputs/a.jsonl", ROW)
    bad = jsonl(tmp_path / "outputs/b.jsonl", ROW | {"modality": "seen"})
    said = eyetest("import", tmp_path / "outputs", "--to", tmp_path / "run").refused()
    assert "b.jsonl line 1" in said
    assert "1 of 2 files" in said
    jsonl(bad, ROW)
    assert "2 answers of 2 models" in eyetest("import", tmp_path / "outputs", "--to", tmp_path / "run").fine()
