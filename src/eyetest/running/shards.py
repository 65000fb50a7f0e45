"""What runs on a Ray cluster's machines: a task that asks a shard of a plan, and actors that hold checkpoints."""

import asyncio
import gc
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError
from eyetest.models import BatchModel, Call, CallError, Images, Model, ProbedModel, Surroundings, make_models
from eyetest.records import Asked, ModelEntry, Response, StoppingRule
from eyetest.running.execution import Hit, ask_all, execute_panels
from eyetest.running.limits import Asking, Limits, one_error, stopping_on_ctrl_c
from eyetest.running.planning import Plan
from eyetest.running.progress import Progress
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
    id: str = field(default_factory=lambda: token_hex(8))


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


def ask_shard(order: Order, hosts: Mapping[str, Sequence[Any]], shard: Shard) -> Progress | str:
    """Make the calls of a shard; returns the progress, or in one line why it is impossible here."""
    try:
        with one_error():
            return asyncio.run(_ask(order, hosts, shard))
    except EyetestError as error:
        return str(error)


class _Worker:
    """The data that a process has loaded to ask the shards of a run."""

    def __init__(self, order: Order, hosts: Mapping[str, Sequence[Any]]) -> None:
        if order.version != __version__:
            raise InputError(
                f"a worker has eyetest {__version__}, and {order.version} leads the run: install the same"
            )
        benchmark, self.run = (local_path(path) for path in (order.benchmark, order.run))
        for path in (benchmark, self.run):
            if not path.is_dir():
                raise InputError(f"{path} is not there: every machine needs it, on a shared disk or in a bucket")
        bench, asking = Benchmark(benchmark), order.asking
        surroundings = msgspec.structs.replace(asking.patience, images=Images(bench.images))
        self.models = hosted(make_models(order.entries, surroundings), hosts)
        self.plan = Plan.of(bench, self.models, asking)
        if is_run(self.run):
            self.plan.recorded = Run(self.run).recorded()
        self._retry_failed = asking.retry_failed
        self._stored: tuple[int, StoredResponses] | None = None
        gc.freeze()  # exclude what is loaded by now

    def stored(self, losses: int) -> StoredResponses:
        """The answers of the run, read anew after a worker was lost."""
        if self._stored is None or self._stored[0] != losses:
            refresh(self.run)
            self._stored = losses, StoredResponses(self.run, retry_failed=self._retry_failed)
        return self._stored[1]


_workers: dict[str, _Worker] = {}


async def _ask(order: Order, hosts: Mapping[str, Sequence[Any]], shard: Shard) -> Progress:
    worker = _workers.get(order.id)
    if worker is None:
        worker = _Worker(order, hosts)
        for model in worker.models if order.weighs else ():
            if isinstance(model, ProbedModel):
                await model.probe()
        _workers.clear()
        _workers[order.id] = worker
    plan = copy(worker.plan)
    plan.positions, plan.turn, plan.shared = shard.positions, shard.turn, frozenset(shard.requests)
    if shard.replies and plan.dialogues is not None:
        plan.dialogues.replies.update(shard.replies)
    progress, journal = Progress(order.is_refusal), Journal(worker.run, shard.writer, adopts=False)
    runner = Runner(worker.models, journal.append, order.limits, progress=progress, seed=order.asking.seed)
    for name, why in shard.abandoned.items():
        runner.abandon(name, why)
    try:
        async with runner:
            with stopping_on_ctrl_c(runner.stop, progress):
                if order.rule is not None and order.hit is not None:
                    await execute_panels(plan, runner, order.rule, order.hit, worker.stored(shard.losses).get)
                else:
                    async with asyncio.TaskGroup() as lanes:
                        for name, calls in _calls(plan, shard).items():
                            lanes.create_task(ask_all(runner, name, calls))
    finally:
        journal.close()
    progress.is_refusal = None
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


class ModelHost:
    """An actor with one copy of a checkpoint. Ray restarts it when it dies, and repeats its calls."""

    def __init__(self, name: str, entry: ModelEntry, benchmark: str, patience: Surroundings) -> None:
        images = Images(Benchmark(local_path(benchmark)).images)
        self._model = make_models({name: entry}, msgspec.structs.replace(patience, images=images))[0]
        self._opening, self._is_open = asyncio.Lock(), False

    async def open(self) -> tuple[str, str]:
        """Load it; returns an error, if any, and how it computes likelihoods."""
        async with self._opening:
            try:
                if not self._is_open:
                    await self._model.open()
                    self._is_open = True
            except EyetestError as error:
                return str(error), ""
        return "", str(getattr(self._model, "way", ""))

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | dict[str, Any]]:
        """Make one attempt at each call; an error is sent as its arguments."""
        came: Sequence[Response | CallError]
        if why := (await self.open())[0]:
            came = [CallError("host", why, blame="endpoint")] * len(calls)
        else:
            try:
                if isinstance(self._model, BatchModel):
                    came = await self._model.answer_many(calls)
                else:
                    came = [await self._model.answer(call) for call in calls]
            except CallError as error:
                came = [error] * len(calls)
        return [vars(reply) | {"message": str(reply)} if isinstance(reply, CallError) else reply for reply in came]


class HostedModel:
    """A checkpoint that is asked where it is loaded; requests are those of the model itself."""

    def __init__(self, model: Model, hosts: Sequence[Any]) -> None:
        self.name, self.entry = model.name, model.entry
        self.likelihoods, self.knows_items = model.likelihoods, model.knows_items
        self.batch = model.batch if isinstance(model, BatchModel) else 1
        self.settings = model.settings
        self._hosts, self._busy = list(hosts), [0] * len(hosts)

    async def open(self) -> None:
        """Do nothing: the driver has loaded it."""

    async def close(self) -> None:
        """Do nothing: other workers may use it."""

    async def answer(self, call: Call) -> Response:
        """Make one attempt at one call."""
        came = (await self.answer_many([call]))[0]
        if isinstance(came, CallError):
            raise came
        return came

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """Make one attempt at each call, by the least busy copy."""
        from ray.exceptions import RayError  # noqa: PLC0415 (an extra)

        which = self._busy.index(min(self._busy))
        self._busy[which] += len(calls)
        try:
            came = await self._hosts[which].answer_many.remote(list(calls))
        except RayError as error:
            words = f"the copy of {self.name} was lost: {type(error).__name__}"
            raise CallError("host", words, passing=True, blame="endpoint") from None
        finally:
            self._busy[which] -= len(calls)
        return [CallError(**reply) if isinstance(reply, dict) else reply for reply in came]


def hosted(models: Sequence[Model], hosts: Mapping[str, Sequence[Any]]) -> list[Model]:
    """The models, those with copies elsewhere as hosted ones."""
    return [HostedModel(model, hosts[model.name]) if model.name in hosts else model for model in models]
