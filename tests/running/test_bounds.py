"""However large a run is, few of its rows, prompts and responses are in memory at a time."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.models import parse_models
from eyetest.records import Asked, Item, Message, Prompt, Response, RunBenchmark, RunStep, Words
from eyetest.running import Asking, Limits, Session
from eyetest.running.runner import Runner
from eyetest.running.session import Questions
from eyetest.runs import Run, RunWriter, stored
from eyetest.runs.folder import RECORDED
from eyetest.tabular.record_files import BoundedParquet
from tests.running.benches import make_bench

MODELS = parse_models(["m=scripted:right=1"])
GROUP = 7


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "b", 60)


@pytest.fixture
def whole_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of a plan were in memory at once, each time, with more than their requests."""
    monkeypatch.setattr(stored, "_ROWS_AT_ONCE", GROUP)
    sizes: list[int] = []
    read = BoundedParquet.table

    def table(self: BoundedParquet, columns: Any = None, group: int | None = None) -> pa.Table:
        rows = read(self, columns, group)
        if self.path.name == stored.PLAN and columns is None:
            sizes.append(len(rows))
        return rows

    monkeypatch.setattr(BoundedParquet, "table", table)
    return sizes


def asked(number: int) -> Asked:
    return Asked(item=f"q{number}", model="m")


def test_answers_that_were_brought_in_are_found_by_who_was_asked_what(
    tmp_path: Path, bench: Benchmark, whole_rows: list[int]
) -> None:
    with RunWriter(tmp_path / "r") as run:
        with run.planning() as writer:
            for number in range(30):
                writer.add(asked(number), f"{number:032x}")
        for number in range(30):
            finish = RECORDED if number % 3 else "stop"
            run.journal.append(Response(request=f"{number:032x}", outcome="answered", text="A", finish=finish))
        run.record(RunStep(what="import"), MODELS, RunBenchmark.of(bench.manifest, bench.path))
    recorded = Run(tmp_path / "r").recorded()
    known = {number: recorded.get(asked(number).key) for number in range(40)}
    assert known == {n: f"{n:032x}" if n < 30 and n % 3 else None for n in range(40)}
    assert len(recorded) == 20
    assert max(whole_rows) <= GROUP
    assert Session(bench, MODELS, Asking()).estimate(tmp_path / "r").calls == 40


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
