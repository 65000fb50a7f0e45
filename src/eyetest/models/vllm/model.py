"""A checkpoint that vLLM runs, as eyetest asks it: everything that is asked at the same time is computed together."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import msgspec
from PIL.Image import Image

from eyetest.errors import EyetestError, InputError
from eyetest.models.base import Call, CallError, Surroundings
from eyetest.models.checkpoint.loading import LOADING_ERRORS, Checkpoint, in_a_line, load_processor
from eyetest.models.checkpoint.rendering import RenderedPrompt, Renderer, names_of_pictures, pictures_of
from eyetest.models.checkpoint.settings import check_settings, identity, wish_of
from eyetest.models.trie import Fork, weigh
from eyetest.models.vllm.engine import VllmEngine
from eyetest.records import GreyPicture, Likelihood, ModelEntry, Picture, Prompt, Response

_ENGINE = ("dtype", "tensor_parallel_size", "max_model_len", "gpu_memory_utilization", "block_size", "enforce_eager")
"""Settings that vLLM takes when it is started, under its own names."""
_IN_FLIGHT = 512
"""So many calls are under way where nothing is said; vLLM computes as many of them together as fit."""
_PICTURES_KEPT = 64
"""So many pictures stay open for the next questions about them."""
_MOST_HANDS = 4
_MOST_TOKENS_WEIGHED = 128
"""vLLM tells the log-probabilities of so many given tokens at once."""
_MOST_LIKELIEST = 20


class VllmModel:
    """A checkpoint in a local folder."""

    likelihoods = True
    knows_items = False
    batch = 1
    """No call waits for another: each is answered, and the next begun, as soon as it is done."""

    def __init__(self, name: str, entry: ModelEntry, checkpoint: Checkpoint, surroundings: Surroundings) -> None:
        self.name, self._checkpoint = name, checkpoint
        self.entry = msgspec.structs.replace(entry, concurrency=entry.concurrency or _IN_FLIGHT)
        self._pictures = surroundings.pictures
        self._open_picture = lru_cache(_PICTURES_KEPT)(self._open)
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
                "max_logprobs": max(_MOST_LIKELIEST, entry.logprobs or 0),
                **own,
                "dtype": self.settings["dtype"],
            }
        )
        self._hands = ThreadPoolExecutor(min(_MOST_HANDS, os.cpu_count() or 1), "vllm-pictures")

    async def open(self) -> None:
        """Load the processor and the weights."""
        try:
            processor, _ = await asyncio.get_running_loop().run_in_executor(
                self._hands, load_processor, self._checkpoint
            )
        except LOADING_ERRORS as error:
            raise InputError(f"vllm:{self._checkpoint.folder}: {in_a_line(error)}") from None
        self._renderer = Renderer(processor, None)
        try:
            await self._engine.start()
        except Exception as error:
            raise InputError(f"vllm:{self._checkpoint.folder}: {in_a_line(error)}") from error

    async def close(self) -> None:
        """Give the weights back."""
        await self._engine.stop()
        self._hands.shutdown(wait=False)

    async def answer(self, call: Call) -> Response:
        """One attempt, beside whatever else is under way."""
        try:
            prompt, shown = await asyncio.get_running_loop().run_in_executor(
                self._hands, self._prepare, call.request.prompt
            )
        except CallError:
            raise
        except EyetestError as error:
            raise CallError("picture", str(error)) from None
        if prompt.continuations:
            return await self._weighed(shown, call, prompt)
        return await self._written(shown, call, prompt)

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """One attempt at each, all side by side."""
        return await asyncio.gather(*map(self._reply, calls))

    async def _reply(self, call: Call) -> Response | CallError:
        try:
            return await self.answer(call)
        except CallError as error:
            return error

    def _open(self, part: Picture | GreyPicture) -> Image:
        picture: Image = self._pictures.open(part)
        return picture

    def _prepare(self, prompt: Prompt) -> tuple[RenderedPrompt, dict[str, Any]]:
        """A prompt as tokens, in which a picture is one mark, and its pictures."""
        (rendered,) = self._renderer.render([prompt])
        pictures = [self._open_picture(part) for part in pictures_of(prompt)]
        if not pictures:
            return rendered, {}
        names = list(names_of_pictures(prompt))
        return rendered, {"multi_modal_data": {"image": pictures}, "multi_modal_uuids": {"image": names}}

    async def _weighed(self, shown: Mapping[str, Any], call: Call, prompt: RenderedPrompt) -> Response:
        """Likelihoods. A tokenizer may read the prompt's end otherwise before some candidates: those apart."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for index, one in enumerate(prompt.continuations):
            groups.setdefault(tuple(one.tokens[: one.first]), []).append(index)
        answers = [one.tokens[one.first :] for one in prompt.continuations]
        sums: dict[int, float] = {}
        lengths: list[int] = []
        for begun, members in groups.items():
            logs = await weigh(
                [answers[index] for index in members], partial(self._next_tokens, shown, begun, lengths)
            )
            sums |= zip(members, logs, strict=True)
        return Response(
            request=call.id,
            outcome="answered",
            finish="stop",
            tokens_in=min(lengths, default=None),
            tokens_out=0,
            candidates=tuple(sums[index] for index in range(len(answers))),
            candidate_tokens=tuple(map(len, answers)),
        )

    async def _next_tokens(
        self, shown: Mapping[str, Any], begun: tuple[int, ...], lengths: list[int], fork: Fork
    ) -> dict[int, float]:
        """How likely each of some tokens is to come next, as if one were to be written; tells how much was read."""
        tokens = [*begun, *fork.begun]
        logs: dict[int, float] = {}
        for at in range(0, len(fork.tokens), _MOST_TOKENS_WEIGHED):
            some = list(fork.tokens[at : at + _MOST_TOKENS_WEIGHED])
            output = await self._engine.ask(
                {"prompt_token_ids": tokens, **shown},
                temperature=0.0,
                max_tokens=1,
                logprob_token_ids=some,
                detokenize=False,
            )
            lengths.append(len(output.prompt_token_ids))
            (told,) = output.outputs[0].logprobs
            logs |= {token: float(told[token].logprob) for token in some}
        return logs

    async def _written(self, shown: Mapping[str, Any], call: Call, prompt: RenderedPrompt) -> Response:
        wish = wish_of(call)
        output = await self._engine.ask(
            {"prompt_token_ids": prompt.tokens, **shown},
            temperature=wish.temperature,
            top_p=wish.top_p,
            max_tokens=wish.most,
            seed=wish.seed,
            logprobs=wish.likeliest,
            detokenize=False,
        )
        (written,) = output.outputs
        ended = written.finish_reason == "stop"
        tokens = list(written.token_ids)[: -1 if ended else None]  # without the mark of the end
        return Response(
            request=call.id,
            outcome="answered" if ended else "truncated",
            text=self._renderer.tokenizer.decode(tokens, skip_special_tokens=True).strip(),
            finish=str(written.finish_reason),
            tokens_in=len(output.prompt_token_ids),
            tokens_out=len(tokens),
            likelihoods=tuple(
                self._likelihood(token, told, wish.likeliest or 0)
                for token, told in zip(tokens, written.logprobs or (), strict=False)
            ),
        )

    def _likelihood(self, token: int, told: Mapping[int, Any], most: int) -> Likelihood:
        """A token as vLLM tells it: with the likeliest at its position, and itself where it is none of them."""
        best = sorted(told, key=lambda one: told[one].rank)[:most]
        spell = self._renderer.tokenizer.decode
        others = tuple((spell([one]), float(told[one].logprob)) for one in best)
        return Likelihood(spell([token]), float(told[token].logprob), others)
