"""Exactly how an item is put to a model."""

from typing import Literal

import msgspec

Sight = Literal["image", "blind", "blind-guess", "no-question", "nothing", "grey", "caption", "screenshot"]
Ask = Literal["direct", "cot", "ocr"]
Shots = Literal["none", "format", "two"]
Marks = Literal["upper", "lower", "digit"]
Method = Literal["generate", "likelihood"]

BLIND_SIGHTS: tuple[Sight, ...] = ("blind", "blind-guess", "grey")
"""The question without its picture: three ways to ask the same thing."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One point on every axis along which a question can be put differently.

    ``blind`` leaves the picture out silently, ``blind-guess`` says that it is missing and asks for a guess.
    ``template`` is an index into the task's list of equivalent instructions. ``order`` is the seed of the
    option order, 0 being the order as written; a number that is no seed says itself what was shown
    (see ``eyetest.records.order``).
    """

    sight: Sight = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    template: int = 0
    order: int = 0
    marks: Marks = "upper"
    method: Method = "generate"
