"""Examples as numbers: rows of equal length, as the networks read them."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from eyetest_world.toy_models.network import END, SPECIAL, STYLES, Tokens
from numpy.typing import NDArray

from toy_training.examples import Asked, Example, Reading, example

SHORT, LONG = 104, 320
"""Nearly every prompt is short; those with worked examples before the question are not, and go into batches of their
own so that the others need no padding."""
_NEARLY_SHORT = 16
Array = NDArray[Any]


class Line(NamedTuple):
    """One example."""

    tokens: Array
    """Prompt and reply, once in every style."""
    lines: Array
    """For each token of the prompt the mark of the option in whose line it stands."""
    start: int
    """Where the reply begins."""


class Lines(NamedTuple):
    """Many examples."""

    tokens: Array
    lines: Array
    starts: Array

    @classmethod
    def of(cls, rows: Sequence[Line], length: int) -> "Lines":
        """Rows of a length together."""
        return cls(
            np.array([row.tokens for row in rows], np.int16).reshape(-1, len(STYLES), length),
            np.array([row.lines for row in rows], np.int16).reshape(-1, length),
            np.array([row.start for row in rows], np.int16),
        )

    @classmethod
    def joined(cls, parts: Sequence["Lines"]) -> "Lines":
        """One after the other."""
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def line(one: Example, tokens: Tokens, length: int) -> Line | None:
    """An example as numbers; None where it is too long."""
    prompt = tokens.encode_prompt(one.prompt)
    rows = np.zeros((len(STYLES), length), np.int16)
    for row, style, reply in zip(rows, STYLES, one.replies, strict=True):
        whole = [*prompt[:-1], SPECIAL.index(f"<{style}>"), *tokens.encode(reply), END]
        if len(whole) > length:
            return None
        row[: len(whole)] = whole
    lines = np.zeros(length, np.int16)
    lines[: len(prompt)] = tokens.lines(prompt)
    return Line(rows, lines, len(prompt))


def short_line(asked: Asked, modality: str, tokens: Tokens, rng: Random) -> Line:
    """A question, put in ways at random until one is short enough."""
    while (written := line(example(asked, modality, rng), tokens, SHORT)) is None:
        pass
    return written


def read_texts(reading: Reading, tokens: Tokens, count: int, length: int, seed: str) -> Lines:
    """So many examples of what is read; where they may be long, only those that are."""
    rng = Random(f"zoo/{seed}")
    rows: list[Line] = []
    while len(rows) < count:
        written = line(reading.example(rng), tokens, length)
        if written is not None and (length == SHORT or written.start > SHORT - _NEARLY_SHORT):
            rows.append(written)
    return Lines.of(rows, length)
