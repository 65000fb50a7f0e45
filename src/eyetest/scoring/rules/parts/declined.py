"""Replies with sentences that decline: refusals, unless something is chosen beside them."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cues import CORRECTS, NONE_FITS
from eyetest.scoring.rules.parts.mentions import lists_inline
from eyetest.scoring.rules.parts.refusals import BUT, UNDECIDABLE, find_refusal
from eyetest.scoring.rules.parts.resolved import resolve
from eyetest.scoring.rules.parts.stances import Sentence, Stances
from eyetest.scoring.rules.reading import Reading

_BEGINNING = 3
_ENDING = 5
_UNKNOWING = re.compile(r"\b(?:don't|do not) know\b", re.IGNORECASE)
"""An option that says so is chosen by these words: ``I can't answer that`` declines."""
_I = re.compile(r"\b(?:i|we)(?:'m| am| are)?\s{1,3}$", re.IGNORECASE)
_SUPPOSES = re.compile(r"\W{0,6}(?:if|unless|to \w{2,12}|please|look|compare)\b", re.IGNORECASE)
"""What would be so under a condition, or what the reader is told to do."""
_EMPTY_LABEL = re.compile(r"\n\W{0,6}(?:(?:final|correct|my) )?(?:answer|choice|option)\W{0,12}$", re.IGNORECASE)
"""``Answer:`` with nothing behind it: whoever declined above has nothing to put there."""


def refusing_in(case: Case, sentences: list[Sentence]) -> list[Sentence]:
    """The sentences that decline: in a long reply only where it begins or ends."""
    cut_off = case.cut_off and not _EMPTY_LABEL.search(case.text)
    return [
        s
        for n, s in enumerate(sentences)
        if (n < (_BEGINNING - cut_off) or n >= len(sentences) - (1 if cut_off else _ENDING))
        and find_refusal(case, *s)
        and not lists_inline(case.text, *s)
        and not NONE_FITS.search(case.text, *s)
    ]


def declined_midway(case: Case, sentences: list[Sentence]) -> Reading | None:
    """``I cannot open the table`` in the middle of a reply that then explains how one would go on and ends there."""
    if case.cut_off or "i" not in case.all_words:
        return None
    for sentence in sentences:
        refusal = find_refusal(case, *sentence) if "i" in case.words(*sentence) else None
        if refusal and refusal.group().startswith("i "):
            return case.nothing("refused", "refusal", "declines", sentence)
    return None


def undecidable(case: Case, stances: Stances, refusing: list[Sentence]) -> Reading | None:
    """``cannot be determined`` where that is an option."""
    options = [place for place, text in enumerate(case.offer.texts) if UNDECIDABLE.search(text)]
    for sentence, found in reversed(stances):
        for group in reversed(found):
            if group.places[0] in options and sentence in refusing:
                return case.chosen(group.places[0], "undecidable", group.start, group.end)
    said = UNDECIDABLE.search(case.text, *refusing[-1]) if len(options) == 1 else None
    if said and not _declines(case, said, options[0]):
        return case.chosen(options[0], "undecidable", *refusing[-1])
    return None


def _declines(case: Case, said: re.Match[str], place: int) -> bool:
    """Whether words declare that the speaker will not answer, rather than what the option says."""
    if _UNKNOWING.search(case.offer.texts[place]):
        return _UNKNOWING.search(said.group()) is None
    return (
        _I.search(case.text, max(0, said.start() - 16), said.start()) is not None and "answer" in said.group().lower()
    )


def beside_refusal(case: Case, stances: Stances, refusing: list[Sentence]) -> Reading | None:
    """A refusal, unless something is chosen beside it."""
    text = case.text
    first = refusing[0]
    for sentence, found in reversed(stances):
        taken = [g for g in found if g.stance == "taken"]
        if not taken:
            continue
        inside = sentence in refusing
        at = taken[-1].start
        many = any(len(g.places) > 1 for g in taken)
        if many and not inside and _SUPPOSES.match(text, *sentence):
            continue
        if many and not inside and len({p for g in taken for p in g.places}) < case.offer.count:
            return case.nothing("ambiguous", "beside a refusal", "several options", (taken[0].start, taken[-1].end))
        if inside:
            refusal = find_refusal(case, *sentence)
            assert refusal
            if many or not (at > refusal.end() and BUT.search(text, refusal.end(), at)):
                if many and taken[-1].end < refusal.start() and len(taken[-1].places) < case.offer.count:
                    return case.nothing(
                        "ambiguous", "beside a refusal", "several options", (taken[0].start, taken[-1].end)
                    )
                continue
        elif (
            not BUT.search(text, *sentence)
            and not CORRECTS.search(text, *sentence)
            and (sentence[0] > first[0] or sentence != stances[0][0] or len(stances) > _BEGINNING)
        ):
            continue
        reading = resolve(case, sentence, taken)
        if reading:
            return reading
    return case.nothing("refused", "refusal", "declines", first)
