"""Likelihoods of given answers as a trie: one request per shared beginning, the first alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

Beginning = tuple[int, ...]
Result = TypeVar("Result")


def shared_start(sequences: Sequence[Sequence[int]]) -> int:
    """The number of first tokens common to all sequences: that of the first and the last in sorted order."""
    ordered = sorted(map(tuple, sequences))
    pairs = enumerate(zip(ordered[0], ordered[-1], strict=False))
    return next((at for at, (first, last) in pairs if first != last), len(ordered[0]))


async def weigh(
    sequences: Sequence[Sequence[int]], ask: Callable[[Beginning, tuple[int, ...]], Awaitable[Mapping[int, float]]]
) -> tuple[float, ...]:
    """Each sequence's log-probability; ``ask`` returns that of some next tokens after a shared beginning. Each
    beginning is asked once, shorter ones first, the empty one alone.
    """
    following: dict[Beginning, dict[int, None]] = {}
    for sequence in sequences:
        for at, token in enumerate(sequence):
            following.setdefault(tuple(sequence[:at]), {})[token] = None
    beginnings = sorted(following, key=len)
    logs: dict[Beginning, Mapping[int, float]] = {}
    for wave in (beginnings[:1], beginnings[1:]):
        known = await side_by_side(ask(begun, tuple(following[begun])) for begun in wave)
        logs |= zip(wave, known, strict=True)
    return tuple(
        sum(logs[tuple(sequence[:at])][token] for at, token in enumerate(sequence)) + 0.0 for sequence in sequences
    )


async def side_by_side(work: Iterable[Awaitable[Result]]) -> list[Result]:
    """Await all at once; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(task) for task in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
