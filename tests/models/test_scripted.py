"""Fakes: scripts that answer by rule, and answers that were recorded before."""

from collections import Counter
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.models import parse_models
from eyetest.models.scripted import parse_script
from eyetest.records import Choice, Condition, Item, Manifest, mark, shown_order
from eyetest.running import Asking, Limits, Progress, Session
from eyetest.runs import Run, read_answers, read_responses
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


def test_right_means_right_however_the_options_are_shown(bench: Benchmark, tmp_path: Path) -> None:
    condition = Condition(order=7, letters="digit")
    run(bench, tmp_path / "r", "scripted:right=1", conditions=(condition,))
    assert share_right(bench, tmp_path / "r", condition) == 1


def test_blind_it_may_know_less(bench: Benchmark, tmp_path: Path) -> None:
    blind = Condition(modality="no-image")
    run(bench, tmp_path / "r", "scripted:right=1,blind=0", conditions=(blind,))
    assert share_right(bench, tmp_path / "r") == 0
    run(bench, tmp_path / "s", "scripted:right=1", conditions=(blind,))
    assert share_right(bench, tmp_path / "s") == 1


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
    ("words", "said"),
    [
        ("right=1", "A"),
        ("right=1,style=sentence", "The answer is A."),
        ("right=1,style=cot", "Let me think step by step. Everything considered, one answer fits best.\nAnswer: A"),
    ],
)
def test_styles(tmp_path: Path, words: str, said: str) -> None:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        writer.add(Item(id="1", question="?", choices=(Choice("x", True), Choice("y"))))
    run(Benchmark(tmp_path / "b"), tmp_path / "r", f"scripted:{words}")
    assert [row.text for row in read_responses(tmp_path / "r")] == [said]


def test_items_without_options(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        writer.add(Item(id="1", question="?", references=("a heron", "heron")))
    run(Benchmark(tmp_path / "b"), tmp_path / "r", "right=scripted:right=1", "wrong=scripted:right=0")
    assert {row.model: row.text for row in read_answers(tmp_path / "r")} == {
        "right": "a heron",
        "wrong": "something else",
    }


def test_likelihoods_favour_what_it_would_say(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "r", "scripted:right=1", conditions=(Condition(method="likelihood"),), limit=20)
    by_request = {row.request: row for row in read_responses(tmp_path / "r")}
    for planned in Run(tmp_path / "r").plan().to_pylist():
        weights = [weight or 0.0 for weight in by_request[planned["request"]].candidates]
        assert weights.index(max(weights)) == bench[planned["item"]].gold[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rihgt=1", 'scripted: "rihgt=1" is no setting; did you mean "right"?'),
        ("right", 'scripted: "right" is no setting'),
        ("right=much", "scripted: "),
        ("right=1.5", "scripted: right is a probability from 0 to 1"),
        ("blind=-1", "scripted: blind is a probability"),
        ("fail=nan", "scripted: fail is a probability"),
        ("style=rude", "scripted: "),
        ("seed=x", "scripted: "),
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


def test_one_of_several_models_is_replayed(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "old", "a=scripted:right=1", "b=scripted:right=0", limit=10)
    old = tmp_path / "old"
    run(bench, tmp_path / "new", f"replay:{old}#b", limit=10)
    assert {row.model for row in read_answers(tmp_path / "new")} == {"b"}
    assert share_right(bench, tmp_path / "new") == 0
    with pytest.raises(InputError, match=r"several models; write replay:.*#MODEL; known: a, b"):
        run(bench, tmp_path / "none", f"c=replay:{old}")
    with pytest.raises(InputError, match='no model "bb"'):
        run(bench, tmp_path / "none", f"replay:{old}#bb")


def test_what_was_never_recorded_fails_and_says_so(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "old", "m=scripted:", limit=5)
    progress = run(bench, tmp_path / "new", f"m=replay:{tmp_path / 'old'}", limit=8)
    assert progress.outcomes == {"answered": 5, "failed": 3}
    (said,) = {row.error for row in read_responses(tmp_path / "new") if row.outcome == "failed"}
    assert said == "not-recorded"
    progress = run(bench, tmp_path / "more", f"m=replay:{tmp_path / 'old'}", limit=5, samples=2)
    assert progress.outcomes == {"answered": 5, "failed": 5}, "another sample is another answer"


def test_answers_that_begin_late_are_replayed_all_the_same(tmp_path: Path) -> None:
    """Answers that are not there say nothing about the next; a table may well hold the second half only."""
    bench = make_bench(tmp_path / "b", 200, image_count=0)
    run(bench, tmp_path / "old", "m=scripted:", items=tuple(f"q{number}" for number in range(195, 200)))
    progress = run(bench, tmp_path / "new", f"m=replay:{tmp_path / 'old'}")
    assert progress.outcomes == {"answered": 5, "failed": 195}


def test_an_answers_table_can_be_replayed(bench: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("item,model,text\nq0,m,A\nq1,m,B\n")
    progress = run(bench, tmp_path / "r", f"m=replay:{tmp_path / 'answers.csv'}", limit=2)
    assert progress.outcomes == {"answered": 2}
    assert sorted(row.text or "" for row in read_responses(tmp_path / "r")) == ["A", "B"]
