"""List literals in text: ``"['cat', 'dog']"`` as Python or JSON writes them. Nothing is ever evaluated."""

import ast
import re
import warnings

import msgspec

_PART = re.compile(
    r"""\s*(?:(?P<text>[rRuU]?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))"""
    r"""|(?P<number>-?\s*\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?))\s*(?:,|\Z)""",
    re.DOTALL,
)
_MOST_PARTS = 20_000
_Part = tuple[str, bool]  # A text or a number as spelt, and whether it stands in quotes


def looks_like_list(text: str) -> bool:
    """Whether a text may be the literal of a list, judged by its first and last characters."""
    stripped = text.strip()
    return stripped.startswith("[") and stripped.endswith("]")


def parse_list(text: str, *, quoted: bool = False) -> list[str] | None:
    """The texts and numbers, as spelt, in a flat list literal, else None; with ``quoted`` only texts in quotes."""
    if not looks_like_list(text):
        return None
    found = _from_json(text)
    parts = _from_python(text.strip()[1:-1]) if found is None else found
    if parts is None or (quoted and not all(in_quotes for _, in_quotes in parts)):
        return None
    return [part for part, _ in parts]


def _from_json(text: str) -> list[_Part] | None:
    try:
        raw = [bytes(part) for part in msgspec.json.decode(text, type=list[msgspec.Raw])]
        if not all(part[:1] in b'"-0123456789' for part in raw):
            return None
        return [(msgspec.json.decode(part), True) if part[:1] == b'"' else (part.decode(), False) for part in raw]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _from_python(body: str) -> list[_Part] | None:
    """The parts of ``item, item, …``: quoted texts and numbers separated by commas, and nothing else."""
    parts: list[_Part] = []
    at = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while at < len(body) and len(parts) <= _MOST_PARTS and (match := _PART.match(body, at)):
                value = ast.literal_eval(match["text"] or match["number"])
                parts.append((value, True) if match["text"] else (match["number"], False))
                at = match.end()
        "".join(part for part, _ in parts).encode()
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return None if body[at:].strip() else parts
