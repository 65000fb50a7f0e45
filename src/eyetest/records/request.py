"""Requests to models and their responses; a request's id is a hash of exactly what is sent."""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from eyetest.records.item import ImageRef, Item
from eyetest.records.tables import OutcomeKind

__all__ = [
    "AskModel", "GrayImage", "ImagePart", "Likelihood", "Message", "Part", "Prompt", "Request", "Response", "Words",
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


# A reply that is a notice of a service about a failed call must not count as wrong. The words of a short reply are
# scored. Those of services count for a notice; a reply in the first person, or one that commits to an option or
# describes an image, is an answer, whatever errors it mentions.

_LONGEST, _LONGEST_DOCUMENT = 600, 20_000
_LEAST, _LEAST_BY_WORD = 3, 0.2
_HINTS: tuple[str, ...] = ("err", "limit", "request", "quota", "filter", "block", "time", "timing", "unavail", "load")
_HINTS += ("fail", "retr", "upstream", "gateway", "cuda", "safety", "polic", "exhaust", "wrong", "context", "content")
_HINTS += ("server", "memory", "flag", "api", "http", "exce")  # every notice contains one of these, a fast test


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_WEIGHTS = {
    3: _any(
        r"rate[ -]?limit(?:ed|s)?(?! (?:is|of|for|in)\b)|too many requests|resource (?:has been )?exhausted",
        r"current quota|quota (?:is |was )?(?:exceeded|exhausted)|content[ -]?(?:filter|management policy|policy)",
        r"safety (?:system|settings?|filters?)|inappropriate content|prohibited content|internal (?:server )?error",
        r"usage polic|bad gateway|gateway time-?out|upstream (?:connect|request|server)|healthy upstream",
        r"service (?:is )?(?:temporarily |currently )?unavailable|max(?:imum)? (?:number of )?retries",
        r"connection (?:error|refused|reset|aborted)|network error|api[ -]?(?:error|key)|via api|request failed",
        r"context length|(?:read|request) timed|http(?:/\d(?:\.\d)?)? ?(?:error )?\d{3}|traceback \(most",
        r"status code|cuda (?:error|out)|^\W*[\w.]*[a-z](?:error|exception|exhausted|timeout)(?:$| ?[:(])",
        r"\b[45]\d\d (?:client|server|internal|bad|service|gateway|too|unauthorized|forbidden)",
    ),
    2: _any(
        r"^\W*(?:error|exception)\b(?=\W*[:(]| \d| code| during| while| communicating| generating)|error code",
        r"error (?:has )?occurred|server error|(?:please |and )(?:try again|retry|slow down|contact)|retry after",
        r"(?:response|content|prompt|request|output)s? (?:(?:was|is|has been) )?(?:block|filter|reject|abort)ed",
        r"overloaded|timed? ?out|timing out|invalid content|something went wrong|(?:by|our) moderation|had an error",
        r"(?:process|complete) your request|unavailable|flagged (?:as|by)|returned error|try again later|exhausted",
    ),
    1: _any(
        r"\berror|fail(?:ed|ure)|blocked|filtered|rejected|exceeded|\brequests?\b|\bserver|\bservice\b|\bmodel\b",
        r"\bresponse\b|\bprompt\b|\bapi\b|openai|azure|cloudflare|anthropic|litellm|vllm|violat|gateway|\bgpu\b",
        r"(?:error|code|status)\W{1,3}[45]\d\d\b|inference|out of memory|input data|unexpected|aborted|cancel",
        r"flagged|provider|\bworker\b|connection|exception|currently|terminated|\bstream\b|generat|\bsafety\b",
        r"completion|retries|could not",
    ),
}  # words of notices, with their weights
_ANSWERS = _any(
    r"(?<!obtain )\banswer\b|\bso (?:the |it |option )?\(?[a-j]\b|\([a-j]\)|\boption\b|^\W*[a-j][.):]",
    r"[\s:][a-j][.)]?$|\bscreen(?:shot)?\b|\bpicture\b|\bimage shows\b|as an ai|\bdef |\breturn |```",
    r"\bi(?:'m| am| can| could|'ll| will| do)\b|\bmy\b",
)
_KINDS = {
    "content-filter": r"filter|safety|moderation|inappropriate|prohibited|usage polic|content polic|responsible ?ai",
    "rate-limit": r"rate[ _-]?limit|too many requests|\b429\b|exhausted",
    "quota": r"quota|billing|credit balance",
    "timeout": r"time[ds]?[ -]?out\b|timing out|deadline exceeded|\b504\b",
    "auth": r"api[ _-]?key|unauthori[sz]ed|authentication|permission denied|\b401\b|forbidden",
    "bad-request": r"context (?:length|window)|invalid[ _](?:request|content)|bad request|not[ _]found|too long",
    "overloaded": r"overloaded|unavailable|\b503\b|no healthy|at capacity",
}  # the word under which failures are counted; the first match counts
LASTING = ("content-filter", "auth", "bad-request")  # failures that would recur
_TITLE = _any(r"<(?:title|h1)[^>]*>[^<]{0,80}(?:error|gateway|unavailable|forbidden|denied|not found|\b[45]\d\d\b)")
_FIELDS = {"error", "errors", "message", "msg", "detail", "details", "code", "status", "status_code", "type", "param"}
_FIELDS |= {"object", "success", "request_id", "id", "reason", "title", "timestamp", "path", "metadata", "provider"}


def failure_notice(text: str) -> str:
    """A countable word for why a call failed, if a reply says nothing else; else empty."""
    reply = text.strip()
    if not reply or len(reply) > (_LONGEST_DOCUMENT if reply[0] in "<{[" else _LONGEST):
        return ""
    folded = " ".join(reply.casefold().replace("_", " ").split())
    is_page = folded.startswith(("<!doctype html", "<html", "<head"))
    if (is_page and _TITLE.search(folded)) or _is_error_object(reply) or (not is_page and _reads_as_notice(folded)):
        return next((kind for kind, pattern in _KINDS.items() if re.search(pattern, folded)), "server")
    return ""


def _reads_as_notice(folded: str) -> bool:
    if len(folded) > _LONGEST or not any(hint in folded for hint in _HINTS) or _ANSWERS.search(folded):
        return False
    found = {weight: set(pattern.findall(folded)) for weight, pattern in _WEIGHTS.items()}
    score = sum(weight * len(words) for weight, words in found.items())
    return score >= max(_LEAST, _LEAST_BY_WORD * len(folded.split()))


def _is_error_object(reply: str) -> bool:
    """Whether a reply is only the JSON of an error."""
    with suppress(ValueError, RecursionError):
        found = json.loads(reply) if reply[0] in "{[" else None
        found = found[0] if isinstance(found, list) and len(found) == 1 else found
        if isinstance(found, dict):
            names = {str(name).casefold() for name in found}
            return names <= _FIELDS and not names.isdisjoint(("error", "errors", "detail", "message", "msg"))
    return False
