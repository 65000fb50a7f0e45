"""Open answers: a sentence is right if what it concludes names the reference."""

import re

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.exact import exact
from eyetest.scoring.metrics.number import matches_number
from eyetest.scoring.metrics.support.conclusion import first_sentence, last_sentence, stated
from eyetest.scoring.metrics.support.texts import composed, holds_phrase

_WORD = re.compile(r"[0-9]+(?:[.,:/][0-9]+)*|[^\W0-9]\w*|[^\w\s.,;:!?\"'`’“”()\[\]{}*…-]|-(?=[0-9])")
_DENIALS = {"not", "no", "never", "isn", "aren", "wasn", "weren", "neither", "nor", "without"}
_DENIAL_REACH = 3
_BARE_NUMBER = re.compile(r"[-+$€£]{0,2}[0-9][0-9.,/]{0,20}\s?[%°\w]{0,12}\.?")
_READ = 20_000
"""Only the last so many characters of an answer are read for its conclusion."""


def conclusion(answer: str) -> str:
    r"""What is compared: the sentence behind the last ``answer is``, ``<answer>`` or ``\boxed{``, else the last."""
    said = stated(answer)
    return first_sentence(said) if said else last_sentence(answer)


def _words(text: str) -> list[str]:
    return _WORD.findall(composed(text).casefold())


def names(text: str, phrase: str) -> bool:
    """Whether a text names a phrase, word for word, without denying it just before (``not a cat``)."""
    words, wanted = _words(text), _words(phrase)
    if not wanted or len(wanted) > len(words):
        return False
    if not holds_phrase(words, wanted):
        return False
    for start, word in enumerate(words[: len(words) - len(wanted) + 1]):
        if word == wanted[0] and words[start : start + len(wanted)] == wanted:
            before = set(words[max(0, start - _DENIAL_REACH) : start])
            if not before & _DENIALS:
                return True
    return False


def open_answer(answer: str, reference: str, context: Context) -> float:
    """1 where the answer is, or concludes with, the reference.

    A reference that is a number or a list of numbers is compared as the metric ``number`` does. Any other is
    right if it equals the whole answer or its first sentence (as ``exact`` says), or stands word for word in the
    answer's conclusion, with none of ``not``, ``no``, ``never``, ``isn't`` … among the three words before it. So a
    short answer that says more than the reference is right too, as with MMMU's own rule: this is not for choosing
    among options.
    """
    opening = _opening(answer)
    matched = None if context.tags.get("answer_type") == "text" else matches_number(answer, reference, context)
    if matched is not None:
        bare = _BARE_NUMBER.fullmatch(opening) is not None
        return float(matched or (bare and bool(matches_number(opening, reference, context))))
    if exact(answer, reference, context) or (opening and exact(opening, reference, context)):
        return 1.0
    return float(names(conclusion(answer[-_READ:]), reference[: _READ + 1]))


def _opening(answer: str) -> str:
    """What stands first where explanations follow and nothing is said to be the answer: ``No. The bars differ.``"""
    if len(answer) > _READ or stated(answer):
        return ""
    first = first_sentence(answer).strip()
    return first if len(first) < len(answer.strip()) else ""


METRICS = (
    BestReference("open", "the number, or the words in what the answer concludes (MMMU, MathVista)", open_answer),
)
