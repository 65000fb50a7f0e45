"""Likelihoods from llama.cpp's server.

It gives the log-probability of each token that it writes, before sampling, and a grammar of token ids makes it write
a candidate: one request for each, of as many tokens as it has. What comes before is in the cache of its slot.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.models.openai.chat import STAND_IN, DataUrl, pictures_of, template_settings, with_stand_in
from eyetest.models.openai.connection import Connection
from eyetest.models.openai.weighing import CandidateWeights, Usage, refuse_empty
from eyetest.models.trie import shared_start
from eyetest.records import Prompt
from eyetest.records.tables import Method

_UNDERFLOW = -1e30
"""Less than any log-probability: what llama.cpp writes where one does not fit into a float."""
_FIELDS = ("completion_probabilities", "tokens_evaluated", "tokens_predicted")


class _Props(msgspec.Struct):
    total_slots: int
    media_marker: str = "<__media__>"


class _Rendered(msgspec.Struct):
    prompt: str


class _Piece(msgspec.Struct):
    id: int
    piece: str | list[int]


class _Pieces(msgspec.Struct):
    tokens: list[_Piece]


class _Written(msgspec.Struct):
    id: int
    logprob: float


class _Answer(msgspec.Struct):
    completion_probabilities: list[_Written]
    tokens_evaluated: int = 0
    tokens_predicted: int = 0


class LlamaServer:
    """One candidate after the other, so that each finds the prompt in a slot's cache."""

    name = "llama.cpp, each candidate written by a grammar of its tokens"
    methods: tuple[Method, ...] = ("likelihood", "first-token")

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        self._connection, self._data_url = connection, data_url
        self._props: _Props | None = None

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> CandidateWeights:
        """Weigh all candidates of a prompt."""
        if self._props is None:
            self._props = await self._connection.ask(self._connection.beside("props"), None, _Props)
            self._slots = asyncio.Semaphore(max(1, self._props.total_slots))
        async with self._slots:  # more at once than there are slots would take them from one another
            return await self._weigh(prompt, settings, self._props.media_marker)

    async def _weigh(self, prompt: Prompt, settings: Mapping[str, Any], marker: str) -> CandidateWeights:
        body = {**template_settings(settings), "messages": with_stand_in(prompt)}
        rendered = await self._connection.ask(self._connection.beside("apply-template"), body, _Rendered)
        begun, is_there, _ = rendered.prompt.rpartition(STAND_IN)
        if not is_there:
            raise CallError("bad-request", "the chat template of llama.cpp's server leaves answers out")
        shown = pictures_of(prompt)
        head, mark, tail = begun.rpartition(marker) if shown else ("", "", begun)
        before = await self._read(tail, is_whole=not shown)
        data = [msgspec.Raw(b'"%s"' % self._data_url(part).partition(b",")[2]) for part in shown]
        usage, known = Usage(), dict[str, tuple[float | None, int]]()
        for candidate in dict.fromkeys(prompt.candidates):
            read = await self._read(tail + candidate, is_whole=not shown)
            tokens = [piece.id for piece in read]
            alike = shared_start(([piece.id for piece in before], tokens))
            if any(not isinstance(piece.piece, str) for piece in read[alike:]):
                raise CallError("bad-request", "llama.cpp does not tell how likely a part of a letter is")
            asked: dict[str, Any] = {"prompt": tokens[:alike]}
            if shown:
                asked["prompt"] = {"prompt_string": head + mark + _cut(tail, before[alike:]), "multimodal_data": data}
            wanted = tokens[alike : alike + 1 if prompt.first_token else None]
            refuse_empty(wanted)
            asked |= _forced(wanted)
            answer = await self._connection.ask(self._connection.beside("completion"), asked, _Answer)
            usage.add(Usage(answer.tokens_evaluated, answer.tokens_predicted))
            known[candidate] = _sum_of(wanted, answer.completion_probabilities), len(wanted)
        logs, counts = zip(*(known[text] for text in prompt.candidates), strict=True)
        return CandidateWeights(list(logs), list(counts), usage)

    async def _read(self, text: str, *, is_whole: bool) -> list[_Piece]:
        """A text as tokens; the server reads what follows a picture by itself."""
        body = {"content": text, "add_special": is_whole, "parse_special": True, "with_pieces": True}
        return (await self._connection.ask(self._connection.beside("tokenize"), body, _Pieces)).tokens


def _forced(tokens: Sequence[int]) -> dict[str, Any]:
    grammar = "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
    how = {"n_predict": len(tokens), "n_probs": 1, "temperature": 0, "cache_prompt": True}
    return {
        **how,
        "grammar": grammar,
        "response_fields": _FIELDS,
    }  # no id_slot: it has given other numbers side by side


def _cut(text: str, pieces: Sequence[_Piece]) -> str:
    """A text without its last tokens, which an answer that follows is read together with."""
    size = sum(len(part.piece.encode()) if isinstance(part.piece, str) else len(part.piece) for part in pieces)
    return text.encode()[: len(text.encode()) - size].decode(errors="ignore")


def _sum_of(tokens: Sequence[int], written: Sequence[_Written]) -> float | None:
    given = written[: len(tokens)]
    if [one.id for one in given] != list(tokens):
        raise CallError("garbage", "llama.cpp wrote other tokens than its grammar allows", passing=True)
    return None if any(one.logprob <= _UNDERFLOW for one in given) else sum(one.logprob for one in given)
