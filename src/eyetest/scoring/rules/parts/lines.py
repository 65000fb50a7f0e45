"""Answers that stand where answers stand: below a heading, alone on a line, on the last line, on the first one."""

import re

from eyetest.scoring.rules.parts.beside import alternative, contradiction
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import read_content
from eyetest.scoring.rules.parts.cues import CONCLUDES, HEADING
from eyetest.scoring.rules.parts.marks import Found, mark_at
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.mentions import lists_inline
from eyetest.scoring.rules.parts.stated import statement
from eyetest.scoring.rules.parts.statement import FIRM, Statement
from eyetest.scoring.rules.parts.together import listed_together
from eyetest.scoring.rules.parts.whole import BARE, LISTED
from eyetest.scoring.rules.reading import Reading

_LONGEST_HEADING = 60
_LONGEST_MARK_LINE = 40
_LABELS = 2
_EXPLAINS = re.compile(
    r"\b(?:explanation|why|because|reason\w{0,4}|here's|rationale|let's|other options|justification)\b", re.IGNORECASE
)
_SAYS_MORE = re.compile(
    r"\s{1,3}(?:is|are|was|can|could|does|do|would|has|have|should|might|may|seems|appears|isn't|doesn't|can't|"
    r"cannot|ist|est)\b",
    re.IGNORECASE,
)
_SEPARATED = re.compile(r"\s{0,3}(?:[).:,\]]|[-–—]\s|$|\(|\s{3}|because|since)")
_ASIDE = re.compile(r"^\s{0,3}\([^()\n]{0,80}\)")
_FORMULA = re.compile(r"\s{0,3}\.?\s{0,3}[=+*/^]")
_IS_MARK = re.compile(r"\b(?:is|are)\s{1,20}([\"'(]{0,2}[A-Z][\"')]{0,2})(?=[.:,;\s]|$)")
_LABEL = re.compile(r"(?:[:=→⇒∴>]|\b(?:answer|is))\s{0,6}")
_PREFERS = re.compile(r"\b(?:prefer\w{0,5}|lean\w{0,3})\b", re.IGNORECASE)
_UNTICKED = re.compile(r"\[ \]|☐")
_LIST_GOES_ON = (".", "?", ",", ";", "-", "–", "—", "(")


def headed(case: Case) -> Statement | None:
    """What stands below the last heading that says ``Answer``."""
    last = None
    for n, (start, end) in enumerate(case.sentences[:-1]):
        if end - start < _LONGEST_HEADING and HEADING.fullmatch(case.text, start, end):
            last = case.sentences[n + 1]
    said = statement(case, *last) if last else None
    if said and said.firm >= FIRM:
        return said if said.content.what not in ("dropped", "nothing") else None
    content = read_content(case.text, *last, case.offer) if last else None
    if last and content is None and (predicate := _IS_MARK.search(case.text, *last)):
        content = read_content(case.text, predicate.start(1), last[1], case.offer)
    return Statement(content, FIRM, "heading") if content and content.what not in ("dropped", "nothing") else None


def last_line(case: Case) -> Reading | None:
    """A mark, alone or with its own text, on the last line of several."""
    text = case.text.rstrip()
    start = text.rfind("\n") + 1
    if not start or len(text) - start > _longest(case) or _in_list(text[:start], text[start:]):
        return None
    line = text[start:]
    if reading := _marked_text(case, start, len(text)):
        return reading
    if (told := _labelled_text(case, line)) is not None:
        return case.chosen(told, "last line", start, len(text))
    found = BARE.match(line) if len(line) <= _LONGEST_MARK_LINE and not case.in_formula else None
    place = case.offer.place(found[1]) if found else None
    if not found or place is None or place < 0 or (found[1] == "I" and len(line.strip()) > 3):
        return None
    if found[1].isdigit() and not line.strip().strip(".").isdigit():
        return None
    return case.chosen(place, "last line", start + found.start(1), start + found.end(1))


def _marked_text(case: Case, start: int, end: int) -> Reading | None:
    """A line that is a mark with an option's text: its own one, or another one that contradicts it."""
    marked = mark_at(case.text, start, end, case.offer)
    if marked and _with_own_text(case, marked, end):
        return case.chosen(marked.places[0], "last line", marked.start, marked.end)
    if marked and _with_other_text(case, marked, end):
        return case.nothing("ambiguous", "last line", "mark and text contradict", (marked.start, end))
    return None


def _labelled_text(case: Case, line: str) -> int | None:
    """``true``, ``→ 1914``, ``Result = 25``: an option's text, alone or behind a short label."""
    parts = _LABEL.split(line)
    if len(parts) > _LABELS or "[" in line or LISTED.match("\n" + line):
        return None
    rest = parts[-1].strip(" -•")
    bare = len(rest.strip(" .()[]\"'")) == 1 and not rest.isdigit()
    if bare or (told := exactly(rest, case.offer)) is None:
        return None
    above = case.text.rstrip()[: -len(line)].rstrip().rpartition("\n")[2]
    return told if exactly(above.strip(" -•*"), case.offer) is None else None


def alone_on_line(case: Case, n: int) -> Reading | None:
    """A mark, or a mark with its own text, alone on a line that the line before announces with a colon."""
    start, _ = case.sentences[n]
    text = case.text
    stop = text.find("\n", start + 1)
    end = len(text) if stop < 0 else stop + 1
    if not n or end - start > _longest(case) or not text[slice(*case.sentences[n - 1])].rstrip().endswith(":"):
        return None
    found = mark_at(text, start, end, case.offer)
    if not found or len(found.places) > 1 or found.places[0] < 0 or _begins_list(case, n, end, found.places[0]):
        return None
    last = not text[end:].strip()
    if last and case.in_formula:
        return None
    alone = not text[found.end : end].strip(" .):\n")
    if not alone and not _with_own_text(case, found, end) and not (last and _concluded(case, n, found)):
        return None
    return case.chosen(found.places[0], "alone on its line", found.start, found.end)


def _begins_list(case: Case, n: int, end: int, place: int) -> bool:
    """Whether the line is an item of a list: the next mark follows, or the line above announces several."""
    text = case.text
    goes_on = _next_follows(text, end, place) or (place == 0 and _opens_list(text, end))
    return goes_on or listed_together(case, n - 1) is not None


def _concluded(case: Case, n: int, found: Found) -> bool:
    """``Therefore, the area is:`` and below it, last of all, a mark with what can only be its text."""
    separated = case.text[found.end : found.end + 1] in ".:)" or case.text[found.end - 1] in ")]"
    above = case.sentences[n - 1]
    return (
        separated
        and not case.words(*above) & {"each", "every"}
        and CONCLUDES.search(case.text, *above) is not None
        and statement(case, *above) is None
    )


def first_line(case: Case) -> Reading | None:
    """``B`` or ``B. text`` on the first line, explained below, unless it begins a walk through the options."""
    text = case.text
    start = len(text) - len(text.lstrip())
    stop = text.find("\n", start)
    end = len(text) if stop < 0 else stop
    found = mark_at(text, start, end, case.offer)
    if not found or found.start - start > 20:
        return None
    if len(found.places) > 1:
        rest = text[found.end : end].lstrip()
        if _PREFERS.search(rest) or (rest.strip(" .!)") and not rest.startswith(_LIST_GOES_ON)):
            return None
        return case.nothing("ambiguous", "first line", "several marks", (found.start, found.end))
    if not _answers_first(case, found, start, end):
        return None
    why = _doubled(case, found, end)
    if why:
        return case.nothing("ambiguous", "first line", why, (found.start, end))
    return case.chosen(found.places[0], "first line", found.start, found.end)


def _doubled(case: Case, found: Found, end: int) -> str:
    """Why a mark does not stand for one option: another one's text, or another option, stands beside it."""
    beside = (case.text, found.end, end, found.places[0], case.offer)
    if contradiction(*beside) is not None:
        return "mark and text contradict"
    return "several options" if alternative(*beside) is not None else ""


def _answers_first(case: Case, found: Found, start: int, end: int) -> bool:
    """Whether a mark at the very beginning is the answer, not a word, a formula or the first item of a list."""
    text, place = case.text, found.places[0]
    rest = text[found.end : end]
    if _SAYS_MORE.match(_ASIDE.sub("", rest)) or _FORMULA.match(rest):
        return False
    if place < 0 and text[end:].strip() and rest.strip(" .):"):
        return False
    if place == 0 and (lists_inline(text, start, end) or (rest.strip(" .):") and _opens_list(text, end))):
        return False
    return found.dressed or bool(_SEPARATED.match(rest)) or not rest.strip() or _with_own_text(case, found, end)


def _with_own_text(case: Case, found: Found, end: int) -> bool:
    rest = case.text[found.end : end].strip(" .):\n")
    return bool(rest) and len(found.places) == 1 and exactly(rest, case.offer) == found.places[0]


def _with_other_text(case: Case, found: Found, end: int) -> bool:
    separated = _SEPARATED.match(case.text, found.end, end)
    rest = case.text[found.end : end].strip(" .):\n")
    told = exactly(rest, case.offer) if separated and len(rest) > 1 and len(found.places) == 1 else None
    return told is not None and found.places[0] >= 0 and told != found.places[0]


def _longest(case: Case) -> int:
    return 3 * case.offer.longest + 40


def _opens_list(text: str, end: int) -> bool:
    """Whether the next mark that begins a line is the second one, with no word of explanation between."""
    following = LISTED.search(text, end)
    if not following or following[1].upper() not in ("B", "2"):
        return False
    return not _EXPLAINS.search(text, end, following.start())


def _next_follows(text: str, at: int, place: int) -> bool:
    """Whether the next line carries the next mark."""
    following = LISTED.match(text, max(0, at - 1)) or LISTED.match(text, at)
    return following is not None and following[1].upper() in (chr(ord("B") + place), str(place + 2))


def _in_list(above: str, last: str) -> bool:
    """Whether the line before is an item of a list, so that a lone mark is the next one, cut off or not ticked."""
    line = above.rstrip().rpartition("\n")[2]
    return _UNTICKED.search(last) is not None or (len(line) > 6 and LISTED.match("\n" + line) is not None)
