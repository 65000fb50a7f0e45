r"""TeX that formulas are not parsed from, rewritten as what they are parsed from.

Matrices become lists of rows, ``0.\overline{36}`` becomes a fraction, ``{5 \choose 2}`` a binomial, and an accent a
part of the name (``\vec{a}`` is ``a_{vec}``, so that it is not a). Every pattern is bounded, and a text longer than a
short answer is left as it is.
"""

import re

from eyetest.text.folding import LONGEST

_MATRIX = re.compile(
    r"\\begin\s?\{(?P<kind>[pbB]?matrix|smallmatrix|array)\}(?:\{[lcr| ]{1,20}\})?(?P<cells>.{1,600}?)"
    r"\\end\s?\{(?P=kind)\}",
    re.DOTALL,
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]{1,10}\])?")
_DELIMITER = r"(?:\\left|\\right)?\s?[()\[\]]\s?"
_ENCLOSED_MATRIX = re.compile(
    rf"{_DELIMITER}(\\begin.{{1,700}}\\end\s?\{{[a-z]{{5,11}}\}})\s?{_DELIMITER}", re.DOTALL
)
_CHOOSE = re.compile(r"\{([^{}\\]{1,20})\\choose\b([^{}\\]{1,20})\}")
_REPEATING = re.compile(r"(?<![\d.])(\d{0,9})\.(\d{0,12})\\(?:overline|bar|dot)\s?\{(\d{1,12})\}")
_SEGMENT = re.compile(r"\\(?:overline|bar)\s?\{([A-Z]{2})\}")
_ACCENT = re.compile(
    r"\\(vec|hat|bar|tilde|dot|ddot|overline|overrightarrow|widehat)\s?(?:\{([A-Za-z]{1,2})\}|([A-Za-z]))"
)
_LETTER_SET = re.compile(r"\\mathbb\s?\{?([A-Z])\}?")
_BOX = re.compile(r"\$*\s*\\f?boxed\s?\{(.*)\}\s*\$*\.?", re.DOTALL)


_ESCAPED = re.compile(r"\\\\(?=[A-Za-z]{2}|[{}])")  # a backslash written twice, as inside JSON
_TYPED_RELATIONS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("=<", "≤"))


def without_box(text: str) -> str:
    r"""The contents of a text that is one ``\boxed{…}``; any other text as it is."""
    match = _BOX.fullmatch(text) if "boxed" in text[:20] else None
    return match[1] if match and _is_balanced(match[1]) else text


def parsable_tex(text: str) -> str:
    """A text with relations, matrices, repeating decimals and accents as formulas are parsed from."""
    if len(text) > LONGEST:
        return text
    for spelling, sign in _TYPED_RELATIONS:
        text = text.replace(spelling, sign)
    if "\\" not in text:
        return text
    if "\\begin" not in text:
        text = _ESCAPED.sub(r"\\", text)
    text = without_box(text)
    if "\\begin" in text:
        text = _MATRIX.sub(_listed_rows, _ENCLOSED_MATRIX.sub(r"\1", text))
    text = _REPEATING.sub(_fraction, text)
    text = _CHOOSE.sub(r"\\binom{\1}{\2}", text)
    text = _ACCENT.sub(_accented_name, _SEGMENT.sub(r"\1", text))
    return _LETTER_SET.sub(r"\1 ", text)


def _is_balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


def _listed_rows(match: re.Match[str]) -> str:
    """A matrix as a list of its rows in square brackets; a single row or column as a list without brackets."""
    rows = [row.split("&") for row in _ROW_END.split(match["cells"]) if row.strip()]
    if len(rows) == 1 or all(len(row) == 1 for row in rows):
        return ", ".join(cell.strip() for row in rows for cell in row)
    return ", ".join(f"[{', '.join(cell.strip() for cell in row)}]" for row in rows)


def _fraction(match: re.Match[str]) -> str:
    r"""A repeating decimal as a fraction: ``0.1\overline{6}`` is (16 − 1)/90."""
    whole, fixed, repeated = match.groups()
    all_digits = int(f"{whole}{fixed}{repeated}")
    head = int(f"{whole}{fixed}" or "0")
    below = (10 ** len(repeated) - 1) * 10 ** len(fixed)
    return rf"\frac{{{all_digits - head}}}{{{below}}}"


def _accented_name(match: re.Match[str]) -> str:
    return f"{match[2] or match[3]}_{{{match[1]}}}"
