"""MathVista's own comparison of an extracted answer with the gold, for comparison with published scores."""

from eyetest.scoring.metrics.base import BestReference, Context


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


METRICS = (BestReference("mathvista", "MathVista's own rule on an extracted answer: letter for letter", mathvista),)
