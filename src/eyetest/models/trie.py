"""Likelihoods of given answers as a trie: one request per shared beginning, the first alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

Beginning = tuple[int, ...]
Result = TypeVar("Result")


class Fork(msgspec.Struct, frozen=True):
    """A beginning that sequences share, and their next tokens."""

    begun: Beginning
    tokens: tuple[int, ...]


def shared_start(sequences: Sequence[Sequence[int]]) -> int:
    """The number of first tokens common to all sequences: that of the first and the last in sorted order."""
    ordered = sorted(map(tuple, sequences))
    pairs = zip(ordered[0], ordered[-1], strict=False)
    return next(
        (at for at, (one, other) in enumerate(pairs) if one != other), min(map(len, (ordered[0], ordered[-1])))
    )


def forks(sequences: Sequence[Sequence[int]]) -> list[Fork]:
    """Where tokens have to be scored: shorter beginnings first, each once."""
    following: dict[Beginning, dict[int, None]] = {}
    for sequence in sequences:
        for at, token in enumerate(sequence):
            following.setdefault(tuple(sequence[:at]), {})[token] = None
    return [Fork(begun, tuple(following[begun])) for begun in sorted(following, key=len)]


def sums(sequences: Sequence[Sequence[int]], logs: Mapping[Beginning, Mapping[int, float]]) -> tuple[float, ...]:
    """Each sequence's log-probability, from that of every token after every beginning."""
    return tuple(
        sum(logs[tuple(sequence[:at])][token] for at, token in enumerate(sequence)) + 0.0 for sequence in sequences
    )


async def weigh(
    sequences: Sequence[Sequence[int]], ask: Callable[[Fork], Awaitable[Mapping[int, float]]]
) -> tuple[float, ...]:
    """Each sequence's log-probability; ``ask`` returns that of each token of a fork."""
    questions, logs = forks(sequences), dict[Beginning, Mapping[int, float]]()
    for wave in (questions[:1], questions[1:]):
        known = await side_by_side(map(ask, wave))
        logs |= {fork.begun: of_fork for fork, of_fork in zip(wave, known, strict=True)}
    return sums(sequences, logs)


async def side_by_side(work: Iterable[Awaitable[Result]]) -> list[Result]:
    """Await all at once; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
