"""Fakes: scripts that answer by rule, and answers that were recorded before."""

from collections import Counter
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.models import parse_models
from eyetest.models.scripted import parse_script
from eyetest.records import Condition, mark, shown_order
from eyetest.running import Asking, Limits, Progress, Session
from eyetest.runs import read_answers, read_responses
from tests.running.benches import make_bench

QUICK = Limits(backoff=0.0)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return make_bench(tmp_path_factory.mktemp("bench") / "b", 200)


def run(bench: Benchmark, to: Path, *specs: str, **asking: object) -> Progress:
    return Session(bench, parse_models(specs), Asking(limits=QUICK, **asking)).run(to)  # type: ignore[arg-type]


def share_right(bench: Benchmark, to: Path, condition: Condition | None = None) -> float:
    condition = condition or Condition()
    right = []
    for answer in read_answers(to):
        item = bench[answer.item]
        place = shown_order(item, condition).index(item.gold[0])
        right.append(answer.text == mark(condition.letters, place))
    return sum(right) / len(right)


def test_it_is_right_as_often_as_it_is_told(bench: Benchmark, tmp_path: Path) -> None:
    for words, low, high in (("right=1", 1, 1), ("right=0", 0, 0), ("right=0.7", 0.6, 0.8)):
        run(bench, tmp_path / words, f"scripted:{words}")
        assert low <= share_right(bench, tmp_path / words) <= high


def test_the_same_call_gets_the_same_answer_and_seeds_differ(bench: Benchmark, tmp_path: Path) -> None:
    for name, spec in (("a", "scripted:right=0.5"), ("b", "scripted:right=0.5"), ("c", "scripted:right=0.5,seed=1")):
        run(bench, tmp_path / name, f"m={spec}")
    said = {name: [row.text for row in read_answers(tmp_path / name)] for name in "abc"}
    assert said["a"] == said["b"] != said["c"]


def test_it_refuses_and_fails(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "refuse", "scripted:refuse=1")
    assert {row.text for row in read_responses(tmp_path / "refuse")} == {"I'm sorry, but I can't answer this."}
    progress = run(bench, tmp_path / "fail", "scripted:fail=0.3")
    rows = list(read_responses(tmp_path / "fail"))
    assert {row.outcome for row in rows} == {"answered"}
    assert progress.retries["server"] == sum(row.attempts - 1 for row in rows) > 40
    run(bench, tmp_path / "dead", "scripted:dead=0.2")
    outcomes = Counter((row.outcome, row.error, row.attempts) for row in read_responses(tmp_path / "dead"))
    assert outcomes.keys() == {("answered", "", 1), ("failed", "bad-request", 1)}
    assert 20 <= outcomes["failed", "bad-request", 1] <= 60


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rihgt=1", 'scripted: "rihgt=1" is no setting; did you mean "right"?'),
        ("right=much", "scripted: "),
        ("right=1.5", "scripted: right is a probability from 0 to 1"),
        ("fail=nan", "scripted: fail is a probability"),
    ],
)
def test_scripts_that_are_none(words: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_script(words)
    assert message in str(caught.value)


# Replay.


def test_a_run_can_be_replayed(bench: Benchmark, tmp_path: Path) -> None:
    conditions = (Condition(), Condition(modality="no-image"))
    asking = {"conditions": conditions, "samples": 2, "sampling": {"temperature": 1}, "limit": 30}
    run(bench, tmp_path / "old", "m=scripted:right=0.5,refuse=0.1,dead=0.1", **asking)
    run(bench, tmp_path / "new", f"m=replay:{tmp_path / 'old'}", **asking)
    old, new = list(read_answers(tmp_path / "old")), list(read_answers(tmp_path / "new"))
    assert len(old) == 120
    assert old == new
    assert any(row.outcome == "failed" for row in new), "a failure is replayed as one"
    assert {row.error for row in read_responses(tmp_path / "new") if row.outcome == "failed"} == {"recorded-failure"}


def test_what_was_never_recorded_fails_and_says_so(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "old", "m=scripted:", limit=5)
    progress = run(bench, tmp_path / "new", f"m=replay:{tmp_path / 'old'}", limit=8)
    assert progress.outcomes == {"answered": 5, "failed": 3}
    (said,) = {row.error for row in read_responses(tmp_path / "new") if row.outcome == "failed"}
    assert said == "not-recorded"
    progress = run(bench, tmp_path / "more", f"m=replay:{tmp_path / 'old'}", limit=5, samples=2)
    assert progress.outcomes == {"answered": 5, "failed": 5}, "another sample is another answer"
