r"""Open answers: a reply's conclusion is compared with the reference, whole with whole (``docs/scoring.md``). Letters
are read by the rules for choices; yes, no, numbers and lists by the metrics ``yes-no`` and ``number``; formulas,
dates and times at the level VALUE. Words must equal the answer or its first sentence, or stand, not denied, in its
conclusion.
"""

import re
from functools import partial

from eyetest.scoring.metrics import BestReference, Context
from eyetest.scoring.metrics.number import (
    announces_number,
    bulleted_list,
    conclusion,
    final_answers,
    first_sentence,
    matches_number,
    same_number,
    stated,
)
from eyetest.scoring.metrics.same_text import exact
from eyetest.scoring.metrics.verdicts import read_verdict
from eyetest.scoring.rules import RULE_SETS, Reply
from eyetest.scoring.rules.cleaning import reply_proper
from eyetest.scoring.rules.options import word_set
from eyetest.text import Level, holds_phrase, normalized, parse, same, words
from eyetest.text.folding import EDGES, LONGEST, without_article
from eyetest.text.numbers import READ

_DENIALS = {"not", "no", "never", "isn", "aren", "wasn", "weren", "neither", "nor", "without"}
_BARE_NUMBER = re.compile(r"[-+$€£]{0,2}[0-9][0-9.,/]{0,20}\s?[%°\w]{0,12}\.?")
_LETTER = re.compile(r"\s*[(\[]?([A-Z])[)\].]?\s*")
_LETTERS = ("",) * 26
_VERDICT_WORDS = "yes no true false sí sim não oui non ja nein да нет 是 否 はい いいえ 예 아니요 có không"
_VERDICTS = frozenset(_VERDICT_WORDS.split())
# Letters that are words: ``A man is riding``, ``I think so``, but not ``A is nearest``
_ARTICLE = re.compile(r"(?:^|(?<=[.!?] ))(?:A|I)(?= (?!is\b|was\b|has\b)[a-z])")


def names(text: str, phrase: str) -> bool:
    """Whether a text names a phrase, word for word, without denying it just before (``not a cat``)."""
    found, wanted = words(text), without_article(words(phrase))
    if not wanted or not holds_phrase(found, wanted):
        return False
    return any(
        found[start : start + len(wanted)] == wanted and _DENIALS.isdisjoint(found[max(0, start - 3) : start])
        for start, word in enumerate(found[: len(found) - len(wanted) + 1])
        if word == wanted[0]
    )


_COPULA = re.compile(
    r"\b(?:is|are|was|were|be|shows?|says?|reads?|answer|ist|sind|es|son|é|são|è|sono|est|sont|là|adalah)\b:?|:\s|[是：]"
)
_JOINT = re.compile(r"[,;/&\n、，]|\b(?:and|or)\b")
_NO_ITEM = word_set(
    "as which because since so with in on at by of for from but while where when who that it this these there then "
    "not located found based according given etc"
)
_APPOSITION = re.compile(r", ?(?:the|an?)\b", re.IGNORECASE)
_LONGEST_ITEM = 4


def is_one_of_several(text: str, reference: str) -> bool:
    """Whether a text names a reference as one item of a list, or as one of two alternatives."""
    wanted = without_article(words(reference))
    if _JOINT.search(reference):
        return False
    concluded = _COPULA.split(text)[-1]
    parts = [without_article(words(part)) for part in _JOINT.split(concluded)]
    items = [part for part in parts if part and len(part) <= _LONGEST_ITEM and part[0] not in _NO_ITEM]
    others = [item for item in items if item != wanted and not any(word.isdigit() for word in item)]
    is_apposition = len(parts) == 2 and parts[0] == wanted and _APPOSITION.search(concluded) is not None
    return wanted in items and bool(others) and not is_apposition


def open_answer(answer: str, reference: str, context: Context) -> float:
    """1 where the answer is, or concludes with, the reference."""
    answer = reply_proper(answer)
    if "\\box" in reference:
        reference = stated(reference) or reference
    if letter := _LETTER.fullmatch(reference[:10]):
        return float(_commits(answer, letter[1]))
    if normalized(reference[: LONGEST + 1]) in _VERDICTS:
        return float(read_verdict(answer, context.question) == read_verdict(reference))
    matched = None if context.tags.get("answer_type") == "text" else matches_number(answer, reference, context)
    if matched is not None:
        return _score_number(answer, reference, context, matched=matched)
    return _score_text(answer, reference, context)


def _score_number(answer: str, reference: str, context: Context, *, matched: bool) -> float:
    """1 where a number matches that is no part of a refusal, or that opens a reply before its explanation."""
    opening = _opening(answer).strip(EDGES)
    bare = _BARE_NUMBER.fullmatch(opening) is not None
    if matched and not announces_number(answer):  # numbers in a refusal (``the two people``) are no answer
        matched = RULE_SETS["eyetest"].read(Reply(answer, ())).kind != "refused"
    return float(matched or (bare and bool(matches_number(opening, reference, context))))


def _score_text(answer: str, reference: str, context: Context) -> float:
    """1 where a reply is or concludes with words, a formula, a date or a list."""
    opening = _opening(answer)
    end = answer[-READ:]
    is_exact = exact(answer, reference, context) or (opening and exact(opening, reference, context))
    if is_exact or is_one_of_several(conclusion(end), reference):
        return float(bool(is_exact))
    if len(reference) <= LONGEST:
        numbers = partial(same_number, context=context)
        texts = [*final_answers(end), *_listed_last(end, reference)]
        if any(same(text, reference, Level.VALUE, numbers) for text in texts):
            return 1.0
        if parse(reference).kind == "formula":
            return 0.0
    return float(names(conclusion(end), reference[: READ + 1]))


def _listed_last(end: str, reference: str) -> list[str]:
    """The lists that an answer ends with, in a line or as lines, where the reference is a list."""
    if _JOINT.search(reference) is None:
        return []
    return [_COPULA.split(conclusion(end))[-1], bulleted_list(end)]


def _commits(answer: str, letter: str) -> bool:
    """Whether a reply commits to a letter."""
    reading = RULE_SETS["eyetest"].read(Reply(answer, _LETTERS))
    if reading.index is not None:
        return chr(ord("A") + reading.index) == letter
    if reading.kind != "unparsed":
        return False
    concluded = _ARTICLE.sub("", conclusion(answer[-READ:]))
    return re.search(rf"(?<![\w']){letter}(?![\w'])", concluded) is not None and names(concluded, letter)


def _opening(answer: str) -> str:
    """The opening where explanations follow and no answer is announced: ``No. The bars differ.``"""
    if len(answer) > READ or stated(answer):
        return ""
    first = first_sentence(answer).strip()
    return first if len(first) < len(answer.strip()) else ""


METRICS = (
    BestReference(
        "open", "numbers, formulas, letters and words that the answer concludes with (MMMU, MathVista)", open_answer
    ),
)
