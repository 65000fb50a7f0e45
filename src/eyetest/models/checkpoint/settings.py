"""How a checkpoint is set: what models.yaml may say, what of it decides an answer, and what one call wishes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.models.base import Call
from eyetest.models.checkpoint.loading import Checkpoint
from eyetest.records import ModelEntry

_SETTINGS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "model")
_DTYPES = ("float32", "bfloat16", "float16")


class Wish(msgspec.Struct, frozen=True):
    """How one call wants its answer drawn."""

    seed: int
    temperature: float = 0.0
    top_p: float = 1.0
    most: int = 512
    likeliest: int | None = None
    """How many of the likeliest tokens to tell at each position."""


def check_settings(backend: str, sampling: Mapping[str, Any], own: Sequence[str]) -> None:
    """Settings that are none are refused before anything is loaded; ``own`` are those of the backend alone."""
    for key, value in sampling.items():
        if key not in (*_SETTINGS, *own):
            raise InputError(f'{backend}: "{key}" is no setting; it knows {", ".join((*own, *_SETTINGS[:3]))}')
        if key == "dtype" and value not in _DTYPES:
            raise InputError(f"{backend}: dtype is one of {', '.join(_DTYPES)}, not {short(value)}")


def identity(entry: ModelEntry, checkpoint: Checkpoint, own: Sequence[str]) -> dict[str, Any]:
    """What decides an answer beside the prompt: the weights, their precision, and how answers are drawn."""
    sent = {key: value for key, value in entry.sampling.items() if key not in own}
    settings = {"model": checkpoint.folder.name, "weights": checkpoint.fingerprint, **sent}
    settings["dtype"] = str(entry.sampling.get("dtype", checkpoint.dtype))
    if entry.logprobs is not None:
        settings["top_logprobs"] = entry.logprobs
    return settings


def wish_of(call: Call) -> Wish:
    """How a call wants its answer drawn, by the settings of its request."""
    settings = call.request.settings
    most = settings.get("max_tokens", settings.get("max_completion_tokens", 512))
    return Wish(
        int(call.id[:15], 16),
        float(settings.get("temperature", 0)),
        float(settings.get("top_p", 1)),
        int(most),
        settings.get("top_logprobs"),
    )
