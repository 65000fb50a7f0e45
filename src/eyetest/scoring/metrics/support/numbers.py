r"""Numbers as people and models write them, found in a text.

Read are: thousands commas, decimals, signs (``-``, ``−``), fractions (``3/4``, ``1 1/2``, ``\frac{3}{4}``,
``½``), scientific notation (``1.2e5``, ``1.2 × 10^5``, ``1.2×10⁵``), percent, scales (``1.2 million``) and
words (``twenty-one``, ``three quarters``). Not read are digits that belong to a name or a unit: ``H2O``,
``cm^2``, ``x_1``.
"""

import math
import re

import msgspec

from eyetest.scoring.metrics.support.number_words import SCALES, digits_for_words
from eyetest.scoring.metrics.support.texts import composed

READ = 20_000
"""Only the last so many characters of an answer are searched for numbers: what it concludes stands at its end."""

_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_VULGAR = re.compile("([¼½¾⅐-⅞])")
_TEX_FRACTION = re.compile(r"\\[dt]?frac ?\{ ?(-?[0-9.]+) ?\} ?\{ ?([0-9.]+) ?\}")
_TEX_NOISE = re.compile(
    r"\\(?:,|;|!|quad\b|left\b|right\b|(?:text|mathrm|mathbf|rm|mbox)\b ?\{?|[()\[\]$%])|(?<=[0-9])\{,\}"
)
_MINUS = re.compile(r"(?i)\b(?:minus|negative) (?=[0-9.])")

_PLAIN = r"(?:[0-9]{1,3}(?:,[0-9]{3})++(?![0-9])|[0-9]++)(?:\.[0-9]++)?|\.[0-9]++"
_NUMBER = re.compile(
    rf"(?<![A-Za-z_^0-9.])(?P<sign>(?<![0-9)\]}}])[-−–+](?=[$€£¥.0-9]))?[$€£¥]?"
    rf"(?:(?P<whole>[0-9]++) (?P<top>[0-9]++)/(?P<below>[0-9]++)(?![/0-9])"
    rf"|(?P<upper>[0-9]++(?:\.[0-9]++)?) ?/ ?(?P<lower>[0-9]++(?:\.[0-9]++)?)(?! ?[/0-9])"
    rf"|(?P<plain>{_PLAIN})"
    r"(?:e(?P<e>[-+]?[0-9]{1,3})(?![0-9A-Za-z])"
    r"| ?(?:×|\\times|\\cdot|[x*·⋅]) ?10 ?(?:\^|\*\*) ?[({]? ?(?P<power>[-+−]?[0-9]{1,3}) ?[)}]?)?)"
    rf"(?: (?P<scale>{'|'.join(SCALES)})\b)?(?P<percent> ?(?:%|percent\b|per cent\b))?",
    re.IGNORECASE,
)
_UNIT_WORD = re.compile(r"[ \-{(]{0,2}(°|[A-Za-zµμ°]{1,14})")
_UNITS = {
    "mm": "mm millimeter millimeters millimetre millimetres",
    "cm": "cm centimeter centimeters centimetre centimetres",
    "m": "m meter meters metre metres",
    "km": "km kilometer kilometers kilometre kilometres",
    "inch": "inch inches",
    "ft": "ft foot feet",
    "mile": "mi mile miles",
    "mg": "mg milligram milligrams",
    "g": "g gram grams gm",
    "kg": "kg kilogram kilograms",
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
}
_UNIT_OF = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings.split()}


class Quantity(msgspec.Struct, frozen=True):
    """A number as it was written."""

    value: float
    step: float
    """What the last written digit is worth: 0.01 for 12.50, 1 for 12, 10 for 1.2e2; 0 for a fraction."""
    decimals: bool
    """Whether digits stood behind a point."""
    percent: bool
    unit: str
    """The measuring unit right behind it, one name for all spellings; empty where it is none that we know."""
    start: int
    end: int


def plain_text(text: str, lone_one: bool = True) -> str:
    """A text in which every number is written in digits, on one line."""
    text = _VULGAR.sub(r" \1", text[-READ:])
    text = _RAISED.sub(lambda match: f"^{match[0].translate(_SUPERSCRIPT)}", text)
    text = composed(text)[-READ:].replace("⁄", "/").replace("−", "-")
    text = _TEX_FRACTION.sub(r"\1/\2", _TEX_NOISE.sub(lambda m: "%" if m[0] == r"\%" else "", text))
    return _MINUS.sub("-", digits_for_words(text, lone_one))


def unit_name(text: str) -> str:
    """One name for all spellings of a unit that we know."""
    return _UNIT_OF.get(text.strip().lower(), "")


def _quantity(match: re.Match[str], text: str) -> Quantity | None:
    step = 0.0
    try:
        if match["whole"]:
            value = float(match["whole"]) + float(match["top"]) / float(match["below"])
        elif match["upper"]:
            value = float(match["upper"]) / float(match["lower"])
        else:
            power = 10.0 ** int((match["e"] or match["power"] or "0").replace("−", "-"))
            value = float(match["plain"].replace(",", "")) * power
            step = 10.0 ** -len(match["plain"].partition(".")[2]) * power
    except (ZeroDivisionError, OverflowError):
        return None
    scale = SCALES[match["scale"].lower()] if match["scale"] else 1
    value, step = value * scale, step * scale
    if not math.isfinite(value):
        return None
    after = _UNIT_WORD.match(text, match.end())
    return Quantity(
        value=-value if match["sign"] and match["sign"] != "+" else value,
        step=step,
        decimals="." in (match["plain"] or ""),
        percent=bool(match["percent"]),
        unit=unit_name(after[1]) if after else "",
        start=match.start(),
        end=match.end(),
    )


def find_quantities(plain: str) -> list[Quantity]:
    """All numbers of a text that ``plain_text`` made, in order."""
    found = (_quantity(match, plain) for match in _NUMBER.finditer(plain))
    return [quantity for quantity in found if quantity]
