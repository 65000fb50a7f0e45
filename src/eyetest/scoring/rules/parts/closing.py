"""What the last sentence of a reply comes down to, where no usual words announce it.

``Therefore, the FALSE statement is B.`` calls B neither answer nor option, and yet it ends the matter: the last
commitment wins, also over an answer on the first line.
"""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content, read_content
from eyetest.scoring.rules.parts.cues import CONCLUDES, clause_start
from eyetest.scoring.rules.parts.marks import mark_at
from eyetest.scoring.rules.parts.statement import FIRM, Statement
from eyetest.scoring.rules.reading import Reading

_COMES_TO = re.compile(
    r"\b(?:is|are|be|equals|correspond(?:s|ing)? (?:to|with)|match(?:es|ing)|agrees with|(?:found|shown|given|seen) "
    r"(?:in|by)|(?:represented|denoted|described) (?:by|in))(?=\s)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"correspond|match|agrees", re.IGNORECASE)
_SO_THIS = re.compile(r"\W{0,6}(?:this|that|it|the (?:result|value|answer))\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|initially|originally|at first|suppose|would have|thought|earlier|previous)\b",
    re.IGNORECASE,
)
"""What is only supposed; a ``not`` may belong to the question: the one that is not shown is D."""
_NEGATED = re.compile(r"(?:n't|\bnot|cannot|never)\s$", re.IGNORECASE)
"""``it can't be B``."""
_QUANTITY = r"(?<!\w){0}\s{{0,2}}[=+*/^<>]|[=+*/^<>(]\s{{0,2}}{0}(?!\w)"
_OPTION = re.compile(r"\boption\s\(?([A-Z])\b\)?\s{0,2}[:.)–-]", re.IGNORECASE)
_TICKS = ("✓", "✔", "✅", "☑")
_REACH = 600
_BARE = 3


def closing(case: Case, start: int, end: int) -> Statement | None:
    """The mark that the last sentence says something is, or corresponds to."""
    if (start, end) != case.sentences[-1] or not case.offer.maybe_mark.search(case.text, start, end):
        return None
    words, text = case.words(start, end), case.text
    concludes = not words.isdisjoint(gates.CONCLUDE) and CONCLUDES.search(text, start, end)
    if not concludes and not _SO_THIS.match(text, start, end):
        return None
    last: Statement | None = None
    for cue in _COMES_TO.finditer(text, start, end):
        if concludes or _POINTS.match(cue.group()):
            last = _behind(case, (start, end), cue) or last
    return last


def is_symbol(text: str, at: int) -> bool:
    """Whether the letter at a place stands for a quantity somewhere in the reply: ``A = 2.5``, ``F / A``."""
    return re.search(_QUANTITY.format(re.escape(text[at])), text) is not None


def ticked(case: Case) -> Reading | None:
    """``Option D: 3(-4) + 7 = -5. ✔`` at the very end, the only tick of the reply."""
    if case.text.isascii() or sum(map(case.text.count, _TICKS)) != 1:
        return None
    named = list(_OPTION.finditer(case.text, max(0, len(case.text) - _REACH)))
    found = named[-1] if named else None
    tail = case.text[found.end() :] if found else ""
    place = case.offer.place(found[1]) if found else None
    if not found or place is None or place < 0 or not tail.rstrip(" .!)\n").endswith(_TICKS):
        return None
    return case.chosen(place, "ticked", found.start(1), found.end(1))


def _behind(case: Case, sentence: tuple[int, int], cue: re.Match[str]) -> Statement | None:
    """A mark right behind the cue that ends its sentence or stands beside its option's text."""
    text, (start, end) = case.text, sentence
    found = mark_at(text, cue.end(), min(end, cue.end() + _REACH), case.offer)
    if (
        not found
        or found.places[0] < 0
        or _NEGATED.search(text, max(start, cue.start() - _BARE - 5), cue.start())
        or _SUPPOSED.search(text, clause_start(text, start, cue.start()), cue.start())
    ):
        return None
    if not found.dressed and (not text[found.start].isupper() or is_symbol(text, found.start)):
        return None
    if len(found.places) == 1 and not text[found.end : end].strip(" .)!\n\"'"):
        return Statement(Content("one", found.places, found.start, found.end, "mark"), FIRM, "closing")
    if found.start - cue.end() < _BARE and not found.dressed and text[found.end : found.end + 1] not in ".:)":
        return None
    content = read_content(text, cue.end(), end, case.offer)
    return Statement(content, FIRM, "closing") if content and content.by.startswith("mark") else None
