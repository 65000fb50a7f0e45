"""Small formatting helpers for messages."""

import re
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

_KEPT_IN_A_LINE = re.compile(r"(?! )(?:(?!  ).)*(?<! )")


def counted(number: int, what: str) -> str:
    """A number and its noun: ``1 question``, ``1,200 questions``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def percent(share: float) -> str:
    """A share as text: ``31 %``, ``4.2 %``."""
    return f"{100 * share:.0f} %" if share >= 0.1 or share == 0 else f"{100 * share:.1f} %"


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first of many names."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def minute(seconds: float | None, never: str = "") -> str:
    """A time to the minute, in UTC."""
    return never if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def typed(*words: object) -> str:
    """A command to paste into a shell, escaped where needed; a path like an option begins with ./"""
    return " ".join(
        _quoted(f"./{word}" if isinstance(word, Path) and str(word)[0] == "-" else str(word)) for word in words
    )


def _quoted(word: str) -> str:
    if word.isprintable() and _KEPT_IN_A_LINE.fullmatch(word):
        return shlex.quote(word)
    escapes = ("".join(f"\\x{byte:02x}" for byte in sign.encode("utf-8", "surrogateescape")) for sign in word)
    signs = (s if s.isprintable() and s not in " '\\" else escape for s, escape in zip(word, escapes, strict=True))
    return f"$'{''.join(signs)}'"
