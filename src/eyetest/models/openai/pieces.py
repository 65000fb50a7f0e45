"""Candidates as a tokenizer reads them: which tokens hold a candidate's letters, and what text the first ones spell.

A server that names tokens does so in its tokenizer's own spelling: ``▁two`` and ``<0xC3>``, or ``Ġtwo`` and ``Ã``.
"""

import re
from collections.abc import Sequence

import msgspec

from eyetest.models.trie import Beginning, shared_start

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class Tokenized(msgspec.Struct, frozen=True):
    """A text as a server reads it."""

    tokens: list[int]
    token_strs: list[str]


class TokenizedCandidate(msgspec.Struct, frozen=True):
    """A candidate behind a prompt."""

    tokens: Beginning
    """Those that hold its letters; a chat template may write something before them."""
    begins: tuple[str, ...]
    """The text of the first token, of the first two …; empty where it ends within a letter, or is not known."""
    after: int | None
    """The last token of the prompt; None where more than the candidate itself follows it."""


def behind(prompt: Tokenized, text: str, read: Tokenized) -> TokenizedCandidate:
    """A candidate, from what is read without it and with it."""
    alike = shared_start((prompt.tokens, read.tokens))
    after = prompt.tokens[-1] if 0 < alike == len(prompt.tokens) else None
    letters = _letters(read.token_strs, text) if len(read.token_strs) == len(read.tokens) else None
    if letters is None:
        tokens = tuple(read.tokens[alike:])
        return TokenizedCandidate(tokens, ("",) * len(tokens), after)
    wanted, counted, size = text.encode(), 0, 0
    while size < len(wanted):
        counted += 1
        size += len(letters[-counted])
    begins = []
    for piece in letters[-counted:]:
        size -= len(piece)
        begins.append(_text(wanted[: max(0, len(wanted) - size)]))
    is_alone = len(letters) - counted == alike
    return TokenizedCandidate(tuple(read.tokens[-counted:]), tuple(begins), after if is_alone else None)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _letters(pieces: Sequence[str], text: str) -> list[bytes] | None:
    """What each piece stands for, if together they end in a text."""
    for spell in (_sentencepiece, _byte_level):
        letters = [spell(piece) for piece in pieces]
        if b"".join(letters).endswith(text.encode()):
            return letters
    return None


def _sentencepiece(piece: str) -> bytes:
    byte = _BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()


def _byte_level(piece: str) -> bytes:
    return b"".join(bytes([_BYTES[letter]]) if letter in _BYTES else letter.encode() for letter in piece)


def _byte_letters() -> dict[str, int]:
    """The letters by which byte-level tokenizers write bytes: printable ones are themselves, the rest come after."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTES = _byte_letters()
