"""Sentences labelled by a judge, asked once, kept in the run."""

import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.measures import MEASURES, Settings
from eyetest.models.specs import parse_models
from eyetest.prompts.sets import load_prompts
from eyetest.records import Asked, Response
from eyetest.results.gather import results_of
from eyetest.results.judge import Judge, label_sentences, labels, sentence_prompt
from eyetest.runs import Run
from eyetest.scoring import Scorer
from tests.scoring.test_table import animals, make_bench, make_run, request

REPLIES = ("There is a dog. So it is B.", "Two cats sit. One sleeps. Hence C.", "B")


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "bench", [animals(f"q{n}") for n in range(3)])


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Run:
    plan = [(Asked(item=f"q{n}", model="m"), request(n)) for n in range(3)]
    said = [Response(request=request(n), outcome="answered", text=text) for n, text in enumerate(REPLIES)]
    return make_run(tmp_path / "r", plan, said, bench)


def judge(folder: Path, said: dict[str, str]) -> str:
    """A judge who was recorded: what it says about the reply to each item."""
    lines = [json.dumps({"item": item, "model": "wise", "text": text}) for item, text in said.items()]
    (folder / "judge.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return f"wise=replay:{folder / 'judge.jsonl'}"


def test_labels() -> None:
    assert labels("1 D\n2: A\n**3.** O", 3) == {"descriptive": 1, "analytical": 1, "other": 1}
    assert labels("1 D\n1 A", 2) is None
    assert labels("1 D", 2) is None, "what it left out was not labelled"
    (message,) = sentence_prompt(["There is a dog.", "So it is B."], load_prompts().plain).messages
    assert "1. There is a dog.\n2. So it is B." in message.parts[0].text  # type: ignore[union-attr]


def test_a_judge_labels_once_and_is_measured(run: Run, bench: Benchmark, tmp_path: Path) -> None:
    assert "analytical" not in MEASURES["length"].measure(results_of([run], Scorer()), Settings()).table.columns
    spec = judge(tmp_path, {"q0": "1 D\n2 A", "q1": "1 D\n2 D\n3 A", "q2": "I cannot say"})
    (wise,) = parse_models([spec]).items()
    read, progress = label_sentences(run, bench, Judge(*wise))
    assert (read, progress.done) == (2, 3)
    again, later = label_sentences(Run(run.path), bench, Judge(*wise))
    assert (again, later.to_ask, later.stored) == (2, 0, 3)
    table = MEASURES["length"].measure(results_of([run], Scorer()), Settings()).table
    row = table.row(0, named=True)
    assert (row["descriptive"], row["analytical"], row["labelled"]) == (1.5, 1, 2)
    assert row["share"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert table.height == 1, "the judge's own replies are no model's"
