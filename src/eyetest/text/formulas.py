"""Formulas in TeX, Unicode or plain letters, parsed as trees of tuples, ``("add", a, b)``, wholly or not at all."""

import re

import msgspec

from eyetest.text.folding import GREEK, LONGEST, WORDED

Tree = tuple[object, ...]

DEEPEST = 60
MOST_TOKENS = 300

_SAME_SYMBOL = {
    "varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varnothing": "emptyset", "∅": "emptyset",
    "emptyset": "emptyset",
}  # fmt: skip
_SYMBOLS = frozenset((*GREEK.values(), *_SAME_SYMBOL))
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
    "colon": ":", "∶": ":", "lfloor": "⌊", "rfloor": "⌋", "⌊": "⌊", "⌋": "⌋", "lceil": "⌈", "rceil": "⌉", "⌈": "⌈",
    "⌉": "⌉",
}  # fmt: skip
_PLAIN = frozenset("+-^_()[]{}=,;:!")
_PROSE = re.compile(r"\s\$?\s?[A-Za-z]")
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3}(?![0-9A-Za-z]))?|\.[0-9]+)"
    rf"|(?P<worded>{WORDED})"
    r"|\\(?P<command>[A-Za-z]+|[{}%|])"
    r"|(?P<letters>[A-Za-z]+(?:'[a-z]+)?)"
    r"|(?P<sign>[^\sA-Za-z0-9\\])"
)


class FormulaToken(msgspec.Struct, frozen=True):
    """A token, and its position in the undressed text."""

    kind: str
    text: str
    start: int
    glued: bool = False  # whether no blank precedes it


def tokenise(plain: str) -> list[FormulaToken] | None:
    """The tokens of an undressed text; None where it has one that no formula has, or is far too long."""
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
        glued = bool(tokens) and not plain[match.start() - 1].isspace()
        tokens.extend(_tokens(match, plain, glued))
    return tokens if end == len(plain) else None


def _tokens(match: re.Match[str], plain: str, glued: bool) -> list[FormulaToken]:
    if letters := match["letters"]:
        return _letters(letters, match.start(), plain, glued)
    if match["number"]:
        kind, text = "number", match["number"].replace(",", "")
    elif match["worded"]:
        text = match["words"].strip()
        kind = "function" if text in FUNCTIONS else text if text in _JOINING else "word"
    elif match["sign"] and match["sign"] in _PLAIN:
        kind = text = match["sign"]
    else:
        kind, text = _named(match["command"] or match["sign"])
    return [FormulaToken(kind, text, match.start(), glued)]


def _named(name: str) -> tuple[str, str]:
    if name in GREEK or name in _SYMBOLS:
        return "symbol", GREEK.get(name) or _SAME_SYMBOL.get(name, name)
    kind = "function" if name in FUNCTIONS else "constant" if name in _CONSTANT_NAMES else _KINDS.get(name, "unknown")
    return kind, name


def _letters(letters: str, start: int, plain: str, glued: bool) -> list[FormulaToken]:
    """A word, or a product of letters: ``mgh``. Three in a row are one only beside another token of a formula."""
    end = start + len(letters)
    if letters in _JOINING:
        return [FormulaToken(letters, letters, start, glued)]
    name = letters.lower() if letters.lower() in FUNCTIONS else letters
    if name in FUNCTIONS or name in ("pi", "sqrt"):
        return [FormulaToken(_named(name)[0], name, start, glued)]
    before, after = plain[start - 1 : start], plain[end : end + 1]
    touched = before.isdigit() or before in ("}", ")") or after in ("^", "_")
    in_prose = len(letters) > 1 and not glued and (start > 0 or _PROSE.match(plain, end) is not None)
    if len(letters) > 3 or (len(letters) == 3 and not touched) or in_prose:
        return [FormulaToken("word", letters, start, glued)]
    kinds = ("constant" if letter in _CONSTANT_NAMES else "symbol" for letter in letters)
    return [FormulaToken(kind, letters[at], start + at, glued or at > 0) for at, kind in enumerate(kinds)]


_SUMS = {"+": "add", "-": "sub", "pm": "pm"}
_PRODUCTS = {"*": "mul", "/": "div"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|", "\\{": "\\}", "⌊": "⌋", "⌈": "⌉"}
_ENCLOSING = {"|": "abs", "⌊": "floor", "⌈": "ceil"}
_BEGINS = frozenset(("number", "symbol", "constant", "function", "frac", "sqrt", "binom", "⌊", "⌈"))
_BRACKETS = ("(", "[", "{")
_END = FormulaToken("end", "", 0)


class NoFormulaError(Exception):
    """The text is not, or not wholly, a formula."""


class _Parser:
    """Recursive descent. With ``tight``, ``a/2b`` is a/(2b), else (a/2)b; both are in use."""

    def __init__(self, tokens: list[FormulaToken], tight: bool) -> None:
        self.tokens, self.tight, self.at, self.depth = tokens, tight, 0, 0

    def peek(self, ahead: int = 0) -> FormulaToken:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else _END

    def take(self, *kinds: str) -> FormulaToken:
        token = self.peek()
        if token.kind == "end" or (kinds and token.kind not in kinds):
            raise NoFormulaError
        self.at += 1
        return token

    def takes(self, kind: str) -> bool:
        found = self.peek().kind == kind
        self.at += found
        return found

    def whole(self) -> Tree:
        tree = self.sum()
        if self.peek().kind != "end":
            raise NoFormulaError
        return tree

    def sum(self) -> Tree:
        tree = self.signed()
        while (kind := self.peek().kind) in _SUMS:
            self.take()
            tree = (_SUMS[kind], tree, self.product())
        return tree

    def signed(self) -> Tree:
        signs = []
        while self.peek().kind in _SUMS:
            signs.append(self.take().kind)
        tree = self.product()
        for sign in reversed(signs):
            tree = ("neg", tree) if sign == "-" else ("pm", ("number", "0"), tree) if sign == "pm" else tree
        return tree

    def product(self) -> Tree:
        tree = self.power()
        while True:
            kind = self.peek().kind
            if kind in _PRODUCTS:
                self.take()
                right = self.factor()
                while kind == "/" and self.tight and self.begins_factor():
                    right = ("mul", right, self.power())
                tree = (_PRODUCTS[kind], tree, right)
            elif self.begins_factor():
                tree = ("mul", tree, self.power())
            else:
                return tree

    def factor(self) -> Tree:
        """What may follow a multiplication sign or a power: ``2 * -3``."""
        return ("neg", self.power()) if self.takes("-") else self.power()

    def begins_factor(self) -> bool:
        token, last = self.peek(), self.tokens[self.at - 1]
        if token.kind == "number" and token.glued and last.kind == "symbol":
            raise NoFormulaError  # H2O
        return token.kind in _BEGINS or token.kind in _BRACKETS

    def power(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoFormulaError
        tree = self.atom()
        while (kind := self.peek().kind) in ("^", "!", "degree", "%"):
            self.take()
            if kind == "^":
                tree = ("pow", tree, self.factor())
                break
            tree = {
                "!": ("factorial", tree),
                "degree": ("mul", tree, ("div", ("constant", "pi"), ("number", "180"))),
                "%": ("div", tree, ("number", "100")),
            }[kind]
        self.depth -= 1
        return tree

    def group(self, closing: str) -> Tree:
        tree = self.sum()
        self.take(closing)
        return tree

    def argument(self) -> Tree:
        r"""An argument in braces, or a single token: ``\frac12`` is a half."""
        if self.takes("{"):
            return self.group("}")
        token = self.peek()
        if token.kind != "number":
            return self.atom()
        if token.text.isdigit() and len(token.text) > 1:
            self.tokens[self.at] = FormulaToken("number", token.text[1:], token.start + 1)
            return ("number", token.text[0])
        return ("number", self.take().text)

    def atom(self) -> Tree:  # noqa: PLR0911 (one a kind)
        token = self.take()
        if token.kind == "number":
            return self.mixed(token)
        if token.kind == "constant":
            return ("constant", CONSTANTS.get(token.text, token.text))
        if token.kind == "symbol":
            return ("symbol", f"{token.text}_{self.subscript()}" if self.takes("_") else token.text)
        if token.kind in _CLOSING:
            tree = self.group(_CLOSING[token.kind])
            return (_ENCLOSING[token.kind], tree) if token.kind in _ENCLOSING else tree
        if token.kind in ("frac", "binom"):
            return ("div" if token.kind == "frac" else "binomial", self.argument(), self.argument())
        if token.kind == "sqrt":
            degree = self.group("]") if self.takes("[") else ("number", "2")
            inner = self.atom() if token.text == "√" else self.argument()
            return ("pow", inner, ("div", ("number", "1"), degree))
        if token.kind == "function":
            return self.call(token.text)
        raise NoFormulaError

    def mixed(self, token: FormulaToken) -> Tree:
        r"""A number, or a mixed one: ``2\frac{1}{3}`` and ``2 1/3``."""
        number: Tree = ("number", token.text)
        if self.peek().kind == "_":
            return self.based(token)
        if not token.text.isdigit():
            return number
        kinds = [self.peek(ahead).kind for ahead in range(7)]
        if kinds[0] == "frac" and (kinds[1:] == ["{", "number", "}"] * 2 or kinds[1] == "number"):
            self.take()
            return ("add", number, ("div", self.argument(), self.argument()))
        top, below = self.peek(), self.peek(2)
        if kinds[:3] == ["number", "/", "number"] and top.text.isdigit() and below.text.isdigit():
            self.at += 3
            return ("add", number, ("div", ("number", top.text), ("number", below.text)))
        if kinds[0] == "number":
            raise NoFormulaError
        return number

    def based(self, token: FormulaToken) -> Tree:
        """A number in the base that its subscript names: ``101_2``."""
        self.take("_")
        base = self.subscript()
        if not base.isdecimal() or not 2 <= int(base) <= 36 or not token.text.isdecimal():
            raise NoFormulaError
        if any(int(digit) >= int(base) for digit in token.text):
            raise NoFormulaError
        return ("number", str(int(token.text, int(base))))

    def subscript(self) -> str:
        if not self.takes("{"):
            return self.take().text
        text = ""
        while (token := self.take()).kind != "}":
            if token.kind == "{":
                raise NoFormulaError
            text += token.text
        return text

    def call(self, name: str) -> Tree:
        base = self.argument() if self.takes("_") else None
        exponent = None
        if self.takes("^"):
            exponent = self.argument() if self.peek().kind == "{" else self.atom()
        if exponent == ("neg", ("number", "1")) and name in INVERSES:
            name, exponent = INVERSES[name], None
        argument = self.call_argument()
        tree: Tree = ("call", name, argument)
        if base is not None:
            tree = ("div", ("call", "ln", argument), ("call", "ln", base))
        elif name == "exp":
            tree = ("pow", ("constant", "e"), argument)
        return tree if exponent is None else ("pow", tree, exponent)

    def call_argument(self) -> Tree:
        r"""An argument in brackets, or the product that follows: ``\sin 2x \cos y`` is sin(2x) cos(y)."""
        bracketed = self.peek().kind in _BRACKETS
        tree = self.power()
        while not bracketed and self.peek().kind in ("number", "symbol", "constant", "frac", "sqrt"):
            tree = ("mul", tree, self.power())
        return tree


def parse_formula(tokens: list[FormulaToken]) -> tuple[Tree, ...]:
    """The readings of a formula: one, or two where the extent of a slash is ambiguous; none for anything else."""
    if not tokens or len(tokens) > MOST_TOKENS:
        return ()
    readings = []
    slashed = any(token.kind == "/" for token in tokens)
    for tight in (False, True) if slashed else (False,):
        try:
            tree = _Parser(list(tokens), tight).whole()
        except NoFormulaError:
            continue
        if tree not in readings:
            readings.append(tree)
    return tuple(readings)
