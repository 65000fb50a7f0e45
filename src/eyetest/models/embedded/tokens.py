"""Text as numbers: whole words where they are known, bytes where they are not, so that any text can be read.

Case is given up except in single capitals, which are marks of options. A piece that follows the one before it without
a space is another token than the same piece after a space, so that what a model says can be written as it is meant.
"""

import re
from collections.abc import Iterable, Sequence
from string import ascii_letters, digits
from typing import NamedTuple

from eyetest.records import Message, Prompt, Words

STYLES = ("letter", "bracket", "full", "sentence", "said", "words", "backwards", "careful")
"""How models reply when they are asked for a mark; a token at the beginning of its turn tells a model its own way."""
PAD, END, USER, ASSISTANT, PICTURE = range(5)
SPECIAL = ("<pad>", "<end>", "<user>", "<assistant>", "<picture>", *(f"<{style}>" for style in STYLES))
_BYTES = 256
_PIECE = re.compile(r"([^\S\n]*)(\n|[A-Z](?![^\W_])|[^\W\d_]+|\d|[^\w\s]|_)")


class OptionLine(NamedTuple):
    """A line of options in a prompt: its mark, and the words after it."""

    mark: int
    text: tuple[int, ...]


def pieces(text: str) -> list[str]:
    """A text cut into pieces; those that come after a space, or first, begin with one."""
    parts = []
    fresh = True
    for gap, piece in _PIECE.findall(text):
        plain = piece if len(piece) == 1 and piece.isupper() else piece.lower()
        parts.append(f" {plain}" if (gap or fresh) and plain != "\n" else plain)
        fresh = plain == "\n"
    return parts


class Tokens:
    """A vocabulary, and both ways through it."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        first = len(SPECIAL) + _BYTES
        self._numbers = {word: first + index for index, word in enumerate(words)}
        self.size = first + len(words)
        self._newline, self._stop = self._numbers.get("\n", -1), self._numbers.get(".", -1)
        self._marks = {self._numbers.get(f" {one}", -1) for one in (*ascii_letters, *digits)} - {-1}

    def encode(self, text: str) -> list[int]:
        """The numbers of a text."""
        numbers: list[int] = []
        for piece in pieces(text):
            number = self._numbers.get(piece)
            if number is None:
                numbers += [len(SPECIAL) + byte for byte in piece.encode("utf-8", "replace")]
            else:
                numbers.append(number)
        return numbers

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of some numbers, with a capital at its beginning."""
        data = b"".join(self._bytes(number) for number in numbers)
        text = data.decode("utf-8", "replace").replace("\n ", "\n").strip()
        return "\n".join(line[:1].upper() + line[1:] for line in text.split("\n"))

    def word(self, number: int) -> str:
        """One token as text."""
        return SPECIAL[number] if number < len(SPECIAL) else self._bytes(number).decode("utf-8", "replace")

    def encode_prompt(self, prompt: Prompt, style: str = STYLES[0]) -> list[int]:
        """A whole prompt, up to where the model's own turn begins."""
        numbers: list[int] = []
        for message in prompt.messages:
            numbers += self._turn(message)
        return [*numbers, ASSISTANT, SPECIAL.index(f"<{style}>"), *self.encode(prompt.prefill)]

    def lines(self, numbers: Sequence[int]) -> list[int]:
        """For each token the mark of the option in whose line it stands, or PAD: so that options are told apart."""
        marks: list[int] = []
        mark, fresh = PAD, False
        for index, number in enumerate(numbers):
            if fresh:
                marked = index + 1 < len(numbers) and numbers[index + 1] == self._stop and number in self._marks
                mark = number if marked else PAD
            elif number == self._newline or number < len(SPECIAL):
                mark = PAD
            fresh = number == self._newline
            marks.append(mark)
        return marks

    def question(self, numbers: Sequence[int]) -> tuple[tuple[int, ...], list[OptionLine]]:
        """The last question that is asked with options: the line before them, and the options."""
        rows: list[list[int]] = [[]]
        for number in numbers:
            if number in (self._newline, *range(len(SPECIAL))):
                rows.append([])
            else:
                rows[-1].append(number)
        marked = [len(row) > 1 and row[0] in self._marks and row[1] == self._stop for row in rows]
        if True not in marked:
            return (), []
        last = len(marked) - 1 - marked[::-1].index(True)
        first = last
        while first and marked[first - 1]:
            first -= 1
        before = tuple(rows[first - 1]) if first else ()
        return before, [OptionLine(row[0], tuple(row[2:])) for row in rows[first : last + 1]]

    def marks(self, option: OptionLine) -> tuple[int, ...]:
        """The mark of an option as a word of its own, and as one that follows a bracket."""
        inside = self._numbers.get(self.word(option.mark).strip())
        return (option.mark,) if inside is None else (option.mark, inside)

    def _turn(self, message: Message) -> list[int]:
        numbers = [ASSISTANT if message.role == "assistant" else USER]
        for part in message.parts:
            numbers += self.encode(part.text) if isinstance(part, Words) else [PICTURE]
        return [*numbers, END] if message.role == "assistant" else numbers

    def _bytes(self, number: int) -> bytes:
        if number < len(SPECIAL):
            return b""
        if number < len(SPECIAL) + _BYTES:
            return bytes([number - len(SPECIAL)])
        return self.words[number - len(SPECIAL) - _BYTES].encode("utf-8")
