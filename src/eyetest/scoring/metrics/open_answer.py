r"""Open answers: what a reply concludes is compared with the reference, whole with whole.

*Letters.* A reference that is a single capital letter is right where the reply commits to that letter, as our rules
for choices read it; that it lists or discusses options is no commitment. Where the question lists no options, a
letter that the conclusion names is right too (``Point C is nearest``).

*Yes and no* are read as the metric ``yes-no`` reads them: "Yes, no doubt" is a yes.

*Numbers* are compared as the metric ``number`` does. One that a refusal mentions in passing is no answer.

*Formulas* are compared mathematically (``support/whole_answers.py``): ``27000 - 4500\pi`` is ``4500(6 - \pi)`` and
not 27000.

*Lists* of any of these, separated by commas, semicolons or ``and``, part by part and in order.

*Words* are right if they equal the answer or its first sentence (as ``exact`` says), or stand word for word in the
answer's conclusion, with none of ``not``, ``no``, ``never``, ``isn't`` … among the three words before them. So a
short answer that says more than the reference is right too, as with MMMU's own rule: this is not for choosing
among options.
"""

import re

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.number import announces_number, matches_number, read_measure, same_number
from eyetest.scoring.metrics.same_text import exact
from eyetest.scoring.metrics.support.conclusion import final_answers, first_sentence, last_sentence, stated
from eyetest.scoring.metrics.support.formula_tokens import undressed, unworded
from eyetest.scoring.metrics.support.numbers import same_unit
from eyetest.scoring.metrics.support.texts import composed, folded, holds_phrase
from eyetest.scoring.metrics.support.whole_answers import is_formula, read_whole, same_whole
from eyetest.scoring.metrics.yes_no import read_yes_no
from eyetest.scoring.rules import RULE_SETS, Reply

_WORD = re.compile(r"[0-9]+(?:[.,:/][0-9]+)*|[^\W0-9]\w*|[^\w\s.,;:!?\"'`’“”()\[\]{}*…-]|-(?=[0-9])")
_DENIALS = {"not", "no", "never", "isn", "aren", "wasn", "weren", "neither", "nor", "without"}
_DENIAL_REACH = 3
_BARE_NUMBER = re.compile(r"[-+$€£]{0,2}[0-9][0-9.,/]{0,20}\s?[%°\w]{0,12}\.?")
_LETTER = re.compile(r"\s*[(\[]?([A-Z])[)\].]?\s*")
_LISTED = re.compile(r"(?:^|[\s(\[])([A-Z])[).:\]]")
_LETTERS = ("",) * 26
_YES_NO = ("yes", "no")
_ARTICLE = re.compile(r"(?:^|(?<=[.!?] ))(?:A|I)(?= (?!is\b|was\b|has\b)[a-z])")
"""Letters that begin a sentence as words: ``A man is riding``, ``I think so``, but not ``A is nearest``."""
_SEPARATOR = re.compile(r"\s*[;,]\s*(?:and\s+)?|\s+and\s+")
_ENCLOSED = re.compile(r"(?:\$|\\\(|\\left)*\\?[(\[{].*[)\]}](?:\$|\\\))*", re.DOTALL)
_LABEL = re.compile(r"(?:\([0-9a-zA-Z]{1,2}\)\s*|[a-zA-Z]{1,2}[):.]\s+|[0-9]{1,2}\)\s+)(?=\S)")
_MOST_PARTS = 20
_READ = 20_000
"""Only the last so many characters of an answer are read for its conclusion."""
_LONGEST_WHOLE = 1_000
"""A longer reference is compared by its words alone."""


def conclusion(answer: str) -> str:
    r"""Where words are looked for: behind the last ``answer is``, ``<answer>`` or ``\boxed{``, else at the end."""
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
    """1 where the answer is, or concludes with, the reference."""
    verdict = _plain(reference).casefold()
    if (letter := _LETTER.fullmatch(reference[:10])) or verdict in _YES_NO:
        return float(_commits(answer, letter[1], context) if letter else read_yes_no(answer) == verdict)
    opening = _opening(answer)
    matched = None if context.tags.get("answer_type") == "text" else matches_number(answer, reference, context)
    if matched is not None:
        bare = _BARE_NUMBER.fullmatch(opening) is not None
        if matched and not announces_number(answer) and _declines(answer):
            matched = False
        return float(matched or (bare and bool(matches_number(opening, reference, context))))
    if exact(answer, reference, context) or (opening and exact(opening, reference, context)):
        return 1.0
    said = answer[-_READ:]
    if len(reference) <= _LONGEST_WHOLE:
        if any(same_answer(text, reference, context) for text in final_answers(said)):
            return 1.0
        if is_formula(read_whole(reference)):
            return 0.0
    return float(names(conclusion(said), reference[: _READ + 1]))


def same_answer(said: str, gold: str, context: Context) -> bool:
    """Whether one text, as a whole, says what another says: in its words, as number, formula, or part by part."""
    if _plain(said) == _plain(gold):
        return True
    number, reference = read_measure(said), read_measure(gold)
    if number and reference:
        return same_unit(number[1], reference[1]) and same_number(number[0], reference[0], context)
    whole, wanted = read_whole(said), read_whole(gold)
    if whole and wanted and is_formula(wanted) and same_whole(wanted, whole):
        return True
    parts, golds = _SEPARATOR.split(said.strip()), _SEPARATOR.split(gold.strip())
    if not 1 < len(golds) == len(parts) <= _MOST_PARTS or _ENCLOSED.fullmatch(gold.strip()):
        return False
    return all(_same_part(part, other, context) for part, other in zip(parts, golds, strict=True))


def _same_part(said: str, gold: str, context: Context) -> bool:
    label, wanted = _LABEL.match(said), _LABEL.match(gold)
    if label and wanted and _plain(label[0]) != _plain(wanted[0]):
        return False
    return same_answer(_LABEL.sub("", said, count=1), _LABEL.sub("", gold, count=1), context)


def _plain(text: str) -> str:
    return folded(unworded(undressed(text[:_LONGEST_WHOLE]))).replace(" ", "")


def _declines(answer: str) -> bool:
    """Whether a reply refuses to answer: numbers that it mentions (``the two people``) are no answer."""
    return RULE_SETS["eyetest"].read(Reply(answer, ())).kind == "refused"


def _commits(answer: str, letter: str, context: Context) -> bool:
    """Whether a reply commits to a letter, or to the option that the question lists under it."""
    options = _listed(context.question)
    reading = RULE_SETS["eyetest"].read(Reply(answer, options or _LETTERS))
    if reading.index is not None:
        return chr(ord("A") + reading.index) == letter
    if reading.kind != "unparsed" or options:
        return False
    said = _ARTICLE.sub("", conclusion(answer[-_READ:]))
    return re.search(rf"(?<![\w']){letter}(?![\w'])", said) is not None and names(said, letter)


def _listed(question: str) -> tuple[str, ...]:
    """The options that stand in a question, ``(A) a cat (B) a dog``; none where it lists none."""
    starts: list[re.Match[str]] = []
    for mark in _LISTED.finditer(question):
        if mark[1] == "A":
            starts = [mark]
        elif starts and ord(mark[1]) == ord(starts[-1][1]) + 1:
            starts.append(mark)
    ends = [*(mark.start() for mark in starts[1:]), len(question)]
    texts = (question[mark.end() : end].strip(" ,;\n") for mark, end in zip(starts, ends, strict=True))
    return tuple(texts) if len(starts) > 1 else ()


def _opening(answer: str) -> str:
    """What stands first where explanations follow and nothing is said to be the answer: ``No. The bars differ.``"""
    if len(answer) > _READ or stated(answer):
        return ""
    first = first_sentence(answer).strip()
    return first if len(first) < len(answer.strip()) else ""


METRICS = (
    BestReference(
        "open", "numbers, formulas, letters and words that the answer concludes with (MMMU, MathVista)", open_answer
    ),
)
