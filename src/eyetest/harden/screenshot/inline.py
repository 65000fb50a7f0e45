"""Formulas found in a text: between their delimiters, or bare where nothing else could be meant.

A dollar is money unless what stands between two of them is plainly a formula. What is not known stays text.
"""

import re
from typing import NamedTuple

from eyetest.harden.screenshot.formulas import Node, UnknownFormula, tree, vocabulary

_LONGEST, _LONGEST_TEXT = 1_000, 20_000
"""In characters. Delimiters that never close cost the product of both; a longer text is shown as it is written."""
_DELIMITED = re.compile(
    rf"\$\$(?P<a>.{{1,{_LONGEST}}}?)\$\$|\\\[(?P<b>.{{1,{_LONGEST}}}?)\\\]|\\\((?P<c>.{{1,{_LONGEST}}}?)\\\)"
    rf"|(?<![\\$])\$(?=[^\s$])(?P<d>(?:\\.|[^$\\]){{1,{_LONGEST}}}?)(?<=[^\s\\])\$(?![\d$])"
    rf"|(?<![\\$])\$(?P<loose>(?:\\.|[^$\\]){{1,{_LONGEST}}}?)\$(?!\$)"
    rf"|(?P<e>\\begin\{{(?P<name>[a-zA-Z]+\*?)\}}.{{1,{_LONGEST}}}?\\end\{{(?P=name)\}})"
    rf"|(?P<bare>(?<!\S)[^\s$\\]{{0,80}}?(?:\\[a-zA-Z]{{2,}}|[\^_](?=\{{))(?:\{{[^{{}}$]{{0,200}}\}}|[^\s$]){{0,200}})",
    re.DOTALL,
)
"""``loose``: with blanks before the closing dollar, or a digit behind it. ``bare``: a run with a command alone."""
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
    """A text cut into words and formulas; and how many that had delimiters could not be read."""
    parts: list[str | Formula] = []
    if len(text) > _LONGEST_TEXT:
        return [text], 0
    unread = after = at = 0
    while match := _DELIMITED.search(text, at):
        kind = match.lastgroup if match.lastgroup != "name" else "e"
        assert kind is not None
        source = match[kind]
        if not (_is_plain(source) if kind in ("loose", "bare") else kind != "d" or not _is_prose(source)):
            at = match.start() + 1
            continue
        try:
            formula = Formula(_read(source), source, kind in _ALONE)
        except UnknownFormula:
            unread += kind != "bare"
            at = match.end() if kind != "bare" else match.start() + 1
            continue
        parts += [_unescaped(text[after : match.start()]), formula]
        after = at = match.end()
    return [part for part in (*parts, _unescaped(text[after:])) if part], unread


def _unescaped(text: str) -> str:
    """Words as LaTeX would print them, without the backslash before a dollar."""
    return _ESCAPED.sub(r"\1", text)


def _is_prose(source: str) -> bool:
    """Whether what stands between two dollars is words, as between two prices: no sign of a formula, but words."""
    return not _SIGNS.search(source) and _SPACED_WORD.search(source) is not None


def whole_formula(text: str) -> Formula | None:
    """A text that is one formula, although nobody put it between dollars: an option, a reference."""
    if "$" in text or not _is_plain(text):
        return None
    try:
        return Formula(_read(text.strip()), text.strip())
    except UnknownFormula:
        return None


def _read(source: str) -> list[Node]:
    """The formula, in which names of functions are not products of letters, although they lack their backslash."""
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
