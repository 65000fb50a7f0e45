"""Replies of a chat completions endpoint: answers, temporary and permanent failures."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import msgspec

from eyetest.models.base import CallError
from eyetest.models.signs import all_finish_words, plain_name
from eyetest.records import OutcomeKind, Response
from eyetest.records.finishes import UNKNOWN_FINISH, Ending, is_broken_off, read_finish, worst_finish
from eyetest.records.item import IMPOSSIBLE, SERVED
from eyetest.records.notices import LASTING, failure_notice, is_blank, is_expected
from eyetest.redaction import redact, redact_answer

_PASSING = {407: "proxy", 408: "timeout", 409: "server", 425: "server", 429: "rate-limit"}
_LASTING = {400: "bad-request", 404: "not-found", 405: "not-found", 413: "too-large", 422: "bad-request"}
_LOCKED_OUT = (401, 403)
_OUT_OF_MONEY = frozenset(("insufficientquota", "billinghardlimitreached", "billingnotactive"))
_FLAGGED = "flagged_input"  # where gateways that moderate prompts quote the rejected text
_FILTERED = (_FLAGGED, "contentfilter", "contentpolicy", "responsibleaipolicy", "datainspection", "moderation")
_NO_SUCH_MODEL = frozenset(("modelnotfound", "invalidmodel", "deploymentnotfound", "modelnotavailable"))
_NO_SUCH_MODEL_WORDS = re.compile(
    r"model not exist|invalid model: \S+|\S+ is not a valid model id|the model \S+ does not exist\.?", re.IGNORECASE
)  # whole messages of services without error codes; a longer one may be quoting anything
_OUTCOMES: dict[Ending, OutcomeKind] = {"answered": "answered", "truncated": "truncated", "blocked": "blocked"}
_UNPAID = 402
_BROKEN = (500, 501)
# llama.cpp answers 500 to an image that its model does not support; repeating does not help
_CANNOT = ("not supported", "does not support", "unsupported", "not implemented")
_LIMITED = ("ratelimit", "toomanyrequests", "throttling", "resourceexhausted")
# Names of fields about errors, in lower case without other characters
_ERROR_FIELDS = frozenset(
    ("error", "errors", "errormessage", "errormsg", "errmsg", "errorcode", "errcode", "errordetail", "exception")
)
_QUOTING = (
    "contentfilter",
    "promptfilter",
    "usage",
    "toolcalls",
    "functioncall",
    "annotations",
    "logprobs",
    "citations",
)
# What a router did before this reply, and what was found or measured beside it: its errors are not of this reply
_BESIDE = (
    "attempt",
    "retr",
    "fallback",
    "previous",
    "history",
    "hidden",
    "debug",
    "trace",
    "metadata",
    "metric",
    "confidence",
    "searchresult",
    "warning",
)
_MESSAGES = ("message", "msg", "Message", "detail", "error_msg", "errmsg", "retmsg", "ret_msg", "errorMessage")
_RETURN_CODES = ("code", "retcode", "ret", "returncode", "resultcode", "errno")
_SUCCESS_FLAGS = ("ok", "success", "succeeded", "issuccess")
_ERROR_FLAGS = ("iserror", "haserror", "failed", "isfailed")
_ROLES = ("assistant", "model", "bot", "ai", "chatbot", "")  # of those who answer
_SUCCESS_WORDS = re.compile(r"\b(?:ok|okay|success|successful|successfully|succeeded)\b|成功", re.IGNORECASE)
_DENIALS = re.compile(r"\bno\b|\bnot\b|n't\b|fail|error|不|未|失败|失敗|ません", re.IGNORECASE)
_STATUS_FIELDS = (("base_resp", "status_code"), ("header", "code"))
_FAILED_WORDS = ("error", "failed", "failure", "fail")
_SUCCESSES = frozenset(
    ("", "0", "200", "ok", "success", "succeeded", "successful", "true", "10000", "0000", "none", "null")
)
_NO_ERROR = frozenset(("", "0", "0.0", "none", "null", "false", "ok", "success", "no error", "no"))
_MOST_PLACES, _MOST_PARTS = 2_000, 50  # so many objects of a reply, and entries of a list, are searched for errors
_CODES = ("code", "type", "status")
_INSIDE = ("error", "innererror", "metadata")
_ERROR_WORDS = ("error", "message", "detail", "msg", "error_msg", "errmsg", "Message", "status_msg", "base_resp")
_LONGEST_WORDS = 600
_LONGEST_FINISH = _LONGEST_NAME = 100
_MOST_TOKENS = 2**53
_UNREADABLE = object()


def read_completion(
    request: str, data: bytes, named: Mapping[str, OutcomeKind] | None = None, texts: Sequence[str] = ()
) -> Response:
    """The response in a reply with status 200.

    ``named``: what finish reasons mean that the user has named. ``texts``: the question and the options, for which a
    reply may be the answer although it reads as a notice of a fault.
    """
    body = _decoded(data)
    choice = _choice(_get(body, "choices"))
    message = _get(choice, "message")
    if (error := _error_beside(body, choice)) is not None:
        raise _failure_inside(error, body)
    content = _text(_get(message, "content"))
    if not isinstance(message, dict) or content is None or _string(message.get("role")).lower() not in _ROLES:
        raise CallError("garbage", f"not a chat completion: {_words(data)}", passing=True, blame="either")
    finish = worst_finish(all_finish_words(body, choice), named)[:_LONGEST_FINISH]
    text = content or _string(_get(message, "refusal"))
    outcome, problem = _ending(body, choice, finish, named or {})
    if is_blank(text) and outcome in ("answered", "failed"):
        raise CallError("empty", f"an empty answer (finish reason {_clean(finish) or 'none'})", passing=True)
    if outcome == "answered" and (kind := failure_notice(text)) and not is_expected(text, texts):
        raise CallError(kind, f"200: {_clip(text)}", passing=kind not in LASTING, blame="either")
    usage = _get(body, "usage")
    thinking = _text(_get(message, "reasoning_content")) or _text(_get(message, "reasoning")) or ""
    return Response(
        request=request,
        outcome=outcome,
        text=_clean(text),
        thinking=_clean(thinking),
        error=UNKNOWN_FINISH if problem else "",
        finish=_clean(finish),
        detail=problem or _served(body),
        tokens_in=_count(_get(usage, "prompt_tokens")),
        tokens_out=_count(_get(usage, "completion_tokens")),
    )


def _ending(body: Any, choice: Any, finish: str, named: Mapping[str, OutcomeKind]) -> tuple[OutcomeKind, str]:
    """The outcome that a finish reason says, and a message where its word is unknown; raise without an answer."""
    ending = read_finish(finish, named)
    word = _clean(finish)
    if ending in _OUTCOMES:
        return _OUTCOMES[ending], ""
    if ending == "unsaid":
        if is_broken_off(body, choice):
            words = "200: the reply has no finish reason, which this service gives to every whole reply"
            raise CallError("server", words, passing=True, blame="either")
        return "answered", ""
    if ending == "tool call":
        raise CallError("tool-call", f'200: the model calls a tool instead of answering (finish reason "{word}")')
    if ending == "failed":
        raise CallError("server", f'200: the reply broke off (finish reason "{word}")', passing=True, blame="either")
    problem = (
        f'200: the finish reason "{word}" is unknown, so this is no answer; if it is one, say so in the models file '
        f"(finishes: {{{word}: answered}}) and run the same again"
    )
    return "failed", problem


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
    if status == _UNPAID or (status == 429 and codes & _OUT_OF_MONEY):
        return CallError("quota", message, passing=True, wait=wait, blame="either", hopeless=True)
    if status in _LOCKED_OUT or _is_no_such_model(status, body, codes):
        kind = "auth" if status in _LOCKED_OUT else "not-found"
        return CallError(kind, message, hopeless=True, blame="either")
    if status in _BROKEN and any(word in words.lower() for word in _CANNOT):
        return CallError("bad-request", message)
    if status in _PASSING or status >= 500:
        kind = _PASSING.get(status, "overloaded" if status in (503, 529) else "server")
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


def _error_beside(body: Any, choice: Any) -> Any:
    """The first error that a reply with status 200 holds, at its top, in its choice or in the message; else None.

    An error can stand beside a part of an answer. Fields that quote other things, as filters do, are not read.
    """
    if isinstance(body, list):
        body = _first(body)
    if not isinstance(body, dict):
        return None
    if _is_error_body(body, is_finished=bool(_text(_get(_get(choice, "message"), "content")))):
        return body
    waiting: list[Any] = [choice, {name: value for name, value in body.items() if name != "choices"}]
    for _ in range(_MOST_PLACES):
        if not waiting:
            return None
        place = waiting.pop()
        if isinstance(place, list):
            waiting += place[:_MOST_PARTS]
        if not isinstance(place, dict):
            continue
        for name, value in place.items():
            if plain_name(name) in _ERROR_FIELDS and _says_error(value) and not _is_measure(name, value):
                return value
        is_failed_choice = place is choice and _has_error_flag(place)
        if is_failed_choice or "error" in (place.get("type"), place.get("object")):
            return place
        waiting += [value for name, value in place.items() if not _speaks_of_others(plain_name(name))]
    return None


def _speaks_of_others(name: str) -> bool:
    """Whether a field quotes texts, or tells what happened before and beside this reply."""
    return name.startswith(_QUOTING) or any(part in name for part in _BESIDE)


def _is_measure(name: str, value: Any) -> bool:
    """Whether an ``error`` is a bare number, as of a measurement: a status is none, and a code is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return plain_name(name) in ("error", "errors") and is_number and not _is_http_error(value)


def _is_error_body(body: Mapping[str, Any], *, is_finished: bool) -> bool:
    """Whether a body says by a code, a status or a flag that the call failed, as services without statuses do."""
    if _has_error_flag(body):
        return True
    messages = [body[name] for name in _MESSAGES if _string(body.get(name)).strip()]
    is_fine = is_finished and any(_says_success(message) for message in messages)
    for name, value in body.items():
        is_code = plain_name(name) in _RETURN_CODES and value is not None and not isinstance(value, dict | list)
        if is_code and messages and not is_fine and not _is_success(value):
            return True
    for name, field in _STATUS_FIELDS:
        inner = _get(body.get(name), field)
        if inner is not None and not _is_success(inner):
            return True
    return False


def _has_error_flag(place: Mapping[str, Any]) -> bool:
    """Whether an object has a flag of a failed call, or a status that is a word or a number for one."""
    if _string(place.get("status")).lower() in _FAILED_WORDS:
        return True
    for name, value in place.items():
        plain, said = plain_name(name), str(value).strip().lower()
        if plain in _SUCCESS_FLAGS and said == "false":
            return True
        if plain in _ERROR_FLAGS and said == "true":
            return True
        if _is_status_name(plain) and _is_http_error(value):
            return True
    return False


def _is_status_name(plain: str) -> bool:
    return "status" in plain or plain in ("code", "httpcode", "responsecode")


def _is_http_error(value: Any) -> bool:
    """Whether a value is the number of an HTTP status for errors."""
    number = _number(value)
    return number is not None and 400 <= number < 600


def _says_success(message: str) -> bool:
    return _SUCCESS_WORDS.search(message) is not None and _DENIALS.search(message) is None


def _is_success(code: Any) -> bool:
    return code is True or str(code).strip().lower() in _SUCCESSES


def _says_error(value: Any) -> bool:
    """Whether the value of a field for errors says that there is one: not null, not 0, not an empty object."""
    if isinstance(value, dict):
        said = [inner for name, inner in value.items() if name != "code" or not _is_success(inner)]
        return any(_says_error(inner) for inner in said)
    if isinstance(value, list):
        return any(_says_error(inner) for inner in value[:_MOST_PARTS])
    return value not in (None, False) and str(value).strip().lower() not in _NO_ERROR


def _failure_inside(error: Any, body: Any) -> CallError:
    """The failure that an error in a reply with status 200 stands for: by a status in it, else by its codes."""
    wrapped = {"error": error}
    status = _status_in(error) or _status_in(body)
    if status is not None:
        return read_failure(status, {}, json.dumps(wrapped).encode())
    codes = {*_codes(wrapped), *_codes(body)}
    message = f"200: {_error_in(wrapped) or _error_in(body) or 'an error without a message'}"
    if any(code.startswith(_FILTERED) for code in codes):
        return CallError("blocked", message)
    if codes & _OUT_OF_MONEY:
        return CallError("quota", message, passing=True, blame="either", hopeless=True)
    if any(code.startswith(_LIMITED) for code in codes):
        return CallError("rate-limit", message, passing=True, blame="either")
    return CallError("server", message, passing=True, blame="either")


def _status_in(place: Any) -> int | None:
    """The HTTP status of an error under any name, also where the error is nothing but its number."""
    if _is_http_error(place):
        return int(float(place))
    for name, value in place.items() if isinstance(place, dict) else ():
        if (_is_status_name(plain_name(name)) or name in _CODES) and _is_http_error(value):
            return int(float(value))
    return None


def _error_in(body: Any) -> str:
    """The server's message, wherever its error object holds it."""
    for _ in range(3):
        body = _first(body) if isinstance(body, list) else body
        if isinstance(body, str):
            return _clip(body)
        if not isinstance(body, dict):
            return ""
        body = next((body[name] for name in _ERROR_WORDS if body.get(name)), None)
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
