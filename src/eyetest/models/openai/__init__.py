"""``openai:MODEL@URL``: any endpoint for OpenAI chat completions; how it gives likelihoods is tested at first use."""

import asyncio
from typing import Any

import msgspec
from yarl import URL

from eyetest.models.base import Backend, Call, CallError, Surroundings, target_of, weighed_response
from eyetest.models.openai.connection import Connection, encode, key_for, parse_target
from eyetest.models.openai.vllm import VllmPrompt, VllmTree
from eyetest.models.openai.weighing import (
    CONTINUE,
    LlamaServer,
    SglangServer,
    TopLogprobs,
    Usage,
    Way,
    assistant,
    chat_messages,
)
from eyetest.models.replies import read_completion
from eyetest.records import Message, ModelEntry, Prompt, Request, Response, Words
from eyetest.records.tables import Method
from eyetest.redaction import learn_address, learn_values

# Ways to get likelihoods, best first; the last needs only the chat route
_WAYS: tuple[type[Way], ...] = (VllmTree, VllmPrompt, SglangServer, LlamaServer, TopLogprobs)
# Failures that say nothing about a server's abilities
_NOT_NOW = ("unreachable", "connection", "timeout", "proxy", "rate-limit", "overloaded", "quota")
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
        self.name, self.entry, self._images = name, entry, surroundings.images
        target, url = parse_target(target_of(entry.spec))
        learn_address(url)
        learn_values(entry.sampling)
        key = key_for(url, entry.key_env)
        self.key_sent = key.sent
        self._connection = Connection(URL(url), key, surroundings)
        self._url = self._connection.within("chat", "completions")
        self.settings: dict[str, Any] = {"model": target, **entry.sampling}
        if entry.detail:
            self.settings["detail"] = entry.detail
        self.likelihoods = True  # until the server has been asked
        self.way = ""
        self.refusals: dict[Method, str] = {}
        self._way: Way | None = None
        self._choosing = asyncio.Lock()

    async def open(self) -> None:
        """Open the session that all calls share."""
        await self._connection.open()

    async def close(self) -> None:
        """Close all connections."""
        await self._connection.close()

    async def probe(self) -> None:
        """Find out how likelihoods can be computed, if the server responds."""
        await self.open()
        try:
            await self._choose()
        except CallError:
            return  # the calls will meet the same error and report it
        finally:
            await self.close()

    async def listed(self) -> list[str]:
        """The models that the server lists, a free request."""
        reply = await self._connection.ask(self._connection.within("models"), None, _Listed)
        return [model.id for model in reply.data]

    def body(self, request: Request) -> bytes:
        """The exact body of the request."""
        settings = dict(request.settings)
        detail = settings.pop("detail", None)
        messages = chat_messages(request.prompt.messages, self._images.data_url, detail)
        if request.prompt.prefill:
            messages.append(assistant(request.prompt.prefill))
            settings = CONTINUE | settings
        return encode({**settings, "messages": messages})

    async def answer(self, call: Call) -> Response:
        """Make one attempt; failures are CallErrors that say what can be done."""
        if call.request.prompt.candidates:
            return await self._weigh(call)
        data = await self._connection.send(self._url, self.body(call.request))
        texts = (call.item.question, *(choice.text for choice in call.item.choices))
        return read_completion(call.id, data, self.entry.finishes, texts)

    async def _weigh(self, call: Call) -> Response:
        async with self._choosing:
            if self._way is None and not self.refusals:
                await self._choose()
        method: Method = "first-token" if call.request.prompt.first_token else "likelihood"
        if self._way is None or method in self.refusals:
            raise CallError("bad-request", self.refusals[method])
        prompt, usage = call.request.prompt, Usage()
        weights = await self._way.weigh(prompt, call.request.settings, usage)
        logs, counts = zip(*(weights[text] for text in prompt.candidates), strict=True)
        return weighed_response(call, logs, counts, usage.prompt_tokens, usage.completion_tokens)

    async def _choose(self) -> None:
        """Try the ways until one gives valid log-probabilities."""
        for kind in _WAYS:
            way = kind(self._connection, self._images.data_url)
            try:
                weights = await way.weigh(_TRIAL, self.settings, Usage())
            except CallError as error:
                is_last = kind is _WAYS[-1]
                if error.kind in _NOT_NOW or (is_last and (error.passing or error.hopeless)):
                    raise
                continue
            numbers = [log for log, _ in weights.values() if log is not None]
            exact = "likelihood" in way.methods
            if all(log <= _ROUNDING for log in numbers) and (numbers or not exact):
                self._way, self.way = way, way.name
                self.refusals = {} if exact else {"likelihood": _MARKS_ALONE}
                return
        self.likelihoods = False
        self.refusals = {"likelihood": _NO_WAY, "first-token": _NO_WAY}


BACKEND = Backend("openai", "any OpenAI-compatible endpoint: openai:MODEL@URL", OpenAIModel)
