"""The process that compares formulas: what it decides, what it is not asked, and what becomes of it when it hangs."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from eyetest.scoring.metrics.support import algebra
from eyetest.scoring.metrics.support.algebra import WORKER, is_modest, same
from eyetest.scoring.metrics.support.formula_tokens import tokenise, undressed
from eyetest.scoring.metrics.support.formulas import Tree, agree, parse


def tree(text: str) -> Tree:
    return parse(tokenise(undressed(text)) or [])[0]


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    WORKER.close()


def test_sympy_decides_what_floats_cannot() -> None:
    near = tree("e^{\\pi\\sqrt{163}}"), tree("262537412640768744")
    assert agree(*near) is True
    assert same(*near) is False
    large = tree("2^{2000}"), tree("4^{1000}")
    assert agree(*large) is None
    assert same(*large) is True
    assert same(tree("2^{2000}"), tree("2^{2000}+1")) is False


@pytest.mark.parametrize(
    "text", ["9^{9^{9}}", "2^{99999}", "5000!", "(x+1)^{500}", "((x+1)^{30})^{30}", "1" * 60, "+".join(["x"] * 140)]
)
def test_what_would_not_end_is_not_asked(text: str) -> None:
    assert not is_modest(tree(text))
    assert same(tree(text), tree("x")) is None


def test_a_worker_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    tower = tree("9^{9^{9^{9}}}")
    assert WORKER.ask(json.dumps([tree("2+3"), tree("5")])) == "same"
    first = WORKER.process
    monkeypatch.setattr(algebra, "SECONDS", 0.5)
    assert WORKER.ask(json.dumps([tower, tree("5")])) in (None, "unknown", "different")
    monkeypatch.undo()
    assert WORKER.ask(json.dumps([tree("2+3"), tree("6")])) == "different"
    assert first is not None


def test_a_worker_that_dies_is_replaced() -> None:
    assert WORKER.ask(json.dumps([tree("x+x"), tree("2x")])) == "same"
    assert WORKER.process is not None
    WORKER.process.kill()
    WORKER.process.wait()
    assert WORKER.ask(json.dumps([tree("x+x"), tree("2x")])) == "same"


def test_what_is_no_tree_is_unknown() -> None:
    for strange in (
        '[["call", "system", ["number", "1"]], ["number", "1"]]',
        "[]",
        "{",
        '[["number", "__import__"], 1]',
    ):
        assert WORKER.ask(strange) == "unknown"


def test_other_commands_do_not_load_sympy() -> None:
    code = "import sys, eyetest.scoring.metrics as m; list(m.METRICS); assert 'sympy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
