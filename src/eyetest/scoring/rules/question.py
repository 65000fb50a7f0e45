"""The question of a reply: its content words, and answers of yes or no that only state what was asked, or deny it.

A sentence that has the content words of the question says *yes*; with a negation or with the opposite of one of these
words (``same``, ``different``) it says *no*; both together say *yes* again. The same holds for *true* and *false*.
"""

import re
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from eyetest.scoring.rules.options import Offer, stem, tokenise, word_set
from eyetest.store.handwritten import parse_yaml

_LONGEST = 2_000
_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|none|without|nobody|nothing|nicht|kein\w{0,2}|pas|niet|geen|nie|não|nem|sin|ni)\b"
    r"|n't\b|不是|没有|沒有|并非|不|ない|ません|않|아니|không|لا |ليس|не |нет|नहीं"
)
_LEAST_SHARE = 0.6
_SHORT = 2  # so many sentences say yes or no without a question
_PLAIN_YES = re.compile(
    r"\W{0,3}(?:i (?:believe|think) so|indeed|certainly|absolutely|of course|definitely|"
    r"that(?:'s| is) (?:right|true|correct)|"
    r"it (?:does|is|has|can|did|was)[.!]|they (?:do|are|have|can|did|were)[.!])|.{0,200}\b(?:in the )?affirmative\b"
)
_PLAIN_NO = re.compile(
    r"\W{0,3}(?:i (?:don't|do not) (?:believe|think) so|not at all|by no means|absolutely not|certainly not|"
    r"of course not|"
    r"(?:it|they) (?:do|does|is|are|has|have|can|did|was|were)(?: not|n't)[.!])|.{0,200}\bin the negative\b"
)


@cache
def _data() -> Mapping[str, Any]:
    """The words that ship with the package."""
    words: Mapping[str, Any] = parse_yaml((files(__package__) / "question.yaml").read_text("utf-8"), "question.yaml")
    return words


@cache
def _words(name: str) -> frozenset[str]:
    return word_set(_data()[name])


_DECLINES = re.compile(
    r"\b(?:information|answer|determin\w*|question|provided?|clear|sure|certain|definitive|applicable|enough|know|tell|sorry)\b"
)
"""Words of a sentence that says what cannot be answered, which is not *no*."""


_COMPARES = re.compile(r"\bthan\b", re.IGNORECASE)
"""A question that compares two things: the same words in another order may say the opposite."""


@lru_cache(maxsize=4_096)
def content_words(question: str) -> frozenset[str]:
    """The stems of the words of a question by which a reply takes it up again."""
    stems = set()
    for word in tokenise(question[:_LONGEST]):
        is_word = len(word.form) > 2 and word.form not in _words("empty_words")
        if is_word or word.form.isdigit() or not word.form.isascii():
            stems.add(stem(word.form))
    return frozenset(stems)


@lru_cache(maxsize=1)
def _opposites() -> dict[str, frozenset[str]]:
    """The stems of the opposites of each word."""
    opposites: dict[str, set[str]] = {}
    for pair in _data()["opposites"]:
        first, second = (stem(tokenise(word)[0].form) for word in pair.split())
        opposites.setdefault(first, set()).add(second)
        opposites.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in opposites.items()}


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


class QuestionContent:
    """A question as it is compared with the sentences of a reply."""

    def __init__(self, question: str) -> None:
        self.question = question

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of its content words."""
        return content_words(self.question)

    @cached_property
    def is_negated(self) -> bool:
        """Whether the question itself has a negation."""
        return len(_NEGATION.findall(self.question.casefold())) % 2 == 1

    def verdict_of(self, sentence: str) -> bool | None:
        """True where a sentence states what was asked, False where it denies that; None where it does neither."""
        words = self.words
        if _COMPARES.search(self.question):
            return None
        if _DECLINES.search(sentence.casefold()):
            return None
        stems = {stem(word.form) for word in tokenise(sentence)}
        missing = words - stems
        opposed = sum(1 for word in missing if stems & _opposites().get(word, frozenset()))
        matched = len(words) - len(missing) + opposed
        if not words or matched < _LEAST_SHARE * len(words) or matched - opposed < min(2, len(words) - opposed):
            return None
        negations = len(_NEGATION.findall(sentence.casefold()))
        return (negations + opposed + self.is_negated) % 2 == 0


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
