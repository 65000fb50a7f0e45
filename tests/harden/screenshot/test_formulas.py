"""LaTeX becomes a tree of known nodes, or is not taken for a formula at all."""

import json

import pytest

from eyetest.harden.screenshot.formulas import UnknownFormula, tree, vocabulary
from eyetest.harden.screenshot.page import Passages, Typesetter
from tests.harden.screenshot.pages import item
from tests.harden.screenshot.test_pages import page_of


def test_tree_of_what_people_write() -> None:
    x, two = ["symbol", "x"], ["text", "2"]
    assert tree(r"\frac{x}{2}") == [["frac", [x], [two]]]
    assert tree(r"\frac12") == [["frac", [["text", "1"]], [two]]]
    assert tree(r"x^2_1") == [["attach", [x], [two], [["text", "1"]]]]
    assert tree(r"x''") == [["attach", [x], [["symbol", "′"], ["symbol", "′"]], []]]
    assert tree(r"\sqrt[3]{x}") == [["root", [["text", "3"]], [x]]]
    assert tree(r"\left(x\right]") == [["brackets", "(", [x], "]"]]
    assert tree(r"\text{if } x") == [["text", "if "], x]
    assert tree(r"\begin{pmatrix}x&2\\2\end{pmatrix}") == [["rows", "(", ")", True, [[[x], [two]], [[two], []]]]]


@pytest.mark.parametrize(
    "source",
    [
        *(r"\input{/etc/passwd}", r"\def\x{1}", r"\frac{1}", r"{x", r"x}", r"\left(x", r"\text{a$b$}", r"x^", "&"),
        *("", r"\begin{tikzimage}\end{tikzimage}", "{" * 40 + "x" + "}" * 40, "x" * 5_000),
    ],
)
def test_what_is_unknown_is_refused(source: str) -> None:
    with pytest.raises(UnknownFormula):
        tree(source)


def test_every_known_command_can_be_drawn(typesetter: Typesetter) -> None:
    known = vocabulary()
    pieces = [rf"\{name} x" for name in (*known.symbols, *known.operators, *known.limit_operators, *known.spaces)]
    pieces += [rf"\{name}{{x}}" for name in (*known.accents, *known.wrappers)]
    pieces += [rf"\begin{{{name}}}{'{cc}' * (name == 'array')}x&y\\z&w\end{{{name}}}" for name in known.environments]
    assert "null" not in json.dumps(tree(" ".join(pieces)))
    shown = item("What is it? " + " ".join(f"${piece}$" for piece in pieces))
    page_of(shown, typesetter)
    assert Passages(shown).unread == 0
