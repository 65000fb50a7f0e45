"""Relaxed accuracy: values read off a chart are right within five per cent."""

import re

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.text import Level, composed, folded, parse, same
from eyetest.text.values import TOLERANCE

_LONGEST = 64
# Units of plain-number golds; other units, fractions and equations are matched exactly
_MONEY = ("", "$", "€", "£", "¥", "₹")
_YEAR = re.compile(r"[0-9]{4}")
_ASKS_WHEN = re.compile(
    r"(?:^|\b(?:since|until|till|by|from) )when\b"
    r"|\b(?:which|what) (?:(?!(?:in|of|for|during|by|per|over|since)\b)\w+ ){0,3}"
    r"(?:years?|decade|century|date|time)\b"
)


def asks_when(question: str) -> bool:
    """Whether a question asks for a time (``when``, ``which year``), and does not only mention one."""
    return _ASKS_WHEN.search(composed(question[:2_000]).casefold()) is not None


def relaxed(answer: str, reference: str, context: Context) -> float:
    """1 for a number within 5 % of the gold (level RELAXED of ``eyetest.text``), or for the same text (as ``exact``).
    A gold of 0 must be met exactly, as must one of four digits where a time is asked for: 2010 is not 2011.
    """
    if folded(answer) == folded(reference):
        return 1.0
    if max(len(answer), len(reference)) > _LONGEST:
        return 0.0
    gold, given = parse(reference), parse(answer)
    if not gold.number or not given.number or gold.label or not gold.number.step or gold.number.unit not in _MONEY:
        return 0.0
    is_year = _YEAR.fullmatch(folded(reference)) and asks_when(context.question)
    return float(same(answer, reference, Level.VALUE if is_year else Level.RELAXED))


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def relaxed_chartqa(answer: str, reference: str, _: Context) -> float:
    """The rule that published ChartQA scores use: what ``float`` reads within 5 %, all else as lower-case text."""
    said, gold = _float(answer), _float(reference)
    if said is not None and gold:
        return float(abs(said - gold) / abs(gold) <= TOLERANCE)
    return float(answer.lower() == reference.lower())


METRICS = (
    BestReference("relaxed", "numbers within 5 %, years and words exactly (ChartQA)", relaxed),
    BestReference("relaxed-chartqa", "relaxed accuracy as published ChartQA scores count it", relaxed_chartqa),
)
