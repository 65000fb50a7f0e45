"""Lines that go through the options: quoted back, or each with a verdict."""

import re

import msgspec

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.naming import named
from eyetest.scoring.rules.parts.tokens import tokenise
from eyetest.scoring.rules.parts.whole import LISTED, POINTED
from eyetest.scoring.rules.reading import Reading

_LEAD = re.compile(
    r"[\s>|\-•+]{0,10}(?:options?\s)?[(\[]?(?P<mark>[A-Za-z]|\d{1,2})(?:[).:\]]{1,2}|\s?(?:项|"
    r"选项)[:：]?|(?=\s{0,3}[|→:]))",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[\s>|\-•+]{0,10}(?:\d{1,2}[.)]\s{1,3})?[\"']?")
_BAD = re.compile(
    r"[✗✘❌×]|\b(?:no|not|out|wrong|false|incorrect|drop(?:ped)?|excluded|eliminated|ruled out|rejected|impossible|"
    r"unlikely|irrelevant|discarded|cannot|isn't|aren't|doesn't|don't|can't|too \w+|neither|nope|lacks?)\b|错误|"
    r"不符|不对|不正确|排除",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"(?:[✓✔✅☑]|\b(?:yes|correct|right|true|match(?:es)?|fits|relevant|perfect|bingo)\b|正确)[\s.!|)。]{0,6}$",
    re.IGNORECASE,
)
_TICK = re.compile(r"[✓✔✅☑]")
_CROSS = re.compile(r"[✗✘❌]")
_ASKED = re.compile(
    r"(?<!\w)\(?([A-Z])\)?(?:\s?\?\s{1,3}(?:(?P<yes>[Yy]es|[Cc]orrect|[Rr]ight|[Tt]rue|[Ff]its)|[Nn]o|[Nn]ope|[Ww]rong|"
    r"[Ff]alse)\b|[.:]?\s{0,3}(?:(?P<tick>[✓✔✅☑])|[✗✘❌]))"
)
_HEAD = re.compile(r"[A-Za-z']+")
_FEW = 3
_WORD = 20


class _Item(msgspec.Struct):
    place: int
    start: int
    end: int
    marked: bool


def quoted(case: Case) -> list[tuple[int, int]]:
    """Lines of a list that goes through the options, three or more marks in a row: such a line takes none."""
    runs: list[list[_Item]] = []
    for start, end in case.lines:
        item = LISTED.match(case.text, start - 1 if start else 0, end)
        place = case.offer.place(item[1]) if item else None
        if item is None or place is None or place < 0:
            continue
        found = _Item(place, item.end(), end, True)
        if runs and runs[-1][-1].place == place - 1:
            runs[-1].append(found)
        else:
            runs.append([found])
    return [(case.text.rfind("\n", 0, item.start) + 1, item.end) for run in runs if len(run) >= _FEW for item in run]


def judged_lines(case: Case) -> Reading | None:
    """The one option that a list with a verdict on each line leaves: ``A → too long``, ``B → fits``."""
    verdicts: dict[int, list[bool | None]] = {}
    places: dict[int, _Item] = {}
    if len(case.lines) < 2:
        return None
    for start, end in case.lines:
        item = _leading(case, start, end)
        if item:
            verdicts.setdefault(item.place, []).append(_verdict(case.text, item.end, end))
            places[item.place] = item
    bad = [place for place, said in verdicts.items() if said[-1] is False]
    good = [place for place, said in verdicts.items() if said[-1] is True]
    open_ones = [place for place, said in verdicts.items() if said[-1] is None]
    if len(good) == 1 and not bad and len(verdicts) >= min(case.offer.count, _FEW):
        item = places[good[0]]
        pointed = POINTED.search(case.text[item.end :].partition("\n")[0])
        return case.chosen(item.place, "judged lines", item.start, item.end) if pointed else None
    if len(bad) < 1 or len(bad) + len(good) + len(open_ones) < 2:
        return None
    left = good if len(good) == 1 else open_ones if not good and len(open_ones) == 1 else []
    if not left or (len(bad) + len(left) < case.offer.count and not (good and len(bad) > 1)):
        return None
    item = places[left[0]]
    return case.chosen(item.place, "judged lines", item.start, item.end)


def asked_and_answered(case: Case) -> Reading | None:
    """``A? No. B? Yes. C? No.``, ``A ✗ B ✓``: the only one that is affirmed, or the only one left."""
    if case.text.count("?") < 2 and case.text.isascii():
        return None
    answers: dict[int, bool] = {}
    last = (0, 0)
    for found in _ASKED.finditer(case.text):
        place = case.offer.place(found[1])
        if place is not None and place >= 0:
            answers[place], last = bool(found["yes"] or found["tick"]), found.span(1)
    good = [place for place, yes in answers.items() if yes]
    left = good or [place for place in range(case.offer.count) if place not in answers]
    if len(answers) < 2 or len(left) != 1:
        return None
    return case.chosen(left[0], "asked and answered", *last)


def _leading(case: Case, start: int, end: int) -> _Item | None:
    """The option that a line begins with, by mark or by text."""
    text = case.text
    lead = _LEAD.match(text, start, end)
    place = case.offer.place(lead["mark"]) if lead else None
    if lead and place is not None and place >= 0:
        return _Item(place, lead.start("mark"), lead.end(), True)
    bullet = _BULLET.match(text, start, end)
    at = bullet.end() if bullet else start
    head = _HEAD.findall(text, at, min(end, at + _WORD + _WORD))
    if (
        not case.offer.unspelt
        and text[at:end].isascii()
        and case.offer.first_words.isdisjoint(map(str.lower, head[:2]))
    ):
        return None
    first = tokenise(text, start, min(end, at + _WORD))
    if first and first[0].raw.isdigit() and (place := case.offer.exact.get((first[0].word,))) is not None:
        return _Item(place, first[0].start, first[0].end, False)
    for one in named(text, start, min(end, at + 2 * case.offer.longest + 20), case.offer):
        if one.start > at + 4:
            break
        if len(one.places) == 1 and not one.bare:
            return _Item(one.places[0], one.start, one.end, False)
    return None


def _verdict(text: str, at: int, end: int) -> bool | None:
    """Good, bad or neither; a tick or a cross outranks words."""
    if _CROSS.search(text, at, end):
        return False
    if _TICK.search(text, at, end) or _GOOD.search(text, at, end):
        tail = text[max(at, end - 24) : end]
        return not re.search(r"\b(?:not|n't)\b|n't", tail) if not _TICK.search(text, at, end) else True
    return False if _BAD.search(text, at, end) else None
