"""Plausible wrong options, a module for each method, and the comparison of option texts."""

from collections.abc import Iterable
from functools import lru_cache

from eyetest.text import Level, same, telling_words


@lru_cache(maxsize=100_000)
def plain(text: str) -> str:
    """The words of a text in one spelling each, by which option texts are grouped and compared."""
    return " ".join(telling_words(text))


def differs(text: str, others: Iterable[str]) -> bool:
    """Whether a text differs in meaning from all others."""
    return bool(plain(text)) and not any(same(text, other, Level.UNITS) for other in others)
