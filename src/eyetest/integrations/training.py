"""Evaluation inside a training loop: the network in memory, by likelihood, compared with the evaluation before."""

import logging
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import copy_without_images
from eyetest.commands.base import new_path, open_bench
from eyetest.commands.options import AnyPath, Bench
from eyetest.errors import InputError, MissingExtraError
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.paired import paired
from eyetest.models import Call, CallError, Images, Surroundings
from eyetest.models.checkpoint.loading import Checkpoint
from eyetest.models.checkpoint.model import CheckpointModel
from eyetest.prompts.conditions import Conditions, read_conditions
from eyetest.prompts.sent import named_by_what_is_sent, refuse_unsent
from eyetest.records import Condition, ModelEntry, Response, RunBenchmark, RunStep
from eyetest.results.gather import items_table
from eyetest.running import Asking, Plan
from eyetest.running.limits import wait_for
from eyetest.runs import BENCHMARK, RunWriter
from eyetest.scoring import Scorer

_log = logging.getLogger(__name__)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The score at a step under a condition, and whether it differs from the one before by more than noise."""

    step: int
    condition: str
    items: int
    score: float
    before: int | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    changed: bool | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        head = f"step {self.step}, {self.condition}: {self.score:.3f} of {self.items:,} items"
        if self.p is None:
            return head
        since = f"{self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}] since step {self.before}"
        return f"{head}; {since}, {'more than' if self.changed else 'within'} noise (p = {self.p:.2g})"


class Evaluator:
    """Evaluates a network in training on a benchmark.

    Every evaluation asks the same items by likelihood and is paired with the one before: at level 0.95, a change
    that is only noise is reported as more in 1 of 20 evaluations.
    """

    def __init__(
        self,
        model: Any,
        benchmark: Bench,
        conditions: Conditions = "likelihood",
        *,
        processor: Any,
        level: float = 0.95,
        to: AnyPath | None = None,
    ) -> None:
        """Prepare; the network is not used before the first evaluation.

        Args:
            model: A transformers model, image-text-to-text or text only.
            benchmark: A benchmark folder, or any file that eyetest can import.
            conditions: How questions are asked, all by likelihood: likelihood,likelihood+no-image.
            processor: The model's processor, or its tokenizer where it takes text only.
            level: Confidence level of intervals and tests.
            to: A run folder that stores all answers; the model is named by its step: step-200.

        """
        if not 0 < level < 1:
            raise InputError(f"level: found {level:g}, expected a number between 0 and 1")
        self.benchmark, self.level, self._requested = open_bench(benchmark), level, read_conditions(conditions)
        if any(condition.method == "generate" for condition in self._requested):
            raise InputError('an Evaluator asks by likelihood: "likelihood", "first-token", "likelihood+no-image" …')
        refuse_unsent(self.benchmark, self._requested, "evaluate without it: likelihood+no-image")
        items = list(self.benchmark)
        labels = [named_by_what_is_sent(item, condition) for condition in self._requested for item in items]
        self.conditions = tuple(dict.fromkeys(labels))
        self.history: list[Evaluation] = []
        self._network, self._processor = model, processor
        self._to = None if to is None else new_path(to, "to")
        self._scores: dict[tuple[int, Condition], Floats] = {}
        self._clusters: Sequence[str] = ()
        self._model: CheckpointModel | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """One row for each evaluation and condition."""
        return pl.DataFrame([msgspec.structs.asdict(row) for row in self.history], infer_schema_length=None)

    def evaluate(self, step: int) -> list[Evaluation]:
        """Evaluate the network as it is now: one result for each condition."""
        if any(row.step == step for row in self.history):
            raise InputError(f"step {step} was evaluated already; name each evaluation by a step of its own")
        began, modes = perf_counter(), [(part, part.training) for part in self._network.modules()]
        before = self.history[-1].step if self.history else None
        self._network.eval()
        try:
            calls, responses = self._answered(step)
        finally:
            for part, was_training in modes:  # frozen parts of a network may be in evaluation mode
                part.training = was_training
        self._score(step, calls, responses)
        if self._to is not None:
            self._store(self._to, step, calls, responses)
        taken = perf_counter() - began
        self.history += (done := [self._compared(step, before, condition, taken) for condition in self.conditions])
        _log.info("%s", "; ".join(map(str, done)))
        return done

    def compare(self, step: int, before: int, condition: Condition | None = None) -> Evaluation:
        """An evaluation compared with any other; by default under the first condition."""
        wanted = condition or self.conditions[0]
        if missing := [at for at in (step, before) if (at, wanted) not in self._scores]:
            raise InputError(f"there is no evaluation at step {missing[0]}")
        return self._compared(step, before, wanted, 0.0)

    def _compared(self, step: int, before: int | None, condition: Condition, seconds: float) -> Evaluation:
        now, about = self._scores[step, condition], _words(condition)
        if not (known := int((~np.isnan(now)).sum())):
            raise InputError(f"no item of {self.benchmark.path} can be asked by {about}: it needs options and a gold")
        values: dict[str, Any] = {"step": step, "condition": about, "items": known, "seconds": seconds}
        if before is not None:
            pair = paired(now, self._scores[before, condition], self._clusters, self.level)
            values |= {"before": before, "difference": pair.difference, "low": pair.low, "high": pair.high}
            values |= {"p": pair.p, "changed": pair.p is not None and pair.p < 1 - self.level}
        return Evaluation(score=float(np.nanmean(now)), **values)

    def _answered(self, step: int) -> tuple[list[Call], list[Response]]:
        model = self._open(step)
        plan = Plan(self.benchmark, [model], Asking(conditions=self._requested))
        calls = [call for item in plan.items() for call in plan.applicable(item, [model])]
        responses: list[Response] = []

        async def ask() -> None:
            if not model.way:
                await model.open()
            for start in range(0, len(calls), model.batch):
                for response in await model.answer_many(calls[start : start + model.batch]):
                    if isinstance(response, CallError):
                        raise response
                    responses.append(response)

        wait_for(ask())
        return calls, responses

    def _open(self, step: int) -> CheckpointModel:
        """The network as a model, named by the step; opened anew where it has moved to another device."""
        first = next(self._network.parameters())
        if hasattr(first, "ds_id") or type(first).__name__ == "DTensor":
            raise InputError("the weights are sharded over processes (FSDP, ZeRO-3); evaluate a saved checkpoint")
        state = Checkpoint(Path(type(self._network).__name__), self._fingerprint(), str(first.dtype)[6:])
        if self._model is None or self._model.entry.sampling["device"] != str(first.device):
            entry = ModelEntry(spec=f"transformers:{state.folder}", sampling={"device": str(first.device)})
            around = Surroundings(images=Images(self.benchmark.images))
            self._model = CheckpointModel("", entry, state, around, (self._network, self._processor))
        self._model.name = f"step-{step}"
        self._model.settings = self._model.settings | {"weights": state.fingerprint, "step": step}
        return self._model

    def _fingerprint(self) -> str:
        digest = blake2b(digest_size=16)
        for name, weight in self._network.named_parameters():
            sample = weight.detach().flatten()[:: max(1, weight.numel() // 16)][:16]
            digest.update(name.encode() + sample.float().cpu().numpy().tobytes())
        return digest.hexdigest()

    def _score(self, step: int, calls: Sequence[Call], responses: Sequence[Response]) -> None:
        items = {call.item.id: call.item for call in calls}
        if not self._clusters:
            self._clusters = items_table("", items.values()).get_column("cluster").to_list()
        rows, scorer = {item: row for row, item in enumerate(items)}, Scorer()
        for condition in self.conditions:
            self._scores[step, condition] = np.full(len(items), np.nan)
        for call, response in zip(calls, responses, strict=True):
            score = scorer.score(call.item, call.asked.condition, response).score
            if score is not None:
                self._scores[step, call.asked.condition][rows[call.item.id]] = score

    def _store(self, to: Path, step: int, calls: Sequence[Call], responses: Sequence[Response]) -> None:
        assert self._model is not None
        with RunWriter(to) as run:
            run.check_benchmark(about := RunBenchmark.of(self.benchmark.manifest, self.benchmark.path))
            with run.planning() as plan:
                for call in calls:
                    plan.add(call.asked, call.id)
            how = RunStep(what="ask", options={"step": str(step)}, planned=len(calls), requests=len(calls))
            run.record(how, {self._model.name: self._model.entry}, about)
            copy_without_images(self.benchmark, to / BENCHMARK)
            for response in responses:
                run.journal.append(response)

    def for_trainer(self, every: int) -> Any:
        """A callback for transformers' Trainer; results also go to its ``state.log_history``."""

        def on_step_end(_: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step % every == 0 and state.is_world_process_zero:
                state.log_history.append({"step": state.global_step, **_logged(self.evaluate(state.global_step))})

        return _callback("transformers", "TrainerCallback", on_step_end, every)

    def for_lightning(self, every: int) -> Any:
        """A callback for a Lightning Trainer; results also go to its loggers."""

        def on_train_batch_end(_: Any, trainer: Any, *batch: Any, **kwargs: Any) -> None:
            step, last = trainer.global_step, self.history[-1].step if self.history else 0
            if step % every == 0 and step != last and trainer.is_global_zero:  # one step may be of several batches
                logged = _logged(self.evaluate(step))
                for logger in trainer.loggers:
                    logger.log_metrics(logged, step=step)

        return _callback("lightning.pytorch", "Callback", on_train_batch_end, every)


def _callback(library: str, base: str, hook: Callable[..., None], every: int) -> Any:
    """A library's callback with one hook, in the main process."""
    if every < 1:
        raise InputError(f"every: found {every}, expected a number of steps, 1 or more")
    try:
        kind = getattr(import_module(library), base)
    except ImportError:
        extra = library.partition(".")[0]
        raise MissingExtraError(f"this callback needs {extra}: pip install 'eyetest[{extra}]'") from None
    return type("EvaluationCallback", (kind,), {hook.__name__: hook})()


def _words(condition: Condition) -> str:
    """What of a condition is not usual."""
    values = zip(msgspec.structs.astuple(condition), msgspec.structs.astuple(Condition()), strict=True)
    return "+".join(str(value) for value, usual in values if value != usual)


def _logged(evaluations: Sequence[Evaluation]) -> Mapping[str, float]:
    """The numbers for a log, each named by its condition."""
    return {
        f"eyetest/{row.condition}{key}": value
        for row in evaluations
        for key, value in (("", row.score), ("/difference", row.difference), ("/p", row.p))
        if value is not None
    }
