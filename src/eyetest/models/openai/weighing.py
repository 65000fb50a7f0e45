"""What it takes to weigh candidates by requests: the tree of their tokens, one after the other or side by side."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import msgspec

from eyetest.records import Likelihood, Picture, Prompt
from eyetest.records.tables import Method

Result = TypeVar("Result")
Tokens = tuple[int, ...]
Ask = Callable[[Tokens, Sequence[int]], Awaitable[Mapping[int, float | None] | None]]
"""The log-probabilities of some tokens after others; None where that cannot be asked, or a token is impossible."""
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


class Weighed(msgspec.Struct, frozen=True):
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

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any]) -> Weighed:
        """Weigh all candidates of a prompt; raise a CallError if that fails."""


def shared_start(one: Sequence[int], other: Sequence[int]) -> int:
    """How many first tokens two texts have in common."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


async def side_by_side(work: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Everything at once; when one fails, the others are called off."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def walk(sequences: Iterable[Tokens], ask: Ask) -> dict[Tokens, list[float | None] | None]:
    """The log-probability of each token of each sequence, by one question a node of their tree that has children.

    The root comes first and then level by level, so that a server has a beginning in its cache before the branches
    go out side by side. Nothing is asked behind a token that is impossible. A sequence that leads through a node
    that could not be asked has None.
    """
    logs: dict[Tokens, float | None] = {}
    sequences = set(sequences)
    depth = 0
    while True:
        children: dict[Tokens, set[int]] = {}
        for tokens in sequences:
            if len(tokens) > depth and (not depth or logs.get(tokens[:depth]) is not None):
                children.setdefault(tokens[:depth], set()).add(tokens[depth])
        if not children:
            break
        nodes = [(prefix, sorted(after)) for prefix, after in sorted(children.items())]
        replies = await side_by_side(_asked(ask, *node) for node in nodes)
        for (prefix, _), reply in zip(nodes, replies, strict=True):
            logs |= {(*prefix, token): log for token, log in (reply or {}).items()}
        depth += 1
    return {tokens: _along(tokens, logs) for tokens in sequences}


async def _asked(ask: Ask, prefix: Tokens, after: Sequence[int]) -> Mapping[int, float | None] | None:
    return await ask(prefix, after)


def _along(tokens: Tokens, logs: Mapping[Tokens, float | None]) -> list[float | None] | None:
    """The log-probabilities along a sequence, up to its end or to a token that is impossible."""
    path: list[float | None] = []
    for end in range(1, len(tokens) + 1):
        if tokens[:end] not in logs:
            return None
        path.append(logs[tokens[:end]])
        if path[-1] is None:
            break
    return path


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
