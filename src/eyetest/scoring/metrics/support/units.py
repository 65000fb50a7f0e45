"""Measuring units, one name for all spellings."""

import re

_NAMES = {
    "mm": "mm millimeter millimeters millimetre millimetres",
    "cm": "cm centimeter centimeters centimetre centimetres",
    "m": "m meter meters metre metres",
    "km": "km kilometer kilometers kilometre kilometres",
    "inch": "inch inches",
    "ft": "ft foot feet",
    "yard": "yd yard yards",
    "mile": "mi mile miles",
    "mg": "mg milligram milligrams",
    "g": "g gram grams gm",
    "kg": "kg kilogram kilograms",
    "lb": "lb lbs pound pounds",
    "ml": "ml milliliter milliliters millilitre millilitres",
    "l": "l liter liters litre litres",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "yr yrs year years",
    "degree": "° degree degrees deg",
    "newton": "newton newtons",
    "volt": "volt volts",
    "ampere": "ampere amperes amp amps",
    "watt": "watt watts",
    "joule": "joule joules",
    "pascal": "pascal pascals",
    "ohm": "ohm ohms ω",
    "psi": "psi",
    "ksi": "ksi",
    "hp": "hp horsepower",
    "kip": "kip kips",
    "btu": "btu",
}
_SIGNS = {
    "N": "newton", "kN": "kilonewton", "MN": "meganewton", "V": "volt", "mV": "millivolt", "kV": "kilovolt",
    "A": "ampere", "mA": "milliampere", "W": "watt", "mW": "milliwatt", "kW": "kilowatt", "MW": "megawatt",
    "J": "joule", "kJ": "kilojoule", "MJ": "megajoule", "Pa": "pascal", "kPa": "kilopascal", "MPa": "megapascal",
    "GPa": "gigapascal", "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz", "Ω": "ohm", "kΩ": "kilohm",
    "K": "kelvin", "C": "celsius", "F": "farad",
}  # fmt: skip
"""Signs in which a capital says something else: mW is not MW."""
_UNIT_OF = {spelling: unit for unit, spellings in _NAMES.items() for spelling in spellings.split()}
LETTERS = frozenset(sign for sign in (*_UNIT_OF, *_SIGNS) if len(sign) == 1)
GENERIC = frozenset(("unit", "units", "square unit", "square units", "sq units", "cubic units", "units^2", "units^3"))
_FORM = re.compile(
    r"(?:(?P<power>square|sq\.?|cubic|cu\.?) )?(?P<name>[^\W\d_]{1,14}|°)"
    r"(?: ?\^? ?\{?(?P<raised>-?[23])\}?| (?P<after>squared|cubed))?"
)
_BETWEEN = re.compile(r" ?(?P<over>/|\bper\b|a(?= )) ?| ?[·⋅*×-] ?| ")
_POWERS = {"square": "2", "squared": "2", "cubic": "3", "cubed": "3", "sq": "2", "cu": "3"}


def unit_name(text: str) -> str:
    """One name for all spellings of a unit that we know."""
    return _SIGNS.get(text.strip()) or _UNIT_OF.get(text.strip().lower(), "")


def unit_of(text: str) -> str:
    """The unit that a text is, with its powers and what it is divided by; empty where it is none that we know."""
    text = text.strip(" .,{}()")
    found, at, sign = [], 0, ""
    while match := _FORM.match(text, at):
        name = unit_name(match["name"])
        if not name:
            return ""
        word = (match["power"] or match["after"] or "").rstrip(".")
        found.append(f"{sign}{name}{_POWERS.get(word) or match['raised'] or ''}")
        at = match.end()
        if at == len(text):
            return "".join(found[:1] + sorted(found[1:]))
        between = _BETWEEN.match(text, at)
        if between is None:
            return ""
        sign, at = "/" if between["over"] else "·", between.end()
    return ""


def same_unit(one: str, other: str) -> bool:
    """Whether two units may stand for one another: one is missing or says only *units*, or both are the same."""
    first, second = _canonical(one), _canonical(other)
    return not first or not second or first == second or "unit" in (first, second)


def _canonical(text: str) -> str:
    known = unit_of(text)
    if known:
        return known
    plain = text.strip(" .").lower()
    return "unit" if plain in GENERIC else plain.rstrip("s")
