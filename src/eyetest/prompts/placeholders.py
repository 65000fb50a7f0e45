"""What becomes of ``<image 2>`` in a text: a picture, a label such as ``[picture 2]``, or nothing at all."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from eyetest.prompts.wording import sight_words
from eyetest.records import PLACEHOLDER, Part, Words, image_numbers

_OWN_LINE = re.compile(rf"^[ \t]*(?:{PLACEHOLDER.pattern}[ \t]*)+(?:\n|\Z)", re.MULTILINE | PLACEHOLDER.flags)
_OPENING, _CLOSING = "([（", ")]）"
_TIGHT = ".,;:!?%)]}，。；：！？、）"
"""Marks that take no space before them."""


def names_picture(text: str) -> bool:
    """Whether a picture stands in a text; most texts have none, and are passed on untouched."""
    return "<" in text and PLACEHOLDER.search(text) is not None


def remove(text: str, known: int = 0) -> str:
    """A text without the placeholders of pictures beyond the ``known`` first, and without the gaps they would leave.

    Brackets around nothing else go too, and so does a line that held nothing else.
    """
    if not names_picture(text):
        return text
    first, *rest = PLACEHOLDER.split(text)
    kept = [first]
    for number, after in zip(rest[::2], rest[1::2], strict=True):
        if 1 <= int(number) <= known:
            kept += (f"<image {number}>", after)
        else:
            kept.append(_closed(kept, after))
    return "".join(kept)


def _closed(kept: list[str], after: str) -> str:
    """Close the gap between what was kept and what comes next; gives the latter, with a space if one is needed."""
    spaced = _strip_end(kept) or after[:1] in (" ", "\t")
    after = after.lstrip(" \t")
    before = kept[-1][-1:] if kept else ""
    if before and before in _OPENING and after and after[0] == _CLOSING[_OPENING.index(before)]:
        kept[-1] = kept[-1][:-1]
        spaced = _strip_end(kept) or after[1:2] in (" ", "\t")
        after = after[1:].lstrip(" \t")
        before = kept[-1][-1:] if kept else ""
    if before in ("", "\n"):
        return after.removeprefix("\n")
    if not after or after[0] == "\n" or after[0] in _TIGHT or before in _OPENING:
        return after
    return f" {after}" if spaced or (before.isascii() and after[0].isascii()) else after


def _strip_end(kept: list[str]) -> bool:
    """Take spaces off the end; says whether there were any."""
    found = False
    while kept:
        bare = kept[-1].rstrip(" \t")
        found = found or len(bare) < len(kept[-1])
        kept[-1] = bare
        if bare:
            break
        kept.pop()
    return found


def label(text: str, known: int = 0) -> str:
    """A text in which pictures beyond the ``known`` first are spoken of instead of shown."""
    if not names_picture(text):
        return text
    return PLACEHOLDER.sub(lambda match: match[0] if 1 <= int(match[1]) <= known else name(int(match[1])), text)


def label_within(text: str, pictures: int) -> str:
    """A text that speaks of its pictures: not of such as there are none of, nor on lines that hold nothing else."""
    return label(remove(_OWN_LINE.sub("", text), pictures))


def name(number: int) -> str:
    """How a picture is spoken of."""
    return sight_words().label.replace("{n}", str(number))


class Placer:
    """Puts pictures where the texts of one prompt name them, each once.

    A picture that is named again is called by its label there, and carries that label where it stands: an item whose
    ten options all name seven pictures would otherwise be sent with seventy.
    """

    def __init__(self, texts: Iterable[str], pictures: Sequence[Part]) -> None:
        mentions = Counter(n for text in texts for n in image_numbers(text))
        self._labelled = {number for number, count in mentions.items() if count > 1}
        self._waiting = dict(enumerate(pictures, 1))
        self.unnamed = tuple(part for number, part in self._waiting.items() if number not in mentions)

    def parts(self, text: str) -> tuple[Part, ...]:
        """A text with its pictures."""
        if not names_picture(text):
            return (Words(text),)
        first, *rest = PLACEHOLDER.split(text)
        parts: list[Part] = []
        words = first
        for number, after in zip(map(int, rest[::2]), rest[1::2], strict=True):
            if number in self._labelled:
                words += name(number)
            if (picture := self._waiting.pop(number, None)) is not None:
                if words.strip():
                    parts.append(Words(words))
                parts.append(picture)
                words = ""
            words += after
        if words.strip():
            parts.append(Words(words))
        return tuple(parts)
