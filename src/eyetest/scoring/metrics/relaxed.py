"""Relaxed accuracy: values read off a chart are right within five per cent."""

import re

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.support.texts import composed, folded

TOLERANCE = 0.05
_LONGEST = 64
"""A longer text is no number, whatever is in it."""
_NUMBER = re.compile(
    r"([-+]?) ?(?:us)?[$€£¥₹₩]? ?([-+]?)([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]*\.?[0-9]+|[0-9]+\.)"
    r"(e[-+]?[0-9]{1,2})? ?[$€£¥₹₩]? ?(%?)"
)
_YEAR = re.compile(r"[0-9]{4}")
_ASKS_WHEN = re.compile(
    r"(?:^|\b(?:since|until|till|by|from) )when\b"
    r"|\b(?:which|what) (?:(?!(?:in|of|for|during|by|per|over|since)\b)\w+ ){0,3}"
    r"(?:years?|decade|century|date|time)\b"
)


def _read(text: str) -> tuple[float, bool] | None:
    """A number and whether it was written in percent."""
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if not match or (match[1] and match[2]):
        return None
    return float((match[1] or match[2]) + match[3].replace(",", "") + (match[4] or "")), bool(match[5])


def asks_when(question: str) -> bool:
    """Whether a question asks for a time: ``when`` opens it, or it says ``which year``, ``what record year``.

    A year that is merely mentioned (``sales in 2019``, ``in the fiscal year of 2019``) does not make it one.
    """
    return _ASKS_WHEN.search(composed(question[:2_000]).casefold()) is not None


def relaxed(answer: str, reference: str, context: Context) -> float:
    """1 for a number within 5 % of the gold, or for the same text (as ``exact`` compares).

    Percent and currency signs and thousands commas are understood on both sides. With a percent sign on one side
    only, the other may be written either way (12% is 12 and 0.12). A gold of 0 has to be met, and so has a gold
    of four digits where the question asks for a time: 2010 is not 2011.
    """
    one, other = folded(answer), folded(reference)
    if one == other:
        return 1.0
    said, gold = _read(one.replace("−", "-")), _read(other.replace("−", "-"))
    if said is None or gold is None:
        return 0.0
    allowed = TOLERANCE * abs(gold[0])
    if _YEAR.fullmatch(other) and asks_when(context.question):
        allowed = 0.0
    scales = [1.0] if said[1] == gold[1] else [1.0, 0.01 if said[1] else 100.0]
    return float(any(abs(said[0] * scale - gold[0]) <= allowed + 1e-9 * abs(gold[0]) for scale in scales))


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def relaxed_chartqa(answer: str, reference: str, _: Context) -> float:
    """The rule that published ChartQA scores use.

    What Python's ``float`` reads is a number, a percent sign divides by 100, and anything within 5 % is right, years
    too. Everything else, and a gold of 0, is compared as lower-case text; no thousands commas, no currency signs.
    """
    said, gold = _float(answer), _float(reference)
    if said is not None and gold:
        return float(abs(said - gold) / abs(gold) <= TOLERANCE)
    return float(answer.lower() == reference.lower())


METRICS = (
    BestReference("relaxed", "numbers within 5 %, years and words exactly (ChartQA)", relaxed),
    BestReference("relaxed-chartqa", "relaxed accuracy as published ChartQA scores count it", relaxed_chartqa),
)
