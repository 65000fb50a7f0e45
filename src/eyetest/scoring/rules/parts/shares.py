"""Short replies that give each option its share: ``70% window, 30% mirror``, ``A: 0.2, B: 0.8``."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.reading import Reading

_SHARE = re.compile(
    r"(?:chance of |probability of |for )?(\d{1,3}(?:\.\d{1,3})?)\s{0,2}%(?: chance| probability| sure| likely)?"
)
_DECIMAL = re.compile(r"[:=]\s{0,2}(0?\.\d{1,4}|[01](?:\.0{1,4})?)(?![\d%])")
_PARTS = re.compile(r"[,;\n/]|\band\b|\bvs\b")
_LONGEST = 200
_ALL = 101.0


def shares(case: Case) -> Reading | None:
    """The option with the largest share; equal shares prefer none."""
    text = case.text
    if len(text) > _LONGEST or any("%" in option for option in case.offer.texts):
        return None
    if text.count("%") > 1:
        given, total = _given(case, _SHARE), _ALL
    elif text.count(".") > 1:
        given, total = _given(case, _DECIMAL), 1.01
    else:
        return None
    if len(given) < 2 or sum(given.values()) > total:
        return None
    most = max(given.values())
    first = [place for place, share in given.items() if share == most]
    if len(first) > 1:
        return case.nothing("ambiguous", "shares", "several options", (0, len(text)))
    return case.chosen(first[0], "shares", 0, len(text))


def _given(case: Case, pattern: re.Pattern[str]) -> dict[int, float]:
    """The share of each option; none where some part of the reply is no share, or an option has two."""
    given: dict[int, float] = {}
    for part in _PARTS.split(case.text.strip(" .\n")):
        share = pattern.search(part)
        place = _whose(case, f"{part[: share.start()]} {part[share.end() :]}") if share else None
        if share is None or place is None or place in given:
            return {}
        given[place] = float(share[1])
    return given


def _whose(case: Case, rest: str) -> int | None:
    """The option that the words beside a share name, by mark or by text."""
    rest = rest.strip(" :=-–()\"'[]")
    place = case.offer.place(rest) if len(rest) == 1 else exactly(rest.removeprefix("for "), case.offer)
    return place if place is None or place >= 0 else None
