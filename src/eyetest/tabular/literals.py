"""Lists that arrive as text: ``"['cat', 'dog']"`` as Python or JSON writes them. Nothing is ever evaluated."""

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from token import NUMBER, OP, STRING
from typing import NamedTuple

import msgspec

_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_NUMBER_STARTS = b"-0123456789"
_MOST_TOKENS = 20_000
"""Python's own reader of tokens is slow; a list of more is no list of options or pictures."""


def looks_like_list(text: str) -> bool:
    """Whether a text may be the literal of a list, judged by its first and last characters."""
    stripped = text.strip()
    return stripped.startswith("[") and stripped.endswith("]")


def parse_list(text: str, *, quoted: bool = False) -> list[str] | None:
    """The texts in a list literal, numbers as they are spelt; None where it is no flat list of these.

    With ``quoted`` only texts in quotes count: ``[2003, 2004]`` may be one answer, ``['a', 'b']`` is two.
    """
    if not looks_like_list(text):
        return None
    parts = _from_json(text)
    if parts is None:
        parts = _from_python(text)
    if parts is None or (quoted and not all(part.quoted for part in parts)):
        return None
    return [part.text for part in parts]


class _Part(NamedTuple):
    text: str
    quoted: bool


def _from_json(text: str) -> list[_Part] | None:
    try:
        raw = [bytes(part) for part in msgspec.json.decode(text, type=list[msgspec.Raw])]
        if not all(part[:1] == b'"' or part[:1] in _NUMBER_STARTS for part in raw):
            return None
        return [
            _Part(msgspec.json.decode(part, type=str), True) if part[:1] == b'"' else _Part(part.decode(), False)
            for part in raw
        ]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _from_python(text: str) -> list[_Part] | None:
    """Read ``[item, item, …]`` token by token: strings and numbers, one between commas, and nothing else."""
    try:
        parts: list[_Part] = []
        expecting = True
        for kind, spelt in list(_tokens(text.strip()))[1:-1]:
            if expecting and kind in (STRING, NUMBER):
                parts.append(_Part(_string(spelt), True) if kind == STRING else _Part(spelt, False))
            elif expecting or (kind, spelt) != (OP, ","):
                return None
            expecting = not expecting
        "".join(part.text for part in parts).encode()
    except (tokenize.TokenError, SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return parts


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Tokens without layout, a minus joined to its number."""
    minus = ""
    for number, token in enumerate(tokenize.generate_tokens(io.StringIO(text).readline)):
        if number > _MOST_TOKENS:
            raise ValueError("too many parts")
        if token.type in _LAYOUT:
            continue
        if token.string == "-" and not minus:
            minus = "-"
            continue
        if minus and token.type != NUMBER:
            raise ValueError("a minus without a number")
        yield token.type, minus + token.string
        minus = ""


def _string(spelt: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = ast.literal_eval(spelt)
    if not isinstance(value, str):
        raise ValueError("bytes are not text")  # noqa: TRY004 (the caller takes every ValueError for "no list")
    return value
