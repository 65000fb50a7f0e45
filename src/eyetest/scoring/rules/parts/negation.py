"""Whether the words before an option negate it."""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.lowered import cased

_NEGATES = re.compile(
    r"\b(?:anything but|everything but|anything except|not|no|never|neither|nor|cannot|without|\w{2,7}n't|nobody|"
    r"nowhere near|né|none|rul(?:e|es|ed|ing)\s+out|eliminat\w{1,4}|exclud\w{1,4}|"
    r"take back|withdraw|cross\w{0,3} out|strike out|reject\w{0,3}|discard\w{0,3}|dismiss\w{0,3}|wrong|incorrect|"
    r"far from|nicht|kein\w{0,2}|pas|ni|не|нет|niet|geen|nie|non|não|n'est|nem|değil|bukan|không)\b"
    r"|不是|不可能|并非|排除|没有|非",
    re.IGNORECASE,
)
_BUT_NOT_THIS = re.compile(
    r"(?:\b\w{2,7}n't|\bnot|\bcannot|\bno)\b[^.,;\n]{0,20}\b(?:anything|anyone|anybody|any|option|choice|one|"
    r"thing)(?: of (?:the|these|those) \w{1,12})? (?:other than|but|except|else than)\b|"
    r"\b(?:no|without(?: a)?|(?:not?|hardly|scarcely|n't) any|little|hardly a) doubt\b|\bnot only\b|\b(?:nothing|"
    r"none|no one|nobody) (?:but|"
    r"other than|except|else than)\b"
    r"|\bno other than\b|\bother than\b|\bnot sure\b|\bno longer\b|\bno \w+ on\b|\bif i'm not (?:wrong|mistaken)\b",
    re.IGNORECASE,
)
_WORDS = gates.words(
    "take withdraw cross crossed crossing strike anything everything not no never neither nor cannot without "
    "nowhere rejecting discarding dismissed dismisses né doubt doubts nobody none rule rules ruled ruling "
    "eliminate eliminates eliminated eliminating exclude excludes excluded "
    "excluding "
    "reject rejects rejected discard discards discarded dismiss wrong incorrect far nicht kein keine keinen pas ni "
    "niet geen nie non ~"
)
_FINITE = re.compile(r"\b(?:is|are|was|were|ist|sind|est|es|son|è|é)\b(?!\s+(?:not|n't))", re.IGNORECASE)
_REACHES = re.compile(
    r"\b(?:no way|(?<!no )(?<!a )(?<!any )(?<!little )doubt(?:s|ed|ful)?|unlikely that|impossible that)\b",
    re.IGNORECASE,
)
"""Negations that reach over a verb: ``there is no way the sample is a gas``."""
_DOUBTS = re.compile(
    r"\b(?:think|believe|agree|suppose|say|guess|consider|expect|glaube|denke|pense|creo)\b", re.IGNORECASE
)
_INVERTS = ("neither", "nor")
_INVERTED = re.compile(r"\s(?:is|are|was|were|do|does|did|can|could|will|would)\s")
"""``and neither are B or C``: here the verb comes before what is negated."""
_LOW_BUT_NOT_THIS, _LOW_REACHES, _LOW_NEGATES = map(cased, (_BUT_NOT_THIS, _REACHES, _NEGATES))


def negates(text: str, start: int, end: int, words: set[str] | None = None) -> bool:
    """Whether a sentence negates anything at all; its ``words``, where known, mostly tell that it does not."""
    if words is not None and gates.NEGATION not in words and words.isdisjoint(_WORDS):
        return False
    return _NEGATES.search(text, start, end) is not None or _REACHES.search(text, start, end) is not None


def harmless(before: str) -> str:
    """Words in lower case with the negations blanked that negate nothing: ``no doubt``, ``nothing but``."""
    return _LOW_BUT_NOT_THIS.sub(lambda found: " " * len(found.group()), before)


def is_negated(before: str, clause: int) -> bool:
    """Whether the words before an option negate it: in its own clause, or by a doubt that reaches further."""
    if _LOW_REACHES.search(before, _comma(before)):
        return True
    for negation in reversed(list(_LOW_NEGATES.finditer(before))):
        between = before[negation.end() :]
        if _DOUBTS.match(between.lstrip()) and "," not in between:
            return True
        if negation.group() in _INVERTS and _INVERTED.match(between):
            return True
        if negation.end() >= clause and not _FINITE.search(between):
            return True
    return False


def _comma(before: str) -> int:
    """Where the clause begins that holds the option: behind the last comma, semicolon or ``but``."""
    return max(before.rfind(", "), before.rfind("; "), before.rfind(" but ")) + 1
