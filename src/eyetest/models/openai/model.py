"""A model behind an endpoint.

The body is put together from parts that are encoded once: a picture's data URL goes in as it is, without being parsed
or escaped again. Which way a server gives likelihoods is found out by trying: before the plan is made if the server
is there by then, or else before the first call that needs it.
"""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import msgspec
from yarl import URL

from eyetest.models.base import Call, CallError, Surroundings, target_of
from eyetest.models.openai.address import key_for, parse_target
from eyetest.models.openai.chat import CONTINUE, assistant, chat_messages
from eyetest.models.openai.connection import Connection, encode
from eyetest.models.openai.llama_cpp import LlamaServer
from eyetest.models.openai.sglang import SglangServer
from eyetest.models.openai.top_logprobs import TopLogprobs
from eyetest.models.openai.vllm import VllmPrompt, VllmTree
from eyetest.models.openai.weighing import CandidateWeights, Turns, Way
from eyetest.models.replies import read_completion
from eyetest.records import Message, ModelEntry, Prompt, Request, Response, Words
from eyetest.records.tables import Method
from eyetest.redaction import learn_address, learn_values

_WAYS: tuple[Any, ...] = (VllmTree, VllmPrompt, SglangServer, LlamaServer, TopLogprobs)
"""Ways to have likelihoods, the best first; the last needs no more than the chat route."""
_NOT_NOW = ("unreachable", "connection", "timeout", "proxy", "rate-limit", "overloaded", "quota")
"""Failures that say nothing about what a server can do."""
_TRIAL = Prompt(
    (Message("user", (Words("How many are one and one? Answer in a word."),)),),
    candidates=("two", "two or three", "B"),
)
_ROUNDING = 1e-3
_NO_WAY = "its server gives no likelihoods of given texts"
_MARKS_ALONE = f"{_NO_WAY}, only the likeliest first tokens"


class _ListedModel(msgspec.Struct):
    id: str


class _Listed(msgspec.Struct):
    data: list[_ListedModel]


class OpenAIModel:
    """A model behind an endpoint."""

    knows_items = False

    def __init__(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> None:
        self.name, self.entry, self._pictures = name, entry, surroundings.pictures
        target, url = parse_target(target_of(entry.spec))
        learn_address(url)
        learn_values(entry.sampling)
        self._connection = Connection(URL(url), key_for(url, entry.key_env), surroundings)
        self.settings: dict[str, Any] = {"model": target, **entry.sampling}
        if entry.logprobs is not None:
            self.settings |= {"logprobs": True, "top_logprobs": entry.logprobs}
        if entry.detail:
            self.settings["detail"] = entry.detail
        self.likelihoods = True  # until the server has been asked
        self.way = ""
        self.refusals: dict[Method, str] = {}
        self._way: Way | None = None
        self._choosing, self._turns = asyncio.Lock(), Turns()

    async def open(self) -> None:
        """Make the session that all calls share."""
        await self._connection.open()

    async def close(self) -> None:
        """Close all connections."""
        await self._connection.close()

    async def probe(self) -> None:
        """Find out how likelihoods can be had, if the server is there to tell."""
        await self.open()
        try:
            await self._choose()
        except CallError:
            return  # the calls will meet the same, and say so
        finally:
            await self.close()

    async def listed(self) -> list[str]:
        """The models that the server says it has, which costs nothing to ask."""
        reply = await self._connection.ask(self._connection.within("models"), None, _Listed)
        return [model.id for model in reply.data]

    @property
    def server_date(self) -> str:
        """What the server's clock said when it last answered."""
        return self._connection.date

    def body(self, request: Request) -> bytes:
        """Exactly what is sent."""
        settings = dict(request.settings)
        detail = settings.pop("detail", None)
        messages = chat_messages(request.prompt.messages, self._data_url, detail)
        if request.prompt.prefill:
            messages.append(assistant(request.prompt.prefill))
            settings = CONTINUE | settings
        return encode({**settings, "messages": messages})

    async def answer(self, call: Call) -> Response:
        """One attempt, as a response or as a CallError that says what can be done about it."""
        if call.request.prompt.candidates:
            return await self._weigh(call)
        url = self._connection.within("chat", "completions")
        async with self._turn("write") if call.request.settings.get("logprobs") else nullcontext():
            return read_completion(call.id, *await self._connection.send(url, self.body(call.request)))

    def _turn(self, kind: str) -> AbstractAsyncContextManager[None]:
        """VLLM mixes up log-probabilities of chosen tokens and of the likeliest, if it computes both at once."""
        return self._turns.of(kind) if isinstance(self._way, VllmTree) else nullcontext()

    async def _weigh(self, call: Call) -> Response:
        async with self._choosing:
            if self._way is None and not self.refusals:
                await self._choose()
        method: Method = "first-token" if call.request.prompt.first_token else "likelihood"
        if self._way is None or method in self.refusals:
            raise CallError("bad-request", self.refusals[method])
        async with self._turn("weigh"):
            weighed = await self._way.weigh(call.request.prompt, call.request.settings)
        return Response(
            request=call.id,
            outcome="answered",
            finish="stop",
            tokens_in=weighed.usage.prompt_tokens,
            tokens_out=weighed.usage.completion_tokens,
            likelihoods=weighed.likelihoods,
            candidates=tuple(weighed.logs),
            candidate_tokens=tuple(weighed.tokens),
        )

    async def _choose(self) -> None:
        """Try the ways until one gives numbers that can be log-probabilities."""
        for kind in _WAYS:
            way: Way = kind(self._connection, self._data_url)
            try:
                weighed = await way.weigh(_TRIAL, self.settings)
            except CallError as error:
                is_last = kind is _WAYS[-1]
                if error.kind in _NOT_NOW or (is_last and (error.passing or error.hopeless)):
                    raise
                continue
            if _is_plausible(way, weighed):
                self._way, self.way = way, way.name
                self.refusals = {} if "likelihood" in way.methods else {"likelihood": _MARKS_ALONE}
                return
        self.likelihoods = False
        self.refusals = {"likelihood": _NO_WAY, "first-token": _NO_WAY}

    def _data_url(self, part: Any) -> bytes:
        url: bytes = self._pictures.data_url(part)
        return url


def _is_plausible(way: Way, weighed: CandidateWeights) -> bool:
    numbers = [log for log in weighed.logs if log is not None]
    return all(log <= _ROUNDING for log in numbers) and (bool(numbers) or "likelihood" not in way.methods)
