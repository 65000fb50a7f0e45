"""What runs on a Ray cluster's machines: actors that ask one shard of a plan after another."""

import asyncio
import gc
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError
from eyetest.models import Call, Images, ProbedModel, make_models
from eyetest.records import Asked, ModelEntry, StoppingRule
from eyetest.running.execution import Hit, ask_all, execute_panels
from eyetest.running.limits import Asking, Limits, Progress, one_error
from eyetest.running.planning import Plan
from eyetest.running.runner import Runner
from eyetest.runs import Journal, Run, StoredResponses, is_run
from eyetest.store import refresh
from eyetest.store.urls import local_path
from eyetest.version import __version__


@dataclass(frozen=True, kw_only=True)
class Order:
    """What all shards of a run have in common."""

    benchmark: str
    run: str
    entries: dict[str, ModelEntry]
    asking: Asking
    weighs: bool  # whether likelihoods are requested
    is_refusal: Any
    limits: Limits | None = None  # per worker: its share of the calls in flight; the driver counts costs
    rule: StoppingRule | None = None
    hit: Hit | None = None
    version: str = __version__


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Some calls about some items."""

    writer: str  # the name of its journal's parts
    turn: int
    positions: list[int]
    requests: list[str]  # the calls to make; under a stopping rule, those that several items share
    replies: dict[Asked, str]  # answers to earlier turns of these items
    abandoned: dict[str, str]
    losses: int  # workers lost so far: after a loss answers are read anew from the run


class Worker:
    """An actor that asks shards, one at a time; the benchmark and the models that it loaded stay for the next."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._plan: Plan | None = None
        self._runner: Runner | None = None
        self._stored: tuple[int, StoredResponses] | None = None
        self._stopped = ""

    async def ask(self, shard: Shard) -> Progress | str:
        """Make the calls of a shard; returns the progress, or in one line why it is impossible here."""
        try:
            with one_error():
                if self._plan is None:
                    await self._load()
                return await self._ask(shard)
        except EyetestError as error:
            return str(error)

    async def stop(self, why: str) -> None:
        """Start no new call; those in flight finish."""
        self._stopped = why
        if self._runner is not None:
            self._runner.stop(why)

    async def _load(self) -> None:
        order, asking = self._order, self._order.asking
        if order.version != __version__:
            raise InputError(
                f"a worker has eyetest {__version__}, and {order.version} leads the run: install the same"
            )
        benchmark, self._run = (local_path(path) for path in (order.benchmark, order.run))
        for path in (benchmark, self._run):
            if not path.is_dir():
                raise InputError(f"{path} is not there: every machine needs it, on a shared disk or in a bucket")
        bench = Benchmark(benchmark)
        self._models = make_models(
            order.entries, msgspec.structs.replace(asking.patience, images=Images(bench.images))
        )
        for model in self._models:
            if order.weighs and isinstance(model, ProbedModel):
                await model.probe()  # which closes its connections
            await model.open()
        self._plan = Plan.of(bench, self._models, asking)
        if is_run(self._run):
            self._plan.recorded = Run(self._run).recorded()
        gc.freeze()  # exclude what is loaded by now

    async def _ask(self, shard: Shard) -> Progress:
        order, plan = self._order, copy(self._plan)
        assert plan is not None
        plan.positions, plan.turn, plan.shared = shard.positions, shard.turn, frozenset(shard.requests)
        if shard.replies and plan.dialogues is not None:
            plan.dialogues.replies.update(shard.replies)
        progress, journal = Progress(order.is_refusal), Journal(self._run, shard.writer, adopts=False)
        runner = Runner(self._models, journal.append, order.limits, progress=progress, seed=order.asking.seed)
        self._runner = runner
        if self._stopped:
            runner.stop(self._stopped)
        for name, why in shard.abandoned.items():
            runner.abandon(name, why)
        try:
            if order.rule is not None and order.hit is not None:
                await execute_panels(plan, runner, order.rule, order.hit, self._answers(shard.losses).get)
            else:
                async with asyncio.TaskGroup() as lanes:
                    for name, calls in _calls(plan, shard).items():
                        lanes.create_task(ask_all(runner, name, calls))
        finally:
            self._runner = None
            journal.close()
        progress.is_refusal = None
        progress.ways = {model.name: way for model in self._models if (way := getattr(model, "way", ""))}
        return progress

    def _answers(self, losses: int) -> StoredResponses:
        """The answers of the run, read anew after a worker was lost."""
        if self._stored is None or self._stored[0] != losses:
            refresh(self._run)
            self._stored = losses, StoredResponses(self._run, retry_failed=self._order.asking.retry_failed)
        return self._stored[1]


def _calls(plan: Plan, shard: Shard) -> Mapping[str, Sequence[Call]]:
    """The calls of a shard by model, each once, made from the items as in the driver's plan."""
    calls, wanted = defaultdict[str, list[Call]](list), set(shard.requests)
    for item in plan.items():
        for call in plan.applicable(item, plan.models):
            if call.id in wanted:
                wanted.discard(call.id)
                calls[call.asked.model].append(call)
    if wanted:
        raise InputError(f"{len(wanted):,} of the planned calls come out otherwise here: is the benchmark the same?")
    return calls
