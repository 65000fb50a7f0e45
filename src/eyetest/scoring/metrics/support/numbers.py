r"""Numbers as people and models write them, found in a text.

Read are: thousands commas, decimals, signs (``-``, ``−``), fractions (``3/4``, ``1 1/2``, ``\frac{3}{4}``,
``½``), scientific notation (``1.2e5``, ``1.2 × 10^5``, ``1.2×10⁵``), percent, scales (``1.2 million``) and
words (``twenty-one``, ``three quarters``). Not read are digits that belong to a name or a unit: ``H2O``,
``cm^2``, ``x_1``.
"""

import math
import re

import msgspec

from eyetest.scoring.metrics.support.texts import composed

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
    units, at, sign = [], 0, ""
    while match := _FORM.match(text, at):
        name = unit_name(match["name"])
        if not name:
            return ""
        word = (match["power"] or match["after"] or "").rstrip(".")
        units.append(f"{sign}{name}{_POWERS.get(word) or match['raised'] or ''}")
        at = match.end()
        if at == len(text):
            return "".join(units[:1] + sorted(units[1:]))
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


_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_PART_NAMES = "third fourth fifth sixth seventh eighth ninth tenth"
_SMALL = {name: value for value, name in enumerate(_SMALL_NAMES.split())}
_TENS = {name: 10 * value for value, name in enumerate(_TENS_NAMES.split(), start=2)}
_PARTS = {name: value for value, name in enumerate(_PART_NAMES.split(), start=3)}
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS.update(quarter=4, half=2, hundredth=100, thousandth=1000)
_PARTS |= {f"{part}s": size for part, size in _PARTS.items()} | {"halves": 2}

_COUNTING = "|".join(sorted([*_SMALL, *_TENS, *SCALES], key=len, reverse=True))
_RUN = rf"(?:{'|'.join([*_SMALL, *_TENS])})\b(?:(?: and |[ -])(?:{_COUNTING})\b)*+"
_NAMED = "|".join(sorted(_PARTS, key=len, reverse=True))
_PATTERN = re.compile(
    rf"\b(?:(?P<whole>{_RUN}) and (?:a|one)[ -](?P<rest>half|third|quarter)\b"
    rf"|(?P<top>{_RUN}|a)[ -](?P<part>{_NAMED})\b|(?P<run>{_RUN})\b|(?P<half>half)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


def _values(run: str) -> list[int]:
    """The numbers that a run of number words says, one after another: ``one two`` is two numbers."""
    values: list[int] = []
    total = current = 0
    started, room = False, 0
    for word in _WORD.findall(run.lower()):
        if word == "and":
            continue
        if word in SCALES:
            current = max(current, 1) * SCALES[word]
            if word != "hundred":
                total, current = total + current, 0
            started, room = True, 100
            continue
        value = _SMALL.get(word, _TENS.get(word, 0))
        if started and value >= room:
            values.append(total + current)
            total = current = 0
        current += value
        started, room = True, 10 if word in _TENS else 0
    return [*values, total + current] if started else values


def _digits(match: re.Match[str]) -> str:
    if match["whole"]:
        return f"{' '.join(map(str, _values(match['whole'])))} 1/{_PARTS[match['rest'].lower()]}"
    if match["part"]:
        tops = [1] if match["top"].lower() == "a" else _values(match["top"])
        return f"{' '.join(map(str, tops))}/{_PARTS[match['part'].lower()]}"
    return " ".join(map(str, _values(match["run"]))) if match["run"] else "1/2"


def digits_for_words(text: str, lone_one: bool = True) -> str:
    """The same text with numbers in digits. Ordinals (``the third``) stay, but for parts (``one third``).

    ``the left one`` says no number: without ``lone_one`` a bare ``one`` stays a word.
    """
    return _PATTERN.sub(
        lambda match: match[0] if not lone_one and match[0].lower() == "one" else _digits(match), text
    )


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
    quantities = (_quantity(match, plain) for match in _NUMBER.finditer(plain))
    return [quantity for quantity in quantities if quantity]
