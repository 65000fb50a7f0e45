"""Plans on a Ray cluster: open calls are split into shards by image, and a shard is a task.

A task builds the prompts of its shard, asks and journals as one machine does; answers never travel through Ray.
What a dead worker stored counts, and the rest of its shard is asked again.
"""

import asyncio
import atexit
import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from secrets import token_hex
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError, heading
from eyetest.models import BACKENDS, Call, Images, ProbedModel, make_models
from eyetest.prompts.sets import remember
from eyetest.records import ModelEntry
from eyetest.running.execution import ask_all
from eyetest.running.limits import Asking, Budget, Cluster, Progress, one_error, stopping_on_ctrl_c
from eyetest.running.planning import Plan
from eyetest.running.runner import Runner
from eyetest.runs import Journal, Run, RunWriter, is_run
from eyetest.runs.journal import part_names, seal
from eyetest.runs.stored import part_responses
from eyetest.store.urls import local_path

_SHARDS_A_WORKER = 16  # at least, so that the last shards do not delay the run
_MOST_CALLS = 200  # per shard, except for calls that share an image: bounds what is counted late, or lost
_CALLS_A_WORKER = 8  # in flight: fewer would not keep a worker busy
_MOST_LOSSES = 3  # per worker, without an answer between them: then the rest is left to a later session
_BYTES_FOR_OBJECTS = 256 * 2**20  # only shards and counts go through Ray's memory


@dataclass(frozen=True, kw_only=True)
class Order:
    """What all shards of a run have in common."""

    benchmark: str
    run: str
    entries: dict[str, ModelEntry]
    asking: Asking  # for a worker, with its share of the calls in flight; the driver counts costs
    prompts: dict[str, Any] = field(default_factory=dict)  # the texts behind the labels of the conditions
    key: str = field(default_factory=token_hex)  # unlike that of another run


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Some calls about some items."""

    writer: str  # the name of its journal's parts
    positions: list[int]
    requests: list[str]
    abandoned: dict[str, str]


_loop = asyncio.Runner()  # one for all shards of a process: models keep what belongs to a loop
atexit.register(_loop.close)
_loaded: dict[str, Plan] = {}  # by order: what one shard loads serves the next in its process


def ask_shard(order: Order, shard: Shard) -> Progress | str:
    """Make the calls of a shard; returns the progress, or in one line why it is impossible here."""
    try:
        with one_error():
            if order.key not in _loaded:
                _loaded.clear()
                _loaded[order.key] = _loop.run(_load(order))
            return _loop.run(_ask(order, copy(_loaded[order.key]), shard))
    except EyetestError as error:
        return str(error)


async def _load(order: Order) -> Plan:
    benchmark, run = (local_path(path) for path in (order.benchmark, order.run))
    for path in (benchmark, run):
        if not path.is_dir():
            raise InputError(f"{path} is not there: every machine needs it, on a shared disk")
    remember(order.prompts)
    bench = Benchmark(benchmark)
    models = make_models(order.entries, msgspec.structs.replace(order.asking.patience, images=Images(bench.images)))
    for model in models:
        if order.asking.weighs and isinstance(model, ProbedModel):
            await model.probe()
    plan = Plan(bench, models, order.asking)
    plan.recorded = Run(run).recorded() if is_run(run) else {}
    return plan


async def _ask(order: Order, plan: Plan, shard: Shard) -> Progress:
    plan.positions = shard.positions
    progress, journal = Progress(), Journal(local_path(order.run), shard.writer, adopts=False)
    try:
        async with Runner(
            plan.models, journal.append, order.asking.limits, progress=progress, seed=plan.seed
        ) as runner:
            for name, why in shard.abandoned.items():
                runner.endpoints[name].abandon(why)
            async with asyncio.TaskGroup() as lanes:
                for name, calls in _calls(plan, shard).items():
                    lanes.create_task(ask_all(runner, name, calls))
    finally:
        journal.close()
    progress.ways = {model.name: way for model in plan.models if (way := getattr(model, "way", ""))}
    return progress


def _calls(plan: Plan, shard: Shard) -> Mapping[str, Sequence[Call]]:
    """The calls of a shard by model, each once, made from the items as in the driver's plan."""
    calls: dict[str, list[Call]] = {}
    wanted = set(shard.requests)
    for item in plan.items():
        for call in plan.applicable(item, plan.models):
            if call.id in wanted:
                wanted.discard(call.id)
                calls.setdefault(call.asked.model, []).append(call)
    if wanted:
        raise InputError(f"{len(wanted):,} of the planned calls come out otherwise here: same benchmark and eyetest?")
    return calls


_WITH_TOKENS = (2, 52)
# The second makes Ray use 127.0.0.1 as the address of this machine, so that it listens only there
_PRIVATE = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_TOKEN = {"RAY_AUTH_TOKEN": token_hex(32)}  # of all clusters that this process starts; Ray reads it once


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected within the block; without an address a local one, which only this machine reaches."""
    address = cluster.address or os.environ.get("RAY_ADDRESS") or None
    with patch.dict(os.environ, {"RAY_USAGE_STATS_ENABLED": "0"} | ({} if address else _PRIVATE | _TOKEN)):
        try:
            import ray  # noqa: PLC0415 (an extra)
        except ImportError:
            raise InputError("Ray is not installed: pip install 'eyetest[ray]'") from None
        if ray.is_initialized():
            yield ray
            return
        logging.getLogger("ray").setLevel(logging.ERROR)
        how: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if not address:
            if tuple(map(int, ray.__version__.split(".")[:2])) < _WITH_TOKENS:
                raise InputError(f"Ray {ray.__version__} has no token authentication: pip install 'ray>=2.52'")
            ray._private.ray_constants.ENABLE_RAY_CLUSTER = False  # read from the environment before it was set
            how |= {"include_dashboard": False, "object_store_memory": _BYTES_FOR_OBJECTS}
        try:
            ray.init(address=address or "local", **how)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            words, at = " ".join(str(error).split())[:300], address or "this machine"
            raise InputError(f"{heading('on')}: Ray cannot be reached at {at}: {words}") from None
        try:
            if not address and not ip_address(ray.util.get_node_ip_address()).is_loopback:
                raise InputError("Ray listens to other machines; start it yourself, and name it: ray://HOST:PORT")
            yield ray
        finally:
            ray.shutdown()


def by_image(groups: NDArray[np.int64], workers: int) -> Iterator[slice]:
    """Shards of calls. ``groups``: the image of each call; calls about one image stay together."""
    most = min(_MOST_CALLS, max(1, len(groups) // (workers * _SHARDS_A_WORKER)))
    ends = np.flatnonzero(np.append(groups[1:] != groups[:-1], bool(len(groups)))) + 1
    start = 0
    for end in ends.tolist():
        if end - start >= most or end == len(groups):
            yield slice(start, end)
            start = end


class RayExecutor:
    """Executes plans on a cluster."""

    def __init__(self, order: Order, run: RunWriter, budget: Budget, progress: Progress) -> None:
        for name, entry in order.entries.items():
            if BACKENDS[entry.spec.partition(":")[0]].hosted:
                instead = "serve it, and name it openai:MODEL@URL"
                raise InputError(f"{heading('on')}: {name} is loaded by this process; {instead}")
        self._order, self._run, self.budget, self.progress = order, run, budget, progress
        self.stopping = False  # whether new shards are withheld
        self._shards: deque[pl.DataFrame] = deque()  # calls still to be asked
        self._losses = 0  # dead workers without an answer between them
        self._size = 1

    async def execute(self, plan: Plan, left: pl.DataFrame) -> None:
        """Make every open call of the plan; Ray is left however it ends."""
        cluster = self._order.asking.cluster or Cluster()
        with stopping_on_ctrl_c(self.stop, self.progress), connected(cluster) as self._ray:
            self._prepare(cluster.workers)
            await self.ask(plan, left)

    def _prepare(self, workers: int | None) -> None:
        """Share what shards have in common, and divide the calls in flight among workers."""
        processors, limits = float(self._ray.cluster_resources().get("CPU", 1)), self.budget.limits
        size = workers or int(max(1, min(processors, limits.concurrency // _CALLS_A_WORKER)))
        entries = {
            name: msgspec.structs.replace(entry, concurrency=entry.concurrency and max(1, entry.concurrency // size))
            for name, entry in self._order.entries.items()
        }
        share = max(1, limits.concurrency // size)
        its = msgspec.structs.replace(limits, concurrency=share, calls=None, money=None)
        asking = msgspec.structs.replace(self._order.asking, limits=its)
        self._size, self._shared = size, self._ray.put(replace(self._order, entries=entries, asking=asking))
        needs = {"num_cpus": min(1.0, processors / size), "max_retries": 0, "scheduling_strategy": "SPREAD"}
        self._task = self._ray.remote(ask_shard).options(**needs)

    def stop(self, why: str) -> None:
        """Start no new shard; those in flight finish."""
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    async def ask(self, plan: Plan, left: pl.DataFrame) -> None:
        """Ask what is left, in as many shards at once as there are workers."""
        calls = left.filter(pl.col("new") | pl.col("again")).select("request", "item", "model")
        images = plan.benchmark.image_groups()[np.asarray(plan.positions, np.int64)]
        self._shards.extend(calls[shard] for shard in by_image(images[calls["item"].to_numpy()], self._size))
        async with asyncio.TaskGroup() as lanes:
            for _ in range(min(self._size, len(self._shards))):
                lanes.create_task(self._ask_next(plan))

    async def _ask_next(self, plan: Plan) -> None:
        while (calls := self._next()) is not None:
            requests = calls["request"].to_list()
            positions = [plan.positions[item] for item in calls["item"].unique(maintain_order=True)]
            abandoned = dict(self.progress.abandoned)
            shard = Shard(writer=token_hex(4), positions=positions, requests=requests, abandoned=abandoned)
            try:
                came = await self._submit(shard)
                self._losses = 0
            except self._ray.exceptions.RayTaskError as error:
                raise EyetestError(f"a worker cannot go on: {last_line(error)}") from None
            except self._ray.exceptions.RayError as error:
                models = dict(zip(requests, calls["model"], strict=True))
                came, stored = await asyncio.to_thread(self._recover, plan, shard.writer, models)
                self._shards.append(calls.filter(~pl.col("request").is_in(list(stored))))
                self._count_loss(error, in_vain=not stored)
            self.budget.money += came.money
            self.budget.calls -= len(calls) - came.done
            self.progress.add(came)
            if came.abandoned and all(model.name in self.progress.abandoned for model in plan.models):
                name, why = next(iter(came.abandoned.items()))
                self.stop(f"{name} cannot be used: {why}")

    async def _submit(self, shard: Shard) -> Progress:
        came: Progress | str = await self._task.remote(self._shared, shard)
        if isinstance(came, str):
            raise EyetestError(came)
        return came

    def _next(self) -> pl.DataFrame | None:
        """The next shard, or as much of it as the budget allows."""
        if self._shards and not self.stopping and (why := self.budget.refusal):
            self.stop(why)
        if not self._shards or self.stopping:
            return None
        calls, most = self._shards.popleft(), self.budget.limits.calls
        end = len(calls) if most is None else min(len(calls), most - self.budget.calls)
        if end < len(calls):
            self._shards.appendleft(calls[end:])
        self.budget.calls += end
        return calls[:end]

    def _recover(self, plan: Plan, writer: str, models: Mapping[str, int]) -> tuple[Progress, set[str]]:
        """Seal what a lost worker stored of a shard; returns its progress and its requests."""
        progress, stored = Progress(), set[str]()
        for part in part_names(self._run.path):
            if part.writer == writer:
                seal(self._run.path, part)
                for response in part_responses(self._run.path, part):
                    price = plan.models[models[response.request]].entry.price
                    spent = response.tokens_in or 0, response.tokens_out or 0
                    progress.answered(response, price.of(*spent) if price else 0.0)
                    stored.add(response.request)
        return progress, stored

    def _count_loss(self, error: Exception, *, in_vain: bool) -> None:
        self._losses = self._losses + 1 if in_vain else 0
        self.progress.retries["worker lost"] += 1
        self.progress.last_error = f"a worker was lost: {type(error).__name__}"
        if self._losses >= _MOST_LOSSES * self._size:
            self.stop(f"{self._losses} workers died one after another without an answer: {last_line(error)}")


def last_line(error: Exception) -> str:
    """The last line of Ray's error, below the traceback."""
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1][:300]
