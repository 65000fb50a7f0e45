"""Budgets stop a run cleanly, at the number they name."""

from pathlib import Path

import pytest

from eyetest.running import Budget, Limits
from tests.endpoint import Endpoint
from tests.running.benches import answers, make_bench
from tests.running.processes import Nursery


def spec(endpoint: Endpoint) -> tuple[object, ...]:
    return ("run", "b", "--models", endpoint.models(backoff=0.01), "--to", "r")


@pytest.mark.parametrize("most", [1, 10, 37, 90])
def test_a_budget_of_calls_is_exact(tmp_path: Path, endpoint: Endpoint, nursery: Nursery, most: int) -> None:
    make_bench(tmp_path / "b", 120)
    endpoint.latency = 0.005
    done = nursery.run(*spec(endpoint), "--budget", f"calls={most}")
    assert done.code == 0, done.stderr
    assert f"the limit of {most} calls is reached; {120 - most} calls left" in done.stderr
    assert endpoint.sent.total() == most
    assert len(answers(tmp_path / "r")) == most
    assert nursery.run(*spec(endpoint)).code == 0
    assert set(endpoint.sent.values()) == {1}
    assert len(answers(tmp_path / "r")) == 120


def test_a_budget_of_tokens_is_never_overrun(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    """Each call takes 14 tokens by the server's count; about 30 of them fit."""
    make_bench(tmp_path / "b", 200, image_count=0)
    endpoint.latency = 0.005
    done = nursery.run(*spec(endpoint), "--budget", "tokens=420", "--max-tokens", 5, "--concurrency", 2)
    assert done.code == 0, done.stderr
    assert "could pass the limit of 420 tokens" in done.stderr
    asked = endpoint.sent.total()
    assert 20 <= asked <= 30
    assert len(answers(tmp_path / "r")) == asked, "what was sent is stored"
    assert nursery.run(*spec(endpoint), "--max-tokens", 5).code == 0
    assert set(endpoint.sent.values()) == {1}


def test_a_budget_of_money(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 100, image_count=0)
    models = tmp_path / "models.yaml"
    models.write_text(f"m:\n  spec: openai:m@{endpoint.url}\n  price: {{input: 1000, output: 2000}}\n")
    command = ("run", "b", "--models", models, "--to", "r", "--max-tokens", 5, "--concurrency", 4)
    each = (11 * 1000 + 3 * 2000) / 1e6
    done = nursery.run(*command, "--budget", f"cost={50 * each}")
    assert done.code == 0, done.stderr
    assert "could pass the limit of 0.85 in money" in done.stderr
    asked = endpoint.sent.total()
    assert 0 < asked * each <= 50 * each, "the budget is never overrun"
    assert asked >= 45, "what calls in flight hold is waited for"
    assert len(answers(tmp_path / "r")) == asked
    assert f"cost {asked * each:,.2f}" in done.stdout


def test_what_is_held_for_calls_in_flight_is_given_back() -> None:
    budget = Budget(Limits(tokens=100, money=1.0))
    assert budget.refuses(60, 0.6) == ""
    assert "tokens" in budget.refuses(60, 0.1)
    assert "money" in budget.refuses(10, 0.6)
    budget.settle((60, 0.6), (20, 0.1))
    assert budget.refuses(60, 0.6) == ""
    assert (budget.tokens, budget.calls) == (20, 2)
