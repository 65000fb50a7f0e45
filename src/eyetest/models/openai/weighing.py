"""What ways to weigh candidates by requests have in common."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import msgspec

from eyetest.models.base import CallError
from eyetest.records import Likelihood, Picture, Prompt
from eyetest.records.tables import Method

Result = TypeVar("Result")
_LEADERS_KEPT = 4_096


class Usage(msgspec.Struct):
    """The tokens of one or more requests."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, other: "Usage | None") -> None:
        """Count another request."""
        if other is not None:
            self.prompt_tokens += other.prompt_tokens
            self.completion_tokens += other.completion_tokens


class CandidateWeights(msgspec.Struct, frozen=True):
    """Candidates, each with its log-probability and the number of tokens that it is the sum of."""

    logs: list[float | None]
    tokens: list[int]
    usage: Usage
    likelihoods: tuple[Likelihood, ...] = ()
    """What else the server said of the first token."""


class Way(Protocol):
    """How one kind of server gives likelihoods."""

    name: str
    """What the run's notes call it."""
    methods: tuple[Method, ...]
    """What it can be asked for."""

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> CandidateWeights:
        """Weigh all candidates of a prompt; raise a CallError if that fails."""


def refuse_empty(tokens: Sequence[int]) -> None:
    """A candidate without tokens would be certain."""
    if not tokens:
        raise CallError("garbage", "the server reads an answer as no token at all", passing=True, blame="either")


async def side_by_side(work: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Everything at once; when one fails, the others are called off."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


class Leaders:
    """Of the calls that show the same picture the first goes ahead alone, so that the others find it in the cache."""

    def __init__(self) -> None:
        self._first: OrderedDict[str, asyncio.Event] = OrderedDict()

    @asynccontextmanager
    async def turn(self, prompt: Prompt) -> AsyncIterator[None]:
        """Wait for the leader, or be it."""
        parts = (part for message in prompt.messages for part in message.parts)
        picture = next((part.image.sha256 for part in parts if isinstance(part, Picture)), "")
        if not picture:
            yield
        elif before := self._first.get(picture):
            await before.wait()
            yield
        else:
            self._first[picture] = done = asyncio.Event()
            while len(self._first) > _LEADERS_KEPT:
                self._first.popitem(last=False)[1].set()
            try:
                yield
            except BaseException:
                self._first.pop(picture, None)
                raise
            finally:
                done.set()


class Turns:
    """Lets requests of one kind go together, and those of another kind only when they are done."""

    def __init__(self) -> None:
        self._change = asyncio.Condition()
        self._kind, self._going = "", 0

    @asynccontextmanager
    async def of(self, kind: str) -> AsyncIterator[None]:
        """Wait until nobody of another kind is on the way."""
        async with self._change:
            await self._change.wait_for(lambda: not self._going or self._kind == kind)
            self._kind, self._going = kind, self._going + 1
        try:
            yield
        finally:
            self._going -= 1
            async with self._change:
                self._change.notify_all()
