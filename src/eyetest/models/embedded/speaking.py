"""Replies, many at a time: prompts are read together, equal ones once, and answered token by token.

Every draw comes from a seed that belongs to the call, so a reply does not depend on who is asked beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyetest.models.embedded.network import Network, Numbers, PromptState
from eyetest.models.embedded.tokens import END, PAD

_LEAST_WARM = 1e-3
_NEVER = np.float32(-1e9)
_WIDE = 2**64 - 1


@dataclass
class Generation:
    """A call, and what is said to it so far."""

    prompt: tuple[int, ...]
    lines: tuple[int, ...]
    pictures: tuple[object, ...] = ()
    """What tells its pictures from others, for prompts that are equal."""
    pixels: NDArray[np.uint8] | None = None
    temperature: float = 0.0
    seed: int = 0
    most: int = 64
    top: int | None = None
    """How many likeliest others to tell for each token."""
    candidates: Sequence[Sequence[int]] = ()
    """Tokens that are weighed as a reply or, where no END is among them, as its beginning."""
    habits: Mapping[int, float] = field(default_factory=dict)
    """By token, how much less likely it gets than the network makes it."""
    said: list[int] = field(default_factory=list)
    likelihoods: list[NDArray[np.float64]] = field(default_factory=list)
    """Of every token at each position, where others are to be told."""
    weights: list[float] = field(default_factory=list)
    stopped: bool = False


def answer(network: Network, turns: Sequence[Generation]) -> None:
    """Say something in every turn, or weigh its candidates."""
    row_of: dict[object, int] = {}
    rows = [row_of.setdefault((turn.prompt, turn.pictures), len(row_of)) for turn in turns]
    distinct = [turns[rows.index(row)] for row in range(len(row_of))]
    reading = network.read(
        [one.prompt for one in distinct], [one.lines for one in distinct], _seen(network, distinct)
    )
    for turn, row in zip(turns, rows, strict=True):
        if turn.candidates:
            weights = _weigh(network, reading.rows([row]), turn.candidates)
            liked = [sum(turn.habits.get(token, 0.0) for token in one) for one in turn.candidates]
            turn.weights = [weight + liking for weight, liking in zip(weights, liked, strict=True)]
    speakers = [(turn, row) for turn, row in zip(turns, rows, strict=True) if not turn.candidates]
    if speakers:
        _speak(network, reading, [turn for turn, _ in speakers], np.array([row for _, row in speakers]))


def _seen(network: Network, turns: Sequence[Generation]) -> NDArray[np.float32] | None:
    """What the eyes see of every prompt; all prompts of a batch show equally many pictures."""
    if turns[0].pixels is None:
        return None
    shown = np.stack([turn.pixels for turn in turns if turn.pixels is not None])
    count, pictures = shown.shape[:2]
    return network.look(shown.reshape(count * pictures, *shown.shape[2:])).reshape(count, -1, network.width)


def _speak(network: Network, reading: PromptState, turns: Sequence[Generation], rows: Numbers) -> None:
    active = list(turns)
    current = reading if rows.tolist() == list(range(len(reading.lengths))) else reading.rows(rows)
    while True:
        chosen = _draw(active, current.logits[:, -1])
        going = [index for index, turn in enumerate(active) if not _ends(turn, int(chosen[index]))]
        if not going:
            return
        if len(going) < len(active):
            current = current.rows(going)
            active = [active[index] for index in going]
        current = network.go_on(current, chosen[going][:, None])


def _draw(turns: Sequence[Generation], logits: NDArray[np.float32]) -> Numbers:
    """The next token of each turn: the likeliest, or one by lot."""
    logits[:, PAD] = _NEVER
    shifted = logits - logits.max(axis=1, keepdims=True)
    for index, turn in enumerate(turns):
        for token, liking in turn.habits.items():
            shifted[index, token] += liking
    chosen: Numbers = shifted.argmax(axis=1)
    for index, turn in enumerate(turns):
        if turn.top is not None:
            _tell(turn, shifted[index])
    warm = [index for index, turn in enumerate(turns) if turn.temperature >= _LEAST_WARM]
    if warm:
        heat = np.array([[turns[index].temperature] for index in warm])
        sums = np.exp(shifted[warm] / heat).cumsum(axis=1)
        lots = np.array([lot(turns[index].seed, len(turns[index].said)) for index in warm])[:, None] * sums[:, -1:]
        chosen[warm] = (sums <= lots).sum(axis=1)
    return chosen


def lot(seed: int, position: int) -> float:
    """A number from 0 to 1 that belongs to a call and a position in its reply (SplitMix64)."""
    mixed = (seed + (position + 1) * 0x9E3779B97F4A7C15) & _WIDE
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WIDE
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WIDE
    return (mixed ^ (mixed >> 31)) / 2**64


def _tell(turn: Generation, shifted: NDArray[np.float32]) -> None:
    """Keep the log-likelihoods of this position; which of them was chosen is known from what is said."""
    wide = shifted.astype(np.float64)
    logs = wide - np.log(np.exp(wide).sum())
    turn.likelihoods.append(logs)


def _ends(turn: Generation, token: int) -> bool:
    if token == END:
        turn.stopped = True
        return True
    turn.said.append(token)
    return len(turn.said) >= turn.most


def _weigh(network: Network, reading: PromptState, candidates: Sequence[Sequence[int]]) -> list[float]:
    """The log-likelihood of each candidate, token by token."""
    longest = max(map(len, candidates)) - 1
    tokens = np.full((len(candidates), longest), PAD, np.int64)
    for row, one in enumerate(candidates):
        tokens[row, : len(one) - 1] = one[:-1]
    logits = np.repeat(reading.logits[:, -1:], len(candidates), 0)
    if longest:
        after = network.go_on(reading.rows([0] * len(candidates)), tokens)
        logits = np.concatenate((logits, after.logits), axis=1)
    logits = logits.astype(np.float64)
    logs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    return [
        sum(float(logs[row, position, token]) for position, token in enumerate(one))
        for row, one in enumerate(candidates)
    ]


def as_settings(settings: Mapping[str, Any]) -> tuple[float, int]:
    """Temperature and the most tokens, out of what is sent with a prompt."""
    most = settings.get("max_tokens", settings.get("max_completion_tokens", 64))
    return float(settings.get("temperature", 0.0)), int(most)
