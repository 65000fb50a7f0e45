"""What holds for every command: it prints nothing, reports to its observer, names parameters as its caller does."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eyetest.commands.base import Observer, observing, open_bench
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
