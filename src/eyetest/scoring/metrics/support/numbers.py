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
from eyetest.scoring.metrics.support.units import LETTERS, unit_name, unit_of

READ = 20_000
"""Only the last so many characters of an answer are searched for numbers: what it concludes stands at its end."""

_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_VULGAR = re.compile("(?<=[0-9])([¼½¾⅐-⅞])")
_TEX_FRACTION = re.compile(r"\\[dt]?frac ?\{ ?(-?[0-9.]+) ?\} ?\{ ?([0-9.]+) ?\}")
_TEX_MIXED = re.compile(r"([0-9]) ?(?=\\[dt]?frac ?\{ ?[0-9])")
_TEX_WORDS = re.compile(r"\\(?:text|mathrm|mathbf|textbf|rm|mbox)\b ?\{([^{}]*)\}")
_TEX_NOISE = re.compile(r"\\(?:,|;|!|quad\b|left\b|right\b|(?:text|mathrm|mathbf|rm|mbox)\b ?\{?|[()\[\]$%])")
_DEGREE = re.compile(r"\$?\^ ?\{? ?\\circ ?\}?\$?")
_CLOSING_DOLLAR = re.compile(r"(?<=[0-9}%])\$")
_APART = re.compile(r"(\\[(\[]|[=≈({\[]|\$|\b(?:is|equals|answer:?)) ?[-−] (?=[0-9.\\])")
"""A minus that a blank keeps from its number; at the beginning of a line it may be a bullet."""
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
_UNIT_WORD = re.compile(r"[ \-{(]{0,2}(?:(?:square|cubic|sq|cu)\.? )?(°|[A-Za-zµμΩ]{1,14})")
_COMPOUND = re.compile(
    r"[ \-{(]{0,2}((?:(?:square|cubic|sq|cu)\.? )?(?:°|[A-Za-zµμΩ]{1,14})(?:\^?\{?-?[23]\}?)?"
    r"(?: ?(?:[/·⋅*]|per ) ?[A-Za-zµμΩ]{1,14}(?:\^?\{?-?[23]\}?)?){0,2})"
)
_FUNCTION = (
    r"\\(?:pi|[dtc]?frac|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|binom|cdot|times|div|pm|mp|theta|alpha|beta|gamma|lambda|phi|"
    r"omega|rho|sigma)(?![A-Za-z])"
)
_NO_UNIT = rf"(?![{''.join(sorted(LETTERS - {'°'}))}])[A-Za-z]"
_GOES_ON = re.compile(
    rf" ?(?:{_FUNCTION}|[π√^±]|[+×·⋅÷] ?[-0-9($.√π\\]|\*\*?[0-9(]| \* [0-9(]|/ ?[(\\√π]|- [0-9($√π\\]|: [0-9])"
    rf"|{_NO_UNIT}(?![A-Za-z0-9])| (?![aI]){_NO_UNIT}(?![A-Za-z0-9'])| ?[A-Za-z]{{1,12}} ?[+×÷] ?[0-9(\\]|[-–:][0-9]"
    r"| (?:to|through) [-$]?[0-9](?!\d* (?:decimal|significant|places|d\.p))"
)
"""How a formula, a ratio or a range goes on behind a number."""
_WENT_ON = re.compile(
    r"(?:[0-9A-Za-zπ)\]}%] ?[+×·⋅÷] ?|[0-9)\]}] ?[/^] ?|[0-9)\]}](?:\*| \* )|[0-9)\]}π]:|[0-9)\]}] : "
    r"|[0-9)\]}πA-Za-z]-|[0-9)\]}π%] - "
    rf"|(?:{_FUNCTION}(?:_\{{?\w{{1,4}}\}}?)?|√|\^|_|±) ?[({{\[]?|[0-9] to )[$(]?$"
)
"""How a formula, a ratio or a range begins before one."""
_BEFORE = 16


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
    text = _APART.sub(r"\1 -", text)
    if "\\" in text:
        text = _TEX_WORDS.sub(r"\1", _DEGREE.sub("°", text))
        text = _TEX_NOISE.sub(lambda m: "%" if m[0] == r"\%" else "", text)
        text = _TEX_FRACTION.sub(r"\1/\2", _TEX_MIXED.sub(r"\1 ", text))
    text = _CLOSING_DOLLAR.sub("", text.replace("{,}", ","))
    return _MINUS.sub("-", digits_for_words(text, lone_one))


def is_part(plain: str, quantity: "Quantity") -> bool:
    r"""Whether a number is only a part of what stands there: of ``18\pi``, ``8 - 6``, ``1:3``, ``5x``, ``6 to 8``."""
    before = plain[max(0, quantity.start - _BEFORE) : quantity.start]
    return _GOES_ON.match(plain, quantity.end) is not None or _WENT_ON.search(before) is not None


def _unit(plain: str, at: int) -> str:
    """The unit right behind a number."""
    whole = _COMPOUND.match(plain, at)
    if whole and (unit := unit_of(whole[1])):
        return unit
    word = _UNIT_WORD.match(plain, at)
    return unit_name(word[1]) if word else ""


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
    return Quantity(
        value=-value if match["sign"] and match["sign"] != "+" else value,
        step=step,
        decimals="." in (match["plain"] or ""),
        percent=bool(match["percent"]),
        unit=_unit(text, match.end()),
        start=match.start(),
        end=match.end(),
    )


def find_quantities(plain: str) -> list[Quantity]:
    """All numbers of a text that ``plain_text`` made, in order."""
    found = (_quantity(match, plain) for match in _NUMBER.finditer(plain))
    return [quantity for quantity in found if quantity]
