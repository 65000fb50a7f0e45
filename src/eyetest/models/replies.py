"""Replies of a chat completions endpoint: answers, temporary and permanent failures."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.records import OutcomeKind, Response
from eyetest.records.item import IMPOSSIBLE, SERVED
from eyetest.records.tables import LASTING, failure_notice
from eyetest.redaction import redact, redact_answer

_PASSING = {402: "quota", 407: "proxy", 408: "timeout", 409: "server", 425: "server", 429: "rate-limit"}
_LASTING = {400: "bad-request", 404: "not-found", 405: "not-found", 413: "too-large", 422: "bad-request"}
_LOCKED_OUT = (401, 403)
_OUT_OF_MONEY = frozenset(("insufficientquota", "billinghardlimitreached", "billingnotactive"))
_FLAGGED = "flagged_input"  # where gateways that moderate prompts quote the rejected text
_FILTERED = (_FLAGGED, "contentfilter", "contentpolicy", "responsibleaipolicy", "datainspection", "moderation")
_NO_SUCH_MODEL = frozenset(("modelnotfound", "invalidmodel", "deploymentnotfound", "modelnotavailable"))
_NO_SUCH_MODEL_WORDS = re.compile(
    r"model not exist|invalid model: \S+|\S+ is not a valid model id|the model \S+ does not exist\.?", re.IGNORECASE
)  # whole messages of services without error codes; a longer one may be quoting anything
_FINISHED: dict[str, OutcomeKind] = {"length": "truncated", "max_tokens": "truncated", "content_filter": "blocked"}
_BROKEN = (500, 501)
# llama.cpp answers 500 to an image that its model does not support; repeating does not help
_CANNOT = ("not supported", "does not support", "unsupported", "not implemented")
_CODES = ("code", "type", "status")
_INSIDE = ("error", "innererror", "metadata")
_LONGEST_WORDS = 600
_LONGEST_FINISH = _LONGEST_NAME = 100
_MOST_TOKENS = 2**53
_UNREADABLE = object()


def read_completion(request: str, data: bytes) -> Response:
    """The response in a reply with status 200."""
    body = _decoded(data)
    choice = _choice(_get(body, "choices"))
    message = _get(choice, "message")
    content = _text(_get(message, "content"))
    if not isinstance(message, dict) or content is None:
        failure = _error_in(body)  # some servers send their errors with status 200
        words = failure or f"not a chat completion: {_words(data)}"
        raise CallError("server" if failure else "garbage", words, passing=True, blame="either")
    finish = _string(_get(choice, "finish_reason"))[:_LONGEST_FINISH]
    text = content or _string(_get(message, "refusal"))
    outcome = _FINISHED.get(finish, "answered")
    if not text.strip() and outcome == "answered":
        raise CallError("empty", f"an empty answer (finish reason {_clean(finish) or 'none'})", passing=True)
    if outcome == "answered" and (kind := failure_notice(text)):
        raise CallError(kind, f"200: {_clip(text)}", passing=kind not in LASTING, blame="either")
    usage = _get(body, "usage")
    thinking = _text(_get(message, "reasoning_content")) or _text(_get(message, "reasoning")) or ""
    return Response(
        request=request,
        outcome=outcome,
        text=_clean(text),
        thinking=_clean(thinking),
        finish=_clean(finish),
        detail=_served(body),
        tokens_in=_count(_get(usage, "prompt_tokens")),
        tokens_out=_count(_get(usage, "completion_tokens")),
    )


def read_first_token(data: bytes) -> list[tuple[str, float]]:
    """The likeliest first tokens of a reply with status 200, and their log-probabilities; empty without any."""
    return first_tokens(_get(_decoded(data), "choices"))


def first_tokens(choices: Any) -> list[tuple[str, float]]:
    """The same of the choices in a reply."""
    content = _get(_get(_choice(choices), "logprobs"), "content")
    tops = _get(_first(content), "top_logprobs")
    return [known for top in (tops if isinstance(tops, list) else ()) if (known := _weighed(top))]


def read_failure(status: int, headers: Mapping[str, str], data: bytes) -> CallError:
    """The error of another status, by codes only: words of the body may quote the question."""
    body = _decoded(data)
    words = _error_in(body) or _words(data) or "no explanation"
    message, codes, wait = f"{status}: {words}", set(_codes(body)), retry_after(headers)
    if status in (400, 403) and any(code.startswith(_FILTERED) for code in codes):
        return CallError("blocked", message)
    if status in _LOCKED_OUT or _is_no_such_model(status, body, codes):
        kind = "auth" if status in _LOCKED_OUT else "not-found"
        return CallError(kind, message, hopeless=True, blame="either")
    if status in _BROKEN and any(word in words.lower() for word in _CANNOT):
        return CallError("bad-request", message)
    if status in _PASSING or status >= 500:
        kind = _PASSING.get(status, "overloaded" if status in (503, 529) else "server")
        kind = "quota" if status == 429 and codes & _OUT_OF_MONEY else kind
        return CallError(kind, message, passing=True, wait=wait, blame="either")
    elsewhere = status < 400 or status in (404, 405)
    return CallError(_LASTING.get(status, "bad-request"), message, blame="either" if elsewhere else "question")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause that a server asks for, in seconds, in either form; None without one."""
    milliseconds, value = headers.get("retry-after-ms"), headers.get("Retry-After", "")
    with suppress(ValueError):
        return max(0.0, float(milliseconds) / 1000 if milliseconds else float(value))
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    return None


def _decoded(data: bytes) -> Any:
    """The value of a JSON text, read leniently: UTF-16, invalid UTF-8, NaN, lone surrogates."""
    with suppress(RecursionError):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode(data)
        for text in (data, data.decode("utf-8-sig", "replace")):
            with suppress(ValueError):
                return json.loads(text, parse_int=float, strict=False)
    return _UNREADABLE


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _choice(choices: Any) -> Any:
    """The choice of the lowest index; servers need not list them in order."""
    known = choices if isinstance(choices, list) else []
    return min(known, key=lambda choice: _number(_get(choice, "index")) or 0.0, default=None)


def _served(body: Any) -> str:
    """The model and version that a server reports; empty without."""
    name, version = (_string(_get(body, key))[:_LONGEST_NAME] for key in ("model", "system_fingerprint"))
    return _clean(f"{SERVED}{name} ({version})" if version else f"{SERVED}{name}") if name or version else ""


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(content: Any) -> str | None:
    """The text of a message: a string, a list of parts, or a part; None for anything else."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        return next((content[name] for name in ("text", "content") if isinstance(content.get(name), str)), None)
    if not isinstance(content, list):
        return None
    return "".join(_text(part) or "" for part in content if isinstance(part, str | dict))


def _clean(text: str) -> str:
    """A text without keys that every file can hold: lone surrogates become question marks."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return redact_answer(text) if text else ""


def _number(value: Any) -> float | None:
    """A finite number, also where it is written as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    with suppress(ValueError, OverflowError):
        return number if math.isfinite(number := float(value)) else None
    return None


def _count(value: Any) -> int | None:
    """A plausible token count; fractions are rounded up, so that budgets hold."""
    number = value if type(value) is int else _number(value)
    return math.ceil(number) if number is not None and 0 <= number < _MOST_TOKENS else None


def _weighed(token: Any) -> tuple[str, float] | None:
    """A token and its log-probability; an impossible one has OpenAI's number, which JSON can hold."""
    text, logprob = _get(token, "token"), _get(token, "logprob")
    if str(logprob).lower() in ("-inf", "-infinity"):
        logprob = IMPOSSIBLE
    number = _number(logprob)
    return (_clean(text), number) if isinstance(text, str) and number is not None else None


def _codes(body: Any, depth: int = 4) -> Iterator[str]:
    """The codes of an error, from the fields made for them only: ``contentfilter``."""
    body = _first(body) if isinstance(body, list) else body
    if depth and isinstance(body, dict):
        for name in _CODES:
            yield re.sub(r"[^a-z]", "", _string(body.get(name)).lower())
        if _FLAGGED in body:
            yield _FLAGGED
        for name in _INSIDE:
            yield from _codes(body.get(name), depth - 1)


def _is_no_such_model(status: int, body: Any, codes: set[str]) -> bool:
    """Whether an endpoint lacks the model; a missing page may be a proxy's."""
    if status == 404:
        return isinstance(body, dict | list) and bool(_error_in(body))
    no_such_model = codes & _NO_SUCH_MODEL or _NO_SUCH_MODEL_WORDS.fullmatch(_error_in(body))
    return status == 400 and bool(no_such_model)


def _error_in(body: Any) -> str:
    """The server's message, wherever its error object holds it."""
    for _ in range(3):
        body = _first(body) if isinstance(body, list) else body
        if isinstance(body, str):
            return _clip(body)
        if not isinstance(body, dict):
            return ""
        body = next((body[name] for name in ("error", "message", "detail", "msg") if body.get(name)), None)
    return _clip(body) if isinstance(body, str) else ""


def _words(data: bytes) -> str:
    text = _cut(data[: 64 * _LONGEST_WORDS + 1].decode("utf-8", "replace"))
    return _clip(re.sub(r"\\u00([2-7][0-9a-fA-F])", lambda match: chr(int(match[1], 16)), text))


def _clip(text: str) -> str:
    text = " ".join(redact(_clean(_cut(text))).split())
    return text if len(text) <= _LONGEST_WORDS else f"{text[:_LONGEST_WORDS]}…"


def _cut(text: str) -> str:
    """A long text shortened for redaction, without a last word that may be half a key."""
    most = 64 * _LONGEST_WORDS
    return text if len(text) <= most else text[:most].rsplit(maxsplit=1)[0]
