"""Requests to models and their responses; a request's id is a hash of exactly what is sent."""

import math
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from eyetest.records.item import ImageRef, Item
from eyetest.records.tables import OutcomeKind

__all__ = [
    "AskModel",
    "GrayImage",
    "ImagePart",
    "Likelihood",
    "Message",
    "Part",
    "Prompt",
    "Request",
    "Response",
    "Words",
]  # fmt: skip

_ID_VERSION = b"eyetest request 1\n"
_encode = msgspec.json.Encoder(order="deterministic").encode


class Words(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A piece of text."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    """An image of the benchmark, sent byte for byte as stored."""

    image: ImageRef


class GrayImage(msgspec.Struct, frozen=True, tag_field="kind", tag="grey"):
    """A plain grey image of the size of the one it replaces."""

    width: int
    height: int


Part = Words | ImagePart | GrayImage
Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True):
    """A message of one side."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text parts alone."""
        return "".join(part.text for part in self.parts if isinstance(part, Words))


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model is shown, independent of the model."""

    messages: tuple[Message, ...]
    prefill: str = ""  # the beginning of the model's own turn, where supported
    candidates: tuple[str, ...] = ()  # continuations to be scored by likelihood, in the order of the item's choices
    first_token: bool = False  # whether only the first token of each continuation is scored


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call: a prompt, its model and the model's settings."""

    model: str
    prompt: Prompt
    settings: dict[str, Any] = {}  # everything else that is sent: the endpoint's model name, temperature …
    sample: int = 0

    @property
    def id(self) -> str:
        """The hash of what is sent. Images count by the hash of their bytes."""
        return blake2b(_ID_VERSION + _encode(self), digest_size=16).hexdigest()


SERVED = "served by "  # begins an answer's detail that names the server's model and version
IMPOSSIBLE = -9999.0  # the log-probability of the impossible in OpenAI and vLLM: JSON has no minus infinity


class Likelihood(msgspec.Struct, frozen=True, array_like=True):
    """A token and its log-probability, with the likeliest others at its position; finite numbers only."""

    token: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.logprob):
            msgspec.structs.force_setattr(self, "logprob", IMPOSSIBLE)
        if not all(math.isfinite(logprob) for _, logprob in self.others):
            others = ((token, logprob if math.isfinite(logprob) else IMPOSSIBLE) for token, logprob in self.others)
            msgspec.structs.force_setattr(self, "others", tuple(others))


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a request: a line of a run's journal; ``text`` is None in tables with scores only."""

    request: str
    outcome: OutcomeKind
    text: str | None = ""
    thinking: str = ""  # a reasoning model's text before its answer, where separate
    error: str = ""  # why it failed, as a countable word: timeout, rate-limit, server, garbage …
    detail: str = ""
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    time: float = 0.0  # its arrival, in seconds since 1970
    likelihoods: tuple[Likelihood, ...] = ()  # of each token of the answer, where requested and offered
    candidates: tuple[float | None, ...] = ()  # log-probability of each candidate; None (JSON) of an impossible one
    candidate_tokens: tuple[int, ...] = ()  # the number of tokens of each; for all candidates, or none
    candidate_bytes: tuple[int, ...] = ()  # the bytes of UTF-8 of each; for all candidates, or none
    given: float | None = None  # a score decided elsewhere, used unchanged and marked so


class WeighedCandidate(msgspec.Struct, frozen=True, array_like=True):
    """A candidate as a table holds it."""

    logprob: float | None  # none, as JSON writes it, of the impossible
    tokens: int | None = None
    bytes: int | None = None


_decode_candidates = msgspec.json.Decoder(tuple[WeighedCandidate, ...]).decode

AskModel = Callable[[str, Sequence[tuple[Item, Prompt]]], Iterable[Response | None]]
"""Puts a prompt about each of some items to a model, by its name; None for what could not be asked."""


def write_candidates(response: Response) -> str | None:
    """The candidates of a response as a table holds them: log-probability, tokens and bytes of each."""
    if not response.candidates:
        return None
    unknown = (None,) * len(response.candidates)
    columns = response.candidates, response.candidate_tokens or unknown, response.candidate_bytes or unknown
    return msgspec.json.encode([WeighedCandidate(*values) for values in zip(*columns, strict=True)]).decode()


def read_candidates(text: str | None) -> tuple[WeighedCandidate, ...]:
    """The candidates in a table's cell."""
    return _decode_candidates(text) if text else ()
