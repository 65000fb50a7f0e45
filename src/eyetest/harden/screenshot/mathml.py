"""Formula trees as MathML, for pages that a browser sets."""

from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

_OVER = {"overbrace": "⏞", "overparen": "⏜"}
_ACCENTS: dict[str, str] = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0307": "˙", "\u0308": "¨", "\u20d7": "→"}
"""Combining signs, and what stands for them over a formula."""
_UNDER = {"underbrace": "⏟"}


def mathml(nodes: list[Any], alone: bool) -> Markup:
    """A formula as a browser draws it; its texts are escaped."""
    display = "block" if alone else "inline"
    return Markup('<math display="{}">{}</math>').format(display, _row(nodes))


def _tag(name: str, *inner: Markup, **attributes: str) -> Markup:
    said = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in attributes.items())
    return Markup("<{}{}>{}</{}>").format(name, said, Markup("").join(inner), name)


def _row(nodes: list[Any]) -> Markup:
    return _tag("mrow", *(_DRAWN[kind](*arguments) for kind, *arguments in nodes))


def _symbol(sign: str) -> Markup:
    return _tag("mi" if sign.isalpha() else "mo", escape(sign))


def _text(text: str) -> Markup:
    return _tag("mn" if text[:1].isdigit() else "mtext", escape(text))


def _binomial(over: list[Any], under: list[Any]) -> Markup:
    return _tag("mrow", _mo("("), _tag("mfrac", _row(over), _row(under), linethickness="0"), _mo(")"))


def _root(degree: list[Any], inner: list[Any]) -> Markup:
    return _tag("mroot", _row(inner), _row(degree)) if degree else _tag("msqrt", _row(inner))


def _bracketed(opening: str, inner: list[Any], closing: str) -> Markup:
    return _tag("mrow", *_mos(opening), _row(inner), *_mos(closing))


def _rows(opening: str, closing: str, centred: bool, rows: list[list[Any]]) -> Markup:
    side = "centred" if centred else "left"
    cells = [_tag("mtr", *(_tag("mtd", _row(cell), **{"class": side}) for cell in row)) for row in rows]
    return _tag("mrow", *_mos(opening), _tag("mtable", *cells), *_mos(closing))


def _mo(sign: str) -> Markup:
    return _tag("mo", escape(sign))


def _mos(sign: str) -> list[Markup]:
    return [_mo(sign)] if sign else []


def _accent(inner: list[Any], sign: str) -> Markup:
    return _tag("mover", _row(inner), _mo(_ACCENTS.get(sign, sign)), accent="true")


def _attached(base: list[Any], top: list[Any], bottom: list[Any]) -> Markup:
    outside = base[0][0] == "limits" or (base[0][0] == "operator" and base[0][2])
    under, over, both = ("munder", "mover", "munderover") if outside else ("msub", "msup", "msubsup")
    if top and bottom:
        return _tag(both, _row(base), _row(bottom), _row(top))
    return _tag(over, _row(base), _row(top)) if top else _tag(under, _row(base), _row(bottom))


def _wrapped(name: str, inner: list[Any], *notes: list[Any]) -> Markup:
    body = _row(inner)
    if name in _OVER:
        drawn = _tag("mover", body, _mo(_OVER[name]))
        return _tag("mover", drawn, _row(notes[0])) if notes else drawn
    if name in _UNDER:
        drawn = _tag("munder", body, _mo(_UNDER[name]))
        return _tag("munder", drawn, _row(notes[0])) if notes else drawn
    return _tag("mrow", body, **{"class": name})


_DRAWN: dict[str, Callable[..., Markup]] = {
    "symbol": _symbol,
    "text": _text,
    "operator": lambda name, limits: _tag("mi", escape(name)),
    "space": lambda em: _tag("mspace", width=f"{em}em"),
    "break": lambda: _tag("mspace", width="1em"),
    "group": _row,
    "limits": _row,
    "frac": lambda over, under: _tag("mfrac", _row(over), _row(under)),
    "binom": _binomial,
    "root": _root,
    "attach": _attached,
    "accent": _accent,
    "brackets": _bracketed,
    "rows": _rows,
    "wrap": _wrapped,
}
"""How each kind of node is drawn."""
