"""Plans on a Ray cluster: open calls are split into shards by image, and each worker asks one shard at a time.

A worker builds the prompts of its shard, asks and journals as one machine does; answers never travel through Ray.
What a dead worker stored counts, and the rest of its shard is asked again.
"""

import asyncio
import gc
import logging
import os
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from ipaddress import ip_address
from secrets import token_hex
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError, heading
from eyetest.models import BACKENDS, Call, Images, ProbedModel, make_models
from eyetest.prompts.sets import remember
from eyetest.records import ModelEntry
from eyetest.running.execution import ask_all
from eyetest.running.limits import Asking, Budget, Cluster, Limits, Progress, one_error
from eyetest.running.planning import Left, Plan
from eyetest.running.runner import Runner
from eyetest.runs import Journal, Run, RunWriter, is_run
from eyetest.runs.journal import part_names, seal
from eyetest.runs.stored import part_responses
from eyetest.store.urls import local_path
from eyetest.version import __version__

Rows = NDArray[np.int64]  # calls of a plan, by number
_SHARDS_A_WORKER = 16  # at least, so that the last shards do not delay the run
_MOST_CALLS = 200  # per shard, except for calls that share an image: bounds what is counted late, or lost
_CALLS_A_WORKER = 8  # in flight: fewer would not keep a worker busy
_MOST_LOSSES = 3  # a shard at which so many workers died is left to a later session
_DEATHS_IN_VAIN = 12  # consecutive worker deaths without an answer that stop the run
_BYTES_FOR_OBJECTS = 256 * 2**20  # only shards and counts go through Ray's memory


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
    version: str = __version__
    prompts: dict[str, Any] = field(default_factory=dict)  # the texts behind the labels of the conditions


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Some calls about some items."""

    writer: str  # the name of its journal's parts
    positions: list[int]
    requests: list[str]
    abandoned: dict[str, str]


class Worker:
    """An actor that asks shards, one at a time; the benchmark and the models that it loaded stay for the next."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._plan: Plan | None = None
        self._runner: Runner | None = None
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
                raise InputError(f"{path} is not there: every machine needs it, on a shared disk")
        remember(order.prompts)
        bench = Benchmark(benchmark)
        self._models = make_models(
            order.entries, msgspec.structs.replace(asking.patience, images=Images(bench.images))
        )
        for model in self._models:
            if order.weighs and isinstance(model, ProbedModel):
                await model.probe()  # which closes its connections
            await model.open()
        self._plan = Plan(bench, self._models, asking)
        if is_run(self._run):
            self._plan.recorded = Run(self._run).recorded()
        gc.freeze()  # exclude what is loaded by now

    async def _ask(self, shard: Shard) -> Progress:
        order, plan = self._order, copy(self._plan)
        assert plan is not None
        plan.positions = shard.positions
        progress, journal = Progress(order.is_refusal), Journal(self._run, shard.writer, adopts=False)
        runner = Runner(self._models, journal.append, order.limits, progress=progress, seed=order.asking.seed)
        self._runner = runner
        if self._stopped:
            runner.stop(self._stopped)
        for name, why in shard.abandoned.items():
            runner.abandon(name, why)
        try:
            async with asyncio.TaskGroup() as lanes:
                for name, calls in _calls(plan, shard).items():
                    lanes.create_task(ask_all(runner, name, calls))
        finally:
            self._runner = None
            journal.close()
        progress.is_refusal = None
        progress.ways = {model.name: way for model in self._models if (way := getattr(model, "way", ""))}
        return progress


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


_WITH_TOKENS = (2, 52)
# The second makes Ray use 127.0.0.1 as the address of this machine, so that it listens only there
_PRIVATE = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected within the block; without an address a local one, which only this machine reaches."""
    address = cluster.address or os.environ.get("RAY_ADDRESS") or None
    with _environment({"RAY_USAGE_STATS_ENABLED": "0"} | ({} if address else _PRIVATE | _token())):
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


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block."""
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
        os.environ.update(before)


@cache
def _token() -> dict[str, str]:
    """The token of all clusters that this process starts; Ray reads it once."""
    return {"RAY_AUTH_TOKEN": token_hex(32)}


def by_image(rows: Rows, groups: Rows, workers: int) -> Iterator[Rows]:
    """Shards of calls. ``groups``: the image of each call; calls about one image stay together."""
    most = int(min(_MOST_CALLS, max(1, len(rows) // (workers * _SHARDS_A_WORKER))))
    ends = np.flatnonzero(np.append(groups[1:] != groups[:-1], bool(len(groups)))) + 1
    start = 0
    for end in ends.tolist():
        if end - start >= most or end == len(rows):
            yield rows[start:end]
            start = end


class RayExecutor:
    """Executes plans on a cluster. Use it in an ``async with`` block."""

    def __init__(self, order: Order, run: RunWriter, budget: Budget, progress: Progress) -> None:
        self._order, self._run, self.budget, self.progress = order, run, budget, progress
        self._cluster = order.asking.cluster or Cluster()
        self.stopping = False  # whether new shards are withheld
        self._workers: dict[int, Any] = {}  # the actor of each lane
        self._shards: deque[tuple[Rows, int]] = deque()  # calls still to be asked, and the workers lost at them
        self._stack = ExitStack()
        self._in_vain = 0
        self._size = 1

    async def __aenter__(self) -> "RayExecutor":
        with ExitStack() as stack:
            self._ray = stack.enter_context(connected(self._cluster))
            stack.callback(self._end_workers)
            self._divide(self._ray.cluster_resources())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._stack.close()

    def _divide(self, there: Mapping[str, float]) -> None:
        """Decide how many workers there are, what each needs, and its share of the concurrency."""
        limits, entries = self.budget.limits, dict(self._order.entries)
        processors, gpus = float(there.get("CPU", 1)), float(there.get("GPU", 0))
        size = self._cluster.workers or int(max(1, min(processors, limits.concurrency // _CALLS_A_WORKER)))
        large = [entry for entry in entries.values() if BACKENDS[entry.spec.partition(":")[0]].hosted]
        needed = sum((1.0 if gpus else 0.0) if entry.gpus is None else entry.gpus for entry in large)
        most = max((node["Resources"].get("GPU", 0.0) for node in self._ray.nodes() if node["Alive"]), default=0.0)
        if needed > most:
            need = f"the checkpoints of this run need {needed:g} GPUs on one machine, and the largest has {most:g}"
            raise InputError(f"{need}; run them one after the other")
        if large:
            size = min(size, max(1, int(gpus // needed) if needed else 1))
        for name, entry in entries.items():
            if entry.concurrency:
                entries[name] = msgspec.structs.replace(entry, concurrency=max(1, entry.concurrency // size))
        share = max(1, limits.concurrency // size)
        its = msgspec.structs.replace(limits, concurrency=share, calls=None, money=None)
        self._size, self._order = size, replace(self._order, entries=entries, limits=its)
        needs = {"num_cpus": min(1.0, processors / size), "num_gpus": needed, "scheduling_strategy": "SPREAD"}
        self._actor = self._ray.remote(Worker).options(**needs)

    def _end_workers(self) -> None:
        for worker in self._workers.values():
            self._ray.kill(worker)

    def stop(self, why: str) -> None:
        """Start no new shard and no new call; those in flight finish."""
        self._close(why)
        for worker in self._workers.values():
            worker.stop.remote(why)

    def _close(self, why: str) -> None:
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    async def execute(self, plan: Plan, left: Left) -> None:
        """Make every open call of the plan, in as many shards at once as there are workers."""
        rows = np.flatnonzero(left.is_open)
        images = plan.benchmark.image_groups()[np.asarray(plan.positions, np.int64)]
        self._shards.extend((some, 0) for some in by_image(rows, images[left.ledger.items[rows]], self._size))
        async with asyncio.TaskGroup() as tasks:
            for lane in range(min(self._size, len(self._shards))):
                tasks.create_task(self._ask_next(lane, plan, left))

    async def _ask_next(self, lane: int, plan: Plan, left: Left) -> None:
        ledger = left.ledger
        while (found := self._next()) is not None:
            rows, losses = found
            requests = ledger.requests.gather(ledger.codes[rows]).to_list()
            positions = [plan.positions[item] for item in dict.fromkeys(ledger.items[rows].tolist())]
            abandoned = dict(self.progress.abandoned)
            shard = Shard(writer=token_hex(4), positions=positions, requests=requests, abandoned=abandoned)
            stored: set[str] | None = None
            try:
                came = await self._submit(lane, shard)
            except self._ray.exceptions.RayTaskError as error:
                raise EyetestError(f"a worker cannot go on: {last_line(error)}") from None
            except self._ray.exceptions.RayError as error:
                self._workers.pop(lane, None)
                models = dict(zip(requests, ledger.models[rows].tolist(), strict=True))
                came, stored = await asyncio.to_thread(self._recover, plan, shard.writer, models)
                self._count_loss(error, in_vain=not stored)
            self.budget.money += came.money
            self.budget.calls -= len(rows) - came.done
            self.progress.add(came)
            if stored is None:
                self._in_vain = 0
            elif (again := rows[[request not in stored for request in requests]]).size and not self.stopping:
                if losses + 1 < _MOST_LOSSES:
                    self._shards.appendleft((again, losses + 1))
                else:
                    self.progress.stopped = f"workers were lost {_MOST_LOSSES} times at the same calls"
            if came.abandoned and all(model.name in self.progress.abandoned for model in plan.models):
                name, why = next(iter(came.abandoned.items()))
                self._close(f"{name} cannot be used: {why}")

    async def _submit(self, lane: int, shard: Shard) -> Progress:
        if lane not in self._workers:
            self._workers[lane] = self._actor.remote(self._order)
        came: Progress | str = await self._workers[lane].ask.remote(shard)
        if isinstance(came, str):
            raise EyetestError(came)
        return came

    def _next(self) -> tuple[Rows, int] | None:
        """The next shard, or as much of it as the budget allows, and the workers lost at it."""
        if self._shards and not self.stopping and (why := self.budget.refusal):
            self._close(why)
        if not self._shards or self.stopping:
            return None
        rows, losses = self._shards.popleft()
        most = self.budget.limits.calls
        end = len(rows) if most is None else min(len(rows), most - self.budget.calls)
        if end < len(rows):
            self._shards.appendleft((rows[end:], losses))
        self.budget.calls += end
        return rows[:end], losses

    def _recover(self, plan: Plan, writer: str, models: Mapping[str, int]) -> tuple[Progress, set[str]]:
        """Seal what a lost worker stored of a shard; returns its progress and its requests."""
        progress, stored = Progress(self.progress.is_refusal), set[str]()
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
        self._in_vain = self._in_vain + 1 if in_vain else 1
        if self._in_vain >= _DEATHS_IN_VAIN:
            words = f"{self._in_vain} workers died one after another without an answer"
            raise EyetestError(f"{words}: {last_line(error)}")
        self.progress.retries["worker lost"] += 1
        self.progress.last_error = f"a worker was lost: {type(error).__name__}"


def last_line(error: Exception) -> str:
    """The last line of Ray's error, below the traceback."""
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1][:300]
