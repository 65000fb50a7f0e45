"""Tells a text that we wrote from one that a person has changed since, which is not ours to replace."""

import hashlib
from pathlib import Path

from eyetest.errors import InputError
from eyetest.store.regular_files import read_regular

_BEGIN, _END = "<!-- written by eyetest; the same until it is edited: ", " -->\n"


def signed(text: str) -> str:
    """A Markdown text with a last line that no reader sees and that fits nothing but this text."""
    body = text.rstrip("\n") + "\n"
    return f"{body}\n{_BEGIN}{_digest(body)}{_END}"


def is_as_written(path: Path) -> bool:
    """Whether a file is a signed text that nobody has touched."""
    try:
        body, begin, rest = read_regular(path, path.parent).decode("utf-8").rpartition(f"\n{_BEGIN}")
    except (OSError, InputError, UnicodeDecodeError):
        return False
    return bool(begin) and rest == f"{_digest(body)}{_END}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
