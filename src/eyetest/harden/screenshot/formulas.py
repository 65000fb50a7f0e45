"""LaTeX formulas as trees that the page template draws: data, never code.

What is not known (``formulas.yaml`` lists what is) raises `UnknownFormula`, and the page shows the source as it is
written, which is what a reader without LaTeX would see, too.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

import msgspec

Node = list[Any]
"""A kind and its arguments: ``["frac", [nodes], [nodes]]``. Arguments that are formulas are lists of nodes."""
LONGEST = 4_000
"""In characters; a formula is typed by people."""
_DEEPEST = 30
_TOKEN = re.compile(r"\\(?:[a-zA-Z]+|.)|[{}^_&~]|\d+(?:[.,]\d+)*|'+|\s+|[^\W\d_a-zA-Z]+|.", re.DOTALL)
_RENAMED = {"-": "−", "*": "∗"}
_TEXT = ("text", "textrm", "textnormal", "mbox", "hbox", "textbf", "textit", "textsf", "texttt")
_FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")


class UnknownFormula(ValueError):  # noqa: N818 (it is no mistake: the source is shown instead)
    """A formula that uses what is not known here."""


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
    """The commands that are known."""
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
    """Reads tokens from left to right."""

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
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnknownFormula("too deep")
        nodes: list[Node] = []
        while (sign := self.peek()) is not None and sign not in ends:
            if sign in ("^", "_"):
                nodes.append(self._scripts(nodes.pop() if nodes else ["text", ""]))
            elif sign.startswith("'"):
                self._next += 1
                nodes.append(self._scripts(nodes.pop() if nodes else ["text", ""], "′" * len(sign)))
            elif sign in ("\\rm", "\\bf", "\\it"):
                self._next += 1
                drawing = {"\\rm": "upright", "\\bf": "bold-upright", "\\it": "italic"}[sign]
                nodes.append(["wrap", drawing, self.sequence(ends)])
            else:
                nodes += self._atom()
        self._depth -= 1
        return nodes

    def _scripts(self, base: Node, primes: str = "") -> Node:
        top: list[Node] = [["symbol", mark] for mark in primes]
        bottom: list[Node] = []
        while (sign := self.peek()) in ("^", "_"):
            self._next += 1
            into = top if sign == "^" else bottom
            into += self._argument()
        if base[0] == "wrap" and base[1] in ("overbrace", "underbrace") and len(base) == 3:
            return [*base, top or bottom]
        return ["attach", [base], top, bottom]

    def _argument(self) -> list[Node]:
        """A group in braces, or the next thing."""
        if self.peek() == "{":
            self._next += 1
            nodes = self.sequence(("}",))
            self._expect("}")
            return nodes
        sign = self.peek()
        if sign is not None and sign[0].isdigit() and len(sign) > 1:
            self._tokens[self._next] = sign[1:]
            return [["text", sign[0]]]
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnknownFormula("too deep")
        nodes = self._atom()
        self._depth -= 1
        return nodes

    def _atom(self) -> list[Node]:
        sign = self._take()
        if sign == "{":
            nodes = self.sequence(("}",))
            self._expect("}")
            return [["group", nodes]]
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
        """What one command draws, by the list it stands in."""
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
            return self._rare(name)
        return [node]

    def _rare(self, name: str) -> list[Node]:
        match name:
            case "binom" | "dbinom" | "tbinom":
                node: Node = ["binom", self._argument(), self._argument()]
            case "sqrt":
                node = ["root", self._degree(), self._argument()]
            case "operatorname":
                node = ["operator", self._words(), False]
            case "overset" | "stackrel":
                above, base = self._argument(), self._argument()
                node = ["attach", [["limits", base]], above, []]
            case "underset":
                below, base = self._argument(), self._argument()
                node = ["attach", [["limits", base]], [], below]
            case "phase":
                node = ["group", [["symbol", "∠"], *self._argument()]]
            case "pmod":
                node = ["group", [["space", 0.5], ["text", "(mod "], *self._argument(), ["text", ")"]]]
            case "left":
                node = self._brackets()
            case "begin":
                node = self._environment()
            case _:
                self._unknown(name)
        return [node]

    def _unknown(self, name: str) -> NoReturn:
        raise UnknownFormula(f"\\{name}")

    def _degree(self) -> list[Node]:
        if self.peek() != "[":
            return []
        self._next += 1
        nodes = self.sequence(("]",))
        self._expect("]")
        return nodes

    def _words(self) -> str:
        """The text of a group, blanks and all; commands in it are unknown."""
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
        if sign.startswith("\\"):
            return self._known.symbols.get(sign[1:]) or self._unknown(sign[1:])
        return sign

    def _brackets(self) -> Node:
        opening = self._delimiter()
        nodes = self.sequence(("\\right",))
        self._expect("\\right")
        return ["brackets", opening, nodes, self._delimiter()]

    def _environment(self) -> Node:
        name = self._name()
        if name not in self._known.environments:
            self._unknown(name)
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
            self._unknown(name)
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
