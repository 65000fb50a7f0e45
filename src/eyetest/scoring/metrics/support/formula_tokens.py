r"""The signs of a formula, whatever it is dressed in: TeX, Unicode, HTML or plain letters."""

import re

import msgspec

from eyetest.scoring.metrics.support.texts import composed

LONGEST = 1_000
"""A longer text is no formula that anybody would write as an answer."""

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron", "ρ": "rho",
    "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_SAME_SYMBOL = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi"}
_SYMBOLS = frozenset((*_GREEK.values(), *_SAME_SYMBOL))
FUNCTIONS = frozenset(
    ("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "log",
     "lg", "exp")
)  # fmt: skip
INVERSES = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
CONSTANTS = {"π": "pi", "∞": "infinity", "infty": "infinity", "infinity": "infinity"}
_CONSTANT_NAMES = frozenset(("pi", "infty", "infinity", "e", "i", "π", "∞"))
_JOINING = frozenset(("and", "or"))

_KINDS = {
    "times": "*", "cdot": "*", "ast": "*", "×": "*", "·": "*", "⋅": "*", "∗": "*", "*": "*", "div": "/", "÷": "/",
    "/": "/", "pm": "pm", "±": "pm", "mp": "pm", "le": "≤", "leq": "≤", "leqslant": "≤", "≤": "≤", "ge": "≥",
    "geq": "≥", "geqslant": "≥", "≥": "≥", "lt": "<", "gt": ">", "<": "<", ">": ">", "ne": "≠", "neq": "≠", "≠": "≠",
    "approx": "≈", "≈": "≈", "simeq": "≈", "sim": "≈", "equiv": "=", "in": "∈", "∈": "∈", "cup": "∪", "∪": "∪",
    "circ": "degree", "degree": "degree", "°": "degree", "%": "%", "lvert": "|", "rvert": "|", "vert": "|", "|": "|",
    "mid": "|", "langle": "(", "rangle": ")", "lbrace": "\\{", "rbrace": "\\}", "{": "\\{", "}": "\\}",
    "frac": "frac", "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "sqrt": "sqrt", "√": "sqrt", "binom": "binom",
    "colon": ":", "∶": ":",
}  # fmt: skip
_PLAIN = frozenset("+-^_()[]{}=,;:!")
_WORDED = r"\\(?:text|mathrm|textrm|mathbf|textbf|textit|mathit|rm|bf|mbox|operatorname|mathcal|mathsf)\b\*?"
_WORDS = re.compile(rf"{_WORDED}\s?\{{([^{{}}]*)\}}")
_DRESSING = re.compile(
    r"\\(?:[,;:!>]|quad\b|qquad\b|displaystyle\b|(?:left|right|big|Big|bigg|Bigg)(?![A-Za-z])\.?|limits\b|[()\[\]])"
    r"|[$~`]|\\ |\*\*+|"
    r"</?(?:b|i|em|strong|span)>"
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+")
_LOWERED = re.compile("[₀-₉]+")
_FLAT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ₀₁₂₃₄₅₆₇₈₉", "0123456789-+n0123456789")
_HTML = re.compile(r"<(su[pb])>([^<>]{1,40})</\1>")
_VULGAR = re.compile("(?<=[0-9])([¼½¾⅐-⅞])")
_TIMES_TEN = re.compile(r"(?<=[0-9a-zA-Zπ}])\s?[xX]\s?(?=10\s?\^)")
_DEGREE = re.compile(r"\^\s?(?:\{\s?\\circ\s?\}|\\circ\b|\{\s?°\s?\}|°)|\{\s?\}\^\s?\\circ\b")
_PROSE = re.compile(r"\s\$?\s?[A-Za-z]")
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3}(?![0-9A-Za-z]))?|\.[0-9]+)"
    rf"|(?P<worded>{_WORDED}\s?\{{(?P<words>[^{{}}]*)\}})"
    r"|\\(?P<command>[A-Za-z]+|[{}%|])"
    r"|(?P<letters>[A-Za-z]+(?:'[a-z]+)?)"
    r"|(?P<sign>[^\sA-Za-z0-9\\])"
)


class FormulaToken(msgspec.Struct, frozen=True):
    """A sign, and where it stands in the undressed text."""

    kind: str
    text: str
    start: int
    end: int
    glued: bool = False
    """Whether no blank stands before it."""


def undressed(text: str) -> str:
    """A text without what only sets type: dollar signs, thin spaces, bold; raised signs become powers."""
    text = _HTML.sub(lambda m: f"{'^' if m[1] == 'sup' else '_'}{{{m[2]}}}", text)
    if text.count("**") == 1:
        text = re.sub(r"(?<=[0-9A-Za-z)])\*\*(?=[0-9A-Za-z(])", "^", text)
    text = _VULGAR.sub(r" \1", text)
    text = _RAISED.sub(lambda m: f"^{{{m[0].translate(_FLAT)}}}", text)
    text = _LOWERED.sub(lambda m: f"_{{{m[0].translate(_FLAT)}}}", text)
    text = composed(text).replace("⁄", "/").replace("−", "-").replace("–", "-").replace("{,}", ",")
    text = _DEGREE.sub("°", _DRESSING.sub(lambda m: "" if m[0][1:2] in tuple("!rlbB") else " ", text))
    return _TIMES_TEN.sub(" × ", text)


def unworded(text: str) -> str:
    r"""A text with the words themselves in place of ``\text{words}``."""
    return _WORDS.sub(r"\1", text)


def tokenise(plain: str) -> list[FormulaToken] | None:
    """The signs of an undressed text; None where it has one that no formula has, or is far too long."""
    if len(plain) > LONGEST:
        return None
    tokens: list[FormulaToken] = []
    end = 0
    for match in _TOKEN.finditer(plain):
        if match.start() != end:
            return None
        end = match.end()
        if match["space"]:
            continue
        glued = bool(tokens) and tokens[-1].end == match.start()
        tokens.extend(_tokens(match, plain, glued))
    return tokens if end == len(plain) else None


def _tokens(match: re.Match[str], plain: str, glued: bool) -> list[FormulaToken]:  # noqa: PLR0911 (one a kind)
    start, end = match.span()
    if match["number"]:
        return [FormulaToken("number", match["number"].replace(",", ""), start, end, glued)]
    if match["worded"]:
        words = match["words"].strip()
        if words in FUNCTIONS:
            return [FormulaToken("function", words, start, end, glued)]
        return [FormulaToken(words if words in _JOINING else "word", words, start, end, glued)]
    if command := match["command"]:
        return [_named(command, start, end, glued) or FormulaToken("unknown", command, start, end, glued)]
    if letters := match["letters"]:
        return _letters(letters, start, plain, glued)
    sign = match["sign"]
    if sign in _GREEK:
        return [FormulaToken("symbol", _GREEK[sign], start, end, glued)]
    if sign in _PLAIN:
        return [FormulaToken(sign, sign, start, end, glued)]
    return [_named(sign, start, end, glued) or FormulaToken("unknown", sign, start, end, glued)]


def _named(name: str, start: int, end: int, glued: bool) -> FormulaToken | None:
    if name in _KINDS:
        return FormulaToken(_KINDS[name], name, start, end, glued)
    if name in FUNCTIONS:
        return FormulaToken("function", name, start, end, glued)
    if name in _CONSTANT_NAMES:
        return FormulaToken("constant", name, start, end, glued)
    if name in _SYMBOLS:
        return FormulaToken("symbol", _SAME_SYMBOL.get(name, name), start, end, glued)
    return None


def _letters(letters: str, start: int, plain: str, glued: bool) -> list[FormulaToken]:
    """A word, or a product of letters: ``mgh``. Three in a row are one only beside another sign of a formula."""
    end = start + len(letters)
    if letters in _JOINING:
        return [FormulaToken(letters, letters, start, end, glued)]
    if (name := letters.lower() if letters.lower() in FUNCTIONS else letters) in FUNCTIONS or letters in (
        "pi",
        "sqrt",
    ):
        token = _named(name, start, end, glued)
        return [token] if token else []
    touched = (
        plain[start - 1 : start].isdigit()
        or plain[start - 1 : start] in ("}", ")")
        or plain[end : end + 1] in ("^", "_")
    )
    in_prose = len(letters) > 1 and not glued and (start > 0 or _PROSE.match(plain, end) is not None)
    if len(letters) > 3 or (len(letters) == 3 and not touched) or in_prose:
        return [FormulaToken("word", letters, start, end, glued)]
    single = [(letter, start + offset) for offset, letter in enumerate(letters)]
    return [
        FormulaToken("constant" if letter in _CONSTANT_NAMES else "symbol", letter, at, at + 1, glued or at > start)
        for letter, at in single
    ]
