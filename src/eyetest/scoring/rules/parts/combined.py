"""Questions that offer statements together, ``only I``, ``both``, ``neither``: a verdict on each is the choice."""

import re
from functools import lru_cache

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.reading import Reading

_LABEL = re.compile(r"(?<![\w.])(?:III|II|IV|I|[1-4]|[X-Z])(?![\w%])")
_NONE = re.compile(r"\b(?:neither|none)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:both|all)\b", re.IGNORECASE)
_LONGEST = 60
_FEWEST, _MOST = 2, 4
_VERDICT = (
    r"(?<![\w.]){0}\s{{1,3}}(?:also\s)?(?:(?:is|are|isn't|doesn't|does not|do not|cannot|can't)\s{{0,3}}(?:not\s)?"
    r"(?:\w{{1,10}}\s)?(?:false|wrong|incorrect|invalid|hold|true|correct|right|valid|fit|apply|work)\b|"
    r"fails\b|holds\b|applies\b|fits\b|does\b|works\b)"
)
_NEGATED = re.compile(r"n't|not\b|cannot|false|wrong|incorrect|invalid|fails", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def _offered(texts: tuple[str, ...]) -> tuple[tuple[str, ...], dict[frozenset[str], int]] | None:
    """The statements' labels, and the option for each set of them that holds; None for other questions."""
    if not _FEWEST < len(texts) <= 2**_MOST or max(map(len, texts)) > _LONGEST:
        return None
    named = [frozenset(_LABEL.findall(text)) for text in texts]
    labels = frozenset().union(*named)
    if not _FEWEST <= len(labels) <= _MOST:
        return None
    sets: dict[frozenset[str], int] = {}
    for place, (text, found) in enumerate(zip(texts, named, strict=True)):
        holds = frozenset() if _NONE.search(text) else labels if _ALL.search(text) and not found else found
        if not holds and not _NONE.search(text):
            return None
        sets[holds] = place
    return (tuple(sorted(labels)), sets) if len(sets) == len(texts) else None


def combined(case: Case) -> Reading | None:
    """The option that is just the statements that the reply calls true, where it judges each of them."""
    offered = _offered(case.offer.texts)
    if offered is None:
        return None
    labels, sets = offered
    true, end = set(), 0
    for label in labels:
        verdicts = list(re.finditer(_VERDICT.format(label), case.text))
        if not verdicts:
            return None
        if not _NEGATED.search(verdicts[-1].group()):
            true.add(label)
        end = max(end, verdicts[-1].end())
    place = sets.get(frozenset(true))
    return None if place is None else case.chosen(place, "combined", 0, end)
