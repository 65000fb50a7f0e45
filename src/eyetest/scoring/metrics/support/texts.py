"""Texts made comparable, in time that grows with their length whatever is in them."""

import unicodedata
from collections.abc import Iterable

_EDGES = " .,;:!?\"'`“”‘’*"
_NORMALISED_AT_ONCE = 1_024
"""Python sorts a run of combining marks in quadratic time: a megabyte of them would hang a scoring run."""


def _compose(word: str) -> str:
    blocks = range(0, len(word), _NORMALISED_AT_ONCE)
    return "".join(unicodedata.normalize("NFKC", word[i : i + _NORMALISED_AT_ONCE]) for i in blocks)


def spaced(text: str) -> str:
    """White space made single blanks, none outside."""
    return " ".join(text.split())


def composed(text: str) -> str:
    """One Unicode form (NFKC) for what looks the same, white space made single.

    Done word by word, and in a word of more than a thousand characters block by block.
    """
    return spaced(text) if text.isascii() else spaced(" ".join(map(_compose, text.split())))


def folded(text: str) -> str:
    """One spelling for texts that a reader takes for the same: case, spaces, outer punctuation, Unicode forms.

    Signs and points inside stay, since −5 is not 5 and 1.5 is not 15.
    """
    return composed(text).casefold().strip(_EDGES)


def bare_words(text: str) -> list[str]:
    """Words in lower case with everything removed that is neither letter nor digit: ``A-1`` is ``a1``."""
    words: Iterable[str] = text.lower().split()
    bare = (word if word.isalnum() else "".join(filter(str.isalnum, word)) for word in words)
    return [word for word in bare if word]


def holds_phrase(words: list[str], phrase: list[str]) -> bool:
    """Whether a phrase stands in a text, word for word."""
    return bool(phrase) and f" {' '.join(phrase)} " in f" {' '.join(words)} "
