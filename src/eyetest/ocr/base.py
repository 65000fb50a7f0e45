"""What an engine is to the rest: something that gives the lines of a picture, word by word, with their boxes."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from PIL import Image


class ReadWord(NamedTuple):
    """A word as an engine reads it, and where, in pixels of the picture."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        """Its middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


class ReadLine(NamedTuple):
    """A line of words, in the order in which they are read."""

    words: tuple[ReadWord, ...]

    @property
    def text(self) -> str:
        """The words as one text."""
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of all words together."""
        lefts, tops, rights, bottoms = zip(*(word[1:] for word in self.words), strict=True)
        return min(lefts), min(tops), max(rights), max(bottoms)


class Engine(Protocol):
    """A way to read pictures: one module in this folder with such an ``ENGINE``."""

    name: str
    summary: str
    rank: int
    """Of all engines that are there, the lowest is taken where nobody says which."""

    def missing(self) -> str:
        """What has to be done before it can be used; nothing where it can."""
        ...

    def scripts(self) -> frozenset[str]:
        """The scripts it can read, in Unicode's words and small letters: latin, cjk, hangul …"""
        ...

    def read(self, picture: Image.Image) -> Sequence[ReadLine]:
        """The lines of a picture."""
        ...


def scripts_of(text: str) -> frozenset[str]:
    """The scripts of a text's letters, in Unicode's words; digits, marks and signs belong to none."""
    return frozenset(script for letter in set(text) if (script := _script(letter)))


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "unknown").split()[0].lower() if letter.isalpha() else ""
