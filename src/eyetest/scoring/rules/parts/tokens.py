"""Words and numbers as they are compared: without case, accents, plural, articles or the way a number is written."""

import re
import unicodedata
from functools import lru_cache

import msgspec

_WORD = re.compile(
    r"\d+(?:[.,]\d+)*"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]"
    r"|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+(?:'[^\W\d_]{1,3}(?![^\W\d_]))?"
    r"|[+=<>%°×÷√±≤≥≠≈∞∫∂]"
    r"|(?<![^\W\d_])-|-(?![^\W\d_])"
)
_ARTICLES = frozenset({"a", "an", "the", "and", "of", "at"})
_NUMBERS = {
    word: str(n)
    for n, word in enumerate(
        [
            "zero",
            "-",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {
    f"{word}ty": str(n * 10)
    for n, word in zip(range(3, 10), ["thir", "for", "fif", "six", "seven", "eigh", "nine"], strict=True)
}
_TENS = {"20", "30", "40", "50", "60", "70", "80", "90"}
_SAME = {
    "gray": "grey", "colour": "color", "centre": "center", "metre": "meter", "centimetre": "centimeter",
    "kilometre": "kilometer", "millimetre": "millimeter", "litre": "liter", "millilitre": "milliliter", "yeah": "yes",
    "yep": "yes", "yup": "yes", "nope": "no", "nah": "no", "feet": "foot", "percent": "%", "degree": "°",
    "deg": "°", "circ": "°", "times": "×", "cdot": "×", "pi": "π", "sqrt": "√", "infty": "∞", "approx": "≈",
    "omega": "ω", "ohm": "ω", "mu": "μ", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "theta": "θ",
    "lambda": "λ", "sigma": "σ", "phi": "φ", "tau": "τ", "rho": "ρ", "epsilon": "ε", "eta": "η", "leq": "≤",
    "geq": "≥", "le": "≤", "ge": "≥", "neq": "≠", "pm": "±", "frac": "",
}  # fmt: skip
_SHORT = 3
_LED = re.compile(r"\s{1,20}[\w\"'(<$\\]")
_PREFIXES = re.compile(r"(?:ies|sses|xes|ches|shes|zes)$")


class Token(msgspec.Struct):
    """A word as compared, as written, and where it stands."""

    word: str
    raw: str
    start: int
    end: int


@lru_cache(maxsize=50_000)
def fold(raw: str) -> str:
    """The form in which a word is compared; empty for words that never decide."""
    if raw[0].isdigit():
        return fold_number(raw)
    if len(raw) == 1 and not raw.isalpha():
        return raw
    word = raw.casefold()
    word = word[:-2] if word.endswith("'s") else word.replace("'", "")
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        word = unicodedata.normalize("NFC", word)
    if word in _NUMBERS:
        return _NUMBERS[word]
    word = _SAME.get(word, word)
    return _singular(word) if len(word) > _SHORT else _SAME.get(word, word)


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif _PREFIXES.search(word):
        word = word[:-2]
    else:
        word = word[:-1]
    return _SAME.get(word, word)


def stem(word: str) -> str:
    """A folded word without the endings of verbs, so that ``removing`` is ``remove``."""
    for ending in ("ing", "ed", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT:
            return word[: -len(ending)]
    return word


def fold_number(raw: str) -> str:
    """``1,000``, ``1000`` and ``1000.0`` are one number; ``0,5`` is ``0.5``."""
    if "," in raw:
        groups = raw.split(".", maxsplit=1)[0].split(",")
        thousands = all(len(group) == 3 for group in groups[1:]) and groups[0] != "0"
        raw = raw.replace(",", "") if thousands else raw.replace(",", ".") if raw.count(",") == 1 else raw
    if "." in raw:
        raw = raw.rstrip("0").rstrip(".")
    return raw.lstrip("0") if len(raw) > 1 and raw.lstrip("0")[:1].isdigit() else raw


def spellings(word: str) -> set[str]:
    """How a folded word may be written in lower case; numbers and symbols aside."""
    plurals = {f"{word}s", f"{word}es", f"{word}'s", f"{word[:-1]}ies"}
    return {word, *plurals, *(other for other, same in _SAME.items() if same == word)}


def tokenise(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The words that count between two places, folded."""
    tokens: list[Token] = []
    for found in _WORD.finditer(text, start, len(text) if end is None else end):
        raw = found.group()
        word = fold(raw)
        if not word or (
            word in _ARTICLES and not (len(raw) == 1 and (raw.isupper() or not _LED.match(text, found.end())))
        ):
            continue
        if tokens and len(word) == 1 and word.isdigit() and raw[-1].isalpha() and _is_tens(tokens[-1]):
            last = tokens[-1]
            tokens[-1] = Token(str(int(last.word) + int(word)), f"{last.raw}-{raw}", last.start, found.end())
            continue
        tokens.append(Token(word, raw, found.start(), found.end()))
    return tokens


def _is_tens(token: Token) -> bool:
    return token.word in _TENS and token.raw[0].isalpha()


def words(text: str) -> tuple[str, ...]:
    """The folded words of a whole text. A leading capital ``A`` is an article here."""
    tokens = tokenise(text)
    if len(tokens) > 1 and tokens[0].raw == "A" and text[tokens[0].end : tokens[0].end + 2].strip().isalpha():
        tokens = tokens[1:]
    return tuple(token.word for token in tokens)
