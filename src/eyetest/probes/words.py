"""Texts made comparable, and numbers found in them."""

import re

from eyetest.scoring.metrics.support.texts import composed

_EDGES = " \t\n.,;:!?\"'`“”‘’"
_NUMBER = re.compile(r"[-+−]?\s*(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")
_UNIT = r"(?:\s?(?:%|°[CF]?|[A-Za-zµμ/²³^]{1,6}\.?))?"
_QUANTITY = re.compile(rf"[$€£¥]?\s*({_NUMBER.pattern}){_UNIT}")
_WORD = re.compile(r"\w+")
_PRIME = re.compile(r"\b\w['’′]+\W*$")
_SYMBOL = 2
"""Letters up to which a word may be a symbol, whose case says something."""


def normalise(text: str) -> str:
    """One spelling for texts that a reader takes for the same: case, spaces, outer punctuation, Unicode forms.

    Signs and points inside stay, since −5 is not 5 and 1.5 is not 15; so does an outer star, since A* is not A.
    """
    return composed(text).strip(_EDGES).casefold()


def normalise_option(text: str) -> str:
    """The same for options of one item, where case or a prime may be all that differs: Aa is not AA, r′ is not r."""
    said = _WORD.sub(lambda match: _one_case(match[0]), composed(text).strip(_EDGES))
    return said + "′" * bool(_PRIME.search(text))


def _one_case(word: str) -> str:
    """A word in lower case, if it is written small, large or with a capital; XaXa is no word."""
    written = word in (word.lower(), word.upper(), word.capitalize())
    return word.casefold() if written and len(word) > _SYMBOL else word


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(composed(text).casefold())


def quantity(text: str) -> float | None:
    """The number that a text is, with or without a unit; None where it is something else."""
    cleaned = text.strip().strip("$ \\").replace("−", "-")
    match = _QUANTITY.fullmatch(cleaned)
    if not match or not any(char.isdigit() for char in match[1]):
        return None
    return float(match[1].replace(",", "").replace(" ", "").replace("−", "-"))


def decimals(text: str) -> int:
    """How many digits stand behind the point."""
    match = re.search(r"\d\.(\d+)", text)
    return len(match[1]) if match else 0


def shingles(text: str, length: int = 3) -> frozenset[str]:
    """Runs of words, by which texts are compared."""
    tokens = words(text)
    if len(tokens) < length:
        return frozenset([" ".join(tokens)]) if tokens else frozenset()
    return frozenset(" ".join(tokens[i : i + length]) for i in range(len(tokens) - length + 1))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of what two sets have together that they have in common."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
