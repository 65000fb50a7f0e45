"""A session of a run: a benchmark, models and settings become a run folder with every answer."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, copy_without_images
from eyetest.errors import InputError, as_reached, heading, param
from eyetest.models import Call, Images, Model, ProbedModel, Surroundings, make_models
from eyetest.prompts.sets import contents
from eyetest.records import (
    Asked,
    Condition,
    Item,
    ModelEntry,
    Prompt,
    Request,
    Response,
    RunBenchmark,
    RunStep,
)
from eyetest.redaction import plain_settings
from eyetest.running.execution import Hit, Race, ask_all, execute, execute_panels, execute_until
from eyetest.running.limits import Asking, Budget, Limits, Progress, one_error, stopping_on_ctrl_c, wait_for
from eyetest.running.planning import UNANSWERED, Estimate, Ledger, Plan, Write
from eyetest.running.runner import Runner
from eyetest.runs import BENCHMARK, Run, RunWriter, StoredResponses, is_run
from eyetest.store.urls import refuse_remote

Watch = Callable[[Progress], AbstractContextManager[Any]]


class Session:
    """A plan for a run folder, which can be inspected before it is executed."""

    def __init__(
        self,
        benchmark: Benchmark,
        models: dict[str, ModelEntry],
        asking: Asking,
        *,
        hit: Hit | None = None,
        budget: Budget | None = None,
        remedy: str = "",
    ) -> None:
        """``budget``: shared with other sessions, else the asking's limits. ``remedy``: what to do where media are
        not sent.
        """
        self.benchmark, self.entries, self.asking, self._hit = benchmark, models, asking, hit
        self._budget = budget
        surroundings = msgspec.structs.replace(asking.patience, images=Images(benchmark.images))
        self.models: list[Model] = make_models(models, surroundings)
        self.plan = Plan(benchmark, self.models, asking)
        self.plan.only(asking.limit, asking.items)
        self.plan.refuse_unsent(remedy)
        self.plan.refuse_idle_axes()
        self.race = Race(asking.until, self.plan, asking.seed) if asking.until else None
        several = asking.samples > 1 or len(asking.conditions) > 1 or self.plan.dialogues
        if self.race and several:
            raise InputError("to ask only until it is certain: in one way, once, and each item by itself")
        if asking.cluster is not None and (self.race or self.plan.dialogues):
            asked = f"{param('until')} and history=own decide by earlier answers"
            raise InputError(f"{heading('on')}: {asked}, so they are asked from one machine")
        self.about = RunBenchmark.of(benchmark.manifest, benchmark.path)

    def estimate(self, to: Path | None = None, write: Write | None = None) -> Estimate:
        """What a run into this folder would ask, without changes; ``write`` receives each row."""
        run = Run(to) if to is not None and is_run(to) else None
        if run:
            run.check_benchmark(self.about)
        return self._plan(run, write, retry_failed=self.asking.retry_failed)[0]

    def _plan(self, run: Run | None, write: Write | None, *, retry_failed: bool) -> tuple[Estimate, pl.DataFrame]:
        """Plan what is known to be asked: turns of a dialogue whose earlier answers are stored, and all else."""
        self.plan.recorded = run.recorded() if run else {}
        answers = StoredResponses(run.path, retry_failed=retry_failed).get if run and self.plan.dialogues else None
        errors = run.errors() if run else None
        return self.plan.estimate(errors, retry_failed=retry_failed, write=write, answers=answers)

    def run(
        self,
        to: Path,
        *,
        progress: Progress | None = None,
        watch: Watch | None = None,
        planned: Callable[[Estimate], None] | None = None,
    ) -> Progress:
        """Ask everything without an answer. Run it again to resume, however it stopped."""
        progress = progress or Progress()
        progress.keys = _keys(self.models, self._budget)
        if self.asking.cluster is not None:
            refuse_remote(to, "a run on Ray")
        with RunWriter(to) as run:
            run.check_benchmark(self.about)
            if self.asking.weighs and (probed := [model for model in self.models if isinstance(model, ProbedModel)]):
                with watch(progress) if watch else nullcontext():
                    wait_for(_probe(probed))
            with run.planning() as plan:
                estimate, left = self._plan(run, plan.add, retry_failed=self.asking.retry_failed)
            if planned:
                planned(estimate)
            progress.to_ask, progress.stored = estimate.calls, estimate.stored
            progress.unanswered = estimate.not_applicable[UNANSWERED]
            run.record(self._step(estimate), self.entries, self.about)
            copy_without_images(self.benchmark, to / BENCHMARK)
            if estimate.calls or self.race:
                _carry_out(self._ask(run, progress, left), progress, watch)
            if progress.saved:
                run.amend(saved=progress.saved)
        return progress

    async def _ask(self, run: RunWriter, progress: Progress, left: pl.DataFrame) -> None:
        budget = self._budget or Budget(self.asking.limits)
        if self.asking.cluster is not None:
            self._note_ways(run, progress)
            await self._ask_on_cluster(run, budget, progress, left)
        else:
            runner = Runner(self.models, run.journal.append, budget, progress=progress, seed=self.asking.seed)
            with stopping_on_ctrl_c(runner.stop, progress):
                async with runner:
                    self._note_ways(run, progress)
                    await self._ask_here(run, runner, left)
        self._note_ways(run, progress)

    async def _ask_here(self, run: RunWriter, runner: Runner, left: pl.DataFrame) -> None:
        if self.race or self.asking.stop:
            from eyetest.scoring import is_hit  # noqa: PLC0415 (slow to load, and few runs need it)

            hit = self._hit or is_hit
            stored = StoredResponses(run.path, retry_failed=self.asking.retry_failed).get
            if self.race:
                await execute_until(self.plan, runner, self.race, hit, stored)
            elif self.asking.stop:
                await execute_panels(self.plan, runner, self.asking.stop, hit, stored)
        else:
            await execute(self.plan, runner, left)
            await self._ask_turns(run, runner)

    async def _ask_turns(self, run: RunWriter, runner: Runner) -> None:
        """Ask the later turns of dialogues in which models continue their own answers, one after the other."""
        progress = runner.progress
        for _ in range(self.plan.dialogues.longest - 1 if self.plan.dialogues else 0):
            if runner.stopping:
                return
            with run.planning() as table:
                estimate, left = self._plan(run, table.add, retry_failed=False)
            progress.to_ask = progress.done + estimate.calls
            progress.unanswered = estimate.not_applicable[UNANSWERED]
            run.amend(not_applicable=dict(estimate.not_applicable))
            await execute(self.plan, runner, left)

    async def _ask_on_cluster(self, run: RunWriter, budget: Budget, progress: Progress, left: pl.DataFrame) -> None:
        from eyetest.running.cluster import Order, RayExecutor  # noqa: PLC0415 (few runs are on a cluster)

        order = Order(
            benchmark=as_reached(str(self.benchmark.path.absolute())),
            run=str(run.path.absolute()),
            entries=self.entries,
            asking=self.asking,
            prompts=self._prompts,
        )
        await RayExecutor(order, run, budget, progress).execute(self.plan, left)

    @property
    def _prompts(self) -> dict[str, Any]:
        """The texts of all prompts but the usual ones."""
        return contents({condition.prompts for condition in self.asking.conditions})

    def _note_ways(self, run: RunWriter, progress: Progress) -> None:
        """Store how likelihoods are computed, as soon as known; models with a single way do not report it."""
        ways = {model.name: way for model in self.models if self.asking.weighs and (way := getattr(model, "way", ""))}
        ways |= progress.ways if self.asking.weighs else {}
        if ways != run.manifest.steps[-1].ways:
            run.amend(ways=ways)

    def _step(self, estimate: Estimate) -> RunStep:
        asking = self.asking
        axes = {
            name: ",".join(dict.fromkeys(str(getattr(condition, name)) for condition in asking.conditions))
            for name in Condition.__struct_fields__
        }
        options = axes | {"samples": str(asking.samples), "models": ",".join(self.entries)}
        if asking.sampling:
            options["sampling"] = msgspec.json.encode(plain_settings(asking.sampling)).decode()
        if asking.stop:
            options["stop"] = asking.stop.text
        if asking.until:
            options["until"] = asking.until
        return RunStep(
            what="ask",
            seed=asking.seed,
            options=options,
            planned=estimate.rows,
            requests=estimate.requests,
            not_applicable=dict(estimate.not_applicable),
            prompts=self._prompts,
        )


def _keys(models: Sequence[Model], budget: Limits | Budget | None) -> list[str]:
    """Which keys are sent where, each once for all sessions that share a budget."""
    before = budget.keys if isinstance(budget, Budget) else set()
    new = {words for model in models if (words := getattr(model, "key_sent", ""))} - before
    before |= new
    return sorted(new)


async def _probe(models: Sequence[ProbedModel]) -> None:
    await asyncio.gather(*(model.probe() for model in models))


def _carry_out(work: Coroutine[Any, Any, None], progress: Progress, watch: Watch | None) -> None:
    """Do the work in a loop of its own; a failure of several tasks is that of the first."""
    with watch(progress) if watch else nullcontext(), one_error(), suppress(asyncio.CancelledError):
        wait_for(work)


_TOKENS = 1_024
Texts = Mapping[str, Any]  # of prompt sets, by label, for a run's record
Prompts = Callable[[], Iterable[tuple[Item, Prompt]]]  # makes prompts with their items, the same at every call


class Questions:
    """Puts arbitrary prompts to models, into a run folder, each once."""

    def __init__(
        self,
        to: Path,
        benchmark: Benchmark,
        entries: dict[str, ModelEntry],
        limits: Limits | Budget | None = None,
        patience: Surroundings | None = None,
        *,
        retry_failed: bool = False,
    ) -> None:
        self._retry_failed = retry_failed
        self._to, self._benchmark, self._entries = to, benchmark, entries
        self._limits, self._patience = limits or Limits(), patience or Surroundings()

    def ask(
        self, model: str, prompts: Prompts, what: str, watch: Watch | None = None, texts: Texts | None = None
    ) -> tuple[Iterator[Response | None], Progress]:
        """A model's answer to each prompt, made twice to save memory; None where it could not be asked."""
        progress = Progress()
        entry = {model: self._entries[model]}
        images = msgspec.structs.replace(self._patience, images=Images(self._benchmark.images))
        made = make_models(entry, images)[0]
        ledger = Ledger([made])
        for number, (item, prompt) in enumerate(prompts()):
            ledger.add(number, _call(made, item, prompt), (0, 0))
        with RunWriter(self._to) as run:
            run.check_benchmark(about := RunBenchmark.of(self._benchmark.manifest, self._benchmark.path))
            left = ledger.left(run.errors(), retry_failed=self._retry_failed)
            is_open = left["new"] | left["again"]
            progress.to_ask = int(is_open.sum())
            progress.stored = int(left["first"].sum()) - progress.to_ask
            progress.keys = _keys([made], self._limits)
            if progress.to_ask:
                how: dict[str, Any] = {"options": {"models": model}, "prompts": dict(texts or {})}
                run.record(RunStep(what=what, requests=progress.to_ask, **how), entry, about)
                calls = (_call(made, item, prompt) for item, prompt in compress(prompts(), is_open))
                runner = Runner([made], run.journal.append, self._limits, progress=progress)
                _carry_out(_ask_one(runner, model, calls), progress, watch)
        stored = StoredResponses(self._to, retry_failed=False, among=left["request"])
        return stored.each(left["request"]), progress


async def _ask_one(runner: Runner, model: str, calls: Iterable[Call]) -> None:
    with stopping_on_ctrl_c(runner.stop, runner.progress):
        async with runner:
            await ask_all(runner, model, calls)


def _call(model: Model, item: Item, prompt: Prompt) -> Call:
    settings: dict[str, Any] = {"temperature": 0, "max_tokens": _TOKENS, **model.settings}
    if model.knows_items:
        settings |= {"item": item.id}
    request = Request(model=model.name, prompt=prompt, settings=settings)
    return Call(Asked(item=item.id, model=model.name), item, request, request.id)
