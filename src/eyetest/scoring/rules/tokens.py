"""Words, numbers and signs as they are compared: without case, accents, plural or the way a number is written.

Signs count, and so does their order: ``-3`` is not ``3``, ``2/3`` is not ``3/2``, ``10:15`` is not ``15:10``.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_TOKEN = re.compile(
    rf"[^\W\d_{_CJK}]+(?:'[^\W\d_]{{1,3}}(?![^\W\d_]))?|\d+(?:[.,]\d+)*|[{_CJK}]|\.\d+|[-–:/+=<>%°×÷√±≤≥≠≈∞∫∂π]"
)
_DASHES = frozenset("-–:/")
_ARTICLES = frozenset({"a", "an", "the", "and", "of", "at"})
_UNITS = ("zero", "-", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")  # fmt: skip
_TENS = {f"{word}ty": f"{n}0" for n, word in enumerate(["thir", "for", "fif", "six", "seven", "eigh", "nine"], 3)}
_NUMBERS = {word: str(n) for n, word in enumerate(_UNITS)} | _TENS
_SAME = {
    "gray": "grey", "colour": "color", "centre": "center", "metre": "meter", "centimetre": "centimeter",
    "kilometre": "kilometer", "litre": "liter", "yeah": "yes", "yep": "yes", "nope": "no", "feet": "foot",
    "percent": "%", "degree": "°", "deg": "°", "circ": "°", "times": "×", "cdot": "×", "pi": "π", "sqrt": "√",
    "infty": "∞", "approx": "≈", "omega": "ω", "ohm": "ω", "mu": "μ", "alpha": "α", "beta": "β", "gamma": "γ",
    "delta": "δ", "theta": "θ", "lambda": "λ", "sigma": "σ", "phi": "φ", "leq": "≤", "geq": "≥", "le": "≤",
    "ge": "≥", "neq": "≠", "pm": "±", "frac": "", "dfrac": "", "tfrac": "", "text": "", "mathrm": "",
    "cm": "centimeter", "km": "kilometer", "mm": "millimeter", "kg": "kilogram", "m": "meter", "n": "newton",
    "hr": "hour",     "min": "minute", "ml": "milliliter", "ft": "foot", "lb": "pound", "hz": "hertz",
}  # fmt: skip
"""Other spellings of one word; units are said in full as often as not."""
SIGNS = frozenset("+-<>×÷√±≤≥≠∞∫∂/:π")
"""Tokens by which a number beside them is a part of something larger."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


class Word(NamedTuple):
    """A token as compared, and where it stands."""

    form: str
    start: int
    end: int


@lru_cache(maxsize=50_000)
def fold(raw: str) -> str:
    """The form in which a token is compared; empty for one that never decides."""
    if raw[0].isdigit() or (raw[0] == "." and len(raw) > 1):
        return _number(raw)
    if not raw[0].isalpha():
        return raw.strip().replace("–", "-")
    word = raw.casefold()
    word = word[:-2] if word.endswith("'s") else word.replace("'", "")
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        word = unicodedata.normalize("NFC", word)
    word = _NUMBERS.get(word, _SAME.get(word, word))
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = f"{word[:-3]}y" if word.endswith("ies") and len(word) > 4 else word[:-1]
        word = word[:-1] if word.endswith(("sse", "xe", "che", "she")) else word
        word = _NUMBERS.get(word, _SAME.get(word, word))
    return word


def _number(raw: str) -> str:
    """``1,000``, ``1000`` and ``1000.0`` are one number; ``0,5`` is ``0.5``."""
    if "," in raw:
        groups = raw.split(".", maxsplit=1)[0].split(",")
        thousands = all(len(group) == 3 for group in groups[1:]) and groups[0] != "0"
        raw = raw.replace(",", "") if thousands else raw.replace(",", ".") if raw.count(",") == 1 else raw
    if "." in raw:
        raw = raw.rstrip("0").rstrip(".")
        raw = f"0{raw}" if raw[:1] == "." else raw
    return (raw.lstrip("0") or "0") if raw.isdigit() else raw.lstrip("0") if raw[:2].isdigit() else raw or "0"


def tokenise(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """The tokens that count between two offsets, folded; ``twenty-five`` is one number."""
    words: list[Word] = []
    tens = -1
    for token in _TOKEN.finditer(text, start, len(text) if end is None else end):
        raw = token.group()
        if raw in _DASHES and not _is_sign(text, token.start(), raw):
            continue
        form = fold(raw)
        if not form or (form in _ARTICLES and _is_article(text, token)):
            continue
        if words and len(words) == tens and len(form) == 1 and form.isdigit() and raw[0].isalpha():
            last = words[-1]
            words[-1] = Word(last.form[:-1] + form, last.start, token.end())
            continue
        words.append(Word(form, token.start(), token.end()))
        if form[-1] == "0" and raw[0].isalpha():
            tens = len(words)
    return words


def _is_sign(text: str, at: int, sign: str) -> bool:
    """Whether a dash is a minus, a colon a ratio and a stroke a fraction: what stands beside it decides."""
    before, after = text[max(0, at - 9) : at].rstrip(), text[at + 1 : at + 8]
    left, right = before[-1:], after.lstrip()[:1]
    if sign == ":":
        return left.isdigit() and right.isdigit()
    if sign == "/":
        return left.isdigit() or right.isdigit() or right in ("√", "(")
    if (left and (left.isdigit() or left in ")π%°")) or (left.isalpha() and before[-2:-1].isdigit()):
        return right.isalnum() or right in ("(", "√")
    if text[at - 1 : at].isalnum() or text[at - 1 : at] == ")":
        return False
    return (
        after[:1].isdigit()
        or after[:1] in (".", "√")
        or after.lstrip().startswith("sqrt")
        or (right.isdigit() and left in "=(,:<>" and left != "")
    )


def _is_article(text: str, token: re.Match[str]) -> bool:
    """Whether ``a``, ``an``, ``and`` … only join words: a capital letter alone may be a name."""
    return token.end() - token.start() > 1 or (
        text[token.start()] == "a" and text[token.end() : token.end() + 1] == " "
    )


def forms(text: str) -> tuple[str, ...]:
    """The folded tokens of a whole text; a leading capital ``A`` before a word is an article."""
    words = tokenise(text)
    if (
        len(words) > 1
        and text[words[0].start : words[0].end] == "A"
        and text[words[0].end : words[0].end + 2].strip().isalpha()
    ):
        words = words[1:]
    return tuple(word.form for word in words)


def stem(word: str) -> str:
    """A folded word without the endings of verbs, so that ``removing`` is ``remove``."""
    for ending in ("ing", "ed", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
