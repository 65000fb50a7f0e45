"""``subset``: parts of a benchmark, with a word about what was left out and why."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from tests.runs.conftest import Eyetest
from tests.runs.conftest import eyetest as eyetest
from tests.scoring.test_table import animals, make_bench

SOURCES = ("VQAv2", "OK-VQA", "GQA")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    items = [
        animals(str(n), 1, question=f"Which is {n}?", tags={"source": SOURCES[n % 3], "task": "pq"[n % 2]})
        for n in range(12)
    ]
    make_bench(tmp_path / "b", items)
    return tmp_path


def ids(path: Path) -> list[str]:
    return [item.id for item in Benchmark(path)]


def test_only_some_tasks(bench: Path, eyetest: Eyetest) -> None:
    told = eyetest("subset", "b", "--only", "task=p", "--only", "source=GQA,VQAv2", "--to", "part").fine()
    assert "4 items of 12" in told
    assert ids(bench / "part") == ["0", "2", "6", "8"]
    step = Benchmark(bench / "part").manifest.lineage[-1]
    assert (step.step, step.note) == ("subset", "only task=p; source=GQA,VQAv2")


def test_what_no_model_was_trained_on(bench: Path, eyetest: Eyetest) -> None:
    (bench / "models.yaml").write_text(
        "a: {spec: 'scripted:', trained_on: [ok_vqa]}\nb: {spec: 'scripted:', trained_on: [COCO]}\nc: 'scripted:'\n"
    )
    done = eyetest("subset", "b", "--unseen-by", "models.yaml", "--to", "part")
    assert "8 items of 12" in done.fine()
    assert "4 items of OK-VQA left out: a trained on it" in done.err
    assert "b trained on COCO, which is not in this benchmark" in done.err
    assert "c: nothing is known of what they were trained on" in done.err
    assert {item.tags["source"] for item in Benchmark(bench / "part")} == {"VQAv2", "GQA"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "which part?"),
        (("--only", "task"), "expected TAG=VALUE,VALUE"),
        (("--only", "tsk=p"), 'did you mean "task"?'),
        (("--only", "source=gqa"), 'did you mean "GQA"?'),
        (("--unseen-by", "gone.yaml"), "gone.yaml"),
    ],
)
def test_bad_input_gets_one_line(bench: Path, eyetest: Eyetest, words: tuple[str, ...], line: str) -> None:
    assert line in eyetest("subset", "b", "--to", "part", *words).refused()
    assert not (bench / "part").exists()
