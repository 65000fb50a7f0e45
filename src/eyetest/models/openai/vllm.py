"""Likelihoods from a vLLM server.

``logprob_token_ids`` gives the exact log-probabilities of chosen tokens after a prompt and uses the prefix cache, so
candidates are weighed by walking the tree of their tokens. A chat request goes on from a text, not from tokens: what
a text was read as stands in each reply (``return_token_ids``), and a candidate whose beginning is read otherwise is
weighed by ``prompt_logprobs``, which computes the whole prompt each time.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.models.openai.chat import (
    CONTINUE,
    DataUrl,
    assistant,
    chat_messages,
    encoded,
    reading_settings,
    template_settings,
)
from eyetest.models.openai.connection import Connection
from eyetest.models.openai.weighing import Leaders, Usage, Weighed, shared_start, side_by_side
from eyetest.models.trie import Beginning, Fork, weigh
from eyetest.records import Prompt
from eyetest.records.tables import Method

_MOST_IDS = 128
"""As many tokens as vLLM gives the log-probabilities of in one request."""
_IMPOSSIBLE = -9999.0
"""What vLLM writes for minus infinity."""
_MOST_READINGS = 50_000
_QUESTION = {"role": "user", "content": "?"}
_TOKEN = re.compile(r"token_id:(\d+)")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class _Tokenized(msgspec.Struct):
    tokens: list[int]
    token_strs: list[str]


class _Top(msgspec.Struct):
    token: str
    logprob: float


class _Position(msgspec.Struct):
    top_logprobs: list[_Top] = []


class _Logprobs(msgspec.Struct):
    content: list[_Position] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None


class _Scored(msgspec.Struct):
    logprob: float | None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None
    prompt_logprobs: list[dict[str, _Scored] | None] | None = None


class TokenizedCandidate(msgspec.Struct, frozen=True):
    """A candidate as the server's tokenizer reads it behind a prompt."""

    tokens: Beginning
    """Those that hold its letters; a chat template may write something before them."""
    begins: tuple[str, ...]
    """The text of the first token, of the first two …; empty where it ends within a letter, or is not known."""
    after: int | None
    """The last token of the prompt; None where more than the candidate itself follows it."""


class VllmPrompt:
    """A whole prompt for each candidate: dear, and always possible."""

    name = "vLLM, a whole prompt for each candidate (prompt_logprobs)"
    methods: tuple[Method, ...] = ("likelihood", "first-token")

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        self._connection, self._data_url = connection, data_url
        self._completions = connection.within("chat", "completions")
        self._readings: dict[tuple[str, str], TokenizedCandidate] = {}

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> Weighed:
        """Weigh all candidates of a prompt."""
        readings, usage = await self.read(prompt, settings), Usage()
        messages = encoded(chat_messages(prompt.messages, self._data_url, settings.get("detail")))
        logs = await self.weigh_whole(prompt, settings, messages, readings, usage)
        return _as_weighed(prompt, readings, logs, usage)

    async def weigh_whole(
        self,
        prompt: Prompt,
        settings: Mapping[str, Any],
        messages: list[msgspec.Raw],
        readings: Mapping[str, TokenizedCandidate],
        usage: Usage,
    ) -> dict[str, float | None]:
        """Weigh some candidates side by side, each with a prompt of its own."""

        async def weigh(candidate: str, reading: TokenizedCandidate) -> float | None:
            asked = {"prompt_logprobs": 0, "max_tokens": 1, "temperature": 0, **CONTINUE}
            told = [*messages, assistant(prompt.prefill + candidate)]
            reply = await self.complete({**reading_settings(settings), **asked, "messages": told}, usage)
            scored = (reply.prompt_logprobs or [])[-len(reading.tokens) :]
            if len(scored) != len(reading.tokens):
                raise _unreadable("no log-probabilities of the prompt")
            logs = [(entry or {}).get(str(token)) for entry, token in zip(scored, reading.tokens, strict=True)]
            if None in logs:
                raise CallError("bad-request", "vLLM reads the answer otherwise here than behind a short question")
            return _total([entry.logprob for entry in logs if entry])

        weighed = await side_by_side(weigh(*one) for one in readings.items())
        return dict(zip(readings, weighed, strict=True))

    async def complete(self, body: dict[str, Any], usage: Usage) -> _Completion:
        """One request for a token."""
        reply = await self._connection.ask(self._completions, body, _Completion)
        usage.add(reply.usage)
        return reply

    async def read(self, prompt: Prompt, settings: Mapping[str, Any]) -> dict[str, TokenizedCandidate]:
        """The candidates as tokens behind a short question without pictures: they are read alike behind any."""
        known, begun = self._readings, prompt.prefill
        unknown = [text for text in dict.fromkeys(prompt.candidates) if (begun, text) not in known]
        if unknown:
            if len(known) > _MOST_READINGS:
                known.clear()
            before, *read = await side_by_side(
                self._tokenize(text, settings) for text in (begun, *(begun + text for text in unknown))
            )
            known |= {(begun, text): _tokenized(text, before, one) for text, one in zip(unknown, read, strict=True)}
        return {text: known[begun, text] for text in prompt.candidates}

    async def _tokenize(self, begun: str, settings: Mapping[str, Any]) -> _Tokenized:
        told = [_QUESTION, *([assistant(begun)] if begun else [])]
        body = {**template_settings(settings), "messages": told, "return_token_strs": True}
        body |= CONTINUE if begun else {}
        return await self._connection.ask(self._connection.beside("tokenize"), body, _Tokenized)


class VllmTree(VllmPrompt):
    """The tree of the candidates' tokens, a request for each node that has children."""

    name = "vLLM, by the tree of the candidates' tokens (logprob_token_ids)"

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        super().__init__(connection, data_url)
        self._leaders = Leaders()

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> Weighed:
        """Weigh all candidates of a prompt."""
        readings, usage = await self.read(prompt, settings), Usage()
        messages = encoded(chat_messages(prompt.messages, self._data_url, settings.get("detail")))
        behind = {text: one for text, one in readings.items() if one.after is not None}
        begins = {one.tokens[: n + 1]: text for one in behind.values() for n, text in enumerate(one.begins)}
        root: list[int] = []

        async def ask(fork: Fork) -> Mapping[int, float]:
            begun = prompt.prefill + begins[fork.begun] if fork.begun else prompt.prefill
            if fork.begun and not begins[fork.begun]:
                return dict.fromkeys(fork.tokens, math.nan)
            told = {"messages": [*messages, assistant(begun)], **CONTINUE} if begun else {"messages": messages}
            logs: dict[int, float] = {}
            for start in range(0, len(fork.tokens), _MOST_IDS):
                ids = fork.tokens[start : start + _MOST_IDS]
                reply = await self.complete({**reading_settings(settings), **_next_token(ids), **told}, usage)
                if not reply.prompt_token_ids:
                    raise CallError("bad-request", "vLLM does not say what it read (return_token_ids)")
                if not fork.begun:
                    root[:] = reply.prompt_token_ids
                if reply.prompt_token_ids != [*root, *fork.begun]:
                    return dict.fromkeys(fork.tokens, math.nan)
                logs |= _logs_of(ids, reply)
            return logs

        async def ask_in_turn(fork: Fork) -> Mapping[int, float]:
            if fork.begun:
                return await ask(fork)
            async with self._leaders.turn(prompt):
                return await ask(fork)

        sums = await weigh([one.tokens for one in behind.values()], ask_in_turn)
        logs: dict[str, float | None] = {}
        for (text, reading), log in zip(behind.items(), sums, strict=True):
            if not math.isnan(log) and root[-1:] == [reading.after]:
                logs[text] = log if math.isfinite(log) else None
        others = {text: reading for text, reading in readings.items() if text not in logs}
        logs |= await self.weigh_whole(prompt, settings, messages, others, usage)
        return _as_weighed(prompt, readings, logs, usage)


def _next_token(ids: Sequence[int]) -> dict[str, Any]:
    asked = {"logprobs": True, "logprob_token_ids": ids, "return_tokens_as_token_ids": True, "return_token_ids": True}
    return {**asked, "max_tokens": 1, "temperature": 0}


def _logs_of(ids: Sequence[int], reply: _Completion) -> dict[int, float]:
    logprobs = reply.choices[0].logprobs if reply.choices else None
    tops = logprobs.content[0].top_logprobs if logprobs and logprobs.content else []
    given = {int(match[1]): top.logprob for top in tops if (match := _TOKEN.fullmatch(top.token))}
    if missing := [token for token in ids if token not in given]:
        raise _unreadable(f"no log-probabilities of {len(missing)} of {len(ids)} tokens")
    return {token: -math.inf if given[token] <= _IMPOSSIBLE else given[token] for token in ids}


def _unreadable(what: str) -> CallError:
    return CallError("garbage", f"vLLM answered with {what}", passing=True, blame="either")


def _total(logs: Sequence[float | None]) -> float | None:
    possible = [log for log in logs if log is not None and log > _IMPOSSIBLE]
    return sum(possible) if len(possible) == len(logs) else None


def _as_weighed(
    prompt: Prompt, readings: Mapping[str, TokenizedCandidate], logs: Mapping[str, float | None], usage: Usage
) -> Weighed:
    texts = prompt.candidates
    return Weighed([logs[text] for text in texts], [len(readings[text].tokens) for text in texts], usage)


def _tokenized(text: str, before: _Tokenized, read: _Tokenized) -> TokenizedCandidate:
    alike = shared_start(before.tokens, read.tokens)
    last = before.tokens[-1] if 0 < alike == len(before.tokens) < len(read.tokens) else None
    letters = _letters(read.token_strs, text) if len(read.token_strs) == len(read.tokens) else None
    if letters is None:
        tokens = tuple(read.tokens[alike:])
        return TokenizedCandidate(tokens, ("",) * len(tokens), last)
    wanted, counted, size = text.encode(), 0, 0
    while size < len(wanted):
        counted += 1
        size += len(letters[-counted])
    tokens, left, begins = tuple(read.tokens[-counted:]), size, []
    if len(letters) - counted != alike:
        last = None
    for piece in letters[-counted:]:
        left -= len(piece)
        begins.append(_text(wanted[: max(0, len(wanted) - left)]))
    return TokenizedCandidate(tokens, tuple(begins), last)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _letters(pieces: Sequence[str], text: str) -> list[bytes] | None:
    """What each piece of a tokenizer's own spelling stands for, if they end in a text."""
    for spell in (_sentencepiece, _byte_level):
        letters = [spell(piece) for piece in pieces]
        if b"".join(letters).endswith(text.encode()):
            return letters
    return None


def _sentencepiece(piece: str) -> bytes:
    byte = _BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()


def _byte_level(piece: str) -> bytes:
    return b"".join(bytes([_BYTES[letter]]) if letter in _BYTES else letter.encode() for letter in piece)


def _byte_letters() -> dict[str, int]:
    """The letters by which byte-level tokenizers write bytes: printable ones are themselves, the rest come after."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTES = _byte_letters()
