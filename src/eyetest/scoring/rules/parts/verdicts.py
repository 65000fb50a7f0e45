"""Marks as the subject of a verdict: ``B is correct``, ``A and C are wrong``, ``only D fits``."""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content, What
from eyetest.scoring.rules.parts.cues import BAD
from eyetest.scoring.rules.parts.marks import NOUN, Found, mark_at
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.naming import named
from eyetest.scoring.rules.parts.statement import FIRM, WEAK, Statement, better, by_mark
from eyetest.scoring.rules.parts.verdict_words import LABELS, VERDICT

_SUBJECT = re.compile(
    r"\((?:[A-Za-z]|\d{1,2})\)|(?<![\w'])(?:[A-Z](?![\w'])|(?:[a-z]|\d{1,2})(?=\)?\s(?:is|are|ist|est|seems|fits|"
    r"must)\b))"
)
_NOUN_BEFORE = re.compile(rf"{NOUN}\s{{1,4}}$", re.IGNORECASE)
_NO_VERDICT = re.compile(r"\s{1,3}(?:side|hand|of|angle|triangle|-)", re.IGNORECASE)
_DOUBTED = re.compile(
    r"\b(?:don't|not|doubt|hardly|doesn't)\s(?:\w+\s){0,2}?(?:think|believe|agree|mean|say|"
    r"that)?\s?(?:that\s)?(?:option\s)?\(?$",
    re.IGNORECASE,
)
_FITS = re.compile(
    r"\)?\s(?:fits?|match(?:es)?|works|wins|beats [A-Z]|it is)\b(?:\s(?:best|well|perfectly|here|the (?:image|"
    r"picture|description|"
    r"data|graph)))?\s{0,3}(?:[.,!\n]|$)",
    re.IGNORECASE,
)
_CJK_VERDICT = re.compile(
    r"([A-Z])\s?(?:项|选项|番|が|は|번이|번|가|이)?\s?(?:是|为)?\s?(?:(?P<bad>错|不正确|不对|不符)|正确|对的|"
    r"正しい|正解|맞|정답|라고|이라고|입니다|です|だと思)"
)
_LAST_WORD = re.compile(r"([A-Za-z]+)\s{1,3}$")
_UNIT = re.compile(r"\d\s{0,3}$")
_ONLY_IF = re.compile(r"\s{1,3}(?:only )?(?:if|when|unless)\b")
_IF = re.compile(r"\b(?:if|whether|unless|only if|when)\b", re.IGNORECASE)
_NONE_OF = re.compile(
    r"\b(?:none of (?:[\w\-]{1,12} ){0,4}?|(?:neither|not|nor)\s(?:options\s)?)[\"'(]?$", re.IGNORECASE
)
_SURVIVES = re.compile(
    r"\)?\s{1,3}(?:(?:has|is|was) the odd one out|(?:(?:has|is|was) not|hasn't|isn't|wasn't) (?:been )?"
    r"(?:struck|ruled|eliminated|excluded|crossed|contradicted|dismissed|rejected)|"
    r"(?:can't|cannot) be (?:wrong|false|incorrect|faulted|ruled out|excluded|eliminated))",
    re.IGNORECASE,
)
"""What was not ruled out is left."""
_MADE = re.compile(
    r"\)?\s{1,3}(?:the|an?)\s(?:\w{1,14}\s){0,2}(?:option|choice|answer|candidate|fit|match|pick|one)\b",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\b(?:make|makes|making|leaves?|leaving)\s(?:option\s)?[\"'(]?$", re.IGNORECASE)
_FOUND = re.compile(
    r"\b(?:find|found|see|shows?|conclude|follows|confirms?|turns out|determined?|(?:it is|it's|is) clear)\s{1,6}"
    r"(?:that\s{1,6})?(?:only\s{1,6})?(?:the\s{1,6})?(?:(?:option|choice|answer)\s{1,6})?[\"'(]?$",
    re.IGNORECASE,
)
_SATISFIES = re.compile(
    r"\)?\s{0,6}(?:\([^()\n]{0,160}\)|,[^,\n]{1,80},|[:\-–][^.\n]{1,80}?)?\s{1,6}"
    r"(?:(?:best|correctly|indeed|fully|also)\s)?"
    r"(?:satisf(?:y|ies)|fulfil(?:l?s)?|meets|agrees with|is consistent with|works|fits|matches|complies with)\b",
    re.IGNORECASE,
)
"""``we find that option H (…) satisfies the equations``."""
_REFUTED = re.compile(
    r"\)?\s{1,3}(?:(?:also|clearly|plainly|simply) )?(?:contradicts?|conflicts? with|violates?|fails?|"
    r"disagrees? with|(?:doesn't|does not|don't|do not) (?:fit|match|work|apply|hold|make sense)|makes? no sense)\b",
    re.IGNORECASE,
)
_OR = re.compile(
    r"(?<!\w)\(?(?P<mark>[A-Z])[.):]\s{1,6}(?P<text>[^\n]{1,400}?)\s{1,6}(?:or|and)\s{1,6}(?:option\s)?\(?$"
)
_ONLY = re.compile(r"\bonly\s{1,3}(?:option\s)?[\"'(]?$", re.IGNORECASE)
_DOES = re.compile(r"\)?\s{1,3}(?!is\b|was\b|has\b)[a-z]{2,14}s\b")
_ROOM = 24
_AS_ARE = re.compile(r"\b(?:as|and so|so) (?:is|are|do|does)\s{1,3}(?:options?\s)?[\"'(]?$", re.IGNORECASE)
_LOOSE = ("left", "right", "one", "only")
_REACH = 160


def judged(case: Case, start: int, end: int) -> Statement | None:
    """The last verdict of a sentence; what it drops never hides what it takes."""
    words = case.words(start, end)
    if words.isdisjoint(gates.VERDICT) or not case.offer.maybe_mark.search(case.text, start, end):
        return None
    text = case.text
    last = _cjk(case, start, end) if gates.FOREIGN in words else None
    at = start
    while subject := _SUBJECT.search(text, at, end):
        at = subject.end()
        lead = _LAST_WORD.search(text, max(start, subject.start() - 16), subject.start())
        unit = _UNIT.search(text, max(start, subject.start() - 4), subject.start())
        if (unit or (lead and lead[1].lower() in LABELS)) and "(" not in subject.group():
            continue
        noun = _NOUN_BEFORE.search(text, max(start, subject.start() - 24), subject.start())
        first = noun.start() if noun else subject.start()
        found = mark_at(text, first, min(end, first + 4 * _REACH), case.offer)
        if found:
            at = max(at, found.end)
            last = _likewise(text, start, found, last) or _and(last, _verdict(case, (start, end), found))
    return last


def _and(last: Statement | None, other: Statement | None) -> Statement | None:
    """The later verdict; two that rule out rule out both."""
    if last is None or other is None or not (last.drops and other.drops):
        return better(last, other)
    places = tuple(dict.fromkeys((*last.content.places, *other.content.places)))
    return Statement(Content("dropped", places, last.content.start, other.content.end, "mark"), FIRM, "verdict")


def _likewise(text: str, start: int, found: Found, last: Statement | None) -> Statement | None:
    """``B is wrong, as are C and D``: what was said of the first holds for the others."""
    if last is None or not _AS_ARE.search(text, max(start, found.start - 16), found.start):
        return None
    places = tuple(dict.fromkeys((*last.content.places, *found.places)))
    what: What = "dropped" if last.drops else "many"
    return Statement(Content(what, places, last.content.start, found.end, "mark"), last.firm, "verdict")


def _verdict(case: Case, sentence: tuple[int, int], found: Found) -> Statement | None:
    """What is said of the marks at a place: that they are right, fit, or are out."""
    text, (start, end) = case.text, sentence
    verdict = VERDICT.match(text, found.end, min(end, found.end + _REACH))
    if case.offer.lettered and (inside := _inside_option(case, start, end, found.start)):
        said = verdict or _FITS.match(text, found.end, end)
        return Statement(inside, WEAK, "verdict") if said else None
    if _is_left(text, sentence, found):
        return by_mark(found, FIRM, "verdict")
    doubted = _DOUBTED.search(text, max(start, found.start - 40), found.start) is not None
    fits = (
        _is_found(text, sentence, found)
        or _alone_does(case, sentence, found)
        or (not verdict and _FITS.match(text, found.end, end))
    )
    if fits and not doubted:
        return by_mark(found, WEAK, "verdict")
    if verdict is None:
        return _out(found) if _REFUTED.match(text, found.end, end) else None
    return _in_words(case, sentence, found, verdict, doubted=doubted)


def _in_words(
    case: Case, sentence: tuple[int, int], found: Found, verdict: re.Match[str], *, doubted: bool
) -> Statement | None:
    """``is the best option``, ``are both wrong``; nothing where the words are about something else."""
    text, (start, end) = case.text, sentence
    aside = verdict["aside"] and exactly(verdict["aside"], case.offer) not in found.places
    loose = verdict["word"].lower() in _LOOSE and _NO_VERDICT.match(text, verdict.end(), end)
    supposed = _ONLY_IF.match(text, verdict.end()) or _IF.search(text, max(start, found.start - 30), found.start)
    if aside or loose or supposed:
        return None
    bad = doubted or BAD.search(verdict["between"]) or BAD.search(verdict["word"])
    if bad or _NONE_OF.search(text, max(start, found.start - 50), found.start):
        return _out(found)
    if (first := _joined_with(case, start, found.start)) is not None:
        found = Found((first, *found.places), found.start, found.end)
    return by_mark(found, FIRM, "verdict")


def _out(found: Found) -> Statement:
    return Statement(Content("dropped", found.places, found.start, found.end, "mark"), FIRM, "verdict")


def _joined_with(case: Case, start: int, at: int) -> int | None:
    """The other option of ``B. cat or C. dog is the most likely``."""
    before = _OR.search(case.text, max(start, at - case.offer.longest - _ROOM), at)
    place = case.offer.place(before["mark"]) if before else None
    told = exactly(before["text"], case.offer) if before else None
    return place if place is not None and place >= 0 and place == told else None


def _is_left(text: str, sentence: tuple[int, int], found: Found) -> bool:
    """``only C has not been ruled out``, ``which makes B the better option``."""
    start, end = sentence
    made = _MAKES.search(text, max(start, found.start - 24), found.start) and _MADE.match(text, found.end, end)
    return bool(made or _SURVIVES.match(text, found.end, end))


def _is_found(text: str, sentence: tuple[int, int], found: Found) -> bool:
    """``after checking all options, we find that option H satisfies them``."""
    start, end = sentence
    lead = max(start, found.start - 40)
    return bool(
        _FOUND.search(text, lead, found.start) and _SATISFIES.match(text, found.end, min(end, found.end + 240))
    )


def _alone_does(case: Case, sentence: tuple[int, int], found: Found) -> bool:
    """``of the four, only B produces haploid cells`` as the last word."""
    start, end = sentence
    if sentence != case.sentences[-1] or case.cut_off:
        return False
    only = _ONLY.search(case.text, max(start, found.start - 16), found.start)
    return only is not None and _DOES.match(case.text, found.end, end) is not None


def _cjk(case: Case, start: int, end: int) -> Statement | None:
    found = _CJK_VERDICT.search(case.text, start, end)
    place = case.offer.place(found[1]) if found else None
    if not found or place is None:
        return None
    return Statement(
        Content("dropped" if found["bad"] else "one", (place,), found.start(1), found.end(1), "mark"), FIRM, "verdict"
    )


def _inside_option(case: Case, start: int, end: int, at: int) -> Content | None:
    """The option whose text a mark is part of, as in ``Only B and C are correct``."""
    for one in named(case.text, start, end, case.offer):
        if not one.marked and one.start <= at < one.end:
            return Content("one", one.places, one.start, one.end, "text")
    return None
