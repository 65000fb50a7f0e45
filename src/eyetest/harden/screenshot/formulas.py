"""LaTeX formulas in texts: found by delimiters, parsed to trees, drawn as MathML; unknown ones stay source."""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup, escape

Node = list[Any]
"""A kind and its arguments: ``["frac", [nodes], [nodes]]``. Arguments that are formulas are lists of nodes."""
LONGEST = 4_000
_DEEPEST = 30
_TOKEN = re.compile(r"\\(?:[a-zA-Z]+|.)|[{}^_&~]|\d+(?:[.,]\d+)*|'+|\s+|[^\W\d_a-zA-Z]+|.", re.DOTALL)
_RENAMED = {"-": "−", "*": "∗"}
_TEXT = ("text", "textrm", "textnormal", "mbox", "hbox", "textbf", "textit", "textsf", "texttt")
_DRAWINGS = {"\\rm": "upright", "\\bf": "bold-upright", "\\it": "italic"}
_FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")


class UnknownFormula(ValueError):  # noqa: N818 (it is no mistake: the source is shown instead)
    """A formula with an unknown part."""


class Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``formulas.yaml``."""

    symbols: dict[str, str]
    operators: tuple[str, ...]
    limit_operators: tuple[str, ...]
    accents: dict[str, str]
    wrappers: dict[str, str]
    spaces: dict[str, float]
    ignored: frozenset[str]
    environments: dict[str, tuple[str, str]]


@cache
def vocabulary() -> Vocabulary:
    """The known commands."""
    text = files(__package__).joinpath("formulas.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=Vocabulary)


def tree(source: str) -> list[Node]:
    """A formula without its dollars, as nodes."""
    if len(source) > LONGEST:
        raise UnknownFormula("too long")
    parser = _TreeReader(_TOKEN.findall(source))
    nodes = parser.sequence(())
    if parser.peek() is not None or not nodes:
        raise UnknownFormula(source)
    return nodes


class _TreeReader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._next, self._depth = tokens, 0, 0
        self._known = vocabulary()

    def peek(self) -> str | None:
        """The sign to come, past blanks."""
        while self._next < len(self._tokens) and self._tokens[self._next].isspace():
            self._next += 1
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> str:
        sign = self.peek()
        if sign is None:
            raise UnknownFormula("ends too early")
        self._next += 1
        return sign

    def _expect(self, wanted: str) -> None:
        if (sign := self._take()) != wanted:
            raise UnknownFormula(f"{sign} for {wanted}")

    def sequence(self, ends: tuple[str, ...]) -> list[Node]:
        """Nodes up to one of some tokens, which is left where it is, or to the end."""
        self._deepen()
        nodes: list[Node] = []
        while (sign := self.peek()) is not None and sign not in ends:
            if sign in ("^", "_") or sign.startswith("'"):
                nodes.append(self._scripts(nodes.pop() if nodes else ["text", ""]))
            elif sign in _DRAWINGS:
                self._next += 1
                nodes.append(["wrap", _DRAWINGS[sign], self.sequence(ends)])
            else:
                nodes += self._atom()
        self._depth -= 1
        return nodes

    def _scripts(self, base: Node) -> Node:
        primes = self._take() if (self.peek() or "").startswith("'") else ""
        top: list[Node] = [["symbol", "′"] for _ in primes]
        bottom: list[Node] = []
        while (sign := self.peek()) in ("^", "_"):
            self._next += 1
            into = top if sign == "^" else bottom
            into += self._argument()
        return ["attach", [base], top, bottom]

    def _argument(self) -> list[Node]:
        if self.peek() == "{":
            return self._group("{", "}")
        sign = self.peek()
        if sign is not None and sign[0].isdigit() and len(sign) > 1:
            self._tokens[self._next] = sign[1:]
            return [["text", sign[0]]]
        self._deepen()
        nodes = self._atom()
        self._depth -= 1
        return nodes

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnknownFormula("too deep")

    def _atom(self) -> list[Node]:
        sign = self._take()
        if sign == "{":
            self._next -= 1
            return [["group", self._group("{", "}")]]
        if sign in ("}", "&", "^", "_"):
            raise UnknownFormula(sign)
        if sign == "~":
            return [["space", 0.25]]
        if sign == "\\\\":
            return [["break"]]
        if sign.startswith("\\"):
            return self._command(sign[1:])
        if sign[0].isdigit() or len(sign) > 1:
            return [["text", sign]]
        return [["symbol", _RENAMED.get(sign, sign)]]

    def _command(self, name: str) -> list[Node]:
        known = self._known
        if name in known.ignored:
            return []
        if name in known.symbols:
            node: Node = ["symbol", known.symbols[name]]
        elif name in known.spaces:
            node = ["space", known.spaces[name]]
        elif name in known.operators or name in known.limit_operators:
            node = ["operator", name, name in known.limit_operators]
        elif name in known.accents:
            node = ["accent", self._argument(), known.accents[name]]
        elif name in known.wrappers:
            node = ["wrap", known.wrappers[name], self._argument()]
        elif name in _FRACTIONS:
            node = ["frac", self._argument(), self._argument()]
        elif name in _TEXT:
            node = ["text", self._words()]
        else:
            node = self._rare(name)
        return [node]

    def _rare(self, name: str) -> Node:
        match name:
            case "binom" | "dbinom" | "tbinom":
                return ["binom", self._argument(), self._argument()]
            case "sqrt":
                return ["root", self._group("[", "]") if self.peek() == "[" else [], self._argument()]
            case "operatorname":
                return ["operator", self._words(), False]
            case "left":
                opening, nodes = self._delimiter(), self.sequence(("\\right",))
                self._expect("\\right")
                return ["brackets", opening, nodes, self._delimiter()]
            case "begin":
                return self._environment()
        raise UnknownFormula(f"\\{name}")

    def _group(self, opening: str, closing: str) -> list[Node]:
        self._expect(opening)
        nodes = self.sequence((closing,))
        self._expect(closing)
        return nodes

    def _words(self) -> str:
        """Text of a group with blanks; commands in it are unknown."""
        self._expect("{")
        words = ""
        while self._next < len(self._tokens) and (sign := self._tokens[self._next]) != "}":
            if sign[0] in "{$" or (sign[0] == "\\" and sign[1:] not in "%$#&_ "):
                raise UnknownFormula(sign)
            words += sign.removeprefix("\\")
            self._next += 1
        self._expect("}")
        return words

    def _delimiter(self) -> str:
        sign = self._take()
        if sign == ".":
            return ""
        if sign.startswith("\\") and sign[1:] not in self._known.symbols:
            raise UnknownFormula(sign)
        return self._known.symbols[sign[1:]] if sign.startswith("\\") else sign

    def _environment(self) -> Node:
        name = self._name()
        if name not in self._known.environments:
            raise UnknownFormula(name)
        if name == "array":
            self._name()
        rows: list[list[list[Node]]] = [[]]
        while True:
            rows[-1].append(self.sequence(("&", "\\\\", "\\end")))
            match self._take():
                case "\\\\":
                    rows.append([])
                case "\\end":
                    break
        if self._name() != name:
            raise UnknownFormula(name)
        if len(rows) > 1 and rows[-1] == [[]]:
            rows.pop()
        width = max(map(len, rows))
        opening, closing = self._known.environments[name]
        centred = name.endswith("matrix") or name == "gathered"
        return ["rows", opening, closing, centred, [row + [[]] * (width - len(row)) for row in rows]]

    def _name(self) -> str:
        self._expect("{")
        name = ""
        while (sign := self._take()) != "}":
            name += sign
        return name


# In characters; unclosed delimiters cost the product of both; longer texts are shown as written
_LONGEST, _LONGEST_TEXT = 1_000, 20_000
_DELIMITED = re.compile(
    rf"\$\$(?P<a>.{{1,{_LONGEST}}}?)\$\$|\\\[(?P<b>.{{1,{_LONGEST}}}?)\\\]|\\\((?P<c>.{{1,{_LONGEST}}}?)\\\)"
    rf"|(?<![\\$])\$(?=[^\s$])(?P<d>(?:\\.|[^$\\]){{1,{_LONGEST}}}?)(?<=[^\s\\])\$(?![\d$])"
    rf"|(?<![\\$])\$(?P<loose>(?:\\.|[^$\\]){{1,{_LONGEST}}}?)\$(?!\$)"
    rf"|(?P<e>\\begin\{{(?P<name>[a-zA-Z]+\*?)\}}.{{1,{_LONGEST}}}?\\end\{{(?P=name)\}})"
    rf"|(?P<bare>(?<!\S)[^\s$\\]{{0,80}}?(?:\\[a-zA-Z]{{2,}}|[\^_](?=\{{))(?:\{{[^{{}}$]{{0,200}}\}}|[^\s$]){{0,200}})",
    re.DOTALL,
)  # ``loose``: with blanks before the closing dollar, or a digit behind it. ``bare``: a run with a command alone.
_SIGNS = re.compile(r"[\\^_=<>]")
_SPACED_WORD = re.compile(r"\s[a-zA-Z]{2,}(?:\s|$)|^[a-zA-Z]{2,}\s")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_COMMAND = re.compile(r"\\[a-zA-Z]{2,}|[\^_]\s?\{")
_FUNCTION = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,6}(?![a-zA-Z])")
_GROUP = re.compile(r"\{[^{}]*\}")
_ESCAPED = re.compile(r"\\([$%&#_])")
_ALONE = ("a", "b", "e")


class Formula(NamedTuple):
    """A formula as nodes, its source, and whether it stands on a line of its own."""

    nodes: list[Node]
    source: str
    alone: bool = False


def split_formulas(text: str) -> tuple[list[str | Formula], int]:
    """Split a text into words and formulas, and count delimited ones that could not be read."""
    parts: list[str | Formula] = []
    if len(text) > _LONGEST_TEXT:
        return [text], 0
    unread = after = at = 0
    while match := _DELIMITED.search(text, at):
        kind = str(match.lastgroup)
        source = match[kind]
        # Between two prices there are words without any sign of a formula.
        is_prose = kind == "d" and not _SIGNS.search(source) and _SPACED_WORD.search(source)
        if is_prose or (kind in ("loose", "bare") and not _is_plain(source)):
            at = match.start() + 1
            continue
        try:
            formula = Formula(_read(source), source, kind in _ALONE)
        except UnknownFormula:
            unread += kind != "bare"
            at = match.end() if kind != "bare" else match.start() + 1
            continue
        parts += [_ESCAPED.sub(r"\1", text[after : match.start()]), formula]
        after = at = match.end()
    return [part for part in (*parts, _ESCAPED.sub(r"\1", text[after:])) if part], unread


def whole_formula(text: str) -> Formula | None:
    """Read a text that is one formula without dollars around it: an option, a reference."""
    if "$" in text or not _is_plain(text):
        return None
    try:
        return Formula(_read(text.strip()), text.strip())
    except UnknownFormula:
        return None


def _read(source: str) -> list[Node]:
    """The formula, with names of functions recognised without their backslash."""
    operators = vocabulary().operators
    try:
        return tree(_FUNCTION.sub(lambda name: f"\\{name[0]}" if name[0] in operators else name[0], source))
    except UnknownFormula:
        return tree(source)


def _is_plain(source: str) -> bool:
    """Whether there are commands and, outside their arguments, no words but names of functions."""
    if not _COMMAND.search(source):
        return False
    names = {*vocabulary().operators, *vocabulary().limit_operators}
    return all(word in names for word in _WORD.findall(_GROUP.sub("", source)))


# Combining signs, and their signs over a formula
_ACCENTS: dict[str, str] = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0307": "˙", "\u0308": "¨", "\u20d7": "→"}


def mathml(nodes: list[Any], alone: bool) -> Markup:
    """A formula as a browser draws it; its texts are escaped."""
    display = "block" if alone else "inline"
    return Markup('<math display="{}">{}</math>').format(display, _row(nodes))


def _tag(name: str, *inner: Markup, **attributes: str) -> Markup:
    written = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in attributes.items())
    return Markup("<{}{}>{}</{}>").format(name, written, Markup("").join(inner), name)


def _row(nodes: list[Any]) -> Markup:
    return _tag("mrow", *(_DRAWN[kind](*arguments) for kind, *arguments in nodes))


def _rows(opening: str, closing: str, centred: bool, rows: list[list[Any]]) -> Markup:
    side = "centred" if centred else "left"
    cells = [_tag("mtr", *(_tag("mtd", _row(cell), **{"class": side}) for cell in row)) for row in rows]
    return _tag("mrow", _mo(opening), _tag("mtable", *cells), _mo(closing))


def _mo(sign: str) -> Markup:
    return _tag("mo", escape(sign)) if sign else Markup("")


def _attached(base: list[Any], top: list[Any], bottom: list[Any]) -> Markup:
    outside = base[0][0] == "operator" and base[0][2]
    under, over, both = ("munder", "mover", "munderover") if outside else ("msub", "msup", "msubsup")
    if top and bottom:
        return _tag(both, _row(base), _row(bottom), _row(top))
    return _tag(over, _row(base), _row(top)) if top else _tag(under, _row(base), _row(bottom))


_DRAWN: dict[str, Callable[..., Markup]] = {
    "symbol": lambda sign: _tag("mi" if sign.isalpha() else "mo", escape(sign)),
    "text": lambda text: _tag("mn" if text[:1].isdigit() else "mtext", escape(text)),
    "operator": lambda name, limits: _tag("mi", escape(name)),
    "space": lambda em: _tag("mspace", width=f"{em}em"),
    "break": lambda: _tag("mspace", width="1em"),
    "group": _row,
    "frac": lambda over, under: _tag("mfrac", _row(over), _row(under)),
    "binom": lambda over, under: _tag(
        "mrow", _mo("("), _tag("mfrac", _row(over), _row(under), linethickness="0"), _mo(")")
    ),
    "root": lambda degree, inner: _tag("mroot", _row(inner), _row(degree)) if degree else _tag("msqrt", _row(inner)),
    "attach": _attached,
    "accent": lambda inner, sign: _tag("mover", _row(inner), _mo(_ACCENTS.get(sign) or sign), accent="true"),
    "brackets": lambda opening, inner, closing: _tag("mrow", _mo(opening), _row(inner), _mo(closing)),
    "rows": _rows,
    "wrap": lambda name, inner: _tag("mrow", _row(inner), **{"class": name}),
}
