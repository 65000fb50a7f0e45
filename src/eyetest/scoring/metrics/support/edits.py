"""Edit distance that cannot hang: exact for all but enormous texts."""

from itertools import zip_longest

from rapidfuzz.distance import Levenshtein

ALIGNED_AT_ONCE = 32_768
"""Longer texts are compared block by block. The sum is never below the true distance, and 0 only for equal texts."""


def _blocks(text: str) -> list[str]:
    return [text[i : i + ALIGNED_AT_ONCE] for i in range(0, len(text), ALIGNED_AT_ONCE)]


def edit_distance(one: str, other: str, most: int | None = None) -> int:
    """How many characters to insert, delete or replace; where it is over ``most``, just something over it."""
    if one == other:
        return 0
    if most is not None and abs(len(one) - len(other)) > most:
        return most + 1
    if max(len(one), len(other)) <= ALIGNED_AT_ONCE:
        return Levenshtein.distance(one, other, score_cutoff=most)
    total = 0
    for left, right in zip_longest(_blocks(one), _blocks(other), fillvalue=""):
        total += Levenshtein.distance(left, right)
        if most is not None and total > most:
            return most + 1
    return total
