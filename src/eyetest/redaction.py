"""Keeps secrets out of every text that leaves the process: files, terminal, pages.

Known secrets (keys, proxy passwords, header values) are removed in every spelling; of addresses and sampling settings
only what is known to be harmless is kept.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

HIDDEN = "(not written down)"
_MASK = "[key]"
_SHORTEST = 6  # shorter ones are words such as EMPTY or none, for servers that accept any key
_END = 12  # servers that mask a key show parts at both ends: so many characters, and what adjoins them, are removed
_UNBROKEN = r"[^\s\"'<>]"
_SURE = 16
_NEARLY_SURE = 8
_LONGEST_WORD = 60
_SECRET_VARIABLE = re.compile(r".*(_KEY|_TOKEN|_SECRET|_PASSWORD|_PASSWD|_PAT)", re.IGNORECASE)
_VARIABLE_NAME = re.compile(r"[A-Z]+(_[A-Z0-9]{1,12})*_(KEY|TOKEN|SECRET|PASSWORD|AUTH|PAT)(_[A-Z0-9]{1,12})?")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.\-]{0,20}://[^\s\"'<>`]+", re.IGNORECASE)
_USERINFO = re.compile(r"(?:^|//)([^/@\s]+)@")
_MAY_BE_A_KEY = re.compile(r"(?=[^\s]{0,200}\d)(?=[^\s]{0,200}[A-Za-z])[A-Za-z0-9_\-+/=]{12,}")
_stores: set[str] = set()
_VERSION = re.compile(r"v\d{1,2}((alpha|beta)\d{0,2})?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PLAIN_SEGMENTS = _set(
    "ai api azure beta chat compat compatible-mode completions deployments engines gateway inference llm model "
    "models openai paas proxy rest router serverless serving stable vertex"
)
_NUMBERS = _set(
    "beam_width best_of detail diversity_penalty dry_allowed_length dry_base dry_multiplier dynatemp_exponent "
    "dynatemp_range early_stopping enable_thinking epsilon_cutoff eta_cutoff frequency_penalty ignore_eos "
    "include_stop_str_in_output length_penalty logprobs max_completion_tokens max_new_tokens max_tokens min_p "
    "min_tokens mirostat mirostat_eta mirostat_tau n n_predict n_probs no_repeat_ngram_size num_beams num_ctx "
    "num_predict presence_penalty repeat_last_n repeat_penalty repetition_penalty seed skip_special_tokens "
    "spaces_between_special_tokens store stream temperature tfs_z thinking thinking_budget top_a top_k top_logprobs "
    "top_n_sigma top_p truncate_prompt_tokens typical_p use_beam_search xtc_probability xtc_threshold"
)  # sampling settings; their numbers and switches are no secrets
_EFFORTS = _set("none minimal low medium high xhigh max")
_WORDS = {
    **dict.fromkeys(("reasoning_effort", "effort", "verbosity"), _EFFORTS),
    "service_tier": _set("auto default flex priority scale"),
    "detail": _set("low high auto"),
    "type": _set("text json_object json_schema enabled disabled"),
}
_GROUPS = frozenset(("chat_template_kwargs", "response_format", "reasoning", "thinking", "options"))
_learnt: dict[str, re.Pattern[str]] = {}  # spellings of secrets in lower case, and a pattern for each in any case
_unmistakable: dict[str, re.Pattern[str]] = {}


def learn(value: str) -> None:
    """Remember a secret, to be removed from texts from now on."""
    if len(value) < _SHORTEST:
        return
    for spelling in _spellings(value):
        _remember(spelling, re.escape(spelling))
    if len(value) >= _SURE:
        begin, end, more = value[:_END], value[-_END:], f"{_UNBROKEN}{{0,{len(value)}}}"
        _remember(begin, f"{re.escape(begin)}{more}")
        _remember(end, f"{more}{re.escape(end)}")


def learn_address(address: str) -> None:
    """Remember what may be secret in an address: user and password, query values, fragment."""
    if match := _USERINFO.search(address):
        user, _, password = match[1].partition(":")
        for word in (match[1], user, password):
            learn(unquote(word))
    rest = address.partition("#")
    learn(unquote(rest[2]))
    for pair in rest[0].partition("?")[2].split("&"):
        name, _, value = pair.partition("=")
        if not name.lower().endswith("version"):
            learn(unquote(value or name))
    for segment in rest[0].partition("?")[0].partition("://")[2].split("/")[1:]:
        if _MAY_BE_A_KEY.search(segment):
            learn(unquote(segment))


def learn_environment() -> None:
    """Remember the environment's values under names of keys, and the passwords of its proxies."""
    for name, value in os.environ.items():
        if _SECRET_VARIABLE.fullmatch(name) and _is_unmistakable(value.strip()) and not value.startswith("/"):
            learn(value.strip())
        if name.lower().endswith("_proxy"):
            learn_address(value)


def learn_values(settings: Any) -> None:
    """Remember the values of headers among the settings of a model."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if str(name).lower().endswith("headers") and isinstance(value, Mapping):
                for text in filter(lambda one: isinstance(one, str), value.values()):
                    for word in (text, *text.split()):
                        learn(word)
            learn_values(value)


def redact(text: str) -> str:
    """A server's or library's message without secrets; of an address only where it leads."""
    return _ADDRESS.sub(_plain_unless_store, _without(text, _learnt))


def show_store(url: str) -> None:
    """Do not redact below a url: a bucket that the user named, whose objects have plain names."""
    _stores.add(url)


def _plain_unless_store(match: re.Match[str]) -> str:
    return match[0] if any(match[0].startswith(f"{url}/") for url in _stores) else plain_address(match[0])


def redact_answer(text: str) -> str:
    """An answer without keys. Only unmistakable ones are removed: answers are scored as they are."""
    return _without(text, _unmistakable)


def plain_address(address: str) -> str:
    """The parts of an address that may be written down: scheme, host, port, well-known parts of its path."""
    scheme, _, rest = address.partition("://")
    try:
        parts = urlsplit(f"{scheme.lower()}://{rest}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{scheme.lower()}://…"
    host = f"[{host}]" if ":" in host else host
    known = _PLAIN_SEGMENTS
    segments = [one if one in known or _VERSION.fullmatch(one) else "…" for one in parts.path.split("/") if one]
    path = [one for i, one in enumerate(segments) if one != "…" or segments[i - 1 : i] != ["…"]]
    return "/".join([f"{parts.scheme}://{host}" + (f":{port}" if port is not None else ""), *path])


def plain_word(word: str) -> str:
    """A mistyped word as far as a message may repeat it: up to an address, and never a key."""
    head = re.split(r"[@?#]|://", word)[0]
    clean = redact(head)[:_LONGEST_WORD]
    if _MAY_BE_A_KEY.search(clean):
        clean = clean[:4]
    return clean if clean == word else f"{clean}…"


def plain_variable(name: str) -> str:
    """The name of an environment variable, if it is certainly one and not a key given by mistake."""
    return name if _VARIABLE_NAME.fullmatch(name) and len(name) <= _LONGEST_WORD else ""


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a model that may be written down: known ones unchanged, of all others the name alone."""
    return {plain_word(str(name)): _plain_value(str(name), value) for name, value in settings.items()}


def _plain_value(name: str, value: Any) -> Any:
    if value is None or (name in _NUMBERS and isinstance(value, bool | int | float)):
        return value
    if isinstance(value, str) and value in _WORDS.get(name, ()):
        return value
    if name in _GROUPS and isinstance(value, Mapping):
        return plain_settings(value)
    return HIDDEN


def _without(text: str, spellings: Mapping[str, re.Pattern[str]]) -> str:
    lower = text.lower()
    for spelling, pattern in spellings.items():
        if spelling in lower:
            text = pattern.sub(_MASK, text)
            lower = text.lower()
    return text


def _spellings(value: str) -> Iterator[str]:
    """A secret as servers may write it: plain, for addresses, for JSON, for HTML, in base 64."""
    escaped = json.dumps(value)[1:-1]
    yield from (value, quote(value), quote(value, safe=""), quote_plus(value))
    yield from (escaped, escaped.replace("/", "\\/"), html.escape(value))
    data = value.encode("utf-8", "replace")
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        inner = coded[-(-before * 8 // 6) : len(coded) - bool((before + len(data)) % 3)]
        if len(inner) >= _NEARLY_SURE:
            yield from (inner, inner.replace("+", "-").replace("/", "_"), quote(inner, safe=""))


def _remember(spelling: str, pattern: str) -> None:
    compiled = _learnt.setdefault(spelling.lower(), re.compile(pattern, re.IGNORECASE))
    if _is_unmistakable(spelling):
        _unmistakable[spelling.lower()] = compiled


def _is_unmistakable(word: str) -> bool:
    """Whether a word cannot occur by chance."""
    mixed = any(one.isdigit() for one in word) and any(one.isalpha() for one in word)
    return len(word) >= _SURE or (len(word) >= _NEARLY_SURE and mixed)
