"""What each sentence of a reply does with the options."""

import re
from collections.abc import Sequence

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.mentions import Group, groups

_PLEASANTRY = re.compile(
    r"\s{0,20}(?:\([^)]*note|let me know|i hope|hope this|feel free|if you (?:have|need|would|want)|please let|"
    r"note that|\(note|thank you|is there anything|happy to|(?:quick )?(?:double-?)?check(?:ing|:| )|for context|"
    r"by the way|incidentally|for reference|had (?:it|this|the))"
)
_BRACKETED = re.compile(r"(?:^|\n|[.!?]\s)\s{0,6}\([^()\n]{10,600}\)\s{0,3}(?=\n|$)")
_THOSE = re.compile(r"\s{0,6}(?:so )?(?:neither|none) of (?:these|them|those|the two)\b", re.IGNORECASE)
Sentence = tuple[int, int]


class Stances(Sequence[tuple[Sentence, list[Group]]]):
    """What each sentence does with the options, found out when first asked: the conclusion comes last."""

    def __init__(self, case: Case, sentences: list[Sentence], quoted: list[Sentence]) -> None:
        self._case, self.sentences, self._quoted = case, sentences, quoted
        self._known: dict[int, list[Group]] = {}

    def __len__(self) -> int:
        return len(self.sentences)

    def is_quoted(self, sentence: Sentence) -> bool:
        """Whether a sentence stands in a list of the options."""
        return any(start < sentence[1] and sentence[0] < end for start, end in self._quoted)

    def _dropped_behind(self, n: int) -> bool:
        """Whether the next sentence begins with ``neither of these``."""
        return n + 1 < len(self.sentences) and bool(_THOSE.match(self._case.text, *self.sentences[n + 1]))

    def __getitem__(self, n: int) -> tuple[Sentence, list[Group]]:  # type: ignore[override]
        case, sentence = self._case, self.sentences[n]
        if n not in self._known:
            named = case.promising(*sentence)
            found = groups(case.text, *sentence, case.offer, case.words(*sentence)) if named else []
            if self.is_quoted(sentence):
                found = [group for group in found if group.stance == "dropped"]
            if found and self._dropped_behind(n):
                for group in found:
                    group.stance = "dropped"
            self._known[n] = found
        return sentence, self._known[n]


def telling(case: Case) -> list[Sentence]:
    """The sentences without pleasantries, asides in brackets, checks, and what was taken back later."""
    text, low = case.text, case.low
    asides = [found.span() for found in _BRACKETED.finditer(text)] if "(" in text else []
    return [
        s
        for s in case.sentences
        if s[0] > case.taken_back
        and not _PLEASANTRY.match(low, *s)
        and not any(start <= s[0] and s[1] <= end + 1 for start, end in asides)
    ] or [s for s in case.sentences if s[0] > case.taken_back]
