"""``scripted:right=0.7,refuse=0.1``: a fake that answers by rule; its draws are hashes of the call."""

import asyncio
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from eyetest.errors import InputError, nearest
from eyetest.grammar import read_pairs
from eyetest.models.base import Backend, Call, CallError, target_of, weighed_response
from eyetest.records import WITH_MEDIUM, Asked, Item, ModelEntry, Response, mark, shown_order
from eyetest.redaction import plain_word
from eyetest.store.handwritten import convert

_REFUSAL = "I'm sorry, but I can't answer this."
_SIGHTED = (*WITH_MEDIUM, "screenshot")


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The behaviour of a fake: probabilities from 0 to 1, times in seconds."""

    right: float = 0.7  # of a right answer with the image
    blind: float | None = None  # of a right answer without it; ``right`` if not given
    refuse: float = 0.0
    fail: float = 0.0  # of an attempt that fails and may succeed when repeated
    dead: float = 0.0  # of a call that fails at every attempt
    lag: float = 0.0
    style: Literal["mark", "sentence", "cot"] = "mark"
    seed: int = 0


class ScriptedModel:
    """A model defined by a script."""

    likelihoods = True
    knows_items = True

    def __init__(self, name: str, entry: ModelEntry, script: Script) -> None:
        self.name, self.entry, self.script = name, entry, script
        self.settings: dict[str, Any] = {"script": target_of(entry.spec), **entry.sampling}
        self._attempts: dict[str, int] = {}

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def answer(self, call: Call) -> Response:
        """The script's answer to this call at this attempt."""
        if self.script.lag:
            await asyncio.sleep(self.script.lag)
        if self._draw("dead", call.id) < self.script.dead:
            raise CallError("bad-request", "400: the script says that this call cannot succeed")
        if self.script.fail:
            attempt = self._attempts[call.id] = self._attempts.get(call.id, 0) + 1
            if self._draw("fail", call.id, attempt) < self.script.fail:
                raise CallError("server", "500: the script says that this attempt fails", passing=True)
            del self._attempts[call.id]
        prompt = call.request.prompt
        tokens_in = sum(len(message.text) for message in prompt.messages) // 4
        if prompt.candidates:
            chosen = self._choice(call)
            logs = (-1.0 if i == chosen else -3.0 for i in range(len(call.item.choices)))
            return weighed_response(call, logs, [len(text.split()) for text in prompt.candidates], tokens_in, 2)
        text = self._say(call)
        return Response(
            request=call.id, outcome="answered", text=text, finish="stop", tokens_in=tokens_in, tokens_out=2
        )

    def _say(self, call: Call) -> str:
        if self._draw("refuse", *_key(call.asked)) < self.script.refuse:
            return _REFUSAL
        if not call.item.choices:
            answer = call.item.references[0] if self._is_right(call) and call.item.references else "something else"
        else:
            position = shown_order(call.item, call.asked.condition).index(self._choice(call))
            answer = mark(call.asked.letters, position)
        if self.script.style == "cot" or call.asked.ask != "direct":
            return f"Let me think step by step. Everything considered, one answer fits best.\nAnswer: {answer}"
        return f"The answer is {answer}." if self.script.style == "sentence" else answer

    def _choice(self, call: Call) -> int:
        gold = call.item.gold
        right = self._is_right(call) and gold
        among = gold if right else [i for i in range(len(call.item.choices)) if i not in gold] or [0]
        return among[int(self._draw("which", *_key(call.asked)) * len(among))]

    def _is_right(self, call: Call) -> bool:
        script, sighted = self.script, call.asked.modality in _SIGHTED or _is_text(call.item)
        skill = script.right if sighted or script.blind is None else script.blind
        return self._draw("right", *_key(call.asked)) < skill

    def _draw(self, *key: object) -> float:
        text = "|".join(map(str, (self.script.seed, self.name, *key)))
        return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") / 2**64


def _is_text(item: Item) -> bool:
    """Whether there is nothing to see in an item, so that no part of it is missing."""
    return not (item.images or item.media)


def _key(asked: Asked) -> tuple[object, ...]:
    """What the draws depend on: the question and its condition, neither model, wording nor earlier answers."""
    return tuple(
        getattr(asked, name) for name in asked.__struct_fields__ if name not in ("model", "history", "prompts")
    )


def parse_script(text: str) -> Script:
    """``right=0.7,lag=0.05`` as a script."""
    values: dict[str, str] = {}
    pairs = read_pairs(text, "model", "scripted:right=0.7,lag=0.1", between=",") if text else {}
    for name, value in pairs.items():
        if name not in Script.__struct_fields__:
            near = nearest(name, Script.__struct_fields__)
            raise InputError(f'scripted: "{plain_word(name)}" is no setting; {near}')
        values[name] = value.strip()
    script = convert(values, Script, "scripted", is_text=True)
    for name in ("right", "blind", "refuse", "fail", "dead"):
        if not 0 <= (getattr(script, name) or 0) <= 1:
            raise InputError(f"scripted: {name} is a probability from 0 to 1")
    return script


BACKEND = Backend(
    "scripted",
    "a fake for trying things out: scripted:right=0.7,blind=0.4,refuse=0.1,fail=0.05,lag=0.1",
    lambda name, entry, surroundings: ScriptedModel(name, entry, parse_script(target_of(entry.spec))),
)
