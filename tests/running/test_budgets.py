"""Budgets stop a run cleanly, at the number they name."""

from pathlib import Path

import pytest

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


def test_a_budget_of_money(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 100, image_count=0)
    models = tmp_path / "models.yaml"
    models.write_text(f"m:\n  spec: openai:m@{endpoint.url}\n  price: {{input: 1000, output: 2000}}\n")
    command = ("run", "b", "--models", models, "--to", "r", "--max-tokens", 5, "--concurrency", 4)
    each = (11 * 1000 + 3 * 2000) / 1e6
    done = nursery.run(*command, "--budget", f"cost={50 * each}")
    assert done.code == 0, done.stderr
    assert "the limit of 0.85 in money is reached" in done.stderr
    asked = endpoint.sent.total()
    assert 50 <= asked < 50 + 4, "only calls in flight pass the limit"
    assert len(answers(tmp_path / "r")) == asked
    assert f"cost {asked * each:,.2f}" in done.stdout
