"""Models of a run are renamed and taken out, and scores keep in step."""

import json
from pathlib import Path

import pytest

from eyetest.runs import Run
from tests.runs.written import answers, jsonl
from tests.support.command import call

BENCH = tuple(
    {"id": str(number), "question": f"Which is {number}?", "options": ["cat", "dog"], "answer": "A"}
    for number in range(4)
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    bench = jsonl(tmp_path / "bench.jsonl", *BENCH)
    said = {"old": "AAAB", "bad": "BBBB", "good": "AAAA"}
    rows = ({"item": str(i), "model": m, "text": t} for m, texts in said.items() for i, t in enumerate(texts))
    call("import", jsonl(tmp_path / "a.jsonl", *rows), "--to", tmp_path / "run", "--bench", bench).fine()
    return tmp_path / "run"


def accuracies(run: Path, *options: str) -> dict[str, float]:
    lines = call("measure", "accuracy", run, "--output", "csv", *options).out.splitlines()[1:]
    return {line.split(",")[0]: float(line.split(",")[1]) for line in lines}


def test_renamed_and_taken_out(run: Path) -> None:
    """Scores that are on disk already are those of the old names, and are made anew."""
    assert accuracies(run) == {"bad": 0.0, "good": 1.0, "old": 0.75}
    changed = call("merge", run, "--rename", "old=maker/new", "--remove", "bad", "--output", "json").out
    assert json.loads(changed)["models"] == ["maker/new", "good"]
    assert accuracies(run) == {"good": 1.0, "maker/new": 0.75}
    manifest = Run(run).manifest
    assert list(manifest.models) == ["maker/new", "good"]
    assert manifest.steps[-1].what == "models"
    assert manifest.steps[-1].options == {"rename": "old=maker/new", "drop": "bad"}
    assert len(Run(run).responses()) == 16, "nothing that was said is lost"


def test_the_old_name_is_free(run: Path, tmp_path: Path) -> None:
    """Answers that come later under the old name are another model's, and change nothing of the renamed one."""
    before = [answer.text for answer in answers(run) if answer.model == "old"]
    call("merge", run, "--rename", "old=new").fine()
    later = jsonl(tmp_path / "later.jsonl", *({"item": str(i), "model": "old", "text": "B"} for i in range(4)))
    call("import", later, "--to", run).fine()
    assert [answer.text for answer in answers(run) if answer.model == "new"] == before
    assert accuracies(run)["old"] == 0.0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--rename", "odl=new"), "no model 'odl' in the run; did you mean \"old\"?"),
        (("--rename", "old"), "expected OLD=NEW"),
        (("--rename", "old="), "the new name is empty"),
        (("--rename", "old=good"), "4 answers of 'good' to the same questions"),
        (("--rename", "old=x", "--remove", "old"), "old is renamed as well"),
        (("--remove", "old", "--remove", "bad", "--remove", "good"), "no model would be left"),
        (("--remove", "old", "--to", "other"), "--remove: changes one run, without --to"),
        ((), "--to is missing"),
    ],
)
def test_bad_words_change_nothing(run: Path, options: tuple[str, ...], problem: str) -> None:
    before = answers(run), Run(run).manifest
    assert problem in call("merge", run, *options).refused()
    assert (answers(run), Run(run).manifest) == before
