"""Words that announce an answer and what stands behind them."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content, read_content
from eyetest.scoring.rules.parts.cues import ANSWER_IS, BAD, CHOOSES, FOREIGN, PAST, clause_start
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.refusals import UNDECIDABLE
from eyetest.scoring.rules.parts.statement import FIRM, Statement, better

_MOST = 8
"""No sentence announces more answers than this; of a reply that repeats itself the last ones are enough."""
_AGAINST = re.compile(
    r"\b(?:(?:wrong|mistake|incorrect) to|don't|do not|never|wouldn't|shouldn't)\s(?:\w{1,10}\s)?(?:choose|pick|"
    r"select|answer|"
    r"go (?:with|for)|opt for|say)\b",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:but|now)\b", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\banswer\s(?:\w{1,12}\s){0,4}?(?:cannot|can't|can not|could not|couldn't) be (?:\w{1,12}ly )?"
    r"(?:determined|given|known|found|inferred|deduced|identified|established)\b(?![^.\n]*\b(?:but|however|most|closest|best|options|choices)\b)",
    re.IGNORECASE,
)
_NEAR = 40
_GLUED = re.compile(r"\s{0,3}([A-Z])(\([^()\n]{1,60}\))[\s.]{0,6}$")
"""What somebody chooses stands right behind the verb."""


def announced(case: Case, start: int, end: int) -> Statement | None:
    """``the answer is B``, ``I choose B``, in several languages: the last one of the sentence."""
    words = case.words(start, end)
    best: Statement | None = None
    if not words.isdisjoint(gates.ANSWER) or not (words.isdisjoint(gates.THING) or words.isdisjoint(gates.BETTER)):
        for cue in _last(ANSWER_IS.finditer(case.text, start, end)):
            if not _is_past(case.text, start, cue.start(), cue["gap"]) and not _was(case, cue, end):
                best = _besides(cue.group(), best, _behind(case, cue.end(), end, "stated"))
        best = best or _undetermined(case, start, end)
    if not words.isdisjoint(gates.CHOOSE):
        best = better(_advised_against(case, start, end), _chosen(case, start, end, best))
    if not words.isdisjoint(gates.FOREIGN_CUE):
        for cue in _last(FOREIGN.finditer(case.text, start, end)):
            best = better(best, _behind(case, cue.end(), end, "stated"))
    return best


def _besides(cue: str, first: Statement | None, second: Statement | None) -> Statement | None:
    """``The answer is A. The answer is also C.``: the later of two, or both."""
    if first is None or second is None or not cue.lower().endswith(("also", "likewise")):
        return better(first, second)
    places = tuple(dict.fromkeys((*first.content.places, *second.content.places)))
    if {first.content.what, second.content.what} != {"one"} or len(places) < 2:
        return better(first, second)
    return Statement(Content("many", places, first.content.start, second.content.end, "marks"), FIRM, "stated")


def _undetermined(case: Case, start: int, end: int) -> Statement | None:
    """``Therefore, the answer cannot be determined.`` as the last word on the matter."""
    if (start, end) != case.sentences[-1] or any(UNDECIDABLE.search(option) for option in case.offer.texts):
        return None
    found = _UNKNOWN.search(case.text, start, end)
    return Statement(Content("refused", (), *found.span(), "words"), FIRM, "stated") if found else None


def _last(cues: Iterator[re.Match[str]]) -> list[re.Match[str]]:
    return list(cues)[-_MOST:]


def _chosen(case: Case, start: int, end: int, best: Statement | None) -> Statement | None:
    text = case.text
    for cue in _last(CHOOSES.finditer(text, start, end)):
        if PAST.search(text, clause_start(text, max(start, cue.start() - 60), cue.end()), cue.end()):
            best = better(best, _taken_back(case, cue.end(), end))
            continue
        chosen = _behind(case, cue.end(), end, "choice")
        if chosen and chosen.content.start - cue.end() < _NEAR:
            best = better(best, chosen)
    return best


def _behind(case: Case, at: int, end: int, cue: str) -> Statement | None:
    end = _on_next_line(case, at, end)
    line = case.text.find("\n", end - 1)
    line = len(case.text) if line < 0 else line
    if line > end and (exact := exactly(case.text[at:line], case.offer)) is not None:
        return Statement(Content("one", (exact,), at, line, "text"), FIRM, cue)
    content = read_content(case.text, at, end, case.offer) or _glued(case, at, end)
    if content and content.what == "refused" and cue != "stated":
        return None
    return Statement(content, FIRM, cue) if content else None


def _glued(case: Case, at: int, end: int) -> Content | None:
    """``C(d)``, where ``(d)`` is what option C says."""
    found = _GLUED.match(case.text, at, end)
    place = case.offer.place(found[1]) if found else None
    if not found or place is None or place < 0 or exactly(found[2], case.offer) != place:
        return None
    return Content("one", (place,), found.start(1), found.end(1), "mark")


def _on_next_line(case: Case, at: int, end: int) -> int:
    """Where the announced words end: on the next line that says something if the cue ends its own."""
    if case.text[at:end].strip(" \n:\"'>-–—=.,"):
        return end
    following = bisect_left(case.sentences, (end - 1, 0))
    for start, stop in case.sentences[following : following + 3]:
        if stop > end and case.text[start:stop].strip(" \n.:-"):
            return stop
    return end


def _advised_against(case: Case, start: int, end: int) -> Statement | None:
    """``it would be wrong to answer B``, ``don't pick 1 or 2``."""
    for cue in _AGAINST.finditer(case.text, start, end):
        content = read_content(case.text, cue.end(), end, case.offer)
        if content and content.what in ("one", "many") and content.start - cue.end() < _NEAR:
            return Statement(Content("dropped", content.places, content.start, content.end, "mark"), FIRM, "choice")
    return None


def _taken_back(case: Case, at: int, end: int) -> Statement | None:
    """``many would say B, that's not correct``."""
    content = read_content(case.text, at, end, case.offer)
    if content and content.what == "one" and BAD.search(case.text, content.end, end):
        return Statement(Content("dropped", content.places, content.start, content.end, "mark"), FIRM, "choice")
    return None


def _is_past(text: str, start: int, at: int, gap: str) -> bool:
    """Whether the announcement is about an earlier, a foreign or a supposed answer."""
    if PAST.search(text, clause_start(text, max(start, at - 30), at), at):
        return True
    return bool(PAST.search(gap)) and "not" not in gap.lower().split()


def _was(case: Case, cue: re.Match[str], end: int) -> bool:
    """``the answer was B, but …``: what follows tells the present one."""
    return cue.group().lower().endswith("was") and _BUT.search(case.text, cue.end(), end) is not None
