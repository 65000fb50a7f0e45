"""One session of a run, from a benchmark and models to a folder of answers: the door for commands and notebooks.

In: a benchmark, models, how to ask. Out: a run folder that holds every answer, and the counts of this session.
Ordinary code waits here for asynchronous work, also where an event loop is running already, as in every notebook.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from eyetest.benchmarks import Benchmark, copy_without_pictures
from eyetest.errors import InputError, heading, param
from eyetest.models import Model, Pictures, ProbedModel, Surroundings, make_models
from eyetest.records import (
    Condition,
    ModelEntry,
    RunBenchmark,
    RunStep,
    StoppingRule,
    parse_rule,
)
from eyetest.redaction import plain_settings
from eyetest.running.cluster.connection import Cluster
from eyetest.running.cluster.pieces import Order
from eyetest.running.execution import Executor, Hit, LocalExecutor
from eyetest.running.ledger import Estimate, Left
from eyetest.running.limits import Budget, Limits
from eyetest.running.planning import Plan, is_asked_again
from eyetest.running.progress import Progress
from eyetest.running.race import Goal, Race
from eyetest.running.remembered import recall, remember
from eyetest.running.runner import Runner
from eyetest.running.turns import TurnByTurn, Write
from eyetest.runs import BENCHMARK, Run, RunWriter, StoredResponses, is_run
from eyetest.store import address
from eyetest.version import __version__

_HEARERS: dict[asyncio.AbstractEventLoop, Callable[[], None]] = {}
"""What to call, in a loop of its own thread, when somebody presses Ctrl-C."""


def wait_for(work: Coroutine[Any, Any, None]) -> None:
    """Carry work out to its end.

    A loop that is running cannot wait for another in its own thread, so the work gets a thread. Ctrl-C is heard by
    the main thread alone, which hands every press on and goes on waiting, so that nothing is torn off.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    loop = asyncio.new_event_loop()

    def carry_out() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(work)

    with _handing_on(loop), ThreadPoolExecutor(1, "asking") as thread:
        thread.submit(carry_out).result()


@contextmanager
def hearing(pressed: Callable[[], None]) -> Iterator[None]:
    """Let whoever waits for the running loop call this when Ctrl-C is pressed."""
    loop = asyncio.get_running_loop()
    _HEARERS[loop] = pressed
    try:
        yield
    finally:
        del _HEARERS[loop]


@contextmanager
def _handing_on(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hand_on(*_: object) -> None:
        if loop in _HEARERS:
            loop.call_soon_threadsafe(_HEARERS[loop])

    before = signal.signal(signal.SIGINT, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


Watch = Callable[[Progress], AbstractContextManager[Any]]
INTERRUPTED = "stopped by you"


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How a benchmark is put to models."""

    conditions: tuple[Condition, ...] = (Condition(),)
    trials: int = 1
    sampling: dict[str, Any] = {}
    seed: int = 0
    limit: int | None = None
    """Only the first items."""
    items: tuple[str, ...] = ()
    """Only these items."""
    limits: Limits = Limits()
    patience: Surroundings = Surroundings()
    retry_failed: bool = False
    stop: str | StoppingRule = ""
    """A stopping rule, or one in words; empty asks everything."""
    until: str = ""
    """Two models, as ``A>B``: items come by lot, until one of them leads for certain."""
    worth: dict[str, float] = {}
    """By item: how much likelier than others it comes next in that lot; empty where all are alike."""
    own: dict[str, dict[str, Any]] = {}
    """By model: axes on which it is asked otherwise than the conditions say."""
    cluster: Cluster | None = None
    """Where the calls are made from; None for this process."""


class Session:
    """A plan for a run folder, which can be looked at before it is carried out."""

    def __init__(
        self,
        benchmark: Benchmark,
        models: dict[str, ModelEntry],
        asking: Asking,
        *,
        hit: Hit | None = None,
        budget: Budget | None = None,
        goal: Goal | None = None,
    ) -> None:
        """``budget``: one that other sessions of the same command spend from as well; else the asking's limits.

        ``goal``: what the run is after, where that is not a race.
        """
        self.benchmark, self.entries, self.asking, self._hit = benchmark, models, asking, hit
        self._budget = budget
        surroundings = msgspec.structs.replace(asking.patience, pictures=Pictures(benchmark.images))
        self.models: list[Model] = make_models(models, surroundings)
        self.rule: StoppingRule | None = None
        if isinstance(asking.stop, StoppingRule):
            self.rule = asking.stop
        elif asking.stop:
            self.rule = parse_rule(asking.stop, trials=asking.trials, models=len(models))
        self.plan = Plan(
            benchmark,
            self.models,
            asking.conditions,
            trials=asking.trials,
            sampling=asking.sampling,
            seed=asking.seed,
        )
        self.plan.own = asking.own
        if self.rule is not None and self.plan.dialogues is not None:
            why = "a turn goes on from all answers to the one before, so none of them can be spared"
            raise InputError(f"{heading('stop')}: not with {param('history', 'own')}: {why}")
        self.plan.only(asking.limit, asking.items)
        self.race = Race(asking.until, list(self.entries)) if asking.until else None
        self.until: Goal | None = self.race or goal
        if self.until is not None:
            self._refuse_several_ways()
        if self.race is not None:
            self.race.draw(self.plan, asking.seed, asking.worth)
        self.about = RunBenchmark.of(benchmark.manifest, benchmark.path)

    def _refuse_several_ways(self) -> None:
        asking = self.asking
        if asking.stop or asking.own or asking.trials > 1 or len(asking.conditions) > 1 or self.plan.dialogues:
            raise InputError("to ask only until it is certain: in one way, once, and each item by itself")

    def estimate(self, to: Path | None = None, write: Write | None = None) -> Estimate:
        """What a run into this folder would ask, without touching anything; ``write`` hears of each row."""
        run = Run(to) if to is not None and is_run(to) else None
        if run:
            run.check_benchmark(self.about)
        turns = TurnByTurn(self.plan, run, retry_failed=self.asking.retry_failed)
        turns.plan_all(write, recall(to, self.plan) if run and to and not write else None)
        return turns.estimate

    def run(
        self,
        to: Path,
        *,
        progress: Progress | None = None,
        watch: Watch | None = None,
        planned: Callable[[Estimate], None] | None = None,
    ) -> Progress:
        """Ask everything that has no answer yet. Run it again to go on where it stopped, however it stopped."""
        progress = progress or Progress()
        with RunWriter(to) as run:
            run.check_benchmark(self.about)
            if self._weighs and (probed := [model for model in self.models if isinstance(model, ProbedModel)]):
                wait_for(_probe(probed))
            turns = TurnByTurn(self.plan, run, retry_failed=self.asking.retry_failed)
            if known := recall(to, self.plan):
                left = turns.plan_all(known=known)
            else:
                with run.planning() as plan:
                    left = turns.plan_all(plan.add)
                remember(to, self.plan, turns.estimate, left.ledger)
            estimate = turns.estimate
            if planned:
                planned(estimate)
            progress.to_ask, progress.stored, progress.unanswered = estimate.calls, estimate.stored, turns.unanswered
            run.record(self._step(estimate), self.entries, self.about)
            copy_without_pictures(self.benchmark, to / BENCHMARK)
            if estimate.calls or self.until is not None:
                with watch(progress) if watch else nullcontext(), one_error(), suppress(asyncio.CancelledError):
                    wait_for(self._ask(run, progress, turns, left))
            if progress.saved or len(turns.plans) > 1:
                run.amend(saved=progress.saved, not_applicable=dict(turns.estimate.not_applicable))
        return progress

    async def _ask(self, run: RunWriter, progress: Progress, turns: TurnByTurn, left: Left) -> None:
        executor = self._executor(run, progress)
        with stopping_on_ctrl_c(executor):
            async with executor:
                self._note_ways(run, executor.ways)
                if self.until is not None:
                    assert self._hit is not None, "a goal needs somebody who tells right from wrong"
                    again = partial(is_asked_again, retry_failed=self.asking.retry_failed)
                    stored = StoredResponses(run.path, again)
                    await executor.execute_until(self.plan, self.until, self._hit, stored.get)
                elif self.rule is None:
                    await executor.execute(self.plan, left)
                    for number, plan in enumerate(turns.plans[1:], 1):
                        if executor.stopping:
                            return
                        left = turns.plan_next(number, run)
                        progress.to_ask = progress.done + turns.calls_from(number)
                        progress.unanswered = turns.unanswered
                        await executor.execute(plan, left)
                else:
                    assert self._hit is not None, "a stopping rule needs somebody who tells right from wrong"
                    await executor.execute_panels(self.plan, left, self.rule, self._hit)
                self._note_ways(run, executor.ways)

    def _executor(self, run: RunWriter, progress: Progress) -> Executor:
        asking, budget = self.asking, self._budget or Budget(self.asking.limits)
        if asking.cluster is None:
            runner = Runner(self.models, run.journal.append, budget, progress=progress, seed=asking.seed)
            return LocalExecutor(runner, run.path, retry_failed=asking.retry_failed)
        from eyetest.running.cluster.executor import RayExecutor  # noqa: PLC0415 (loads what only a cluster needs)

        order = Order(
            version=__version__,
            benchmark=address(self.benchmark.path),
            run=address(run.path),
            entries=self.entries,
            conditions=asking.conditions,
            own=asking.own,
            trials=asking.trials,
            sampling=asking.sampling,
            seed=asking.seed,
            limits=budget.limits,
            patience=asking.patience,
            retry_failed=asking.retry_failed,
            weighs=self._weighs,
            looks_refused=progress.looks_refused,
        )
        return RayExecutor(asking.cluster, order, self.models, run, budget, progress)

    @property
    def _weighs(self) -> bool:
        """Whether anybody is asked for likelihoods."""
        methods = {condition.method for condition in self.asking.conditions}
        methods |= {axes.get("method", "generate") for axes in self.asking.own.values()}
        return methods != {"generate"}

    def _note_ways(self, run: RunWriter, hosted: Mapping[str, str]) -> None:
        """Write down how likelihoods are computed, as soon as that is known; models that have one way do not say."""
        ways = {model.name: way for model in self.models if self._weighs and (way := getattr(model, "way", ""))}
        ways |= hosted if self._weighs else {}
        if ways != run.manifest.steps[-1].ways:
            run.amend(ways=ways)

    def _step(self, estimate: Estimate) -> RunStep:
        asking = self.asking
        axes = {
            name: ",".join(dict.fromkeys(str(getattr(condition, name)) for condition in asking.conditions))
            for name in Condition.__struct_fields__
        }
        options = axes | {"trials": str(asking.trials), "models": ",".join(self.entries)}
        if asking.sampling:
            options["sampling"] = msgspec.json.encode(plain_settings(asking.sampling)).decode()
        if asking.stop:
            options["stop"] = asking.stop if isinstance(asking.stop, str) else asking.stop.told
        if self.until is not None:
            options["until"] = self.until.words
            options |= {"drawn": "by worth"} if asking.worth or self.race is None else {}
        return RunStep(
            what="ask",
            seed=asking.seed,
            options=options,
            planned=estimate.rows,
            requests=estimate.requests,
            not_applicable=dict(estimate.not_applicable),
        )


async def _probe(models: Sequence[ProbedModel]) -> None:
    await asyncio.gather(*(model.probe() for model in models))


@contextmanager
def one_error() -> Iterator[None]:
    """Tasks that fail together are reported by the first of them."""
    try:
        yield
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


class Stoppable(Protocol):
    """Something that can be told to begin nothing more."""

    progress: Progress

    def stop(self, why: str) -> None:
        """Begin no new call; those in flight finish."""


@contextmanager
def stopping_on_ctrl_c(runner: Stoppable) -> Iterator[None]:
    """Ctrl-C once lets the calls in flight finish, twice gives them up. In a thread, whoever waits for it tells."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def pressed() -> None:
        if runner.progress.stopped == INTERRUPTED and task is not None:
            task.cancel()
        runner.stop(INTERRUPTED)
        runner.progress.stopped = INTERRUPTED

    signals = (signal.SIGINT, signal.SIGTERM)
    with suppress(ValueError, RuntimeError, NotImplementedError):
        for number in signals:
            loop.add_signal_handler(number, pressed)
    try:
        with hearing(pressed):
            yield
    finally:
        with suppress(ValueError, RuntimeError, NotImplementedError):
            for number in signals:
                loop.remove_signal_handler(number)
