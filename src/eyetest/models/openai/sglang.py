"""Likelihoods from an SGLang server.

Its chat route gives none of given texts. The native ``/generate`` gives the log-probability of each prompt token from
a start on and takes everything before the start from the cache: one request for each candidate, after one that reads
the prompt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.models.openai.chat import STAND_IN, DataUrl, pictures_of, template_settings, with_stand_in
from eyetest.models.openai.connection import Connection
from eyetest.models.openai.weighing import CandidateWeights, Leaders, Usage, refuse_empty, side_by_side
from eyetest.models.trie import shared_start
from eyetest.records import Prompt
from eyetest.records.tables import Method


class _Tokens(msgspec.Struct):
    tokens: list[int]


class _TokenLists(msgspec.Struct):
    tokens: list[list[int]]


class _Text(msgspec.Struct):
    text: str


class _Meta(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0
    input_token_logprobs: list[tuple[float | None, int, str | None]] | None = None


class _Generated(msgspec.Struct):
    meta_info: _Meta


class SglangServer:
    """A request for the prompt, then one for each candidate side by side."""

    name = "SGLang, each candidate behind the cached prompt (/generate)"
    methods: tuple[Method, ...] = ("likelihood", "first-token")

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        self._connection, self._data_url = connection, data_url
        self._leaders = Leaders()

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> CandidateWeights:
        """Weigh all candidates of a prompt."""
        begun, texts = await self._begin(prompt, settings), list(dict.fromkeys(prompt.candidates))
        body = {"prompt": [begun, *(begun + text for text in texts)], "add_special_tokens": False}
        tokenize = self._connection.beside("tokenize")
        before, *read = (await self._connection.ask(tokenize, body, _TokenLists)).tokens
        shown, usage = pictures_of(prompt), Usage()
        urls = [msgspec.Raw(b'"%s"' % self._data_url(part)) for part in shown]

        def told(text: str, tokens: Sequence[int]) -> dict[str, Any]:
            return {"text": text, "image_data": urls} if shown else {"input_ids": tokens}

        async with self._leaders.turn(prompt):
            size = (await self._generate(told(begun, before), usage)).prompt_tokens

        async def weigh(text: str, tokens: list[int]) -> tuple[float | None, int]:
            alike = shared_start((before, tokens))
            refuse_empty(tokens[alike:])
            start = size - (len(before) - alike) - 1
            asked = told(begun + text, tokens) | {"return_logprob": True, "logprob_start_len": start}
            given = (await self._generate(asked, usage)).input_token_logprobs or []
            logs = _logs_of(tokens[alike:], given[1:])[: 1 if prompt.first_token else None]
            possible = [log for log in logs if log is not None]
            return sum(possible) if len(possible) == len(logs) else None, len(logs)

        weighed = await side_by_side(weigh(*one) for one in zip(texts, read, strict=True))
        known = dict(zip(texts, weighed, strict=True))
        logs, counts = zip(*(known[text] for text in prompt.candidates), strict=True)
        return CandidateWeights(list(logs), list(counts), usage)

    async def _begin(self, prompt: Prompt, settings: Mapping[str, Any]) -> str:
        """The text of the conversation up to the answer, as the server's chat template writes it."""
        body = {**template_settings(settings), "messages": with_stand_in(prompt)}
        rendered = await self._connection.ask(self._connection.beside("tokenize"), body, _Tokens)
        whole = {"tokens": rendered.tokens, "skip_special_tokens": False}
        text = (await self._connection.ask(self._connection.beside("detokenize"), whole, _Text)).text
        begun, is_there, _ = text.rpartition(STAND_IN)
        if not is_there:
            raise CallError("bad-request", "the chat template of SGLang's server leaves answers out")
        return begun

    async def _generate(self, asked: dict[str, Any], usage: Usage) -> _Meta:
        body = asked | {"sampling_params": {"max_new_tokens": 0, "temperature": 0}}
        meta = (await self._connection.ask(self._connection.beside("generate"), body, _Generated)).meta_info
        usage.add(Usage(meta.prompt_tokens, meta.completion_tokens))
        return meta


def _logs_of(tokens: Sequence[int], given: Sequence[tuple[float | None, int, str | None]]) -> list[float | None]:
    if [token for _, token, _ in given] != list(tokens):
        raise CallError("bad-request", "SGLang reads the answer otherwise behind a picture")
    return [log for log, *_ in given]
