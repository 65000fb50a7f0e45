"""What is left is split so that nothing is lost or doubled, and asked to its end, whatever workers die meanwhile."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from ray import exceptions

from eyetest.errors import InputError
from eyetest.models import Surroundings, make_models, parse_models
from eyetest.records import Condition, ModelEntry, Response
from eyetest.records.tables import Price
from eyetest.running import Asking, Budget, Limits, Plan, Progress
from eyetest.running.cluster import Order, RayExecutor, Shard, by_image
from eyetest.runs import Journal, RunWriter, read_responses
from tests.running.benches import make_bench

BLIND_AND_NOT = (Condition(), Condition(modality="no-image"))


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Plan, pl.DataFrame]:
    bench = make_bench(tmp_path / "b", 60, image_count=7)
    models = make_models(parse_models(["a=scripted:", "b=scripted:right=0.4"]), Surroundings())
    plan = Plan(bench, models, Asking(conditions=BLIND_AND_NOT))
    return plan, plan.estimate()[1]


@pytest.mark.parametrize("workers", [1, 2, 50])
def test_each_call_is_in_one_shard_and_so_is_an_image(planned: tuple[Plan, pl.DataFrame], workers: int) -> None:
    plan, left = planned
    groups = plan.benchmark.image_groups()[np.asarray(plan.positions)][left["item"].to_numpy()]
    shards = [np.arange(240)[part] for part in by_image(groups, workers)]
    images = [set(groups[rows].tolist()) for rows in shards]
    assert sum(map(len, images)) == len(set.union(*images)) == 7
    assert len(shards) <= 7
    assert [row for rows in shards for row in rows.tolist()] == list(range(240))


class FakeExecutor(RayExecutor):
    """Answers everything in place of Ray, except that a deadly shard loses its worker half-way."""

    deadly: Callable[[Shard], bool]
    shards = 0
    kept = 0.5  # the share of a deadly shard that is stored

    async def _submit(self, shard: Shard) -> Progress:
        self._ray, self.shards = SimpleNamespace(exceptions=exceptions), self.shards + 1
        dies, progress = self.deadly(shard), Progress()
        journal = Journal(self._run.path, shard.writer, adopts=False)
        for request in shard.requests[: int(self.kept * len(shard.requests)) if dies else None]:
            response = Response(request=request, outcome="answered", text="A", tokens_in=10, tokens_out=2)
            journal.append(response)
            progress.answered(response, 0.01)
        journal.close()
        await asyncio.sleep(0)
        if dies:
            raise exceptions.WorkerCrashedError
        return progress


def ask(
    folder: Path, deadly: Callable[[Shard], bool], limits: Limits | None = None, kept: float = 0.5
) -> tuple[Progress, list[Response], int, int]:
    """Carry a plan of 240 calls out; gives counts, what is stored, how many shards and calls it took."""
    bench = make_bench(folder / "b", 120, image_count=30)
    price = Price(input=500.0, output=2_500.0)
    entries = {name: ModelEntry(spec="scripted:", price=price) for name in ("a", "b")}
    models = make_models(entries, Surroundings())
    plan = Plan(bench, models, Asking())
    progress, budget = Progress(), Budget(limits or Limits())
    order = Order(benchmark="", run="", entries=entries, asking=Asking())
    with RunWriter(folder / "r") as run:
        executor = FakeExecutor(order, run, budget, progress)
        executor.deadly, executor._size, executor.kept = deadly, 2, kept
        executor._ray = SimpleNamespace(exceptions=exceptions)
        asyncio.run(executor.ask(plan, plan.estimate()[1]))
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


def test_a_call_that_kills_every_worker_is_left_to_a_later_session(tmp_path: Path) -> None:
    deadly: list[str] = []

    def kills(shard: Shard) -> bool:
        deadly.extend(shard.requests[-1:] if not deadly else ())
        return deadly[0] in shard.requests

    progress, stored, _, calls = ask(tmp_path, kills)
    requests = {response.request for response in stored}
    assert deadly[0] not in requests
    assert len(requests) == len(stored) == progress.done == calls == 239
    assert "6 workers died one after another without an answer" in progress.stopped


def test_workers_that_all_die_end_the_run_with_a_line(tmp_path: Path) -> None:
    progress, stored, shards, _ = ask(tmp_path, lambda shard: True, kept=0)
    assert not stored
    assert shards <= 7
    assert "workers died one after another without an answer" in progress.stopped


@pytest.mark.parametrize("limits", [Limits(calls=50), Limits(money=0.5)])
def test_what_all_workers_may_spend_is_counted_once(tmp_path: Path, limits: Limits) -> None:
    progress, stored, _, calls = ask(tmp_path, lambda shard: False, limits)
    assert len(stored) == progress.done == calls
    assert len(stored) == 50 if limits.calls else 50 <= len(stored) < 240
    assert "limit" in progress.stopped


def test_a_checkpoint_is_not_loaded_by_every_worker(tmp_path: Path) -> None:
    entries = {"c": ModelEntry(spec="transformers:here")}
    order = Order(benchmark="", run="", entries=entries, asking=Asking())
    with RunWriter(tmp_path / "r") as run, pytest.raises(InputError, match="c is loaded by this process; serve it"):
        RayExecutor(order, run, Budget(Limits()), Progress())
