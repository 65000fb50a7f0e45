"""Where a plan is carried out on a cluster: the driver, which plans, hands out, watches and seals.

A worker that dies (killed, out of memory, its machine gone) costs what it had in flight: what it stored is read from
its parts, the rest of its pieces goes to others, and another worker takes its place. A piece at which workers keep
dying is cut in two, down to the one call that kills them, which is then noted as failed.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import msgspec
import numpy as np

from eyetest.errors import InputError
from eyetest.models import BACKENDS, Model
from eyetest.records import StoppingRule
from eyetest.running.cluster.asker import Asker
from eyetest.running.cluster.connection import Cluster, connected
from eyetest.running.cluster.handing import Handing, Lane
from eyetest.running.cluster.hosts import HostedModel, ModelHost
from eyetest.running.cluster.pieces import Order, Rows, by_panel, by_picture
from eyetest.running.cluster.workers import Worker, Workers, last_line
from eyetest.running.execution import Hit, Stored, execute_until
from eyetest.running.ledger import Left
from eyetest.running.limits import Budget
from eyetest.running.planning import Plan
from eyetest.running.progress import Progress
from eyetest.running.race import Goal
from eyetest.running.runner import Runner
from eyetest.runs import RunWriter

_CALLS_A_WORKER = 8
"""Of those that may be in flight: fewer would not keep a worker busy."""
_MANY_AT_ONCE = 1_000


class RayExecutor:
    """Carries plans out on a cluster. Use it in an ``async with`` block."""

    def __init__(
        self,
        cluster: Cluster,
        order: Order,
        models: Sequence[Model],
        run: RunWriter,
        budget: Budget,
        progress: Progress,
    ) -> None:
        self._cluster, self._order, self._run, self.budget = cluster, order, run, budget
        self._models, self.progress = list(models), progress
        self.ways: Mapping[str, str] = {}
        """By hosted model: how it computes likelihoods."""
        self._hosts: dict[str, list[Any]] = {}
        self._stack = ExitStack()
        self._handing: Handing | None = None
        self._runner: Runner | None = None
        self.stopping = False
        """Whether no new call is begun."""

    async def __aenter__(self) -> "RayExecutor":
        with ExitStack() as stack:
            self._ray, self._there = stack.enter_context(connected(self._cluster))
            stack.callback(self._give_hosts_back)
            self._workers = Workers(self._ray, self._run.path, self.progress, self.budget)
            await self._start_hosts()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            await self._workers.close(at_once=kind is not None)

    def stop(self, why: str) -> None:
        """Hand out nothing more, and begin no new call; those in flight finish."""
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True
        if self._runner is not None:
            self._runner.stop(why)
        if self._handing is not None:
            self._handing.close()
        for worker in self._workers.alive:
            worker.actor.stop.remote(why)

    async def execute(self, plan: Plan, left: Left) -> None:
        """Make every call of the plan that is left."""
        groups = self._groups(plan)
        await self._hand_out(
            plan,
            left,
            [
                Lane(model.name, list(by_picture(left, groups, number, self._size)))
                for number, model in enumerate(plan.models)
            ],
        )

    async def execute_panels(self, plan: Plan, left: Left, rule: StoppingRule, hit: Hit) -> None:
        """Ask about each item only until the rule's verdict on it cannot change any more."""
        self._order = msgspec.structs.replace(self._order, rule=rule, hit=hit)
        await self._hand_out(plan, left, [Lane("", list(by_panel(left, self._groups(plan), self._size)))])

    async def execute_until(self, plan: Plan, until: Goal, hit: Hit, stored: Stored) -> None:
        """Ask until a goal is reached. Items are heard one by one, so this process asks; networks are hosted."""
        models = [HostedModel(m, self._hosts[m.name]) if m.name in self._hosts else m for m in self._models]
        self._runner = Runner(models, self._run.journal.append, self.budget, progress=self.progress)
        async with self._runner:
            await execute_until(plan, self._runner, until, hit, stored)

    async def _hand_out(self, plan: Plan, left: Left, lanes: Sequence[Lane]) -> None:
        self._handing = Handing(plan, left, lanes, self.budget, self.progress)
        looking = asyncio.create_task(self._workers.look())
        try:
            await self._handing.carry_out(self._workers, self._size, self._hire, self._run.journal.append)
        finally:
            looking.cancel()
            self.stopping = self.stopping or self._handing.is_closed

    @property
    def _size(self) -> int:
        """How many workers ask."""
        most = max(1, self.budget.limits.concurrency // _CALLS_A_WORKER)
        return self._cluster.workers or int(max(1, min(self._there.processors, most)))

    def _groups(self, plan: Plan) -> Rows:
        return plan.benchmark.picture_groups()[np.asarray(plan.positions, np.int64)]

    async def _start_hosts(self) -> None:
        order = self._order
        large = {name: e for name, e in order.entries.items() if BACKENDS[e.spec.partition(":")[0]].hosted}
        for name, entry in large.items():
            gpus = (1.0 if self._there.gpus else 0.0) if entry.gpus is None else entry.gpus
            room = int(self._there.gpus // (gpus * len(large))) if gpus else 1
            copies = entry.copies or max(1, room)
            host = self._ray.remote(ModelHost).options(
                num_gpus=gpus, num_cpus=0, max_restarts=-1, max_task_retries=-1, max_concurrency=_MANY_AT_ONCE
            )
            self._hosts[name] = [host.remote(name, entry, order.benchmark, order.patience) for _ in range(copies)]
        for name, hosts in self._hosts.items():
            try:
                told = await asyncio.gather(*(host.open.remote() for host in hosts))
            except self._ray.exceptions.RayError as error:
                raise InputError(f"{name}: a copy cannot begin: {last_line(error)}") from None
            for why, way in told:
                if why:
                    raise InputError(f"{name}: {why}")
                self.ways = {**self.ways, name: way} if way else self.ways

    def _give_hosts_back(self) -> None:
        for host in (host for hosts in self._hosts.values() for host in hosts):
            self._ray.kill(host)

    async def _hire(self, *, spare: bool = False) -> Worker:
        portion = 0.0 if spare else min(1.0, self._there.processors / self._size)
        options = {"num_cpus": portion, "scheduling_strategy": "SPREAD"}
        asker = self._ray.remote(Asker).options(max_restarts=0, max_concurrency=_MANY_AT_ONCE, **options)
        order = self._worker_order()
        return await self._workers.hire(lambda name: asker.remote(order, name, self._hosts))

    def _worker_order(self) -> Order:
        """The order for one worker: what all may have in flight is divided, what all may spend is counted here."""
        limits, size = self._order.limits, self._size
        entries = {
            name: msgspec.structs.replace(entry, concurrency=max(1, entry.concurrency // size))
            if entry.concurrency and name not in self._hosts
            else entry
            for name, entry in self._order.entries.items()
        }
        its = msgspec.structs.replace(
            limits, concurrency=max(1, limits.concurrency // size), calls=None, tokens=None, money=None
        )
        return msgspec.structs.replace(self._order, limits=its, entries=entries)
