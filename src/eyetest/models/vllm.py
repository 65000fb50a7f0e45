"""``vllm:DIR``: a checkpoint run by vLLM in a thread of this process: a process would outlive a killed parent."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from math import inf
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

import msgspec

from eyetest.errors import EyetestError, InputError
from eyetest.models.base import Backend, Call, CallError, Surroundings, images_of, target_of, weighed_response
from eyetest.models.checkpoint.loading import (
    LOADING_ERRORS,
    Checkpoint,
    check_settings,
    find_checkpoint,
    identity,
    in_a_line,
    load_processor,
    sampling_of,
    written_response,
)
from eyetest.models.checkpoint.rendering import RenderedPrompt, Renderer, names_of_images
from eyetest.models.trie import Beginning, weigh
from eyetest.records import ModelEntry, Prompt, Response

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}  # read when vLLM is imported: no downloads, no telemetry, no output to the terminal
_TURN = Lock()  # vLLM keeps its state per process, so that several models take turns
_TAKEN_AT_ONCE = 64  # requests taken before the next step of the running ones


class _Job(NamedTuple):
    prompt: Mapping[str, Any]
    params: Mapping[str, Any]
    output: "Future[Any]"


class VllmEngine:
    """Answers requests, each a vLLM prompt and the fields of its ``SamplingParams``."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._loaded: Future[None] = Future()
        self._thread = Thread(target=self._serve, name="vllm", daemon=True)

    async def start(self) -> None:
        """Load the weights; raises what vLLM raises."""
        self._thread.start()
        await asyncio.wrap_future(self._loaded)

    async def ask(self, prompt: Mapping[str, Any], **params: Any) -> Any:
        """The ``RequestOutput`` of a request; cancelling the wait aborts it."""
        job = _Job(prompt, params, Future())
        self._jobs.put(job)
        return await asyncio.wrap_future(job.output)

    async def stop(self) -> None:
        """Abort running requests and release the memory."""
        if self._thread.is_alive():
            self._jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is not for the workers started here
        try:
            for name, value in _ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            import vllm  # noqa: PLC0415 (optional)

            with _TURN:
                llm = vllm.LLM(**self._options)
        except BaseException as error:
            self._loaded.set_exception(error)
            return
        _settle(self._loaded.set_result, None)
        try:
            _EngineLoop(llm, vllm.SamplingParams, self._jobs).work()
        finally:
            llm.llm_engine.engine_core.shutdown()
            del llm
            gc.collect()


class _EngineLoop:
    """The running engine, from the first request until it is stopped."""

    def __init__(self, llm: Any, make_params: Callable[..., Any], jobs: "SimpleQueue[_Job | None]") -> None:
        self._llm, self._make_params, self._jobs = llm, make_params, jobs
        self._under_way: dict[str, tuple[str, _Job]] = {}  # by number: vLLM's request id and the job
        self._broken = ""

    def work(self) -> None:
        while self._take_in():
            try:
                self._give_up_unwanted()
                for output in self._step():
                    number = _number(output.request_id)
                    if output.finished and number in self._under_way:
                        _settle(self._under_way.pop(number)[1].output.set_result, output)
            except Exception as error:
                self._broken = f"its engine broke: {in_a_line(error)}"
                self._end(self._broken)
        self._end("its engine was stopped")

    def _step(self) -> Sequence[Any]:
        """The results of the engine's next step."""
        if not self._under_way:
            return ()
        with _TURN:
            outputs: Sequence[Any] = self._llm.llm_engine.step()
        return outputs

    def _take_in(self) -> bool:
        """Take new jobs, waiting for one if idle. False at the end."""
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
        try:
            (name,) = self._llm.enqueue([job.prompt], self._make_params(**job.params), use_tqdm=False)
        except Exception as error:  # an error about one request must not block the others
            _settle(job.output.set_exception, CallError("bad-request", in_a_line(error)))
        else:
            self._under_way[_number(name)] = name, job

    def _give_up_unwanted(self) -> None:
        unwanted = {number: name for number, (name, job) in self._under_way.items() if job.output.cancelled()}
        if unwanted:
            self._llm.llm_engine.abort_request(list(unwanted.values()), internal=True)
            for number in unwanted:
                del self._under_way[number]

    def _end(self, why: str) -> None:
        for _, job in self._under_way.values():
            _settle(job.output.set_exception, _gone(why))
        self._under_way.clear()


def _gone(why: str) -> CallError:
    """The error of a call that is left to the next session; not a failure of the call."""
    return CallError("engine", why, wait=inf, blame="endpoint")


def _settle(tell: Callable[[Any], None], what: Any) -> None:
    """Set a result, unless its future is done."""
    with suppress(Exception):
        tell(what)


def _number(request: str) -> str:
    """A request's number; vLLM may append a dash and letters."""
    return request.partition("-")[0]


# Settings of vLLM's start, under its own names
_ENGINE = ("dtype", "tensor_parallel_size", "max_model_len", "gpu_memory_utilization", "enforce_eager")
_IN_FLIGHT = 512  # default calls in flight; vLLM computes as many together as fit
_IMAGES_KEPT = 64  # images kept open for the next questions about them
_MOST_IMAGE_THREADS = 4
_MOST_TOKENS_WEIGHED = 128  # the most given tokens whose log-probabilities vLLM gives at once


class VllmModel:
    """A checkpoint in a local folder."""

    likelihoods = True
    knows_items = False
    batch = 1  # calls do not wait for each other

    def __init__(self, name: str, entry: ModelEntry, checkpoint: Checkpoint, surroundings: Surroundings) -> None:
        self.name, self._checkpoint = name, checkpoint
        self.entry = msgspec.structs.replace(entry, concurrency=entry.concurrency or _IN_FLIGHT)
        self._open_image = lru_cache(_IMAGES_KEPT)(lambda part: surroundings.images.open(part))  # noqa: PLW0108 (may be None)
        check_settings("vllm", entry.sampling, _ENGINE)
        self.settings = {"engine": "vllm", **identity(entry, checkpoint, _ENGINE)}
        own = {key: value for key, value in entry.sampling.items() if key in _ENGINE}
        self._engine = VllmEngine(
            {
                "model": str(checkpoint.folder),
                "trust_remote_code": False,
                "load_format": "safetensors",
                "use_tqdm_on_load": False,
                "enable_prefix_caching": True,
                **own,
                "dtype": self.settings["dtype"],
            }
        )
        self._image_threads = ThreadPoolExecutor(min(_MOST_IMAGE_THREADS, os.cpu_count() or 1), "vllm-images")

    async def open(self) -> None:
        """Load the processor and the weights."""
        try:
            processor, _ = await asyncio.get_running_loop().run_in_executor(
                self._image_threads, load_processor, self._checkpoint
            )
        except LOADING_ERRORS as error:
            raise InputError(f"vllm:{self._checkpoint.folder}: {in_a_line(error)}") from None
        self._renderer = Renderer(processor, None)
        try:
            await self._engine.start()
        except Exception as error:
            raise InputError(f"vllm:{self._checkpoint.folder}: {in_a_line(error)}") from error

    async def close(self) -> None:
        """Release the weights."""
        await self._engine.stop()
        self._image_threads.shutdown(wait=False)

    async def answer(self, call: Call) -> Response:
        """Make one attempt, in parallel with others."""
        try:
            prompt, shown = await asyncio.get_running_loop().run_in_executor(
                self._image_threads, self._prepare, call.request.prompt
            )
        except CallError:
            raise
        except EyetestError as error:
            raise CallError("image", str(error)) from None
        if prompt.continuations:
            return await self._weighed(shown, call, prompt)
        return await self._written(shown, call, prompt)

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """Make one attempt at each, in parallel."""
        return await asyncio.gather(*map(self._reply, calls))

    async def _reply(self, call: Call) -> Response | CallError:
        try:
            return await self.answer(call)
        except CallError as error:
            return error

    def _prepare(self, prompt: Prompt) -> tuple[RenderedPrompt, dict[str, Any]]:
        """A prompt as tokens, each image a placeholder, and its images."""
        (rendered,) = self._renderer.render([prompt])
        images = [self._open_image(part) for part in images_of(prompt)]
        if not images:
            return rendered, {}
        names = list(names_of_images(prompt))
        return rendered, {"multi_modal_data": {"image": images}, "multi_modal_uuids": {"image": names}}

    async def _weighed(self, shown: Mapping[str, Any], call: Call, prompt: RenderedPrompt) -> Response:
        """Likelihoods. Where a candidate changes the tokens of the prompt's end, it is scored separately."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for index, continuation in enumerate(prompt.continuations):
            groups.setdefault(tuple(continuation.tokens[: continuation.first]), []).append(index)
        answers = [continuation.tokens[continuation.first :] for continuation in prompt.continuations]
        sums: dict[int, float] = {}
        lengths: list[int] = []
        for begun, members in groups.items():
            found = await weigh(
                [answers[index] for index in members], partial(self._next_tokens, shown, begun, lengths)
            )
            sums |= zip(members, found, strict=True)
        logs = [sums[index] for index in range(len(answers))]
        return weighed_response(call, logs, map(len, answers), min(lengths, default=None))

    async def _next_tokens(
        self, shown: Mapping[str, Any], prompt: Beginning, lengths: list[int], begun: Beginning, tokens: Beginning
    ) -> dict[int, float]:
        """The log-probability of each next token; also reports how many tokens were read."""
        logs: dict[int, float] = {}
        for at in range(0, len(tokens), _MOST_TOKENS_WEIGHED):
            some = list(tokens[at : at + _MOST_TOKENS_WEIGHED])
            output = await self._engine.ask(
                {"prompt_token_ids": [*prompt, *begun], **shown},
                temperature=0.0,
                max_tokens=1,
                logprob_token_ids=some,
                detokenize=False,
            )
            lengths.append(len(output.prompt_token_ids))
            (logprobs,) = output.outputs[0].logprobs
            logs |= {token: float(logprobs[token].logprob) for token in some}
        return logs

    async def _written(self, shown: Mapping[str, Any], call: Call, prompt: RenderedPrompt) -> Response:
        sampling = sampling_of(call)
        output = await self._engine.ask(
            {"prompt_token_ids": prompt.tokens, **shown},
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.most,
            seed=sampling.seed,
            detokenize=False,
        )
        (written,) = output.outputs
        ended = written.finish_reason == "stop"
        tokens = list(written.token_ids)[: -1 if ended else None]  # without the end token
        read, tokenizer = len(output.prompt_token_ids), self._renderer.tokenizer
        return written_response(call, tokenizer, tokens, ended=ended, tokens_in=read)


BACKEND = Backend(
    "vllm",
    "a checkpoint in a local folder, run here by vLLM: vllm:DIR",
    lambda name, entry, world: VllmModel(name, entry, find_checkpoint(target_of(entry.spec), "vllm"), world),
    hosted=True,
)
