"""A pair of models in one sentence: who leads, by how much, is it more than chance, and what could have been seen."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from eyetest.wording import counted


class Terms(NamedTuple):
    """What a verdict rests on beside its pair: ``pairs`` counts those that were tested together."""

    level: float = 0.95
    power: float = 0.8
    pairs: int = 1
    in_points: bool = True


def verdict(pair: Mapping[str, Any], terms: Terms) -> str:
    """A row of `Differences` as a sentence. ``in_points``: scores go from 0 to 1, and are told from 0 to 100."""
    return f"{_lead(pair, terms)} on {_basis(pair)}: {_judgement(pair, terms)}"


def _lead(pair: Mapping[str, Any], terms: Terms) -> str:
    gap = pair["difference"]
    leader, other = (pair["a"], pair["b"]) if gap >= 0 else (pair["b"], pair["a"])
    bounds = sorted(bound if gap >= 0 else -bound for bound in _bounds(pair))
    interval = f" [{', '.join(_number(bound, terms) for bound in bounds)}]" if bounds else ""
    if gap == 0:
        return f"{leader} and {other} are level{interval}"
    unit = " points" if terms.in_points else ""
    return f"{leader} leads {other} by {_number(abs(gap), terms)}{unit}{interval}"


def _bounds(pair: Mapping[str, Any]) -> list[float]:
    found = (pair["difference_low"], pair["difference_high"])
    return [bound for bound in found if bound is not None]


def _basis(pair: Mapping[str, Any]) -> str:
    """What the difference was seen on; clusters are told where items share them."""
    items = counted(pair["n"], "item")
    return items if pair["clusters"] == pair["n"] else f"{items} in {counted(pair['clusters'], 'cluster')}"


def _judgement(pair: Mapping[str, Any], terms: Terms) -> str:
    alone, adjusted = pair["p"], pair["p_adjusted"]
    if alone is None or pair["clusters"] < 2:
        return "too little to test"
    after = f" after Holm's correction for {terms.pairs:,} pairs" if terms.pairs > 1 else ""
    if adjusted < 1 - terms.level:
        return f"a clear lead (p = {adjusted:.2g}{after})"
    called = "too close to call"
    if alone < 1 - terms.level:
        called += f" among so many (p = {alone:.2g} alone, {adjusted:.2g}{after})"
    return f"{called}; {_sight(pair, terms)}"


def _sight(pair: Mapping[str, Any], terms: Terms) -> str:
    """The smallest difference that could have been seen."""
    smallest = pair["detectable_adjusted"]
    if pair["only_a"] == 0 and pair["only_b"] == 0:
        return "both are right on the same items"
    at = f"at {100 * terms.power:g} % power"
    if smallest is None or (terms.in_points and smallest > 1):
        return f"too few items differ to find any lead {at}"
    return f"this benchmark can tell {_number(smallest, terms)}{' points' if terms.in_points else ''} apart {at}"


def _number(value: float, terms: Terms) -> str:
    told = f"{100 * value:.1f}" if terms.in_points else f"{value:.3g}"
    return told.replace("-", "−") if float(told) else told.removeprefix("-")
