"""The same text, or not."""

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.support.texts import folded


def exact(answer: str, reference: str, _: Context) -> float:
    """1 for texts that differ in nothing but case, white space, outer punctuation and Unicode form (NFKC).

    Outer punctuation is ``. , ; : ! ? *`` and quotes; signs, brackets, units and inner points count.
    """
    return float(folded(answer) == folded(reference))


METRICS = (BestReference("exact", "the same text but for case, spaces and outer punctuation", exact),)
