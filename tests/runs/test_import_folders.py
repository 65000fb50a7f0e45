"""A folder of outputs comes in file by file; its names say who answered."""

from pathlib import Path

import pytest

from tests.runs.conftest import Eyetest
from tests.runs.written import answers, jsonl, xlsx

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


def test_names_say_more(tmp_path: Path, eyetest: Eyetest) -> None:
    outputs = tmp_path / "outputs"
    for model in ("a_b", "c"):
        (outputs / model).mkdir(parents=True)
        xlsx(outputs / model / f"{model}_MMStar.xlsx", ["index", "prediction"], [1, "B"])
        xlsx(outputs / model / f"{model}_POPE.xlsx", ["index", "prediction"], [1, "yes"])
        jsonl(outputs / model / "no-image.jsonl", ROW)
    eyetest("import", outputs, "--to", tmp_path / "run", "--names", "*/{model}_MMStar.xlsx").fine()
    assert {(answer.model, answer.text) for answer in answers(tmp_path / "run")} == {("a_b", "B"), ("c", "B")}
    eyetest("import", outputs, "--to", tmp_path / "modalities", "--names", "{model}/{modality}.jsonl").fine()
    found = {(answer.model, answer.modality) for answer in answers(tmp_path / "modalities")}
    assert found == {("a_b", "no-image"), ("c", "no-image")}


@pytest.mark.parametrize(
    ("names", "also", "problem"),
    [
        ("{modle}.jsonl", (), 'no field "modle"; did you mean "model"?'),
        ("{model}{model}.jsonl", (), "names a field twice"),
        ("{model}.csv", (), "there is no file that is called {model}.csv"),
        ("{model}.jsonl", ("--model", "m"), "model is given twice"),
    ],
)
def test_bad_names(tmp_path: Path, eyetest: Eyetest, names: str, also: tuple[str, ...], problem: str) -> None:
    (tmp_path / "outputs").mkdir()
    jsonl(tmp_path / "outputs/m.jsonl", ROW)
    said = eyetest("import", tmp_path / "outputs", "--to", tmp_path / "run", "--names", names, *also).refused()
    assert problem in said


def test_a_mistake_in_one_file(tmp_path: Path, eyetest: Eyetest) -> None:
    """Those before it stay, and may come again."""
    (tmp_path / "outputs").mkdir()
    jsonl(tmp_path / "outputs/a.jsonl", ROW)
    bad = jsonl(tmp_path / "outputs/b.jsonl", ROW | {"modality": "seen"})
    said = eyetest("import", tmp_path / "outputs", "--to", tmp_path / "run").refused()
    assert "b.jsonl row 1" in said
    assert "1 of 2 files" in said
    jsonl(bad, ROW)
    assert "2 answers of 2 models" in eyetest("import", tmp_path / "outputs", "--to", tmp_path / "run").fine()
