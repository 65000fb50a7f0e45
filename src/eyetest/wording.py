"""Small words that every room uses when it speaks to people."""

from collections.abc import Iterable


def counted(number: int, what: str) -> str:
    """A number and its noun: ``1 question``, ``1,200 questions``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first of many names."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
