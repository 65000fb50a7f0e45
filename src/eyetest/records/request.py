"""What a model is asked, and what came of it.

A request's id is a hash of exactly what is sent, so an unchanged question is never paid for twice and a changed one
is never answered from memory.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from eyetest.records.item import ImageRef, Item
from eyetest.records.tables import OutcomeKind

_ID_VERSION = b"eyetest request 1\n"
_encode = msgspec.json.Encoder(order="deterministic").encode


class Words(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A piece of text."""

    text: str


class Picture(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    """A picture of the benchmark, sent byte for byte as it is stored."""

    image: ImageRef


class GreyPicture(msgspec.Struct, frozen=True, tag_field="kind", tag="grey"):
    """A plain grey picture of the size of the one it stands in for."""

    width: int
    height: int


Part = Words | Picture | GreyPicture
Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True):
    """What one side says."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its words alone."""
        return "".join(part.text for part in self.parts if isinstance(part, Words))


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model is shown, without saying which model."""

    messages: tuple[Message, ...]
    prefill: str = ""
    """How the model's own turn is made to begin, where a model takes that."""
    candidates: tuple[str, ...] = ()
    """Continuations to be weighed by their likelihood, in the order of the item's choices."""
    first_token: bool = False
    """Whether only the first token of each continuation is weighed."""


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call: a prompt, the model it goes to and how that model is set."""

    model: str
    """The name by which this run knows the model."""
    prompt: Prompt
    settings: dict[str, Any] = {}
    """Everything else that is sent: the endpoint's name for the model, temperature, token limit, picture detail …"""
    trial: int = 0

    @property
    def id(self) -> str:
        """The hash of what is sent. Pictures count by the hash of their bytes."""
        return blake2b(_ID_VERSION + _encode(self), digest_size=16).hexdigest()


IMPOSSIBLE = -9999.0
"""The log-probability of the impossible, as OpenAI and vLLM write it: minus infinity is no number in JSON."""


class Likelihood(msgspec.Struct, frozen=True, array_like=True):
    """A token and its log-probability, with the likeliest others at its position; no number that cannot be stored."""

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
    """What came of a request: one line of a run's journal.

    ``text`` is None where nobody knows what was said, as in tables that hold only somebody's verdict.
    """

    request: str
    outcome: OutcomeKind
    text: str | None = ""
    thinking: str = ""
    """What a reasoning model said before its answer, where the endpoint gives it apart."""
    error: str = ""
    """Why it failed, in a word that can be counted: timeout, rate-limit, server, garbage …"""
    detail: str = ""
    """Why it failed, in the server's words."""
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float = 0.0
    """How long the last attempt took."""
    attempts: int = 1
    time: float = 0.0
    """When it came, in seconds since 1970."""
    likelihoods: tuple[Likelihood, ...] = ()
    """Of each token of the answer, where asked for and offered."""
    candidates: tuple[float | None, ...] = ()
    """Log-probability of each candidate of a likelihood request; None, as JSON writes it, of the impossible."""
    candidate_tokens: tuple[int, ...] = ()
    """Of how many tokens each log-probability is the sum; of all candidates, or of none."""
    candidate_bytes: tuple[int, ...] = ()
    """How many bytes of UTF-8 each candidate has; of all candidates, or of none."""
    given: float | None = None
    """A score that somebody else decided, used as it is and marked so."""


class WeighedCandidate(msgspec.Struct, frozen=True, array_like=True):
    """A candidate as a table holds it; tables of older versions have pairs, or the log-probability alone."""

    logprob: float | None
    """None, as JSON writes it, of the impossible."""
    tokens: int | None = None
    bytes: int | None = None


_decode_candidates = msgspec.json.Decoder(tuple[WeighedCandidate | float | None, ...]).decode

AskModel = Callable[[str, Sequence[tuple[Item, Prompt]]], Iterable[Response | None]]
"""Put a prompt about each of some items to a model, by its name; None for what could not be asked."""


def write_candidates(response: Response) -> str | None:
    """The candidates of a response as a table holds them: each its log-probability, tokens and bytes."""
    if not response.candidates:
        return None
    unknown = (None,) * len(response.candidates)
    columns = response.candidates, response.candidate_tokens or unknown, response.candidate_bytes or unknown
    return msgspec.json.encode([WeighedCandidate(*values) for values in zip(*columns, strict=True)]).decode()


def read_candidates(text: str | None) -> tuple[WeighedCandidate, ...]:
    """The candidates that a table holds."""
    values = _decode_candidates(text) if text else ()
    return tuple(value if isinstance(value, WeighedCandidate) else WeighedCandidate(value) for value in values)
