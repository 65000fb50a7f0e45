"""No regular expression of the package needs more than linear time, on texts made of its own repeated parts."""

import re
import time
from collections import deque

import pytest

from tests.looping.patterns import Attack, Found, attacks, every_pattern

SIZES = (20, 26)  # a pattern with exponential cost shows before it would run for days
LONG = 4_000
SUSPECT = 0.02  # seconds at that length
MOST_GROWTH = 3.0
SHORT = {
    "eyetest.text.values _ENCLOSED": "values are parsed of texts of at most 1,000 characters",
    "eyetest.text.values _SEPARATOR": "values are parsed of texts of at most 1,000 characters",
    "eyetest.text.expressions _RANGE": "searched where it is the whole text",
    "eyetest.scoring.metrics.number _COMES_NEXT": "searched in the 40 characters before a number",
    "eyetest.pages.plots _LONG_NUMBER": "searched in charts that eyetest wrote",
    "records/notices.yaml": "searched in the first characters of a reply that may be a notice",
}
"""Patterns that take longer than the length, and what keeps the texts short that they see."""
PATTERNS = {
    f"{number} {entry.where}": entry for number, entry in enumerate(every_pattern()) if entry.where not in SHORT
}
AT_ONCE = 40
GROUPS = [list(PATTERNS)[start : start + AT_ONCE] for start in range(0, len(PATTERNS), AT_ONCE)]


def cost(pattern: re.Pattern[str], text: str, *, searched: bool) -> float:
    begin = time.process_time()
    if searched:
        deque(pattern.finditer(text), maxlen=0)
    else:
        pattern.match(text)
        pattern.fullmatch(text)
    return time.process_time() - begin


def is_costly(entry: Found, attack: Attack) -> bool:
    """Whether twice the text costs far more than twice as much, on every trial."""
    for size in SIZES:
        if cost(entry.pattern, attack.text(size), searched=entry.is_searched) > SUSPECT:
            return cost(entry.pattern, attack.text(size), searched=entry.is_searched) > SUSPECT
    for _ in range(3):
        whole = cost(entry.pattern, attack.text(LONG), searched=entry.is_searched)
        if whole < SUSPECT:
            return False
        half = cost(entry.pattern, attack.text(LONG // 2), searched=entry.is_searched)
        if whole < MOST_GROWTH * half:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=[f"patterns from {group[0]}" for group in GROUPS])
def test_no_pattern_backtracks_without_bound(group: list[str]) -> None:
    costly = {}
    for name in group:
        entry = PATTERNS[name]
        for attack in attacks(entry.pattern):
            if is_costly(entry, attack):
                costly[name] = (entry.pattern.pattern[:200], attack)
                break
    assert not costly


@pytest.mark.parametrize(("pattern", "searched"), [(r"(a+)+$", False), (r"\s+$", True), (r"(\d+)*(\d+)*x", False)])
def test_the_attacks_find_what_backtracks(pattern: str, searched: bool) -> None:
    entry = Found("here", re.compile(pattern), searched)
    assert any(is_costly(entry, attack) for attack in attacks(entry.pattern))


def test_all_kinds_of_places_are_searched() -> None:
    places = " ".join(entry.where for entry in every_pattern())
    for part in ("cue ", "catalog/ic15.yaml", "notices.yaml", "eyetest.text.numbers", ".py line", "option_order"):
        assert part in places
    assert len(every_pattern()) > 300
