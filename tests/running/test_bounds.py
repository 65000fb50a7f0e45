"""However large a run is, few of its rows, prompts and responses are in memory at a time."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.models import parse_models
from eyetest.records import Item, Message, Prompt, Response, Words
from eyetest.running import Limits
from eyetest.running.runner import Runner
from eyetest.running.session import Questions
from tests.running.benches import make_bench

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
