"""Options that mean yes and no, and short replies that say one of them without a word of the question."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from eyetest.scoring.rules.options import Offer, word_set
from eyetest.store.handwritten import parse_yaml

_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|none|without|nobody|nothing|nicht|kein\w{0,2}|pas|niet|geen|nie|não|nem|sin|ni)\b"
    r"|n't\b|不是|没有|沒有|并非|不|ない|ません|않|아니|không|لا |ليس|не |нет|नहीं"
)
_SHORT = 2  # so many sentences say yes or no without a question
_PLAIN_YES = re.compile(
    r"\W{0,3}(?:i (?:believe|think) so|indeed|certainly|absolutely|of course|definitely)(?! not)|(?:"
    r"that(?:'s| is) (?:right|true|correct)|"
    r"it (?:does|is|has|can|did|was)[.!]|they (?:do|are|have|can|did|were)[.!])|.{0,200}\b(?:in the )?affirmative\b"
)
_PLAIN_NO = re.compile(
    r"\W{0,3}(?:i (?:don't|do not) (?:believe|think) so|not at all|by no means|absolutely not|certainly not|"
    r"definitely not|indeed not|"
    r"that(?:'s| is) (?:not (?:right|true|correct)|wrong|incorrect|false)|"
    r"of course not|"
    r"(?:it|they) (?:do|does|is|are|has|have|can|did|was|were)(?: not|n't)[.!])|.{0,200}\bin the negative\b"
)


_DECLINES = re.compile(
    r"\b(?:information|answer|determin\w*|question|provided?|clear|sure|certain|definitive|applicable|enough|know|tell|sorry)\b"
)
"""Words of a sentence that says what cannot be answered, which is not *no*."""


@cache
def _words(name: str) -> frozenset[str]:
    """A list of ``verdict_words.yaml``."""
    lists: Mapping[str, str] = parse_yaml((files(__package__) / _FILE).read_text("utf-8"), _FILE)
    return word_set(lists[name])


_FILE = "verdict_words.yaml"


class Verdicts(NamedTuple):
    """The positions of the options that mean yes and no."""

    yes: int
    no: int

    def option_for(self, is_yes: bool) -> int:
        """The position of the option that means a verdict."""
        return self.yes if is_yes else self.no


def find_verdicts(offer: Offer) -> Verdicts | None:
    """The options that mean yes and no; None where they are not exactly one each."""
    positions: dict[str, list[int]] = {"yes": [], "no": []}
    for index, forms in enumerate(offer.forms):
        word = forms[0] if len(forms) == 1 else ""
        raw = offer.texts[index].strip(" .").casefold()
        if raw in _words("yes") or word in _words("yes"):
            positions["yes"].append(index)
        elif raw in _words("no") or word in _words("no"):
            positions["no"].append(index)
    if len(positions["yes"]) != 1 or len(positions["no"]) != 1:
        return None
    return Verdicts(positions["yes"][0], positions["no"][0])


def verdict_without_question(sentences: list[str]) -> bool | None:
    """Yes or no of a short reply by its own words: ``It does not.``, ``The cars do not have the same colour.``"""
    first = sentences[0].casefold() if sentences else ""
    if not sentences or len(sentences) > _SHORT:
        return None
    if _PLAIN_NO.match(first):
        return False
    if _PLAIN_YES.match(first):
        return True
    negations = list(_NEGATION.finditer(first))
    if len(sentences) > 1 or len(negations) != 1 or _DECLINES.search(first):
        return None
    is_main_clause = _SUBORDINATES.search(first, 0, negations[0].start()) is None
    return False if is_main_clause else None


_SUBORDINATES = re.compile(r"\b(?:that|which|who|whose|because|since|as|if|when|while|although|where|unless)\b")
