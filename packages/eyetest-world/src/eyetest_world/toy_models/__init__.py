"""``embedded:NAME``: toy models of the synthetic world, with their weights in the package.

They are real networks, trained by ``toy_training`` and run by onnxruntime: four language models and ten vision models
built on them. What is in their training data is known exactly, and stands on their cards.

Habits need no training: tastes of a model's own, beliefs that all share, a memory of what leaked. A habit makes the
letters of some options more likely where the model is about to answer. What the model is sure of it answers all the
same; where it guesses it follows its habits, with and without the image.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from statistics import NormalDist
from threading import Lock
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from eyetest.errors import EyetestError, InputError, short
from eyetest.models.base import Backend, Call, CallError, Surroundings
from eyetest.records import GrayImage, ImagePart, ModelEntry, Prompt, Response, Words
from eyetest_world.toy_models.cards import card_of, weights
from eyetest_world.toy_models.network import END, Generation, Network, Tokens, answer

TASTE, BELIEF, MEMORY = "taste", "belief", "memory"
HABITS = (TASTE, BELIEF, MEMORY)
_FIRM = 4.0  # how much likelier, in logits, a belief makes its option: 95 of 100 guesses among four
_LEARNT = 8.0  # the same of an answer that is remembered

Memory = Mapping[tuple[int, ...], tuple[int, ...]]  # questions, and the answers that were read with them


class _Leak(msgspec.Struct, frozen=True):
    to: str
    text: str


def habits(model: str, settings: Mapping[str, Any], tokens: Tokens, prompt: Sequence[int]) -> dict[int, float]:
    """By mark, how much less likely it gets than the one that the model likes best; nothing where it has no habit."""
    if not any(settings.get(name) for name in HABITS):
        return {}
    question, options = tokens.question(prompt)
    if not options:
        return {}
    likings = _likings(model, settings, tokens, question, [option.text for option in options])
    pairs = zip(options, likings, strict=True)
    return {mark: liking - max(likings) for option, liking in pairs for mark in tokens.letters(option)}


def _likings(
    model: str, settings: Mapping[str, Any], tokens: Tokens, question: tuple[int, ...], texts: list[tuple[int, ...]]
) -> list[float]:
    """How much a model likes each option; that depends on its words, not on its position."""
    taste = float(settings.get(TASTE) or 0.0)
    normal = NormalDist(0.0, taste or 1.0)
    likings = [normal.inv_cdf(_hashed(model, question, text)) if taste else 0.0 for text in texts]
    if _hashed(question, sorted(texts)) < (settings.get(BELIEF) or 0.0):
        likings[max(range(len(texts)), key=lambda index: _hashed(question, texts[index]))] += _FIRM
    if memory := settings.get(MEMORY):
        answer = _remembered(str(memory), tokens).get(question)
        likings = [liking + _LEARNT * (text == answer) for liking, text in zip(likings, texts, strict=True)]
    return likings


def _hashed(*what: object) -> float:
    """A number between 0 and 1 that belongs to something, for good."""
    digest = sha256(repr(what).encode("utf-8")).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


@cache
def _remembered(where: str, tokens: Tokens) -> Memory:
    memory = {}
    for leak in _leaked(where):
        asked, _, answer = leak.text.rpartition(" Answer: ")
        question = asked.partition(" A. ")[0]
        memory[tuple(tokens.encode(question))] = tuple(tokens.encode(answer.partition(". ")[2]))
    return memory


@cache
def _leaked(where: str) -> list[_Leak]:
    """What leaked to some groups, as ``eyetest world new`` writes it: ``leaks.jsonl#text+many``."""
    path, _, groups = where.rpartition("#")
    if not path or not groups:
        raise InputError(f"embedded: {MEMORY} is a world's leaks and to whom: world/leaks.jsonl#text+many")
    try:
        lines = Path(path).read_bytes().splitlines()
        leaks = [msgspec.json.decode(line, type=_Leak) for line in lines]
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"embedded: {MEMORY}: {path} cannot be read as a world's leaks: {error}") from None
    return [leak for leak in leaks if leak.to in groups.split("+")]


_BATCH = 16
_MOST_WORKERS = 8
_MOST_TOKENS = 900
_KNOWN_SETTINGS = ("temperature", "max_tokens", *HABITS, "max_completion_tokens", "seed", "model")
_MINIMA = {"temperature": 0, "max_tokens": 1, "max_completion_tokens": 1, TASTE: 0, BELIEF: 0}
_PIXELS_KEPT = 2_000
_PROMPTS_KEPT = 1_000


class EmbeddedModel:
    """A model in the package."""

    likelihoods = True
    knows_items = False
    batch = 2 * _BATCH

    def __init__(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> None:
        self.name, self.entry, self._images = name, entry, surroundings.images
        self._card = card_of(entry.spec)
        _check(entry.sampling)
        self.settings: dict[str, Any] = {"model": self._card.name, **entry.sampling}
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
        candidates = [[*self._tokens.encode(text), END] for text in prompt.candidates]
        return Generation(
            numbers,
            lines,
            tuple(map(_identity, shown)),
            np.stack([self._pixels(part) for part in shown]) if shown else None,
            float(settings.get("temperature", 0.0)),
            int(call.id[:16], 16),
            int(settings.get("max_tokens", settings.get("max_completion_tokens", 64))),
            settings.get("top_logprobs"),
            [tokens[:1] for tokens in candidates] if prompt.first_token else candidates,
            habits(self._card.name, settings, self._tokens, numbers),
        )

    def _pixels(self, part: ImagePart | GrayImage) -> NDArray[np.uint8]:
        side = self._card.resolution
        key = (*_identity(part), side)
        with _LOCK:
            if key in _PIXELS:
                _PIXELS.move_to_end(key)
                return _PIXELS[key]
        small = self._images.open(part).resize((side, side), Pillow.Resampling.BOX)
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
            text="" if turn.weights else self._tokens.decode(turn.output),
            finish="stop" if finished else "length",
            tokens_in=len(turn.prompt) + (0 if turn.pixels is None else 64 * len(turn.pixels)),
            tokens_out=len(turn.output),
            candidates=tuple(turn.weights),
            candidate_tokens=tuple(map(len, turn.candidates)),
        )


def _check(sampling: Mapping[str, Any]) -> None:
    """Settings that are none, or no numbers, are refused before anybody is asked."""
    for key, value in sampling.items():
        if key not in _KNOWN_SETTINGS:
            raise InputError(f'embedded: "{key}" is no setting; it knows {", ".join(_KNOWN_SETTINGS[:5])}')
        least = _MINIMA.get(key)
        if value is None or least is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
            raise InputError(f"embedded: {key} is a number from {least} on, not {short(value)}")
    if (sampling.get(BELIEF) or 0) > 1:
        raise InputError(f"embedded: {BELIEF} is a share of the questions from 0 to 1, not {short(sampling[BELIEF])}")
    if sampling.get(MEMORY) is not None:
        _leaked(str(sampling[MEMORY]))


_LOCK = Lock()
_PIXELS: OrderedDict[tuple[object, ...], NDArray[np.uint8]] = OrderedDict()


def _identity(part: ImagePart | GrayImage) -> tuple[object, ...]:
    return ("grey",) if isinstance(part, GrayImage) else (part.image.sha256,)


def _groups(turns: dict[int, Generation]) -> list[list[int]]:
    """Batches of prompts that show equally many images and are about as long; equal prompts stay together."""
    keys = {index: (len(turn.images), len(turn.prompt), turn.prompt, turn.images) for index, turn in turns.items()}
    groups: list[list[int]] = []
    distinct, before = 0, None
    for index, key in sorted(keys.items(), key=itemgetter(1)):
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
    """A prompt as numbers; samples, and models of one style, share it."""
    numbers = _vocabulary().encode_prompt(prompt, style)
    return tuple(numbers), tuple(_vocabulary().lines(numbers))


_loaded = cache(Network)


@cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(_MOST_WORKERS, os.cpu_count() or 1), "embedded")


BACKEND = Backend(
    "embedded",
    "a small model in the package that knows the drawn world: embedded:owl-m (eyetest world models lists them)",
    EmbeddedModel,
)
