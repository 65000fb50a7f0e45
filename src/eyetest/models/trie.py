"""Likelihoods of given answers from engines that tell how likely given tokens are to come next, and no more.

Answers as token sequences are a trie: what begins alike is asked about once. Every node but a leaf is one question,
"after this beginning, how likely is each of these tokens?"; an answer's likelihood is the sum along its path. All
questions are known beforehand, so after the first, which leaves the prompt in the engine's prefix cache, the others
are asked side by side.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

Beginning = tuple[int, ...]


class Fork(msgspec.Struct, frozen=True):
    """A beginning that some sequences share, and the tokens with which they go on."""

    begun: Beginning
    tokens: tuple[int, ...]


def shared_start(sequences: Sequence[Sequence[int]]) -> int:
    """How many first tokens all sequences have in common: as many as the first and the last in order have."""
    ordered = sorted(map(tuple, sequences))
    pairs = zip(ordered[0], ordered[-1], strict=False)
    return next(
        (at for at, (one, other) in enumerate(pairs) if one != other), min(map(len, (ordered[0], ordered[-1])))
    )


def forks(sequences: Sequence[Sequence[int]]) -> list[Fork]:
    """Where the sequences' tokens have to be weighed: shorter beginnings first, none of them twice."""
    following: dict[Beginning, dict[int, None]] = {}
    for sequence in sequences:
        for at, token in enumerate(sequence):
            following.setdefault(tuple(sequence[:at]), {})[token] = None
    return [Fork(begun, tuple(following[begun])) for begun in sorted(following, key=len)]


def sums(sequences: Sequence[Sequence[int]], logs: Mapping[Beginning, Mapping[int, float]]) -> tuple[float, ...]:
    """Each sequence's log-probability, from that of every token behind every beginning."""
    return tuple(
        sum(logs[tuple(sequence[:at])][token] for at, token in enumerate(sequence)) + 0.0 for sequence in sequences
    )


async def weigh(
    sequences: Sequence[Sequence[int]], ask: Callable[[Fork], Awaitable[Mapping[int, float]]]
) -> tuple[float, ...]:
    """Each sequence's log-probability; ``ask`` tells the log-probability of each token of a fork."""
    questions, logs = forks(sequences), {}
    for wave in (questions[:1], questions[1:]):
        asking = [asyncio.ensure_future(ask(fork)) for fork in wave]
        try:
            for fork, known in zip(wave, await asyncio.gather(*asking), strict=True):
                logs[fork.begun] = known
        finally:
            for one in asking:
                one.cancel()
    return sums(sequences, logs)
