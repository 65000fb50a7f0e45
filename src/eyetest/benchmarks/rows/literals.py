"""Lists that arrive as text: ``"['cat', 'dog']"`` as Python or JSON writes them. Nothing is ever evaluated."""

import ast
import re
from typing import Any

import msgspec

_QUOTED_BASE64 = re.compile(r"""\[\s*(['"])[A-Za-z0-9+/=\s]*\1(\s*,\s*(['"])[A-Za-z0-9+/=\s]*\3)*\s*,?\s*\]""")
_QUOTED = re.compile(r"""['"]([^'"]*)['"]""")
_MAX_PARSED = 1_000_000
_SCALAR = str | int | float


def looks_like_list(text: str) -> bool:
    """Whether a text may be the literal of a list, judged by its first and last characters."""
    stripped = text.strip()
    return stripped.startswith("[") and stripped.endswith("]")


def parse_list(text: str) -> list[str] | None:
    """The texts in a list literal, or None where the text is no flat list of texts and numbers."""
    if not looks_like_list(text):
        return None
    if len(text) > _MAX_PARSED:
        return _QUOTED.findall(text) if _QUOTED_BASE64.fullmatch(text.strip()) else None
    values = _decode(text)
    if not isinstance(values, list) or not all(isinstance(v, _SCALAR) for v in values):
        return None
    return [v if isinstance(v, str) else _number_as_written(v) for v in values]


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _number_as_written(value: float) -> str:
    return str(value)
