"""A worker: carries pieces of a plan out as one machine would, and keeps the answers in parts of its own."""

import gc
from collections.abc import Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError
from eyetest.models import Call, Model, Pictures, ProbedModel, make_models
from eyetest.records import Response
from eyetest.running.cluster.hosts import HostedModel
from eyetest.running.cluster.pieces import Order, Piece, Told, told_of
from eyetest.running.execution import ask_all, execute_panels
from eyetest.running.planning import Plan, is_asked_again
from eyetest.running.progress import Progress
from eyetest.running.runner import Runner
from eyetest.runs import Journal, Run, StoredResponses, is_run
from eyetest.store import refresh
from eyetest.store.urls import local_path
from eyetest.version import __version__


class Asker:
    """Carries out one piece after another, or a few at once; whoever leads it hears of its death from Ray."""

    def __init__(self, order: Order, writer: str, hosts: Mapping[str, Any]) -> None:
        """``writer``: the name of its parts. ``hosts``: by model, where the copies of a large network are."""
        self._order, self._writer, self._hosts = order, writer, hosts
        self._losses = 0
        self._stored: StoredResponses | None = None

    async def open(self) -> Told:
        """Get ready; what is amiss here is told, because only people can mend it."""
        try:
            await self._open()
        except EyetestError as error:
            return Told(fault=str(error))
        return Told()

    async def _open(self) -> None:
        order = self._order
        if order.version != __version__:
            raise InputError(f"it has eyetest {__version__}, and {order.version} leads the run: install the same")
        self._bench, self._run = (local_path(said) for said in (order.benchmark, order.run))
        for path in (self._bench, self._run):
            if not path.is_dir():
                raise InputError(f"{path} is not there: every machine needs it, on a disk they share or in a bucket")
        benchmark = Benchmark(self._bench)
        surroundings = msgspec.structs.replace(order.patience, pictures=Pictures(benchmark.images))
        made = make_models(order.entries, surroundings)
        models: list[Model] = [HostedModel(m, self._hosts[m.name]) if m.name in self._hosts else m for m in made]
        for model in models if order.weighs else ():
            if isinstance(model, ProbedModel):
                await model.probe()
        self._plan = Plan(
            benchmark, models, order.conditions, trials=order.trials, sampling=order.sampling, seed=order.seed
        )
        self._plan.own = order.own
        if is_run(self._run):
            self._plan.recorded = Run(self._run).recorded()
        self._journal = Journal(self._run, self._writer, adopts=False)
        self._progress = Progress(order.looks_refused)
        self._runner = Runner(models, self._journal.append, order.limits, progress=self._progress, seed=order.seed)
        await self._runner.__aenter__()
        gc.freeze()  # what is loaded by now stays: no search for garbage need go through it

    async def carry_out(self, piece: Piece) -> Told:
        """Make the calls of a piece; what could not be asked here is told."""
        left = set(piece.requests)
        try:
            if piece.model:
                calls = self._calls(piece, set(left))
                await ask_all(self._runner, piece.model, calls, partial(_heard, left))
            else:
                left.clear()
                await self._panels(piece)
        except BaseExceptionGroup as group:
            known = group.subgroup(EyetestError)
            if known is None:
                raise
            return self.told(fault=str(_first(known)), not_asked=sorted(left))
        return self.told(not_asked=sorted(left))

    def told(self, **more: Any) -> Told:
        """What it has done so far."""
        return told_of(self._progress, **more)

    async def look(self) -> Told:
        """The same, for the driver."""
        return self.told()

    async def stop(self, why: str) -> None:
        """Begin no new call; those in flight finish."""
        self._runner.stop(why)

    async def close(self) -> None:
        """Seal what was written and give everything back."""
        await self._runner.__aexit__(None, None, None)
        self._journal.close()

    def _of_turn(self, piece: Piece) -> Plan:
        plan = copy(self._plan)
        plan.positions, plan.turn, plan.shared = piece.positions, piece.turn, frozenset(piece.requests)
        if piece.said and plan.dialogues is not None:
            plan.dialogues.said.update(piece.said)
        return plan

    def _calls(self, piece: Piece, wanted: set[str]) -> Iterator[Call]:
        """The calls of a piece, each once, made here from the items as the driver made them for its plan."""
        plan = self._of_turn(piece)
        models = [model for model in plan.models if model.name == piece.model]
        for item in plan.items():
            for call in plan.applicable(item, models):
                if call.id in wanted:
                    wanted.discard(call.id)
                    yield call
        if wanted:
            raise InputError(
                f"{len(wanted):,} of the planned calls come out otherwise here: is the benchmark the same?"
            )

    async def _panels(self, piece: Piece) -> None:
        if self._stored is None or self._losses != piece.losses:
            again = partial(is_asked_again, retry_failed=self._order.retry_failed)
            refresh(self._run)
            self._stored, self._losses = StoredResponses(self._run, again), piece.losses
        rule, hit = self._order.rule, self._order.hit
        assert rule is not None, "a panel has a rule"
        await execute_panels(self._of_turn(piece), self._runner, rule, hit, self._stored.get)


def _heard(left: set[str], response: Response) -> None:
    left.discard(response.request)


def _first(group: BaseExceptionGroup[EyetestError]) -> BaseException:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first
