"""Replies that are notices of services and tools about a failed call, which must not count as wrong.

The words of a short reply are scored. Those of services count for a notice; a reply in the first person, or one that
commits to an option or describes an image, is an answer, whatever errors it mentions.
"""

import json
import re
from contextlib import suppress

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
