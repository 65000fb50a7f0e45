"""What holds for every command: it prints nothing, reports to its observer, names parameters as its caller does."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eyetest.cli.main import as_option
from eyetest.commands.base import Observer, model_entries, observing, open_bench, read_options
from eyetest.commands.gathering import settings
from eyetest.errors import InputError, in_python, spelled
from eyetest.prompts.conditions import read_conditions
from eyetest.records import ModelEntry
from eyetest.running import Limits
from eyetest.running.limits import refuse_unpriced
from tests.conftest import ROOT

MODULES = sorted((ROOT / "src/eyetest/commands").glob("*.py"))
QUIZ = '{"id": "1", "question": "Which?", "options": ["a", "b"], "answer": "A"}\n'


class Hearing(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.shares: list[tuple[str, float]] = []

    @contextmanager
    def steps(self, title: str) -> Iterator[Callable[[str, float], None]]:
        self.shares.append((title, 0.0))
        yield lambda what, share: self.shares.append((what, share))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_command_prints(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "print"]


def test_the_observer_hears_of_a_file_that_is_read_and_not_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "quiz.jsonl").write_text(QUIZ)
    hearing = Hearing()
    with observing(hearing):
        bench = open_bench(tmp_path / "quiz.jsonl")
    assert len(bench) == 1
    assert {what for what, _ in hearing.shares} == {"reading quiz.jsonl"}
    again = Hearing()
    with observing(again):
        assert open_bench(bench) is bench
        assert len(open_bench(bench.path)) == 1
    assert again.shares == []


@pytest.mark.parametrize(
    ("call", "in_terminal", "in_notebook"),
    [
        (
            lambda: read_options(gold_style="lettre"),
            '--gold-style: no style "lettre"',
            'gold_style: no style "lettre"',
        ),
        (lambda: read_conditions("sidewys"), "--condition: no condition", "condition: no condition"),
        (lambda: settings((), 0.3, 0, 2000), "--level: found 0.3, expected from 0.5", "level: found 0.3"),
        (
            lambda: refuse_unpriced(Limits(money=1), {"m": ModelEntry(spec="scripted:")}),
            "--budget cost=… needs prices: give models a price in --models",
            'budget="cost=…" needs prices: give models a price in models=',
        ),
        (lambda: model_entries(["scripted:", "scripted:"]), "--model NAME=SPEC", 'models={"NAME": "SPEC"}'),
    ],
)
def test_each_door_spells_parameters_its_own_way(
    call: Callable[[], object], in_terminal: str, in_notebook: str
) -> None:
    for spelling, expected in ((as_option, in_terminal), (in_python, in_notebook)):
        with spelled(spelling), pytest.raises(InputError) as refused:
            call()
        assert expected in str(refused.value)
