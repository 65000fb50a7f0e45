"""The first token of a reply, from any endpoint that lists the likeliest: enough for marks, not for whole texts."""

from collections.abc import Mapping
from typing import Any

from eyetest.models.base import CallError
from eyetest.models.openai.chat import CONTINUE, DataUrl, assistant, chat_messages, reading_settings
from eyetest.models.openai.connection import Connection, encode
from eyetest.models.openai.weighing import CandidateWeights, Usage
from eyetest.models.replies import read_completion
from eyetest.records import Prompt
from eyetest.records.tables import Method

_MOST = 20


class TopLogprobs:
    """One request for one token.

    A mark that is not listed has no number: all that is known is that it is less likely than every token that is.
    These are kept with the answer.
    """

    name = "the likeliest first tokens alone (top_logprobs)"
    methods: tuple[Method, ...] = ("first-token",)

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        self._connection, self._data_url = connection, data_url

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> CandidateWeights:
        """Weigh all candidates of a prompt, each of which is a mark."""
        limit = next((name for name in ("max_completion_tokens", "max_tokens") if name in settings), "max_tokens")
        messages: list[Any] = chat_messages(prompt.messages, self._data_url, settings.get("detail"))
        body = {**reading_settings(settings), "temperature": 0, limit: 1, "messages": messages}
        body |= {"logprobs": True, "top_logprobs": settings.get("top_logprobs", _MOST)}
        if prompt.prefill:
            body |= {**CONTINUE, "messages": [*messages, assistant(prompt.prefill)]}
        data, charset = await self._connection.send(self._connection.within("chat", "completions"), encode(body))
        reply = read_completion("", data, charset)
        if not reply.likelihoods or not reply.likelihoods[0].others:
            raise CallError("bad-request", "no log-probabilities beside the answer")
        first = reply.likelihoods[:1]
        listed: dict[str, float] = {}
        for token, log in sorted(first[0].others, key=lambda one: one[1]):
            listed[token.strip()] = log
        usage = Usage(reply.tokens_in or 0, reply.tokens_out or 0)
        return CandidateWeights(
            [listed.get(mark) for mark in prompt.candidates], [1] * len(prompt.candidates), usage, first
        )
