"""How faithfully a text was copied."""

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.support.edits import edit_distance
from eyetest.scoring.metrics.support.texts import spaced


def ocr_accuracy(transcript: str, text: str, _: Context) -> float:
    """1 − edit distance / longer length, on texts with single blanks; case counts. Two empty texts give 1."""
    one, other = spaced(transcript), spaced(text)
    longer = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longer if longer else 1.0


METRICS = (BestReference("ocr", "share of characters copied right", ocr_accuracy),)
