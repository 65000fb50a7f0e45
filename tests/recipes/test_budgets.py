"""A budget is for the whole command, however many stages it takes."""

from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import Endpoint
from tests.recipes.benches import counts, make_bench, write_yaml
from tests.running.processes import Nursery

pytestmark = pytest.mark.journey

ITEMS, EACH = 20, 14
"""Items, and the tokens that the endpoint counts for a call."""
SCREEN: dict[str, Any] = {"filter": "blind-hits", "keep": {"hits": {"op": "<", "value": 1}}}
SHORT = {"sampling": {"max_tokens": 5}}
RECIPE: dict[str, Any] = {
    "panels": {
        "first": {"size": 1, "modality": "no-image", **SHORT},
        "second": {"size": 1, "modality": "gray", **SHORT},
    },
    "stages": [{**SCREEN, "name": "one", "panel": "first"}, {**SCREEN, "name": "two", "panel": "second"}],
}
"""Two stages that nothing falls at."""


@pytest.fixture
def command(tmp_path: Path, endpoint: Endpoint) -> tuple[object, ...]:
    endpoint.answer = lambda attempt: f"No idea. {attempt.key}"
    make_bench(tmp_path / "b", ITEMS)
    write_yaml(tmp_path / "recipe.yaml", RECIPE)
    entry = {"spec": f"openai:m@{endpoint.url}", "price": {"input": 1e6, "output": 1e6}}
    write_yaml(tmp_path / "models.yaml", {"m": entry})
    return ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml", "--to", "d", "--concurrency", 1)


@pytest.mark.parametrize(
    ("limit", "reported"),
    [(f"cost={30 * EACH}", "the limit of 420 in money is reached"), ("calls=30", "the limit of 30 calls is reached")],
)
def test_stages_share_one_budget_and_the_same_command_goes_on_with_another(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, command: tuple[object, ...], limit: str, reported: str
) -> None:
    """Each stage alone would stay below the limit; both together do not. What is stored costs nothing."""
    stopped = nursery.run(*command, "--budget", limit)
    assert reported in stopped.stderr, stopped.stderr
    assert ITEMS < endpoint.sent.total() <= 30
    assert not (tmp_path / "d/verdicts.parquet").exists()
    again = nursery.run(*command, "--budget", limit)
    assert again.code == 0, again.stderr
    assert endpoint.sent.total() == 2 * ITEMS
    assert set(endpoint.sent.values()) == {1}
    assert counts(tmp_path / "d")["two", ""][0] == ITEMS
