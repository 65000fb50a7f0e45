"""What is left is split so that nothing is lost or doubled, and asked to its end, whatever workers die meanwhile."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ray import exceptions

from eyetest.errors import EyetestError
from eyetest.models import Surroundings, make_models, parse_models
from eyetest.records import Condition, ModelEntry, Response
from eyetest.records.tables import Price
from eyetest.running import Asking, Budget, Limits, Plan, Progress
from eyetest.running.cluster import RayExecutor, by_image, by_panel
from eyetest.running.planning import Left
from eyetest.running.shards import Order, Shard
from eyetest.runs import Journal, RunWriter, read_responses
from tests.running.benches import make_bench

BLIND_AND_NOT = (Condition(), Condition(modality="no-image"))


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Plan, Left]:
    bench = make_bench(tmp_path / "b", 60, image_count=7)
    models = make_models(parse_models(["a=scripted:", "b=scripted:right=0.4"]), Surroundings())
    plan = Plan(bench, models, BLIND_AND_NOT)
    return plan, plan.estimate()[1]


@pytest.mark.parametrize("workers", [1, 2, 50])
def test_each_call_is_in_one_shard_and_so_is_an_image(planned: tuple[Plan, Left], workers: int) -> None:
    plan, left = planned
    portions = list(by_image(left, plan.benchmark.image_groups()[np.asarray(plan.positions)], workers))
    images = [set(portion.groups.tolist()) for portion in portions]
    assert sum(map(len, images)) == len(set.union(*images)) == 7
    assert len(portions) <= 7
    assert sorted(row for portion in portions for row in portion.rows.tolist()) == list(range(240))


def test_items_that_share_a_request_are_in_one_shard_of_panels(tmp_path: Path) -> None:
    """Without images, items about different images are the same question."""
    bench = make_bench(tmp_path / "b", 40, image_count=20)
    models = make_models(parse_models(["a=openai:m@http://127.0.0.1:9/v1"]), Surroundings())
    plan = Plan(bench, models, BLIND_AND_NOT)
    left = plan.estimate()[1]
    ledger = left.ledger
    groups = plan.benchmark.image_groups()[np.asarray(plan.positions)]
    ledger.codes = ledger.codes.copy()
    blind = np.flatnonzero(np.arange(80) % 2)
    ledger.codes[blind[3]], ledger.codes[blind[30]] = ledger.codes[blind[11]], ledger.codes[blind[12]]
    portions = list(by_panel(left, groups, 8))
    assert sorted(row for portion in portions for row in portion.rows.tolist()) == list(range(80))
    shards = [set(ledger.codes[portion.rows].tolist()) for portion in portions]
    assert sum(map(len, shards)) == len(set.union(*shards)) == 78
    assert len(portions) > 4
    left._when[:] = 0
    assert list(by_panel(left, groups, 2)) == [], "what has been answered is not asked"


class FakeExecutor(RayExecutor):
    """Answers everything in place of Ray, except that a deadly shard loses its worker half-way."""

    deadly: Callable[[Shard], bool]
    shards = 0

    async def _submit(self, lane: int, shard: Shard) -> Progress:
        self._ray, self.shards = SimpleNamespace(exceptions=exceptions), self.shards + 1
        dies, progress = self.deadly(shard), Progress()
        journal = Journal(self._run.path, shard.writer, adopts=False)
        for request in shard.requests[: len(shard.requests) // 2 if dies else None]:
            response = Response(request=request, outcome="answered", text="A", tokens_in=10, tokens_out=2)
            journal.append(response)
            progress.answered(response, 0.01)
        journal.close()
        await asyncio.sleep(0)
        if dies:
            raise exceptions.WorkerCrashedError
        return progress


def ask(
    folder: Path, deadly: Callable[[Shard], bool], limits: Limits | None = None
) -> tuple[Progress, list[Response], int, int]:
    """Carry a plan of 240 calls out; gives counts, what is stored, how many shards and calls it took."""
    bench = make_bench(folder / "b", 120, image_count=30)
    price = Price(input=500.0, output=2_500.0)
    entries = {name: ModelEntry(spec="scripted:", price=price) for name in ("a", "b")}
    models = make_models(entries, Surroundings())
    plan = Plan(bench, models, (Condition(),))
    progress, budget = Progress(), Budget(limits or Limits())
    order = Order(benchmark="", run="", entries=entries, asking=Asking(), weighs=False, is_refusal=None)
    with RunWriter(folder / "r") as run:
        executor = FakeExecutor(order, run, budget, progress)
        executor.deadly, executor._size = deadly, 2
        executor._ray = SimpleNamespace(exceptions=exceptions)
        asyncio.run(executor.execute(plan, plan.estimate()[1]))
        run.journal.close()
        return progress, list(read_responses(folder / "r")), executor.shards, budget.calls


def test_workers_that_die_cost_nothing_that_they_stored(tmp_path: Path) -> None:
    asked: list[str] = []

    def often(shard: Shard) -> bool:
        asked.append(shard.writer)
        return len(asked) % 3 == 0 and len(asked) <= 18

    progress, stored, shards, calls = ask(tmp_path, often)
    requests = [response.request for response in stored]
    assert len(requests) == len(set(requests)) == 240, "each once"
    assert progress.retries["worker lost"] == 6
    assert shards >= 30 + 6
    assert progress.done == progress.outcomes["answered"] == calls == 240
    assert progress.tokens_in == 2_400
    assert progress.money == pytest.approx(2.4)


def test_the_one_call_that_kills_is_found_and_stored_as_failed(tmp_path: Path) -> None:
    deadly: list[str] = []

    def kills(shard: Shard) -> bool:
        deadly.extend(shard.requests[-1:] if not deadly else ())
        return deadly[0] in shard.requests

    progress, stored, _, _ = ask(tmp_path, kills)
    failed = [response for response in stored if response.outcome == "failed"]
    assert [(response.request, response.error) for response in failed] == [(deadly[0], "worker")]
    assert progress.outcomes == {"answered": 239, "failed": 1}
    assert len({response.request for response in stored}) == 240


def test_workers_that_all_die_end_the_run_with_a_line(tmp_path: Path) -> None:
    def always(shard: Shard) -> bool:
        shard.requests.clear()
        return True

    with pytest.raises(ExceptionGroup) as raised:
        ask(tmp_path, always)
    assert "workers died one after another without an answer" in str(raised.value.exceptions[0])
    assert isinstance(raised.value.exceptions[0], EyetestError)


@pytest.mark.parametrize(
    ("limits", "most"),
    [(Limits(calls=50), 50), (Limits(tokens=12 * 40), 0), (Limits(tokens=30_000), 240)],
)
def test_what_all_workers_may_spend_is_counted_once(tmp_path: Path, limits: Limits, most: int) -> None:
    progress, stored, _, calls = ask(tmp_path, lambda shard: False, limits)
    assert len(stored) == progress.done == calls
    assert len(stored) == most if limits.calls else len(stored) <= most
    if len(stored) < 240:
        assert "limit" in progress.stopped
