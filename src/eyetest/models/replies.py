"""What a chat completions endpoint says, sorted: an answer, a failure that may pass, or one that will not.

The text is what matters. Whatever else a reply may hold (finish reason, tokens, likelihoods) is read one by one, and
what is odd is left out, so that no answer is thrown away for it. All that is kept can be stored and read back.
"""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.records import Likelihood, OutcomeKind, Response
from eyetest.records.request import IMPOSSIBLE
from eyetest.redaction import redact, redact_answer

_PASSING = {402: "quota", 407: "proxy", 408: "timeout", 409: "server", 425: "server", 429: "rate-limit"}
_LASTING = {400: "bad-request", 404: "not-found", 405: "not-found", 413: "too-large", 422: "bad-request"}
_LOCKED_OUT = (401, 403)
_OUT_OF_MONEY = frozenset(("insufficientquota", "billinghardlimitreached", "billingnotactive"))
_FLAGGED = "flagged_input"
"""Where gateways that moderate prompts quote what they did not like."""
_FILTERED = (_FLAGGED, "contentfilter", "contentpolicy", "responsibleaipolicy", "datainspection", "moderation")
_NO_SUCH_MODEL = frozenset(("modelnotfound", "invalidmodel", "deploymentnotfound", "modelnotavailable"))
_NO_SUCH_MODEL_WORDS = re.compile(
    r"model not exist|invalid model: \S+|\S+ is not a valid model id|the model \S+ does not exist\.?", re.IGNORECASE
)
"""Whole messages of services that give no code of their own. One that holds more may be quoting anything."""
_FINISHED: dict[str, OutcomeKind] = {"length": "truncated", "max_tokens": "truncated", "content_filter": "blocked"}
_BROKEN = (500, 501)
_CANNOT = ("not supported", "does not support", "unsupported", "not implemented")
"""llama.cpp says 500 to a picture that its model cannot see; asking again does not give it eyes."""
_CODES = ("code", "type", "status")
_INSIDE = ("error", "innererror", "metadata")
_LONGEST_WORDS = 600
_LONGEST_FINISH = 100
_MOST_TOKENS = 2**53
_LONGEST_INTEGER = 18
_CHARSETS = ("iso-8859-1", "latin-1", "windows-1252", "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr")
_UNREADABLE = object()


def read_completion(request: str, data: bytes, charset: str = "") -> Response:
    """The response in a reply with status 200."""
    body = _decoded(data, charset)
    choice = _first(_get(body, "choices"))
    message = _get(choice, "message")
    said = _text(_get(message, "content"))
    if not isinstance(message, dict) or said is None:
        failure = _error_in(body)
        if failure:  # some servers send their errors with status 200
            raise CallError("server", failure, passing=True, blame="either")
        words = f"not a chat completion: {_words(data)}"
        raise CallError("garbage", words, passing=True, blame="either")
    finish = _string(_get(choice, "finish_reason"))[:_LONGEST_FINISH]
    text = said or _string(_get(message, "refusal"))
    outcome = _FINISHED.get(finish, "answered")
    if not text.strip() and outcome == "answered":
        raise CallError("empty", f"an empty answer (finish reason {_clean(finish) or 'none'})", passing=True)
    usage = _get(body, "usage")
    thinking = _text(_get(message, "reasoning_content")) or _text(_get(message, "reasoning")) or ""
    return Response(
        request=request,
        outcome=outcome,
        text=_clean(text),
        thinking=_clean(thinking),
        finish=_clean(finish),
        tokens_in=_count(_get(usage, "prompt_tokens")),
        tokens_out=_count(_get(usage, "completion_tokens")),
        likelihoods=_likelihoods(_get(_get(choice, "logprobs"), "content")),
    )


def read_failure(status: int, headers: Mapping[str, str], data: bytes) -> CallError:
    """What a reply with another status means.

    Codes decide, never words that stand somewhere in the body: an error may quote the question.
    """
    body = _decoded(data)
    words = _error_in(body) or _words(data) or "no explanation"
    message, codes, wait = f"{status}: {words}", set(_codes(body)), retry_after(headers)
    if status in (400, 403) and any(code.startswith(_FILTERED) for code in codes):
        return BlockedError(message)
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


class BlockedError(CallError):
    """The service's filter refused the question itself."""

    def __init__(self, message: str) -> None:
        super().__init__("blocked", message)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How long a server asks us to wait, in seconds, however it says so."""
    if milliseconds := headers.get("retry-after-ms"):
        return _seconds(milliseconds, 1000)
    value = headers.get("Retry-After")
    if not value:
        return None
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(text: str, a_second: float = 1.0) -> float | None:
    try:
        return max(0.0, float(text) / a_second)
    except ValueError:
        return None


def _decoded(data: bytes, charset: str = "") -> Any:
    """What a JSON text holds, read as kindly as it can be: other charsets, NaN, halves of surrogate pairs."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        return _UNREADABLE
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    try:
        return json.loads(_as_text(data, charset), parse_int=_integer, strict=False)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _as_text(data: bytes, charset: str) -> str:
    data = data.removeprefix(BOM_UTF8)
    named = charset.strip("\"' ").lower()
    for name in (json.detect_encoding(data), *([named] if named in _CHARSETS else ())):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(content: Any) -> str | None:
    """The words of a message: a text, a list of parts, or one part; None where it is something else."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        return next((content[name] for name in ("text", "content") if isinstance(content.get(name), str)), None)
    if not isinstance(content, list):
        return None
    return "".join(_text(part) or "" for part in content if isinstance(part, str | dict))


def _clean(text: str) -> str:
    """A text without keys that every file can hold: halves of surrogate pairs become question marks."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return redact_answer(text) if text else ""


def _number(value: Any) -> float | None:
    """A number that JSON can hold, also where somebody wrote it as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _count(value: Any) -> int | None:
    """A number of tokens that can be one; a server may say anything. Halves count as whole, so budgets hold."""
    number = _number(value)
    return math.ceil(number) if number is not None and 0 <= number < _MOST_TOKENS else None


def _likelihoods(content: Any) -> tuple[Likelihood, ...]:
    """Of each token of the answer; none at all where one of them cannot be read, since their positions count."""
    likelihoods = []
    for token in content if isinstance(content, list) else ():
        weighed = _weighed(token)
        if weighed is None:
            return ()
        tops = _get(token, "top_logprobs")
        others = map(_weighed, tops if isinstance(tops, list) else ())
        likelihoods.append(Likelihood(*weighed, tuple(one for one in others if one)))
    return tuple(likelihoods)


def _weighed(token: Any) -> tuple[str, float] | None:
    """A token and its log-probability; the impossible has the number that OpenAI gives it, which JSON can hold."""
    text, logprob = _get(token, "token"), _get(token, "logprob")
    if str(logprob).lower() in ("-inf", "-infinity"):
        logprob = IMPOSSIBLE
    number = _number(logprob)
    return (_clean(text), number) if isinstance(text, str) and number is not None else None


def _codes(body: Any, depth: int = 4) -> Iterator[str]:
    """What an error calls itself, in the fields that are made for it and nowhere else: ``contentfilter``."""
    body = _first(body) if isinstance(body, list) else body
    if depth and isinstance(body, dict):
        for name in _CODES:
            yield re.sub(r"[^a-z]", "", _string(body.get(name)).lower())
        if _FLAGGED in body:
            yield _FLAGGED
        for name in _INSIDE:
            yield from _codes(body.get(name), depth - 1)


def _is_no_such_model(status: int, body: Any, codes: set[str]) -> bool:
    """Whether the server is an endpoint and does not have the model; a page that is not there may be a proxy's."""
    if status == 404:
        return isinstance(body, dict | list) and bool(_error_in(body))
    said = _error_in(body)
    return status == 400 and bool(codes & _NO_SUCH_MODEL or _NO_SUCH_MODEL_WORDS.fullmatch(said))


def _error_in(body: Any) -> str:
    """The server's own words, wherever its error object keeps them."""
    for _ in range(3):
        body = _first(body) if isinstance(body, list) and body else body
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
    """Enough of a long text to find the keys in it, without a last word that may be half a key."""
    most = 64 * _LONGEST_WORDS
    return text if len(text) <= most else text[:most].rsplit(maxsplit=1)[0]
