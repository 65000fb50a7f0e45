"""Answers by a mark that is not on offer: an option's text that the reply says as well tells what it means."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cues import NONE_FITS
from eyetest.scoring.rules.parts.mentions import Group, groups
from eyetest.scoring.rules.parts.refusals import find_refusal
from eyetest.scoring.rules.parts.resolved import is_predicate
from eyetest.scoring.rules.parts.stances import Sentence
from eyetest.scoring.rules.reading import Reading

_REACH = 6
_CLAUSE_END = re.compile(r"[\s)\]]{0,6}(?:[.,;!\n]|$)")


def told_by_text(case: Case, reading: Reading) -> Reading | None:
    """``The rate was 1.20%. Answer: (L)``: the one option that the sentences around a wrong mark say by its text."""
    if reading.why != "mark not on offer":
        return None
    before = case.sentences[-_REACH:]
    if any(NONE_FITS.search(case.text, *s) or find_refusal(case, *s) for s in before):
        return None
    taken = [
        group
        for sentence in before
        for group in groups(case.text, *sentence, case.offer, case.words(*sentence))
        if group.stance == "taken" and not group.marked and group.end - group.start > 1
        if not case.offer.words[group.places[0]][0][:1].isdigit() or _is_result(case, sentence, group)
    ]
    if len({place for group in taken for place in group.places}) != 1:
        return None
    return case.chosen(taken[-1].places[0], "text beside a wrong mark", taken[-1].start, taken[-1].end)


def _is_result(case: Case, sentence: Sentence, group: Group) -> bool:
    """Whether a number is what something is, not how many of them there are."""
    return is_predicate(case, sentence, group) and _CLAUSE_END.match(case.text, group.end) is not None
