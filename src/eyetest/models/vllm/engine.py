"""vLLM's engine in a thread of its own: it takes requests at any moment and computes all that are under way together.

It lives in this process. vLLM would rather start another, which outlives a killed parent and keeps its memory. Where
several GPUs share a model, vLLM starts a worker for each, and those end with us.
"""

import asyncio
import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from math import inf
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from eyetest.models.base import CallError
from eyetest.models.checkpoint.loading import in_a_line

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}
"""Read when vLLM is imported: nothing is fetched or told to anybody, and the terminal stays ours."""
_TURN = Lock()
"""vLLM keeps in the process what it is computing, so that several models here take turns."""
_TAKEN_AT_ONCE = 64
"""So many requests are taken in before those under way get their next turn."""


class _Job(NamedTuple):
    prompt: Mapping[str, Any]
    params: Mapping[str, Any]
    output: "Future[Any]"

    @property
    def telling(self) -> str:
        """How it asks for log-probabilities. vLLM mixes up two ways if it computes both at once: they take turns."""
        return next((name for name in ("logprobs", "logprob_token_ids") if self.params.get(name) is not None), "")


class VllmEngine:
    """Answers requests, each a prompt as vLLM takes it and the fields of its ``SamplingParams``."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._loaded: Future[None] = Future()
        self._thread = Thread(target=self._serve, name="vllm", daemon=True)

    async def start(self) -> None:
        """Load the weights; raises whatever vLLM raises."""
        self._thread.start()
        await asyncio.wrap_future(self._loaded)

    async def ask(self, prompt: Mapping[str, Any], **params: Any) -> Any:
        """What comes of a request, as vLLM's ``RequestOutput``. Whoever stops waiting gives it up."""
        job = _Job(prompt, params, Future())
        self._jobs.put(job)
        return await asyncio.wrap_future(job.output)

    async def stop(self) -> None:
        """Give up what is under way, and give back the memory."""
        if self._thread.is_alive():
            self._jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for us, not for workers started here
        try:
            for name, value in _ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            import vllm  # noqa: PLC0415 (the core does without)

            with _TURN:
                llm = vllm.LLM(**self._options)
        except BaseException as error:
            self._loaded.set_exception(error)
            return
        _settle(self._loaded.set_result, None)
        try:
            _Shift(llm, vllm.SamplingParams, self._jobs).work()
        finally:
            llm.llm_engine.engine_core.shutdown()
            del llm
            gc.collect()


class _Shift:
    """The engine at work, from the first request until it is told to stop."""

    def __init__(self, llm: Any, make_params: Callable[..., Any], jobs: "SimpleQueue[_Job | None]") -> None:
        self._llm, self._make_params, self._jobs = llm, make_params, jobs
        self._under_way: dict[str, tuple[str, _Job]] = {}
        """By its number: how vLLM calls a request, and what was asked."""
        self._telling: Counter[str] = Counter()
        """How many under way want to be told log-probabilities, by the way in which they ask."""
        self._held: list[_Job] = []
        self._broken = ""

    def work(self) -> None:
        while self._take_in():
            try:
                self._give_up_unwanted()
                for output in self._step():
                    number = _number(output.request_id)
                    if output.finished and number in self._under_way:
                        _settle(self._done(number).output.set_result, output)
            except Exception as error:
                self._broken = f"its engine broke: {in_a_line(error)}"
                self._end(self._broken)
        self._end("its engine was stopped")

    def _step(self) -> Sequence[Any]:
        """What the next turn of all under way brings."""
        if not self._under_way:
            return ()
        with _TURN:
            outputs: Sequence[Any] = self._llm.llm_engine.step()
        return outputs

    def _take_in(self) -> bool:
        """Take what has come; with nothing to do, wait for something. False where that is the end."""
        held, self._held = self._held, []
        for one in held:
            self._begin(one)
        for _ in range(_TAKEN_AT_ONCE):
            if self._under_way and self._jobs.empty():
                break
            job = self._jobs.get()
            if job is None:
                return False
            self._begin(job)
        return True

    def _begin(self, job: _Job) -> None:
        if job.output.cancelled():
            return
        if self._broken:
            _settle(job.output.set_exception, _gone(self._broken))
            return
        if any(kind != job.telling for kind, number in self._telling.items() if number and job.telling):
            self._held.append(job)
            return
        try:
            (name,) = self._llm.enqueue([job.prompt], self._make_params(**job.params), use_tqdm=False)
        except Exception as error:  # whatever vLLM does not like about this one, others must not wait for ever
            _settle(job.output.set_exception, CallError("bad-request", in_a_line(error)))
        else:
            self._under_way[_number(name)] = name, job
            self._telling[job.telling] += bool(job.telling)

    def _done(self, number: str) -> _Job:
        _, job = self._under_way.pop(number)
        self._telling[job.telling] -= bool(job.telling)
        return job

    def _give_up_unwanted(self) -> None:
        unwanted = {number: name for number, (name, job) in self._under_way.items() if job.output.cancelled()}
        if unwanted:
            self._llm.llm_engine.abort_request(list(unwanted.values()), internal=True)
            for number in unwanted:
                self._done(number)

    def _end(self, why: str) -> None:
        for job in (*(job for _, job in self._under_way.values()), *self._held):
            _settle(job.output.set_exception, _gone(why))
        self._under_way.clear()
        self._telling.clear()
        self._held.clear()


def _gone(why: str) -> CallError:
    """For a call that nobody will answer before the next session; it is no failure of the call."""
    return CallError("engine", why, wait=inf, blame="endpoint")


def _settle(tell: Callable[[Any], None], what: Any) -> None:
    """Tell who waits, unless they left meanwhile."""
    with suppress(Exception):
        tell(what)


def _number(request: str) -> str:
    """A request's number; vLLM may add a dash and letters of its own."""
    return request.partition("-")[0]
