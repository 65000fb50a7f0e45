"""ANLS: a misread letter costs a little, another word costs all."""

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.support.edits import edit_distance
from eyetest.scoring.metrics.support.texts import spaced


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


METRICS = (BestReference("anls", "edit similarity, 0 where half or more differs (DocVQA, InfoVQA)", anls),)
