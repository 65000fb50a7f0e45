r"""Numbers in texts, and units: thousands, fractions (``1 1/2``, ``\frac{3}{4}``, ``½``), powers of ten, percent,
scales (``1.2 million``), money, number words; not digits of a name or a unit (``H2O``, ``cm^2``, ``x_1``).
"""

import math
import re
from functools import lru_cache

import msgspec

from eyetest.text.folding import FLAT, MATH, RAISED, THIN_COMMA, VULGAR, composed, unworded, western_digits

_NAMES = {
    "mm": "mm millimeter millimetre", "cm": "cm centimeter centimetre", "m": "m meter metre",
    "km": "km kilometer kilometre", "µm": "μm µm micrometer micron", "inch": "inch inches", "ft": "ft foot feet",
    "yard": "yd yard", "mile": "mi mile", "mg": "mg milligram", "g": "g gram gm", "kg": "kg kilogram",
    "lb": "lb pound", "ml": "ml milliliter millilitre", "l": "l liter litre", "s": "s sec second",
    "min": "min minute", "h": "h hr hour", "day": "day", "week": "week", "month": "month", "year": "yr year",
    "degree": "° degree deg", "newton": "newton", "volt": "volt", "ampere": "ampere amp", "watt": "watt",
    "joule": "joule", "pascal": "pascal", "ohm": "ohm ω", "psi": "psi", "ksi": "ksi", "hp": "hp horsepower",
    "kip": "kip", "btu": "btu", "celsius": "celsius °c", "fahrenheit": "fahrenheit °f", "kelvin": "kelvin",
    "$": "$ dollar usd", "€": "€ euro eur", "£": "£ gbp", "¥": "¥ yen jpy", "₹": "₹ rupee inr", "cent": "cent ¢",
}  # fmt: skip
_SIGNS = {  # unit symbols in which a capital changes the meaning: mW is not MW
    "N": "newton", "kN": "kilonewton", "MN": "meganewton", "V": "volt", "mV": "millivolt", "kV": "kilovolt",
    "A": "ampere", "mA": "milliampere", "W": "watt", "mW": "milliwatt", "kW": "kilowatt", "MW": "megawatt",
    "J": "joule", "kJ": "kilojoule", "MJ": "megajoule", "Pa": "pascal", "kPa": "kilopascal", "MPa": "megapascal",
    "GPa": "gigapascal", "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz", "Ω": "ohm", "kΩ": "kiloohm",
    "K": "kelvin", "C": "celsius", "F": "farad", "L": "l",
}  # fmt: skip
_BASE: dict[str, tuple[str, float]] = {
    "mm": ("m", 1e-3), "cm": ("m", 1e-2), "km": ("m", 1e3), "µm": ("m", 1e-6), "inch": ("m", 0.0254),
    "ft": ("m", 0.3048), "yard": ("m", 0.9144), "mile": ("m", 1609.344), "mg": ("g", 1e-3), "kg": ("g", 1e3),
    "lb": ("g", 453.59237), "ml": ("l", 1e-3), "min": ("s", 60.0), "h": ("s", 3600.0), "day": ("s", 86400.0),
    "week": ("s", 604800.0), "year": ("month", 12.0), "ksi": ("psi", 1e3), "cent": ("$", 0.01),
}  # fmt: skip
_PREFIXES = {"milli": 1e-3, "kilo": 1e3, "mega": 1e6, "giga": 1e9}
_SCALES_OF_DEGREES = frozenset(("celsius", "fahrenheit"))
_UNIT_OF = {spelling: unit for unit, spellings in _NAMES.items() for spelling in spellings.split()}
_UNIT_OF |= {f"{name}s": unit for name, unit in _UNIT_OF.items() if len(name) > 1 and name.isascii()}
LETTERS = frozenset(sign for sign in (*_UNIT_OF, *_SIGNS) if len(sign) == 1)
_GENERIC = frozenset(("unit", "square unit", "sq unit", "cubic unit", "units^2", "units^3"))
_TEMPERATURE = re.compile(r" ?(?:°|degrees?\b) ?(?:(C|c)(?:elsius)?|(?:F|f)(?:ahrenheit)?)\b")
_FORM = re.compile(
    r"(?:(?P<power>square|sq\.?|cubic|cu\.?) )?(?P<name>[^\W\d_]{1,14}|[°$€£¥₹¢])"
    r"(?: ?\^? ?\{?(?P<raised>-?[23])\}?| (?P<after>squared|cubed))?"
)
_BETWEEN = re.compile(r" ?(?P<over>/|\bper\b|a(?= )) ?| ?[·⋅*×-] ?| ")
_POWERS = {"square": "2", "squared": "2", "cubic": "3", "cubed": "3", "sq": "2", "cu": "3"}
_FACTOR = re.compile(r"([/·]?)([^/·\d-]+)(-?\d)?")


def unit_name(text: str) -> str:
    """One name for all spellings of a known unit."""
    return _SIGNS.get(text.strip()) or _UNIT_OF.get(text.strip().lower(), "")


def unit_of(text: str) -> str:
    """The unit that a text is, with its powers and divisors; empty where it is unknown."""
    text = text.strip(" .,{}()")
    if text[:1] in "°d" and (degrees := _TEMPERATURE.fullmatch(text)):
        return "celsius" if degrees[1] else "fahrenheit"
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


def counted(text: str) -> str:
    """What a number counts, by the text after it: a known unit, ``unit``, or the words themselves."""
    plain = text.strip(" .").lower().removesuffix("s")
    return unit_of(text) or ("unit" if plain in _GENERIC or f"{plain}s" in _GENERIC else plain)


def agrees(one: str, other: str) -> bool:
    """Whether two units are compatible: one is missing or generic, both are the same, or one is vague."""
    if not one or not other or "unit" in (one, other) or one.replace(" ", "") == other.replace(" ", ""):
        return True
    return {one, other} == {"£", "lb"} or ("degree" in (one, other) and bool(_SCALES_OF_DEGREES & {one, other}))


def in_base_units(value: float, unit: str) -> tuple[float, str]:
    """A value in basic units, and their dimension."""
    if unit in _SCALES_OF_DEGREES:
        return (value + 273.15 if unit == "celsius" else (value - 32) / 1.8 + 273.15), "kelvin1"
    powers = dict[str, int]()
    for over, name, power in _FACTOR.findall(unit):
        base, size = _BASE.get(name, (name, 1.0))
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
        if prefix and name not in _BASE:
            base, size = name.removeprefix(prefix), _PREFIXES[prefix]
        raised = (int(power) if power else 1) * (-1 if over == "/" else 1)
        value *= size**raised
        powers[base] = powers.get(base, 0) + raised
    return value, " ".join(f"{base}{power}" for base, power in sorted(powers.items()) if power)


_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {name: 10 * value for value, name in enumerate(_TENS_NAMES.split(), start=2)}
NUMBER_WORDS = {name: value for value, name in enumerate(_SMALL_NAMES.split())} | _TENS
_PART_NAMES = "third fourth fifth sixth seventh eighth ninth tenth"
_PARTS = {name: value for value, name in enumerate(_PART_NAMES.split(), start=3)}
_PARTS.update(quarter=4, half=2, hundredth=100, thousandth=1000)
_PARTS |= {f"{part}s": size for part, size in _PARTS.items()} | {"halves": 2}
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "b": 10**9, "bn": 10**9}

_COUNTING = "|".join(sorted([*NUMBER_WORDS, *_SCALES], key=len, reverse=True))
_RUN = rf"(?:{'|'.join(NUMBER_WORDS)})\b(?:(?: and |[ -])(?:{_COUNTING})\b)*"
_NAMED = "|".join(sorted(_PARTS, key=len, reverse=True))
_IN_WORDS = re.compile(
    r"\b(?=a[ -]|half|ze|on|tw|th|fo|fi|si|se|ei|ni|te|el)"  # most words are none: this is seen at once
    rf"(?:(?P<whole>{_RUN}) and (?:a|one)[ -](?P<rest>half|third|quarter)\b"
    rf"|(?P<top>{_RUN}|a)[ -](?P<part>{_NAMED})\b|(?P<run>{_RUN})\b|(?P<half>half)\b)",
    re.IGNORECASE,
)
_LETTERS_ONLY = re.compile(r"[a-z]+", re.IGNORECASE)


def _values(run: str) -> list[int]:
    """The values of a run of number words, in order: ``one two`` is two numbers."""
    values: list[int] = []
    total = current = 0
    started, below = False, 0
    for word in _LETTERS_ONLY.findall(run.lower()):
        if word == "and":
            continue
        if word in _SCALES:
            current = max(current, 1) * _SCALES[word]
            if word != "hundred":
                total, current = total + current, 0
            started, below = True, 100
            continue
        value = NUMBER_WORDS[word]
        if started and value >= below:
            values.append(total + current)
            total = current = 0
        current += value
        started, below = True, 10 if word in _TENS else 0
    return [*values, total + current] if started else values


def _digits(match: re.Match[str]) -> str:
    if match["whole"]:
        return f"{' '.join(map(str, _values(match['whole'])))} 1/{_PARTS[match['rest'].lower()]}"
    if match["part"]:
        tops = [1] if match["top"].lower() == "a" else _values(match["top"])
        return f"{' '.join(map(str, tops))}/{_PARTS[match['part'].lower()]}"
    return " ".join(map(str, _values(match["run"]))) if match["run"] else "1/2"


def digits_for_words(text: str, lone_one: bool = True) -> str:
    """The text with numbers in digits; ordinals stay, and without ``lone_one`` a bare ``one``."""
    return _IN_WORDS.sub(lambda m: m[0] if not lone_one and m[0].lower() == "one" else _digits(m), text)


READ = 20_000  # only the last so many characters of an answer are searched for numbers: its conclusion is at its end

_TEX_FRACTION = re.compile(r"\\[dt]?frac ?(?:\{ ?(-?[0-9.]+) ?\}|([0-9])) ?(?:\{ ?([0-9.]+) ?\}|([0-9]))")
_TEX_MIXED = re.compile(r"([0-9]) ?(?=\\[dt]?frac ?\{? ?[0-9])")
_TEX_NOISE = re.compile(r"\\(?:,|;|!|quad\b|left\b|right\b|(?:text|mathrm|mathbf|rm|mbox)\b ?\{?|[()\[\]$%])")
_DEGREE = re.compile(r"\$?\^ ?(?:\{ ?\\circ ?\}|\\circ(?![a-z]))\$?")
_CLOSING_DOLLAR = re.compile(r"(?<=[0-9}%])\$")
# A minus separated from its number by a blank; at the beginning of a line it may be a bullet.
_APART = re.compile(r"(\\[(\[]|[=≈({\[]|\$|\b(?:is|equals|answer:?)) ?[-−] (?=[0-9.\\])")
_MINUS = re.compile(r"(?i)\b(?:minus|negative) (?=[0-9.])")

_PLAIN = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})++(?![0-9])|[0-9]++)(?:\.[0-9]++)?|\.[0-9]++"
_NUMBER = re.compile(
    rf"(?<![A-Za-z_^0-9.])(?P<sign>(?<![0-9)\]}}])[-−–+](?=[$€£¥₹.0-9]))?(?P<money>[$€£¥₹])?"
    rf"(?:(?P<whole>[0-9]++) (?P<top>[0-9]++)/(?P<below>[0-9]++)(?![/0-9])"
    rf"|(?P<upper>[0-9]++(?:\.[0-9]++)?) ?/ ?(?P<lower>[0-9]++(?:\.[0-9]++)?)(?! ?[/0-9])"
    rf"|(?P<plain>{_PLAIN})"
    r"(?:e(?P<e>[-+]?[0-9]{1,3})(?![0-9A-Za-z])"
    r"| ?(?:×|\\times|\\cdot|[x*·⋅]) ?10 ?(?:\^|\*\*) ?[({]? ?(?P<power>[-+−]?[0-9]{1,3}) ?[)}]?)?)"
    rf"(?: (?P<scale>{'|'.join(_SCALES)})\b|(?P<short>(?<=[0-9])(?:k|m|bn?)\b))?+"
    r"(?P<percent> ?(?:%|percent\b|per cent\b))?",
    re.IGNORECASE,
)
_UNIT_WORD = re.compile(r"[ \-{(]{0,2}(?:(?:square|cubic|sq|cu)\.? )?([°¢]|[A-Za-zµμΩ]{1,14})")
_COMPOUND = re.compile(
    r"[ \-{(]{0,2}((?:(?:square|cubic|sq|cu)\.? )?(?:°|[A-Za-zµμΩ]{1,14})(?:\^?\{?-?[23]\}?)?"
    r"(?: ?(?:[/·⋅*]|per ) ?[A-Za-zµμΩ]{1,14}(?:\^?\{?-?[23]\}?)?){0,2})"
)
_FUNCTION = (
    r"\\(?:pi|[dtc]?frac|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|binom|cdot|times|div|pm|mp|theta|alpha|beta|gamma|lambda|phi|"
    r"omega|rho|sigma)(?![A-Za-z])"
)
_NO_UNIT = rf"(?![{''.join(sorted(letter for letter in LETTERS if letter.isalpha()))}])[A-Za-z]"
_GOES_ON = re.compile(
    rf" ?(?:{_FUNCTION}|[π√^±]|[+×·⋅÷] ?[-0-9($.√π\\]|\*\*?[0-9(]| \* [0-9(]|/ ?[(\\√π]|- [0-9($√π\\]|: [0-9])"
    rf"|{_NO_UNIT}(?![A-Za-z0-9Ω])| (?![aI]){_NO_UNIT}(?![A-Za-z0-9'Ω])| ?[A-Za-z]{{1,12}} ?[+×÷] ?[0-9(\\]"
    r"|[-–:][0-9]| ?[-+*/] ?(?:sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt)(?![a-z])"
    r"| (?:to|through) [-$]?[0-9](?!\d* (?:decimal|significant|places|d\.p))"
)  # how a formula, a ratio or a range goes on behind a number
_WENT_ON = re.compile(
    r"(?:\}\{|[0-9A-Za-zπ)\]}%] ?[+×·⋅÷] ?|[0-9)\]}] ?[/^] ?|[0-9)\]}](?:\*| \* )|[0-9)\]}π]:|[0-9)\]}] : "
    r"|[0-9)\]}πA-Za-z]-|[0-9)\]}π%] - "
    rf"|(?:{_FUNCTION}(?:_\{{?\w{{1,4}}\}}?)?|√|\^|_|±) ?[({{\[]?|[0-9] to )[$(]?$"
)  # how a formula, a ratio or a range begins before one
_BEFORE = 16


class Quantity(msgspec.Struct, frozen=True):
    """A number as it was written."""

    value: float
    step: float = 0.0  # value of one in the last written digit: 0.01 for 12.50, 10 for 1.2e2; 0 for a fraction
    decimals: bool = False
    percent: bool = False
    unit: str = ""
    start: int = 0
    end: int = 0


def _fraction_with_slash(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]}/{match[3] or match[4]}"


def plain_text(text: str, lone_one: bool = True) -> str:
    """A text in which every number is written in digits, on one line."""
    text = VULGAR.sub(r" \1", western_digits(text[-READ:]))
    text = RAISED.sub(lambda match: f"^{match[0].translate(FLAT)}", text)
    text = composed(text)[-READ:].replace("⁄", "/").replace("−", "-")
    text = _APART.sub(r"\1 -", text)
    if "\\" in text:
        text = THIN_COMMA.sub(",", text)
        text = unworded(_DEGREE.sub("°", text))
        text = _TEX_NOISE.sub(lambda m: "%" if m[0] == r"\%" else "", text)
        text = _TEX_FRACTION.sub(_fraction_with_slash, _TEX_MIXED.sub(r"\1 ", text))
    if "$" in text:
        text = _CLOSING_DOLLAR.sub("", MATH.sub(r"\1", text))
    return _MINUS.sub("-", digits_for_words(text.replace("{,}", ","), lone_one))


def is_part(plain: str, quantity: Quantity) -> bool:
    r"""Whether a number is only a part of an expression: of ``18\pi``, ``8 - 6``, ``1:3``, ``5x``, ``6 to 8``."""
    before = plain[max(0, quantity.start - _BEFORE) : quantity.start]
    return _GOES_ON.match(plain, quantity.end) is not None or _WENT_ON.search(before) is not None


def _unit(plain: str, at: int) -> str:
    if plain.startswith(("°", " °", " d"), at) and (degrees := _TEMPERATURE.match(plain, at)):
        return "celsius" if degrees[1] else "fahrenheit"
    whole = _COMPOUND.match(plain, at)
    if whole and (unit := unit_of(whole[1])):
        return unit
    word = _UNIT_WORD.match(plain, at)
    return unit_name(word[1]) if word else ""


def _quantity(match: re.Match[str], text: str) -> Quantity | None:
    step, end, scale = 0.0, match.end(), 1
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
    if match["scale"]:
        scale = _SCALES[match["scale"].lower()]
    elif match["short"] and match["money"]:
        scale = _SHORT_SCALES[match["short"].lower()]
    elif match["short"]:
        end = match.start("short")  # 5m may be metres
    value, step = value * scale, step * scale
    if not math.isfinite(value):
        return None
    value = -value if match["sign"] and match["sign"] != "+" else value
    unit, decimals = _unit(text, end) or match["money"] or "", "." in (match["plain"] or "")
    return Quantity(value, step, decimals, bool(match["percent"]), unit, match.start(), end)


def find_quantities(plain: str) -> list[Quantity]:
    """All numbers of a text that ``plain_text`` made, in order."""
    quantities = (_quantity(match, plain) for match in _NUMBER.finditer(plain))
    return [quantity for quantity in quantities if quantity]


_INTERVAL = re.compile(r"\[[^\[\](){}]{3,100}\)|\([^\[\](){}]{3,100}\]")
_UNIT_TAIL = re.compile(r"(?: ?[^\W\d][^\s,;:]{0,20}| ?(?:[°%/^²³·*¢€£¥₹]|-(?=[a-z]))[^\s,;:]{0,10}){0,4}[ .$)}\]]*")
_LEAD = re.compile(r"(?:(?P<label>[A-Za-z]{1,3}) ?[=≈:]|[~≈≤≥<>$€£¥₹({\[ ])*")
_NAMED_VALUE = r"(?:[A-Za-z](?:_\{?[A-Za-z0-9]\}?|[₀-₉0-9])?\s?=\s?)?"
_LISTED = re.compile(
    rf"[\s,;]*+(?:(?:and|und|et|e|y|i|và|dan|ve|och|og|en|oraz|и|і|та)\b|&|和|与|與|と|、|및|و)?[\s,;]*+{_NAMED_VALUE}"
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th|(?<=[0-9]{3}0)s)\b", re.IGNORECASE)
_GROUPED = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+(?=,\d)|\d{1,3}(?: \d{3})+)(?:,(\d+))?(?![\d.,]|/| /)"
)  # thousands parted by points or blanks, decimals by a comma


LISTED_DECIMAL = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d,]|\.\d)")  # where ``;`` parts a list: ``1,5; 2``


class NumberReading(msgspec.Struct, frozen=True):
    """A text that is one number: the number, the words behind it, and the name before it (``x`` of ``x = 5``)."""

    quantity: Quantity
    tail: str = ""
    label: str = ""


@lru_cache(maxsize=50_000)
def read_measure(text: str) -> NumberReading | None:
    """The number that a text is, with or without a unit; None where it is something else (``Figure 5``)."""
    plain = _GROUPED.sub(lambda m: re.sub("[. ]", "", m[1]) + (f".{m[2]}" if m[2] else ""), plain_text(text))
    quantities = find_quantities(plain)
    if len(quantities) != 1:
        return None
    quantity = quantities[0]
    lead = _LEAD.fullmatch(plain[: quantity.start])
    if not lead or _ORDINAL.match(plain, quantity.end):
        return None
    if is_part(plain, quantity) or not _UNIT_TAIL.fullmatch(plain, quantity.end):
        return None
    return NumberReading(quantity, plain[quantity.end :].strip(" .$)}]"), lead["label"] or "")


def read_number(text: str) -> Quantity | None:
    """The number that a text is; None where it is something else."""
    return measure.quantity if (measure := read_measure(text)) else None


def is_interval(text: str) -> bool:
    """Whether a text has an interval that is open on one side: ``[1, 3)``."""
    return _INTERVAL.search(text) is not None


def read_numbers(text: str) -> list[Quantity]:
    """The numbers of a text that is nothing but a list of them; none where it is something else."""
    plain = plain_text(text).strip(" .")
    if _INTERVAL.fullmatch(plain):
        return []
    plain = plain.strip(" .[](){}")
    if ";" in plain:
        plain = LISTED_DECIMAL.sub(r"\1.\2", plain)
    quantities = find_quantities(plain)
    edges = [0, *(edge for quantity in quantities for edge in (quantity.start, quantity.end)), len(plain)]
    gaps = (plain[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    return quantities if len(quantities) > 1 and all(map(_LISTED.fullmatch, gaps)) else []
