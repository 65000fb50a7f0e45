"""A stand-in for the package ``vllm``: behind its doors, a toy model whose every log-probability is known.

A token is a letter, but two o's in a row are one. What comes next depends on all letters before, and on the images.
"""

import math
import random
from collections.abc import Sequence
from hashlib import blake2b
from itertools import count
from types import SimpleNamespace
from typing import Any

END, MARK, PAIR = 1, 2, 3
"""The end of an answer, an image, two o's."""
PATCHES = 5
"""As so many tokens an image is read."""
LETTERS = 600
ENDLESS = 10**9
"""Allowed so many tokens, it never ends."""
_SPELLED = {END: "", MARK: "<image>", PAIR: "oo"}


class Tokenizer:
    """Letters as numbers."""

    chat_template = "a template"
    eos_token_id = END

    def __call__(
        self, text: Any, *, add_special_tokens: bool, return_offsets_mapping: bool = False
    ) -> dict[str, Any]:
        if not isinstance(text, str):
            read = [self._read(one) for one in text]
            return {"input_ids": [ids for ids, _ in read], "offset_mapping": [spans for _, spans in read]}
        return {"input_ids": self._read(text)[0]}

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(map(spelled, tokens))

    def _read(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        ids, spans, at = [], [], 0
        while at < len(text):
            token = next((one for one in (MARK, PAIR) if text.startswith(_SPELLED[one], at)), ord(text[at]))
            ids.append(token)
            spans.append((at, at + len(spelled(token))))
            at += len(spelled(token))
        return ids, spans


class Processor:
    """Writes a conversation down."""

    chat_template = "a template"

    def __init__(self) -> None:
        self.tokenizer = Tokenizer()

    def apply_chat_template(self, messages: Sequence[Any], **how: Any) -> str:
        said = [
            f"{one['role']}:" + "".join(part.get("text", _SPELLED[MARK]) for part in one["content"])
            for one in messages
        ]
        return "\n".join(said) + ("\nassistant:" if how.get("add_generation_prompt") else "")


def spelled(token: int) -> str:
    return _SPELLED[token] if token in _SPELLED else chr(token)


def log(tokens: Sequence[int], images: Sequence[str], token: int) -> float:
    """The toy's log-probability of a token behind others."""
    return _logs(tokens, images)[token]


def _logs(tokens: Sequence[int], images: Sequence[str]) -> list[float]:
    seed = blake2b(repr((list(tokens), list(images))).encode(), digest_size=8).digest()
    lot = random.Random(seed)
    weights = lot.choices(range(1, 1000), k=LETTERS)
    weights[END] = 60_000 if lot.random() < 0.1 else 1
    total = sum(weights)
    return [math.log(weight / total) for weight in weights]


class SamplingParams:
    """Those of vLLM's settings that are used, with its limits."""

    def __init__(
        self,
        *,
        max_tokens: int,
        temperature: float,
        top_p: float = 1.0,
        seed: int | None = None,
        logprobs: int | None = None,
        logprob_token_ids: list[int] | None = None,
        detokenize: bool = True,
    ) -> None:
        if logprob_token_ids and len(logprob_token_ids) > 128:
            raise ValueError(f"Requested logprob_token_ids of length {len(logprob_token_ids)}")
        self.max_tokens, self.temperature, self.seed = max_tokens, temperature, seed
        self.logprobs, self.logprob_token_ids = logprobs, logprob_token_ids


class _Going:
    def __init__(self, name: str, tokens: list[int], images: list[str], params: SamplingParams) -> None:
        self.name, self.tokens, self.images, self.params = name, tokens, images, params
        self.read, self.told = len(tokens), list[dict[int, Any]]()
        self.lot = random.Random(params.seed)

    def write(self, *, confused: bool) -> Any:
        """One token more, and what came of it so far; confused, no likeliest tokens are told, as vLLM 0.32 does."""
        logs = _logs(self.tokens, self.images)
        ranked = sorted(range(LETTERS), key=logs.__getitem__, reverse=True)
        drawn = self.lot.choices(range(LETTERS), [math.exp(one) for one in logs])[0]
        token = drawn if self.params.temperature else ranked[self.params.max_tokens == ENDLESS]
        wanted = self.params.logprob_token_ids or ranked[: 0 if confused else self.params.logprobs or 0]
        self.told.append({
            one: SimpleNamespace(logprob=logs[one], rank=ranked.index(one) + 1)
            for one in (token, *wanted)
        })  # fmt: skip
        self.tokens = [*self.tokens, token]
        written = self.tokens[self.read :]
        reason = "stop" if token == END else "length" if len(written) == self.params.max_tokens else None
        asked = self.params.logprobs is not None or self.params.logprob_token_ids
        answer = SimpleNamespace(
            token_ids=written,
            finish_reason=reason,
            logprobs=self.told if asked else None,
        )
        return SimpleNamespace(
            request_id=self.name.partition("-")[0],
            finished=reason is not None,
            prompt_token_ids=self.tokens[: self.read],
            outputs=[answer],
        )


class Core:
    """The engine: every step writes one token of everything under way."""

    def __init__(self) -> None:
        self.going: dict[str, _Going] = {}
        self.aborted: list[str] = []
        self.together = 0
        self.stopped = self.broken = False
        self.engine_core = SimpleNamespace(shutdown=self._shutdown)

    def _shutdown(self) -> None:
        self.stopped = True

    def step(self) -> list[Any]:
        assert self.going, "another engine would wait for ever"
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access\nwas encountered")
        self.together = max(self.together, len(self.going))
        confused = any(one.params.logprob_token_ids for one in self.going.values())
        outputs = [one.write(confused=confused) for one in self.going.values()]
        for output in outputs:
            if output.finished:
                self.going = {
                    name: one for name, one in self.going.items() if name.partition("-")[0] != output.request_id
                }
        return outputs

    def abort_request(self, names: list[str], *, internal: bool) -> None:
        assert internal, "these are names that the engine gave"
        self.aborted += names
        for name in names:
            del self.going[name]


class LLM:
    """vLLM's own door for offline work."""

    made: "LLM"

    def __init__(self, *, model: str, max_model_len: int = 400, **options: Any) -> None:
        if max_model_len < 10:
            raise ValueError(f"the model's longest sequence ({max_model_len})\ndoes not fit")
        LLM.made = self
        self.options, self.most, self.llm_engine, self._numbers = options, max_model_len, Core(), count()
        self.asked: list[tuple[tuple[int, ...], tuple[str, ...]]] = []

    def enqueue(self, prompts: list[dict[str, Any]], params: SamplingParams, *, use_tqdm: bool) -> list[str]:
        (prompt,) = prompts
        tokens: list[int] = prompt["prompt_token_ids"]
        names: list[str] = prompt.get("multi_modal_uuids", {}).get("image", [])
        images = prompt.get("multi_modal_data", {}).get("image", [])
        if not len(images) == len(names) == tokens.count(MARK):
            raise RuntimeError(f"{len(images)} images for {tokens.count(MARK)} letters")
        read = [token for one in tokens for token in [one] * (PATCHES if one == MARK else 1)]
        if len(read) > self.most:
            raise ValueError(
                f"The prompt (length {len(read)}) is longer than the maximum model length of {self.most}."
            )
        self.asked.append((tuple(read), tuple(names)))
        name = f"{next(self._numbers)}-x{len(self.asked)}"
        self.llm_engine.going[name] = _Going(name, read, names, params)
        return [name]
