"""An embedded model as eyetest asks it: many calls at once, off the event loop."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from eyetest.errors import EyetestError, InputError, short
from eyetest.models.base import Call, CallError, Surroundings
from eyetest.models.embedded.cards import Card, weights
from eyetest.models.embedded.habits import BELIEF, HABITS, TASTE, check_habits, habits
from eyetest.models.embedded.network import Network
from eyetest.models.embedded.speaking import Generation, answer, as_settings
from eyetest.models.embedded.tokens import END, Tokens
from eyetest.records import GreyPicture, Likelihood, ModelEntry, Picture, Prompt, Response, Words

_BATCH = 32
_MOST_WORKERS = 8
_MOST_TOKENS = 900
_KNOWN_SETTINGS = ("temperature", "max_tokens", *HABITS, "max_completion_tokens", "seed", "model")
_LEAST = {"temperature": 0, "max_tokens": 1, "max_completion_tokens": 1, TASTE: 0, BELIEF: 0}
_PIXELS_KEPT = 2_000
_PROMPTS_KEPT = 1_000


class EmbeddedModel:
    """A model in the package."""

    likelihoods = True
    knows_items = False
    batch = 2 * _BATCH

    def __init__(self, name: str, entry: ModelEntry, card: Card, surroundings: Surroundings) -> None:
        self.name, self.entry, self._card, self._pictures = name, entry, card, surroundings.pictures
        _check(entry.sampling)
        self.settings: dict[str, Any] = {"model": card.name, **entry.sampling}
        if entry.logprobs is not None:
            self.settings["top_logprobs"] = entry.logprobs
        self._tokens = _vocabulary()
        self._network: Network | None = None

    async def open(self) -> None:
        """Load the weights."""
        self._network = await asyncio.get_running_loop().run_in_executor(_workers(), _loaded, self._card)

    async def close(self) -> None:
        """The weights stay for the next run of this process."""

    async def answer(self, call: Call) -> Response:
        """One attempt."""
        (reply,) = await self.answer_many([call])
        if isinstance(reply, CallError):
            raise reply
        return reply

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """One attempt at each, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(_workers(), self._respond, calls)

    def _respond(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """Answer calls in groups that can be read together."""
        results: dict[int, Response | CallError] = {}
        turns: dict[int, Generation] = {}
        for index, call in enumerate(calls):
            try:
                turns[index] = self._turn(call)
            except CallError as error:
                results[index] = error
            except EyetestError as error:
                results[index] = CallError("bad-request", str(error))
        assert self._network is not None
        for group in _groups(turns):
            answer(self._network, [turns[index] for index in group])
            results |= {index: self._response(calls[index], turns[index]) for index in group}
        return [results[index] for index in range(len(calls))]

    def _turn(self, call: Call) -> Generation:
        prompt, settings = call.request.prompt, call.request.settings
        numbers, lines = _encoded(prompt, self._card.style)
        if len(numbers) > _MOST_TOKENS:
            raise CallError("too-large", f"a prompt of {len(numbers)} tokens; {self._card.name} reads {_MOST_TOKENS}")
        shown = [part for message in prompt.messages for part in message.parts if not isinstance(part, Words)]
        if shown and not self._card.sees:
            raise CallError("bad-request", f"{self._card.name} has no eyes: it reads text alone")
        temperature, most = as_settings(settings)
        return Generation(
            numbers,
            lines,
            tuple(map(_identity, shown)),
            np.stack([self._pixels(part) for part in shown]) if shown else None,
            temperature,
            int(call.id[:16], 16),
            most,
            settings.get("top_logprobs"),
            self._candidates(prompt),
            habits(self._card.name, settings, self._tokens, numbers),
        )

    def _candidates(self, prompt: Prompt) -> list[list[int]]:
        """Whole replies, END and all; or the first token of each."""
        whole = ([*self._tokens.encode(text), END] for text in prompt.candidates)
        return [one[:1] if prompt.first_token else one for one in whole]

    def _pixels(self, part: Picture | GreyPicture) -> NDArray[np.uint8]:
        side = self._card.resolution
        key = (*_identity(part), side)
        with _LOCK:
            if key in _PIXELS:
                _PIXELS.move_to_end(key)
                return _PIXELS[key]
        small = self._pictures.open(part).resize((side, side), Pillow.Resampling.BOX)
        pixels = np.ascontiguousarray(np.asarray(small, np.uint8).transpose(2, 0, 1))
        with _LOCK:
            _PIXELS[key] = pixels
            while len(_PIXELS) > _PIXELS_KEPT:
                _PIXELS.popitem(last=False)
        return pixels

    def _response(self, call: Call, turn: Generation) -> Response:
        finished = turn.stopped or bool(turn.weights)
        return Response(
            request=call.id,
            outcome="answered" if finished else "truncated",
            text="" if turn.weights else self._tokens.decode(turn.said),
            finish="stop" if finished else "length",
            tokens_in=len(turn.prompt) + (0 if turn.pixels is None else 64 * len(turn.pixels)),
            tokens_out=len(turn.said),
            likelihoods=tuple(
                self._told(token, logs, turn.top or 0)
                for token, logs in zip(turn.said, turn.likelihoods, strict=False)
            ),
            candidates=tuple(turn.weights),
            candidate_tokens=tuple(map(len, turn.candidates)),
        )

    def _told(self, token: int, logs: NDArray[np.float64], top: int) -> Likelihood:
        """A token that was said, and the likeliest ones at its position."""
        best = np.argsort(-logs, kind="stable")[:top]
        others = tuple((self._tokens.word(int(one)), float(logs[one])) for one in best)
        return Likelihood(self._tokens.word(token), float(logs[token]), others)


def _check(sampling: Mapping[str, Any]) -> None:
    """Settings that are none, or no numbers, are refused before anybody is asked."""
    for key, value in sampling.items():
        if key not in _KNOWN_SETTINGS:
            raise InputError(f'embedded: "{key}" is no setting; it knows {", ".join(_KNOWN_SETTINGS[:5])}')
        least = _LEAST.get(key)
        if value is None or least is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
            raise InputError(f"embedded: {key} is a number from {least} on, not {short(value)}")
    check_habits(sampling)


_LOCK = Lock()
_PIXELS: OrderedDict[tuple[object, ...], NDArray[np.uint8]] = OrderedDict()


def _identity(part: Picture | GreyPicture) -> tuple[object, ...]:
    return ("grey",) if isinstance(part, GreyPicture) else (part.image.sha256,)


def _groups(turns: dict[int, Generation]) -> list[list[int]]:
    """Batches of prompts that show equally many pictures and are about as long; equal prompts stay together."""

    def order(index: int) -> tuple[Any, ...]:
        turn = turns[index]
        return len(turn.pictures), len(turn.prompt), turn.prompt, turn.pictures

    groups: list[list[int]] = []
    distinct, before = 0, None
    for index in sorted(turns, key=order):
        key = order(index)
        if before is None or key[0] != before[0] or (distinct >= _BATCH and key != before):
            groups.append([])
            distinct = 0
        distinct += key != before
        groups[-1].append(index)
        before = key
    return groups


@cache
def _vocabulary() -> Tokens:
    return Tokens(msgspec.json.decode(weights("tokens.json").read_bytes(), type=list[str]))


@lru_cache(maxsize=_PROMPTS_KEPT)
def _encoded(prompt: Prompt, style: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A prompt as numbers; trials, and models of one style, share it."""
    numbers = _vocabulary().encode_prompt(prompt, style)
    return tuple(numbers), tuple(_vocabulary().lines(numbers))


@cache
def _loaded(card: Card) -> Network:
    return Network(card)


@cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(_MOST_WORKERS, os.cpu_count() or 1), "embedded")
