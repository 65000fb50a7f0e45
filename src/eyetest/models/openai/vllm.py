"""Likelihoods from a vLLM server: by the tree of the candidates' tokens (``logprob_token_ids``), with its cache.

A candidate whose beginning is tokenized differently is scored by ``prompt_logprobs``, a whole prompt each time.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.models.openai.connection import Connection, encode
from eyetest.models.openai.weighing import (
    DataUrl,
    Leaders,
    Tokenized,
    TokenizedCandidate,
    Usage,
    Way,
    Weights,
    behind,
    chat_messages,
    conversation,
    reading_settings,
    refuse_empty,
    sum_of,
    template_settings,
)
from eyetest.models.replies import first_tokens
from eyetest.models.trie import Beginning, side_by_side, weigh
from eyetest.records import Prompt
from eyetest.records.item import IMPOSSIBLE

_MOST_IDS = 128  # the most tokens whose log-probabilities vLLM gives in one request
_MOST_KNOWN = 50_000
_QUESTION = {"role": "user", "content": "?"}
_TOKEN = re.compile(r"token_id:(\d+)")
_NEXT = {"logprobs": True, "return_tokens_as_token_ids": True, "return_token_ids": True}


class _Scored(msgspec.Struct):
    logprob: float | None


class _Completion(msgspec.Struct):
    choices: list[Any]
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None
    prompt_logprobs: list[dict[str, _Scored] | None] | None = None


class VllmPrompt(Way):
    """A whole prompt for each candidate: expensive, and always possible."""

    name = "vLLM, a whole prompt for each candidate (prompt_logprobs)"

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        super().__init__(connection, data_url)
        self._known: dict[tuple[str, str], TokenizedCandidate] = {}

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> Weights:
        """Score all candidates of a prompt."""
        weighing = await self._begin(prompt, settings, usage)
        return await weighing.by_prompts(weighing.read)

    async def _begin(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> "_Weighing":
        messages = chat_messages(prompt.messages, self._data_url, settings.get("detail"))
        raw = [msgspec.Raw(encode(message)) for message in messages]  # once for all requests that begin with them
        return _Weighing(self._connection, prompt, settings, raw, await self._read(prompt, settings), usage)

    async def _read(self, prompt: Prompt, settings: Mapping[str, Any]) -> dict[str, TokenizedCandidate]:
        """The candidates as tokens after a short question without images: they are the same after any prompt."""
        begun, texts = prompt.prefill, list(dict.fromkeys(prompt.candidates))
        read = {text: known for text in texts if (known := self._known.get((begun, text)))}
        unknown = [text for text in texts if text not in read]
        if unknown:
            before, *more = await side_by_side(
                self._tokenize(start, settings) for start in (begun, *(begun + text for text in unknown))
            )
            read |= {text: behind(before, text, tokenized) for text, tokenized in zip(unknown, more, strict=True)}
            for text in unknown:
                refuse_empty(read[text].tokens)
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known |= {(begun, text): read[text] for text in unknown}
        return read

    async def _tokenize(self, begun: str, settings: Mapping[str, Any]) -> Tokenized:
        body = {**template_settings(settings), **conversation([_QUESTION], begun), "return_token_strs": True}
        return await self._ask("tokenize", body, Tokenized)


class VllmTree(VllmPrompt):
    """The tree of the candidates' tokens, a request for each node with children."""

    name = "vLLM, by the tree of the candidates' tokens (logprob_token_ids)"

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> Weights:
        """Score all candidates of a prompt."""
        weighing = await self._begin(prompt, settings, usage)
        known = await weighing.by_tree(self._leaders)
        others = [text for text in weighing.read if text not in known]
        return known | await weighing.by_prompts(others)


class _Weighing:
    """The requests about a prompt."""

    def __init__(
        self,
        connection: Connection,
        prompt: Prompt,
        settings: Mapping[str, Any],
        messages: list[msgspec.Raw],
        read: dict[str, TokenizedCandidate],
        usage: Usage,
    ) -> None:
        self._connection, self._prompt, self._messages, self.read = connection, prompt, messages, read
        self._url = connection.within("chat", "completions")
        self._settings = {**reading_settings(settings), "max_tokens": 1, "temperature": 0}
        self._usage = usage
        self._root: list[int] = []
        self._begins = {
            candidate.tokens[: n + 1]: text for candidate in read.values() for n, text in enumerate(candidate.begins)
        }
        self._begins[()] = ""

    def _tokens(self, text: str) -> Beginning:
        return self.read[text].tokens[: 1 if self._prompt.first_token else None]

    async def by_prompts(self, texts: Collection[str]) -> dict[str, tuple[float | None, int]]:
        """Score candidates in parallel, each with its own prompt."""
        return dict(zip(texts, await side_by_side(map(self._by_prompt, texts)), strict=True))

    async def _by_prompt(self, text: str) -> tuple[float | None, int]:
        reply = await self._complete({"prompt_logprobs": 0}, text)
        tokens = self.read[text].tokens
        scored = (reply.prompt_logprobs or [])[-len(tokens) :]
        if len(scored) != len(tokens):
            raise _unreadable("no log-probabilities of the prompt")
        pairs = zip(scored, map(str, tokens), strict=True)
        logs = [entry[token] for entry, token in pairs if entry and token in entry]
        if len(logs) != len(tokens):
            raise CallError("bad-request", "vLLM reads the answer otherwise here than behind a short question")
        number = len(self._tokens(text))
        return sum_of([entry.logprob for entry in logs[:number]]), number

    async def by_tree(self, leaders: Leaders) -> dict[str, tuple[float | None, int]]:
        """The candidates whose every beginning can be written as a text with the same tokens."""

        async def ask(begun: Beginning, tokens: Beginning) -> Mapping[int, float]:
            async with nullcontext() if begun else leaders.turn(self._prompt):
                return await self._ask(begun, tokens)

        texts = [text for text, candidate in self.read.items() if candidate.after is not None]
        sums = await weigh([self._tokens(text) for text in texts], ask)
        return {
            text: (log if math.isfinite(log) else None, len(self._tokens(text)))
            for text, log in zip(texts, sums, strict=True)
            if not math.isnan(log) and self._root[-1:] == [self.read[text].after]
        }

    async def _ask(self, begun: Beginning, tokens: Beginning) -> Mapping[int, float]:
        """The log-probabilities of the next tokens; NaN where the beginning cannot be requested."""
        if begun and not self._begins[begun]:
            return dict.fromkeys(tokens, math.nan)
        logs: dict[int, float] = {}
        for start in range(0, len(tokens), _MOST_IDS):
            ids = tokens[start : start + _MOST_IDS]
            reply = await self._complete({**_NEXT, "logprob_token_ids": ids}, self._begins[begun])
            if not reply.prompt_token_ids:
                raise CallError("bad-request", "vLLM does not say what it read (return_token_ids)")
            if not begun:
                self._root = reply.prompt_token_ids
            if reply.prompt_token_ids != [*self._root, *begun]:
                return dict.fromkeys(tokens, math.nan)
            logs |= _logs_of(ids, reply)
        return logs

    async def _complete(self, asked: dict[str, Any], answer: str) -> _Completion:
        """One request for a token after a given beginning of the model's turn."""
        body = {**self._settings, **asked, **conversation(self._messages, self._prompt.prefill + answer)}
        reply = await self._connection.ask(self._url, body, _Completion)
        self._usage.add(reply.usage)
        return reply


def _logs_of(ids: Sequence[int], reply: _Completion) -> dict[int, float]:
    tops = first_tokens(reply.choices)
    given = {int(match[1]): log for token, log in tops if (match := _TOKEN.fullmatch(token))}
    if missing := [token for token in ids if token not in given]:
        raise _unreadable(f"no log-probabilities of {len(missing)} of {len(ids)} tokens")
    return {token: -math.inf if given[token] <= IMPOSSIBLE else given[token] for token in ids}


def _unreadable(what: str) -> CallError:
    return CallError("garbage", f"vLLM answered with {what}", passing=True, blame="either")
