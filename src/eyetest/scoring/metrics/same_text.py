"""Texts compared letter by letter: the same or not, copied how faithfully, misread by how much."""

from itertools import zip_longest

from rapidfuzz.distance import Levenshtein

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.support.texts import folded, spaced

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


def exact(answer: str, reference: str, _: Context) -> float:
    """1 for texts that differ in nothing but case, white space, outer punctuation and Unicode form (NFKC).

    Outer punctuation is ``. , ; : ! ? *`` and quotes; signs, brackets, units and inner points count.
    """
    return float(folded(answer) == folded(reference))


def edit_similarity(transcript: str, text: str) -> float:
    """1 − edit distance / longer length, on texts with single blanks; case counts. Two empty texts give 1."""
    one, other = spaced(transcript), spaced(text)
    longer = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longer if longer else 1.0


def ocr_accuracy(transcript: str, text: str, _: Context) -> float:
    """How faithfully a text was copied: its edit similarity."""
    return edit_similarity(transcript, text)


def anls(answer: str, reference: str, _: Context) -> float:
    """1 − NL, or 0 where NL ≥ 0.5. NL is the edit distance over the longer length.

    Distance and length are both taken on the lower-case texts with single blanks; two empty texts give 1.
    """
    one, other = spaced(answer.lower()), spaced(reference.lower())
    longer = max(len(one), len(other))
    if not longer:
        return 1.0
    under_half = (longer - 1) // 2
    distance = edit_distance(one, other, under_half)
    return 1 - distance / longer if distance <= under_half else 0.0


def normalise(extraction: str, context: Context) -> str | None:
    """What MathVista makes of an extraction, by the tags ``answer_type`` and ``precision``.

    An integer has to be written as one (``2.0`` is none), a float is rounded to the precision, anything else
    stays. For its choice items MathVista takes the nearest option instead: that is reading, not scoring.
    """
    kind = context.tags.get("answer_type")
    try:
        if kind == "integer":
            return str(int(extraction.strip()))
        if kind == "float":
            return str(round(float(extraction.strip()), int(context.tags.get("precision") or 0)))
    except (ValueError, OverflowError, TypeError):
        return None
    return extraction


def mathvista(answer: str, reference: str, context: Context) -> float:
    """1 where the normalised extraction is the gold, letter for letter."""
    return float(normalise(answer, context) == reference)


METRICS = (
    BestReference("exact", "the same text but for case, spaces and outer punctuation", exact),
    BestReference("ocr", "share of characters copied right", ocr_accuracy),
    BestReference("anls", "edit similarity, 0 where half or more differs (DocVQA, InfoVQA)", anls),
    BestReference("mathvista", "MathVista's own rule on an extracted answer: letter for letter", mathvista),
)
