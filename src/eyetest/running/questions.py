"""Questions that are not a benchmark's own, to judges and describers: same journal, same limits, same counts."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.models import Call, Model, Pictures, Surroundings, make_models
from eyetest.records import Asked, Item, ModelEntry, Prompt, Request, Response, RunBenchmark, RunStep
from eyetest.running.execution import ask_all
from eyetest.running.ledger import Ledger, Left
from eyetest.running.limits import Budget, Limits
from eyetest.running.planning import is_asked_again
from eyetest.running.progress import Progress
from eyetest.running.runner import Runner
from eyetest.running.session import Watch, one_error, stopping_on_ctrl_c, wait_for
from eyetest.runs import RunWriter, StoredResponses
from eyetest.runs.stored import IdIndex, sortable

_TOKENS = 1_024

Prompts = Callable[[], Iterable[tuple[Item, Prompt]]]
"""Makes prompts, each with the item that it is about; the same ones whenever it is called."""


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
        self, model: str, prompts: Prompts, what: str, watch: Watch | None = None
    ) -> tuple[Iterator[Response | None], Progress]:
        """What a model says to each prompt; None where it could not be asked, because the run is stopping.

        Prompts are made twice, to find what is left to ask and to ask it, and what was said is read from the
        journal. So a prompt takes some bytes of memory, and not those of a call and a response.
        """
        progress = Progress()
        entry = {model: self._entries[model]}
        pictures = msgspec.structs.replace(self._patience, pictures=Pictures(self._benchmark.images))
        made = make_models(entry, pictures)[0]
        ledger = Ledger([made])
        for number, (item, prompt) in enumerate(prompts()):
            ledger.add(number, _call(made, item, prompt), (0, 0))
        ledger.close()
        ids = sortable(ledger.requests)
        with RunWriter(self._to) as run:
            run.check_benchmark(about := RunBenchmark.of(self._benchmark.manifest, self._benchmark.path))
            left = Left(ledger, run.errors(), partial(is_asked_again, retry_failed=self._retry_failed))
            is_known, index = left.is_settled.copy(), IdIndex(ids)

            def heard(response: Response) -> None:
                is_known[index.row(response.request.encode())] = True

            progress.stored = int(left.is_settled.sum())
            progress.to_ask = len(ids) - progress.stored
            if progress.to_ask:
                run.record(RunStep(what=what, requests=progress.to_ask, options={"models": model}), entry, about)
                calls = (_call(made, item, prompt) for item, prompt in compress(prompts(), left.is_first()))
                with watch(progress) if watch else nullcontext(), one_error(), suppress(asyncio.CancelledError):
                    wait_for(self._carry_out(run, made, calls, heard, progress))
        stored = StoredResponses(self._to, among=IdIndex(ids[is_known]))
        return stored.each(ids[ledger.codes]), progress

    async def _carry_out(
        self,
        run: RunWriter,
        model: Model,
        calls: Iterable[Call],
        heard: Callable[[Response], None],
        progress: Progress,
    ) -> None:
        runner = Runner([model], run.journal.append, self._limits, progress=progress)
        with stopping_on_ctrl_c(runner):
            async with runner:
                await ask_all(runner, model.name, calls, heard)


def _call(model: Model, item: Item, prompt: Prompt) -> Call:
    settings: dict[str, Any] = {"temperature": 0, "max_tokens": _TOKENS, **model.settings}
    if model.knows_items:
        settings |= {"item": item.id}
    request = Request(model=model.name, prompt=prompt, settings=settings)
    return Call(Asked(item=item.id, model=model.name), item, request, request.id)
