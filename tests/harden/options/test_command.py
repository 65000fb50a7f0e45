"""The command: models are asked once."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.records import Item
from tests.endpoint import Endpoint
from tests.harden.options.items import choice_item
from tests.harden.options.writing import answering, creature_items
from tests.running.processes import Nursery, until
from tests.scoring.test_table import make_bench
from tests.support.command import call, call_narrowly

ITEMS = creature_items(8, 4)


@pytest.fixture
def models(endpoint: Endpoint) -> Endpoint:
    """An endpoint that writes and checks as the scripted authors do."""
    endpoint.answer = answering(ITEMS)
    return endpoint


def words(folder: Path, endpoint: Endpoint, *more: object) -> tuple[object, ...]:
    specs = [f"openai:{name}@{endpoint.url}" for name in ("scribe", "critic")]
    command = ("harden", "options", folder / "given", "--to", folder / "out", "--option-count", 8)
    return (*command, "--writer", specs[0], "--checker", specs[1], *more)


def test_models_are_asked_once(models: Endpoint, tmp_path: Path) -> None:
    make_bench(tmp_path / "given", ITEMS)
    output = call_narrowly(*words(tmp_path, models)).fine()
    assert "by scribe" in output
    assert "8 items for people" in output
    asked = len(models.attempts)
    before = list(Benchmark(tmp_path / "out/benchmark"))
    call(*words(tmp_path, models)).fine()
    assert len(models.attempts) == asked
    assert list(Benchmark(tmp_path / "out/benchmark")) == before


def test_killed_and_started_again_it_asks_nothing_twice(models: Endpoint, nursery: Nursery, tmp_path: Path) -> None:
    make_bench(tmp_path / "given", ITEMS)
    models.latency = 0.05
    process = nursery.start(*words(tmp_path, models))
    until(lambda: models.answered.total() >= 10, "answers")
    process.kill()
    until(lambda: models.in_flight == 0, "the server to notice")
    in_flight = models.sent - models.answered
    assert not (tmp_path / "out/benchmark").exists()
    nursery.run(*words(tmp_path, models)).fine()
    twice = {key for key, count in models.answered.items() if count > 1}
    assert len(twice) <= 8, "only what was answered while the process died"
    assert models.sent.total() <= len(models.sent) + len(in_flight) + len(twice)
    assert len(Benchmark(tmp_path / "out/benchmark")) == len(ITEMS)


def test_mistakes_are_refused_in_one_line(endpoint: Endpoint, tmp_path: Path) -> None:
    make_bench(tmp_path / "given", [Item(id="open", question="How many?", references=("7",))])
    command = words(tmp_path, endpoint)
    assert "name both" in call(*command[:-2]).refused()
    assert "cannot check its own options" in call(*command[:-1], command[-3]).refused()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("mine")
    assert "thesis.txt" in call(*command).refused()
    (tmp_path / "out/thesis.txt").unlink()
    inside = make_bench(tmp_path / "out/benchmark", [choice_item("one", ["140", "190"])])
    assert "holds the benchmark" in call("harden", "options", inside.path, "--to", tmp_path / "out").refused()
    assert not endpoint.attempts
