"""Marks in any usual dress, and lists of marks.

A single letter may be a word ("A dog", "I think") or a name ("vitamin C"), so the dress and the neighbours decide.
"""

import re
from functools import lru_cache

import msgspec

from eyetest.records.condition import Marks
from eyetest.records.marking import mark
from eyetest.scoring.rules.parts.lowered import lower
from eyetest.scoring.rules.parts.offer import Offer

NOUN = (
    r"(?:(?:options?|choices?|answers?|alternatives?|letters?|opci[oó]n(?:es)?|la\s+letra|respuestas?|r[ée]ponses?|"
    r"antworten|"
    r"antwort|letra|lettre|buchstabe|variante?|вариант\w{0,3}|ответ|буква|opsi|pilihan|risposta|opzione|lettera|"
    r"antwoord|optie|odpowied[źz]|opcj[ai]|op[cç][ãa]o|alternativa|alternative|şık|seçenek|seçeneği|phương án|"
    r"đáp án)\b|"
    r"选项|選項|选择|選擇|選択肢|보기|선택지|विकल्प|الخيار|الإجابة)"
)
_MARK = re.compile(
    rf"[\s:>\-–—\"'.,=]{{0,60}}(?:(?:both|either|any of|entweder|soit|"
    rf"tanto)\s{{0,2}}[:\s]\s{{0,2}})?(?:the\s{{1,3}}|die\s{{1,3}}|"
    rf"la\s{{1,3}}|l'|a\s{{1,3}})?(?P<noun>{NOUN}\s{{0,4}}[:#]?\s{{0,20}})?"
    r"(?P<open>[\"'(\[<]{0,4}\s{0,20})(?P<mark>[A-Za-z]|\d{1,2})(?![^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    r"(?P<close>\s{0,20}[)\]>\"']{0,4})",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"(?:\.{2,3})?\s{0,20}(?:[,;]?\s{0,3}(?:and/or|and|or|nor|und|oder|et|ou|y|o|e|or\s+else|as well as|plus|или|и|"
    r"lub|en|of|ve|veya|dan|atau)"
    r"(?=[\s(\[\"'])(?:\s{1,3}(?:also|even|possibly|perhaps|maybe))?|[,/&+;、]|和|或者?|与|及|と|か|또는|와|과)\s{0,20}"
    rf"(?:the\s{{1,3}})?(?:{NOUN}\s{{1,3}})?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s{0,3}(?:to|through|–|-|bis|à|~|至|到)\s{0,3}", re.IGNORECASE)
_LISTED = re.compile(r"[\"'(\[]{0,3}\s{0,3}(?P<mark>[A-Za-z]|\d{1,2})(?![\w'°%+])\s{0,3}[)\]\"']{0,3}")
_GOES_ON = re.compile(
    r"\s{1,20}(?:because|since|as|which|that|and|or|nor|but|is|are|was|due|for|given|if|with|while|from|rather|"
    r"instead|"
    r"not|"
    r"based|would|should|seems?|appears?|here|then|therefore|though|although|where|when|also|i|hence|so|\(|\[|-|–|—|"
    r"ist|weil|da|est|car|es|porque|è|perché|to|por|parce|correctly|explanation|in|und|oder|ou|et|o|y|lub|atau|"
    r"veya|или|и)(?![^\W\d_])|\s{0,60}$|\s{0,60}\n"
    r"|\s{0,20}[.,;:!?)\]}(\-–—、。，；：！）&/和或与及とか]",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\s{1,3}(?:is|isn't|was|would|has|does|doesn't|can|cannot|can't|could|will|shows?|represents?|refers?|"
    r"describes?|may|might|ist|est|es)\b",
    re.IGNORECASE,
)
_CLINGS = re.compile(
    r"'[A-Za-z]|-[A-Za-z]|[+#%°^]|\.\d|,\d|\s{0,3}[=<>≤≥×+]\s{0,3}[\w(-]|/[a-z]{2}"
    r"|\([A-Za-z][A-Za-z0-9]?(?:\s{1,2}[A-Za-z0-9]{1,2})?\)|\s{0,3}(?:->|→)\s{0,3}\w(?!\w)"
)
"""What makes a letter part of a word, a quantity, a function ``E(R)`` or a path ``A -> B -> C``."""
_ONE_VERB = re.compile(
    r"\s{1,3}(?:is|isn't|was|has|does|doesn't|shows|represents|refers|describes|ist|est|es)\b", re.IGNORECASE
)
"""Behind "A and B" this begins another clause; "can", "would" or "may" speak of both."""
_OF_ALL = re.compile(
    r"\b(?:none|neither|any|all|each|both|one)\s(?:of\s)?(?:the\s)?(?:options\s|choices\s)?[\"'(]?$", re.IGNORECASE
)
_AND = re.compile(r"[A-Za-z]")
_BESIDE = 8
"""How far from an option's words its mark may stand, in any dress."""
_NO_WORD = re.compile(r"[\W_]")
_OPENS = "([<\"'"
_SMALL_WORDS = frozenset("aioyeuAIO")


class Found(msgspec.Struct):
    """One or more marks at one place; -1 stands for a mark that is not on offer."""

    places: tuple[int, ...]
    start: int
    end: int
    dressed: bool = True


def mark_at(text: str, at: int, end: int, offer: Offer) -> Found | None:
    """The mark, or the list of marks, that stands at this place; None if the letter there is none."""
    found = _MARK.match(text, at, end)
    if not found:
        return None
    mark = found["mark"]
    place = offer.place(mark)
    if place is None or (place < 0 and (mark.lower(),) in offer.exact):
        return None
    opened = bool(found["open"].strip())
    closed = bool(found["close"].strip())
    dressed = bool(found["noun"]) or (opened and closed) or closed
    after = found.end("mark") if not closed else found.end()
    if not (opened and closed) and _CLINGS.match(text, found.end("mark"), end):
        return None
    if not dressed and not _stands_alone(text, found, end, offer):
        return None
    if found["noun"] and not (opened and closed) and mark in "aI" and not _GOES_ON.match(text, after, end):
        return None
    return _listed(text, Found((place,), found.start("mark"), after, dressed), end, offer)


def carries(text: str, start: int, end: int, place: int, offer: Offer) -> bool:
    """Whether an option's mark is these words, or stands in them or beside them; not as a part of its own text."""
    sign = mark(offer.marks, place).lower()
    if end - start <= _BESIDE and _NO_WORD.sub("", text[start:end]).lower() == sign:
        return True
    first = max(text.rfind("\n", 0, start) + 1, start - _BESIDE)
    own = lower(offer.texts[place])
    for letter in _mark_of(offer.marks, place).finditer(text, first, min(len(text), end + _BESIDE)):
        at = letter.start()
        if _is_inside(text, at, own) and _NO_WORD.sub("", own) != sign:
            continue
        opened = at - 1 if at and text[at - 1] in _OPENS else at
        stop = text.find("\n", letter.end())
        found = mark_at(text, opened, stop if stop >= 0 else len(text), offer)
        if found and place in found.places and (found.dressed or first <= at < end):
            return True
    return False


@lru_cache
def _mark_of(style: Marks, place: int) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){mark(style, place)}(?!\w)", re.IGNORECASE)


def _is_inside(text: str, at: int, words: str) -> bool:
    """Whether a place lies inside some words, wherever they are said."""
    near = text[max(0, at - len(words)) : at + len(words)]
    here = min(at, len(words))
    first = lower(near).find(words, max(0, here - len(words) + 1))
    return 0 <= first <= here


def _stands_alone(text: str, found: re.Match[str], end: int, offer: Offer) -> bool:
    """Whether a bare letter or number is a mark and no word: what follows it decides."""
    mark = found["mark"]
    if mark in _SMALL_WORDS or mark.islower() or mark.isdigit():
        if mark in "aiI" and re.match(
            r"\s{1,3}(?:i|is|am|was|would|in|to|for|that|not|also|then|should)\b",
            text[found.end("mark") : found.end("mark") + 12],
        ):
            return mark == "I" and bool(
                re.match(r"\s{1,3}(?:is|was)\b", text[found.end("mark") : found.end("mark") + 12])
            )
        return bool(_GOES_ON.match(text, found.end("mark"), end))
    return True


def _listed(text: str, first: Found, end: int, offer: Offer) -> Found:
    """Follow ``B and D``, ``A, C``, ``A/B``, ``A to D`` to their end."""
    places, at = list(first.places), first.end
    while len(places) <= offer.count:
        ranged = _RANGE.match(text, at, end)
        listed = ranged or _SEPARATOR.match(text, at, end)
        if not listed:
            break
        item = _LISTED.match(text, listed.end(), end)
        if not item:
            break
        mark = item["mark"]
        place = offer.place(mark)
        bracketed = item.group()[:1] in "([\"'" or item.group()[-1:] in ")]\"'"
        if (
            place is None
            or place < 0
            or place in places
            or (mark.islower() != text[first.start].islower() and not bracketed)
        ):
            break
        if not bracketed and (
            (
                (_ONE_VERB if _AND.search(listed.group()) else _VERB).match(text, item.end("mark"), end)
                and not _OF_ALL.search(text, max(0, first.start - 20), first.start)
            )
            or (mark == "A" and re.match(r" [a-z]", text[item.end("mark") : item.end("mark") + 2]))
        ):
            break
        if not bracketed and mark == "I" and re.match(r"\s[a-z]", text[item.end("mark") : item.end("mark") + 2]):
            break
        if ranged:
            if not 0 <= places[-1] < place:
                break
            places.extend(range(places[-1] + 1, place + 1))
        else:
            places.append(place)
        at = item.end()
    return Found(tuple(dict.fromkeys(places)), first.start, at, first.dressed)
