"""Questions that are not a benchmark's own, to judges and describers: same journal, same limits, same counts."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.models import Call, Model, Pictures, Surroundings, make_models
from eyetest.records import Asked, Item, ModelEntry, Prompt, Request, Response, RunBenchmark, RunStep
from eyetest.running.execution import ask_all
from eyetest.running.limits import Budget, Limits
from eyetest.running.planning import is_asked_again
from eyetest.running.progress import Progress
from eyetest.running.runner import Runner
from eyetest.running.session import Watch, one_error, stopping_on_ctrl_c, wait_for
from eyetest.runs import RunWriter, StoredResponses

_TOKENS = 1_024


class Questions:
    """Puts prompts of anybody's making to models, into a run folder, where each is asked once."""

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
        self, model: str, prompts: Sequence[tuple[Item, Prompt]], what: str, watch: Watch | None = None
    ) -> tuple[list[Response | None], Progress]:
        """What a model says to each prompt; None where it could not be asked, because the run is stopping."""
        progress = Progress()
        entry = {model: self._entries[model]}
        pictures = msgspec.structs.replace(self._patience, pictures=Pictures(self._benchmark.images))
        made = make_models(entry, pictures)[0]
        calls = [_call(made, item, prompt) for item, prompt in prompts]
        with RunWriter(self._to) as run:
            run.check_benchmark(about := RunBenchmark.of(self._benchmark.manifest, self._benchmark.path))
            stored = StoredResponses(run.path, partial(is_asked_again, retry_failed=self._retry_failed))
            answers = {call.id: stored.get(call.id) for call in calls}
            open_ = [call for call in {call.id: call for call in calls}.values() if answers[call.id] is None]
            progress.to_ask, progress.stored = len(open_), len(answers) - len(open_)
            if open_:
                run.record(RunStep(what=what, requests=len(open_), options={"models": model}), entry, about)
                with watch(progress) if watch else nullcontext(), one_error(), suppress(asyncio.CancelledError):
                    wait_for(self._carry_out(run, made, open_, answers, progress))
        return [answers[call.id] for call in calls], progress

    async def _carry_out(
        self,
        run: RunWriter,
        model: Model,
        calls: Sequence[Call],
        answers: dict[str, Response | None],
        progress: Progress,
    ) -> None:
        runner = Runner([model], run.journal.append, self._limits, progress=progress)

        def heard(response: Response) -> None:
            answers[response.request] = response

        with stopping_on_ctrl_c(runner):
            async with runner:
                await ask_all(runner, model.name, calls, heard)


def _call(model: Model, item: Item, prompt: Prompt) -> Call:
    settings: dict[str, Any] = {"temperature": 0, "max_tokens": _TOKENS, **model.settings}
    if model.knows_items:
        settings |= {"item": item.id}
    request = Request(model=model.name, prompt=prompt, settings=settings)
    return Call(Asked(item=item.id, model=model.name), item, request, request.id)
