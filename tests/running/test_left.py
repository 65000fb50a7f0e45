"""What is left to ask is what is planned and not stored, found without asking anybody by name."""

import random
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.models import Call, parse_models
from eyetest.records import Condition, Item, Manifest, Response
from eyetest.running import Asking, Session
from eyetest.running.planning import Plan, open_rows
from eyetest.runs import RunWriter
from eyetest.runs.stored import NOT_THE_QUESTION, stored_errors
from tests.running.benches import make_bench

WORDS = ("", "", "", "timeout", "bad-request", *NOT_THE_QUESTION[:2])


def all_calls(plan: Plan) -> list[Call]:
    return [call for item in plan.items() for call in plan.applicable(item, plan.models)]


def store(folder: Path, calls: list[Call], seed: int) -> dict[str, str]:
    """Some of the calls ended somehow, a few of them twice."""
    draw, errors = random.Random(seed), dict[str, str]()
    with RunWriter(folder) as run:
        for call in draw.choices(calls, k=len(calls)):
            word = errors[call.id] = draw.choice(WORDS)
            outcome = "failed" if word else "answered"
            run.journal.append(Response(request=call.id, outcome=outcome, error=word))  # type: ignore[arg-type]
    return errors


@pytest.mark.parametrize("retry_failed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_difference_of_two_sets(tmp_path: Path, seed: int, retry_failed: bool) -> None:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        for n in range(30):  # every third question is asked of two items
            writer.add(Item(id=f"q{n}", question=f"Is it {n - n % 3 if n % 3 < 2 else n}?", references=("yes",)))
    models = parse_models([f"m{n}=embedded:mole-m" for n in range(2)])
    asking = Asking(conditions=(Condition(modality="no-image"), Condition(modality="no-image", ask="cot")), samples=2)
    plan = Session(Benchmark(tmp_path / "b"), models, asking).plan
    calls = all_calls(plan)
    assert len({call.id for call in calls}) < len(calls) == 240
    errors = store(tmp_path / "r", calls, seed)
    again = {request for request, word in errors.items() if word in NOT_THE_QUESTION or (word and retry_failed)}

    estimate, left = plan.estimate(stored_errors(tmp_path / "r"), retry_failed=retry_failed)
    asked = [call.id for n, model in enumerate(plan.models) for call in plan.chosen(open_rows(left, n), (model,))]

    planned = {call.id for call in calls}
    assert sorted(asked) == sorted((planned - errors.keys()) | again)
    assert estimate.calls == len(asked)
    assert estimate.requests == len(planned)
    assert estimate.stored == sum(not word for word in errors.values())
    assert estimate.failed == sum(bool(word) for request, word in errors.items() if request not in again)
    assert plan.shared == {one.id for one in calls if sum(one.id == other.id for other in calls) > 1}
    for n, model in enumerate(plan.models):
        mine = [call.id in again for call in plan.chosen(open_rows(left, n), (model,))]
        assert mine == sorted(mine), "those that failed before come last"


def test_items_about_which_nothing_is_left_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make_bench(tmp_path / "b", 20)
    models = parse_models(["m=scripted:right=1"])
    Session(bench, models, Asking(limit=15)).run(tmp_path / "r")
    session = Session(bench, models, Asking())
    monkeypatch.setattr("eyetest.running.planning._CHUNK", 16)
    estimate, left = session.plan.estimate(stored_errors(tmp_path / "r"))
    taken: list[int] = []
    take = Benchmark.take
    monkeypatch.setattr(Benchmark, "take", lambda self, rows: taken.extend(rows) or take(self, rows))  # type: ignore[func-returns-value]
    assert len(list(session.plan.chosen(open_rows(left, 0), session.plan.models))) == estimate.calls == 5
    assert sorted(taken) == [15, 19], "items 16 to 18 are kept from planning; those with answers are not read"
