"""What a chat completions endpoint says, sorted: an answer, a failure that may pass, or one that will not."""

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.records import Likelihood, OutcomeKind, Response

_PASSING = {408: "timeout", 409: "server", 425: "server", 429: "rate-limit"}
_LASTING = {400: "bad-request", 404: "not-found", 405: "not-found", 413: "too-large", 422: "bad-request"}
_LOCKED_OUT = (401, 402, 403, 407)
_OUT_OF_MONEY = ("insufficient_quota", "billing", "credit balance")
_FILTERED = ("content_filter", "content_policy", "responsibleaipolicy", "data_inspection")
_FINISHED: dict[str, OutcomeKind] = {"length": "truncated", "max_tokens": "truncated", "content_filter": "blocked"}
_BROKEN = (500, 501)
_CANNOT = ("not supported", "does not support", "unsupported", "not implemented")
"""llama.cpp says 500 to a picture that its model cannot see; asking again does not give it eyes."""
_LONGEST_WORDS = 600


class _Alternative(msgspec.Struct):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Completion, strict=False).decode


Scrub = Callable[[str], str]
"""Takes the key out of a text, should the server have echoed it."""


def read_completion(request: str, data: bytes, scrub: Scrub = str) -> Response:
    """The response in a reply with status 200."""
    try:
        completion = _decode(data)
        choice = completion.choices[0]
    except (msgspec.DecodeError, UnicodeDecodeError, IndexError):
        failure = _error_in(data, scrub)
        if failure:  # some servers send their errors with status 200
            raise CallError("server", failure, passing=True) from None
        raise CallError("garbage", f"not a chat completion: {_words(data, scrub)}", passing=True) from None
    message, finish = choice.message, choice.finish_reason or ""
    text = scrub(_text(message.content) or message.refusal or "")
    outcome = _FINISHED.get(finish, "answered")
    if not text.strip() and outcome == "answered":
        raise CallError("empty", f"an empty answer (finish reason {scrub(finish) or 'none'})", passing=True)
    usage = completion.usage or _Usage()
    return Response(
        request=request,
        outcome=outcome,
        text=text,
        thinking=scrub(message.reasoning_content or message.reasoning or ""),
        finish=scrub(finish),
        tokens_in=_count(usage.prompt_tokens),
        tokens_out=_count(usage.completion_tokens),
        likelihoods=_likelihoods(choice.logprobs, scrub),
    )


def _count(number: int | None) -> int | None:
    """A number of tokens that can be one; a server may say anything."""
    return number if number is not None and 0 <= number < 2**53 else None


def read_failure(status: int, headers: Mapping[str, str], data: bytes, scrub: Scrub = str) -> CallError:
    """What a reply with another status means."""
    words = _error_in(data, scrub) or _words(data, scrub) or "no explanation"
    message, lower = f"{status}: {words}", words.lower()
    raw = data[:4000].lower()
    if status in (400, 403) and any(word.encode() in raw for word in _FILTERED):
        return BlockedError(message)
    if status in _LOCKED_OUT or any(word in lower or word.encode() in raw for word in _OUT_OF_MONEY):
        return CallError("auth", message, hopeless=True)
    if status in _BROKEN and any(word in lower for word in _CANNOT):
        return CallError("bad-request", message)
    if status in _PASSING or status >= 500:
        kind = _PASSING.get(status, "overloaded" if status in (503, 529) else "server")
        return CallError(kind, message, passing=True, wait=retry_after(headers))
    if status == 404:
        return CallError("not-found", message, hopeless=True)
    return CallError(_LASTING.get(status, "bad-request"), message)


class BlockedError(CallError):
    """The service's filter refused the question itself."""

    def __init__(self, message: str) -> None:
        super().__init__("blocked", message)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How long a server asks us to wait, in seconds, however it says so."""
    if milliseconds := headers.get("retry-after-ms"):
        try:
            return max(0.0, float(milliseconds) / 1000)
        except ValueError:
            return None
    value = headers.get("Retry-After")
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content or ""


def _likelihoods(logprobs: _Logprobs | None, scrub: Scrub) -> tuple[Likelihood, ...]:
    found = []
    for token in (logprobs.content or ()) if logprobs else ():
        others = tuple((scrub(other.token), other.logprob) for other in token.top_logprobs or ())
        found.append(Likelihood(scrub(token.token), token.logprob, others))
    return tuple(found)


def _error_in(data: bytes, scrub: Scrub) -> str:
    """The server's own words, wherever its error object keeps them."""
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    for _ in range(3):
        if isinstance(body, list) and body:
            body = body[0]
        if isinstance(body, str):
            return _clip(scrub(body))
        if not isinstance(body, dict):
            return ""
        found = next((body[name] for name in ("error", "message", "detail", "msg") if body.get(name)), None)
        if found is None:
            return ""
        body = found
    return _clip(scrub(body)) if isinstance(body, str) else ""


def _words(data: bytes, scrub: Scrub) -> str:
    return _clip(scrub(data[: 8 * _LONGEST_WORDS].decode("utf-8", "replace")))


def _clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_WORDS else f"{text[:_LONGEST_WORDS]}…"
