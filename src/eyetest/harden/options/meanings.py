r"""When two options say the same, however they are written.

"The cat." is "cat", ``\frac12`` is 0.5 and 50 %, 1 km is 1000 m. Two options that say the same are one too many: a
model that picks the second knows as much as one that picks the first.
"""

import math
import re
from functools import lru_cache

import msgspec

from eyetest.scoring.metrics.number import read_measure
from eyetest.scoring.metrics.support.numbers import unit_of
from eyetest.scoring.metrics.support.texts import composed

_LONGEST = 2_000
"""Characters that are compared: an option of more is no option."""
_WORDED = re.compile(
    r"\\(?:text|mathrm|textrm|mathbf|textbf|textit|mathit|mbox|operatorname|mathsf|boxed|underline|emph)\s?\{([^{}]*)\}"
)
_WRAPPING = re.compile(r"\\[()\[\]]|\$+|\\(?:,|;|!|:|left\b|right\b|displaystyle\b|quad\b)|\*\*|__|`+|~")
_SHORT_FRACTION = re.compile(r"\\([dt]?)frac\s?(\d)\s?(\d)")
_MARK = re.compile(r"^\s*(?:\(([A-Za-z]|\d{1,2})\)|([A-Za-z]|\d{1,2})[.):](?=\s))\s*(?=\S)")
_TEMPERATURE = re.compile(r"^(?:°|degrees?)?\s?(c|celsius|f|fahrenheit|k|kelvin)$", re.IGNORECASE)
_PART = re.compile(r"([/·]?)([^/·\d-]+)(-?\d?)")
_PREFIXES = {"milli": 1e-3, "kilo": 1e3, "mega": 1e6, "giga": 1e9}
_ARTICLES = re.compile(r"^(?:an?|the) ")
_DRESS = re.compile(r"(?:(?<!\d)[.,:;!]|[.,:;](?!\d)|[^\w\s%$€£+.,:;!/^=<>≤≥√π°*-])+")
"""Punctuation that says nothing: a point between digits does, and a sign."""
_UNITS: dict[str, tuple[str, float]] = {
    "mm": ("m", 1e-3), "cm": ("m", 1e-2), "m": ("m", 1.0), "km": ("m", 1e3), "inch": ("m", 0.0254),
    "ft": ("m", 0.3048), "yard": ("m", 0.9144), "mile": ("m", 1609.344), "mg": ("g", 1e-3), "g": ("g", 1.0),
    "kg": ("g", 1e3), "lb": ("g", 453.59237), "ml": ("l", 1e-3), "l": ("l", 1.0), "s": ("s", 1.0),
    "min": ("s", 60.0), "h": ("s", 3600.0), "day": ("s", 86400.0), "week": ("s", 604800.0),
    "month": ("month", 1.0), "year": ("month", 12.0), "ksi": ("psi", 1e3),
}  # fmt: skip
"""Units by what they measure, and how much of it."""
_RATIO = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?:\s?([0-9]{1,9}(?:\.[0-9]{1,9})?)")
"""Of times too, of which no two on one clock are the same ratio but 0:00."""
_EXACT = 1e-6


class Meaning(msgspec.Struct, frozen=True):
    """What an option says: its words without dress, and the number that it is, if it is one."""

    words: str
    value: float | None = None
    """As written; percent too."""
    factor: float = 1.0
    """How many basic units its unit is."""
    slack: float = 0.0
    """What rounding leaves open: half of what the last decimal is worth."""
    measures: str = ""
    """What its unit measures; empty without a unit."""
    percent: bool = False


def undressed(text: str) -> str:
    """A text without formula signs, marks of emphasis and the mark of an option."""
    text = _SHORT_FRACTION.sub(r"\\\1frac{\2}{\3}", text[:_LONGEST])
    for _ in range(3):
        text = _WORDED.sub(r"\1", text)
    return _MARK.sub("", _WRAPPING.sub(" ", text)).strip()


@lru_cache(maxsize=200_000)
def plainest(text: str) -> str:
    """The words of an option, without anything that makes no difference to what it says."""
    words = " ".join(_DRESS.sub(" ", composed(undressed(text)).casefold().replace("−", "-")).split())
    return _ARTICLES.sub("", words) or " ".join(text.split())


@lru_cache(maxsize=200_000)
def meaning(text: str) -> Meaning:
    """What an option says."""
    bare = undressed(text)
    if (ratio := _RATIO.fullmatch(bare)) and float(ratio[2]):
        return Meaning(plainest(text), float(ratio[1]) / float(ratio[2]), measures="ratio")
    measure = read_measure(bare)
    if measure is None:
        return Meaning(plainest(text))
    quantity, behind = measure
    value, slack = quantity.value, quantity.step / 2 if quantity.decimals else 0.0
    if (temperature := _TEMPERATURE.match(behind)) and not quantity.percent:
        scale = temperature[1][0].lower()
        value = value + 273.15 if scale == "c" else (value - 32) / 1.8 + 273.15 if scale == "f" else value
        return Meaning(plainest(text), value, 1.0, slack if scale != "f" else slack / 1.8, "temperature")
    measures, factor = _basic(quantity.unit or unit_of(behind))
    measures = measures or ("" if quantity.percent else plainest(behind).removesuffix("s"))
    return Meaning(plainest(text), value, factor, slack, measures, quantity.percent)


def _basic(unit: str) -> tuple[str, float]:
    """What a unit measures, and how much of it; the unit itself where nothing is known to be made of it."""
    factor, powers = 1.0, dict[str, int]()
    for over, name, power in _PART.findall(unit):
        base, size = _UNITS.get(name, (name, 1.0))
        for prefix, times in _PREFIXES.items():
            if base == name and name.startswith(prefix) and name not in _UNITS:
                base, size = name.removeprefix(prefix), times
                break
        raised = (int(power) if power else 1) * (-1 if over == "/" else 1)
        factor *= size**raised
        powers[base] = powers.get(base, 0) + raised
    return " ".join(f"{base}{power}" for base, power in sorted(powers.items()) if power), factor


def same_meaning(one: str, other: str) -> str:
    """How two options say the same: ``same words``, ``equal numbers``, ``other unit``; empty where they do not."""
    first, second = meaning(one), meaning(other)
    if first.words == second.words:
        return "same words"
    if first.value is None or second.value is None:
        return ""
    if first.measures and second.measures and first.measures != second.measures:
        return ""
    scales = (1.0,) if first.percent == second.percent else (1.0, 0.01 if first.percent else 100.0)
    factors = (first.factor, second.factor) if first.measures and second.measures else (1.0, 1.0)
    slacks = [meant.slack * factor for meant, factor in zip((first, second), factors, strict=True)]
    slack = max(slacks) if slacks[0] != slacks[1] else 0.0
    for scale in scales:
        mine, theirs = first.value * factors[0] * scale, second.value * factors[1]
        if math.isclose(mine, theirs, rel_tol=_EXACT, abs_tol=max(slack, 1e-12)):
            return "equal numbers" if first.factor == second.factor else "other unit"
    return ""
