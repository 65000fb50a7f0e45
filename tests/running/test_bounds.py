"""What is left of a plan is found without asking anybody by name, with few of its rows in memory at a time."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.models import Call, parse_models
from eyetest.records import Condition, Item, Message, Prompt, Response, Words
from eyetest.running import Asking, Limits, Session
from eyetest.running.planning import Plan, open_rows
from eyetest.running.runner import Runner
from eyetest.running.session import Questions
from eyetest.runs import RunWriter
from eyetest.runs.stored import NOT_THE_QUESTION, stored_errors
from tests.running.benches import make_bench
from tests.scoring.test_table import make_bench as write_bench

MODELS = parse_models(["m=scripted:right=1"])


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "b", 60)


class Prompts:
    """Two prompts in three are alike with the next; counts how many were made each time."""

    def __init__(self, bench: Benchmark) -> None:
        self.bench = bench
        self.made: list[int] = []

    def __call__(self) -> Iterator[tuple[Item, Prompt]]:
        self.made.append(0)
        first = self.bench["q0"]
        for number in range(len(self.bench)):
            self.made[-1] += 1
            yield first, Prompt((Message("user", (Words(f"Is {number - number % 3} fair?"),)),))


def test_questions_are_made_as_they_are_asked(
    tmp_path: Path, bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, ahead, done = Prompts(bench), list[int](), 0
    ask = Runner.ask

    async def count(self: Runner, call: Any) -> Response:
        nonlocal done
        ahead.append(prompts.made[-1] - 3 * done)
        response = await ask(self, call)
        done += 1
        return response

    monkeypatch.setattr(Runner, "ask", count)
    monkeypatch.setattr("eyetest.running.execution._SPARE", 1)
    questions = Questions(tmp_path / "r", bench, MODELS, Limits(concurrency=2))
    said, progress = questions.ask("m", prompts, "judge")
    assert (progress.to_ask, progress.done) == (20, 20)
    assert len([response for response in said if response]) == 60
    assert prompts.made == [60, 60]
    assert max(ahead) <= 3 * (2 + 1 + 1)


def test_a_question_that_was_not_asked_has_no_answer_and_one_that_failed_has_its_failure(
    tmp_path: Path, bench: Benchmark
) -> None:
    few, prompts = Limits(calls=5, concurrency=1), Prompts(bench)
    said = list(Questions(tmp_path / "r", bench, MODELS, few).ask("m", prompts, "judge")[0])
    assert [response is not None for response in said] == [True] * 15 + [False] * 45
    broken = parse_models(["m=scripted:dead=1"])
    failed = list(Questions(tmp_path / "s", bench, broken).ask("m", prompts, "judge")[0])
    assert {response.outcome if response else "" for response in failed} == {"failed"}


def test_asking_does_not_load_pandas(tmp_path: Path, bench: Benchmark) -> None:
    """Arrow loads it for some ways to make an array, which takes longer and holds more than a small run."""
    code = (
        "import sys; from pathlib import Path; from eyetest.benchmarks import Benchmark; "
        "from eyetest.models import parse_models; from eyetest.running import Asking, Session; "
        "session = Session(Benchmark(Path('b')), parse_models(['m=scripted:right=1']), Asking(limit=3)); "
        "print(session.run(Path('r')).done, session.estimate(Path('r')).stored, 'pandas' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["3", "3", "False"]


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
    said = [n - n % 3 if n % 3 < 2 else n for n in range(30)]  # every third question is asked of two items
    items = [Item(id=f"q{n}", question=f"Is it {asked}?", references=("yes",)) for n, asked in enumerate(said)]
    models = parse_models([f"m{n}=embedded:mole-m" for n in range(2)])
    asking = Asking(conditions=(Condition(modality="no-image"), Condition(modality="no-image", ask="cot")), samples=2)
    plan = Session(write_bench(tmp_path / "b", items), models, asking).plan
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
