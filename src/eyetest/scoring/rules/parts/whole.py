"""Replies that are an answer from end to end: a bare mark, an option's text, a mark with its text."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.echoed import restates
from eyetest.scoring.rules.parts.marks import NOUN, mark_at
from eyetest.scoring.rules.parts.matching import exactly, nearly
from eyetest.scoring.rules.parts.refusals import EMPTY_WORDS, FAILURE, FAILURE_SIGNS
from eyetest.scoring.rules.reading import Reading

BARE = re.compile(
    rf"[\s\W]{{0,40}}?(?:(?:the\s)?{NOUN}\s{{0,3}}(?:is\s)?[:\s]{{0,3}})?[\s\W]{{0,20}}?([A-Za-z]|"
    rf"\d{{1,2}})[\s.,;:!?\-–—)\]}}>\"'*`|=。．、]{{0,40}}$",
    re.IGNORECASE,
)
LISTED = re.compile(r"(?:^|\n)[\s>\-•]{0,10}(?:option\s)?[(\[]?([A-Za-z]|\d{1,2})[).:\]]{1,2}\s", re.IGNORECASE)
_ONLY_MARKS = re.compile(r"(?<!\w)(?:[A-Z]|[a-z](?=[).\n,]|$)|\d{1,2})(?!\w)")
_SHORT = 200
_TINY = 6
_GLUED = 3
_NEARLY_SHORT = 300
_HEAD = 200
_MARK_ROOM = 20
_LONGEST_NOD = 40
_VERB = r"(?:does|is|was|will|can|has|did|would|do|are|were|have)"
_WHO = r"(?:it|he|she|they|there|this|that|we|you)"
_DENIES = re.compile(
    rf"\W{{0,3}}(?:(?:{_WHO} )?(?:{_VERB} not|{_VERB}n't|cannot|can't|won't)|"
    r"i (?:don't|do not) (?:think|believe) so|not at all|by no means|negative|never|"
    r"(?:absolutely|certainly|definitely|probably) not)\W{0,3}",
    re.IGNORECASE,
)
_AFFIRMS = re.compile(
    rf"\W{{0,3}}(?:{_WHO} {_VERB}|i (?:think|believe|guess|suppose) so|indeed(?: {_WHO} {_VERB})?|affirmative|"
    r"of course|absolutely|certainly|definitely|sure)\W{0,3}",
    re.IGNORECASE,
)
_LONGEST_ECHO = 6_000
_ECHO_LINES = 6
POINTED = re.compile(r"[✓✔✅☑]|(?:←|<-+|[(\[])\s{0,3}(?:correct|right|answer|this one)\b", re.IGNORECASE)
"""What singles one item of a list out."""
_ANSWERS = re.compile(r"\banswer\s{0,3}(?:is\s{0,3})?:?\s{0,3}\w", re.IGNORECASE)
_ECHO = re.compile(
    r"\b(?:answer with (?:the|an?|your|only|just|one|option)|please (?:answer|select|choose|pick)|"
    r"choose (?:one of|the (?:correct|best|right))|"
    r"select (?:one|the correct)|"
    r"from the given choices)",
    re.IGNORECASE,
)


def nothing_there(case: Case) -> Reading | None:
    """Empty, or thinking that never came to an end."""
    if case.text.strip():
        return None
    return case.nothing("unparsed", "nothing there", case.body.why or "empty")


def bare_mark(case: Case) -> Reading | None:
    """Nothing but a mark, or the same mark again and again."""
    if len(case.text) > _SHORT:
        return None
    found = BARE.match(case.text)
    place = case.offer.place(found[1]) if found else None
    if not found or place is None:
        return _glued_marks(case) or _only_marks(case)
    if place < 0 and (found[1].islower() or exactly(case.text, case.offer) is not None):
        return None
    if case.text[: found.start(1)].strip() in ("-", "+"):
        return None
    return case.chosen(place, "bare mark", found.start(1), found.end(1))


def _glued_marks(case: Case) -> Reading | None:
    """``AC``: two or three marks in their order, written as one word; ``BBBB`` is one mark."""
    text = case.text.strip(" .\n")
    if " " in text:
        return None
    again = case.offer.place(text[0]) if len(text) > 2 and text == text[0] * len(text) else None
    if again is not None and again >= 0 and text.isupper() and exactly(text, case.offer) is None:
        return case.chosen(again, "bare mark", 0, len(case.text))
    places = [case.offer.place(mark) for mark in text] if 2 <= len(text) <= _GLUED and text.isupper() else []
    known = [place for place in places if place is not None and place >= 0]
    if not known or len(known) < len(places) or known != sorted(set(known)) or exactly(text, case.offer) is not None:
        return None
    return case.nothing("ambiguous", "bare mark", "several marks", (0, len(case.text)))


def _only_marks(case: Case) -> Reading | None:
    """``A, B`` or a mark said again and again."""
    text = case.text
    if _ONLY_MARKS.sub("", text).strip(" .,;:()[]\n\"'/&+"):
        return None
    marks = _ONLY_MARKS.findall(text)
    places = [place for mark in dict.fromkeys(marks) if (place := case.offer.place(mark)) is not None and place >= 0]
    if len(places) < len(set(marks)) or len(marks) < 2 or exactly(text, case.offer) is not None:
        return None
    if _labels_letter(case, marks):
        return None
    at = text.index(marks[0])
    if (named := _LABELLED.match(text)) and exactly(named[2].strip(), case.offer) == places[0]:
        return case.chosen(places[0], "mark with text", at, len(text.rstrip()))
    if len(set(places)) > 1:
        return case.nothing("ambiguous", "bare mark", "several marks", (at, len(text.rstrip())))
    return case.chosen(places[0], "bare mark", at, at + len(marks[0]))


_LABELLED = re.compile(r"\W{0,6}(\w{1,2})\s{0,3}[).:\]]\s{0,3}(.{1,200})", re.DOTALL)
"""``B. D, B, A, C`` where that list of letters is what option B says."""


def _labels_letter(case: Case, marks: list[str]) -> bool:
    """``C) A`` where the options are letters themselves."""
    return (
        len(marks) == 2
        and (marks[1].lower(),) in case.offer.exact
        and bool(re.match(r"\W{0,6}\w{1,2}\s{0,3}[).:\]]", case.text))
    )


def whole_text(case: Case) -> Reading | None:
    """The reply is an option's text."""
    text = case.text.strip()
    if (place := exactly(text, case.offer)) is None:
        if text in case.offer.numbers:
            return case.chosen(case.offer.numbers[text], "whole text", 0, len(case.text))
        if (nod := _affirmed(case, text)) is not None:
            return case.chosen(nod, "whole text", 0, len(case.text))
        if len(text) <= _TINY and (shown := _symbol(case, text)) is not None:
            return case.chosen(shown, "whole text", 0, len(case.text))
        if len(text) > _NEARLY_SHORT or "\n" in text:
            return None
        if _starts_with_mark(case) or (place := nearly(text.rstrip(".!"), case.offer)) is None:
            return None
    at = case.text.index(text)
    return case.chosen(place, "whole text", at, at + len(text))


def _affirmed(case: Case, text: str) -> int | None:
    """``I believe so``, ``It does not.`` where the options are yes and no."""
    yes, no = case.offer.exact.get(("yes",)), case.offer.exact.get(("no",))
    if yes is None or no is None or len(text) > _LONGEST_NOD:
        return None
    return no if _DENIES.fullmatch(text) else yes if _AFFIRMS.fullmatch(text) else None


def _symbol(case: Case, text: str) -> int | None:
    """A sign without any word, such as an emoji, that only one option has."""
    if text.isascii() or any(c.isalnum() for c in text):
        return None
    having = [place for place, option in enumerate(case.offer.texts) if text in option]
    return having[0] if len(having) == 1 else None


def mark_and_text(case: Case) -> Reading | None:
    """The reply is a mark and that option's text; with another option's text it contradicts itself."""
    text = case.text
    stop = len(text.rstrip())
    if stop > 2 * case.offer.longest + _MARK_ROOM or "\n" in text[:stop].lstrip():
        return None
    found = mark_at(text, 0, stop, case.offer)
    if (
        not found
        or len(found.places) > 1
        or not (found.dressed or text[found.end] in ".:,)-–" if found.end < stop else False)
    ):
        return None
    told = exactly(text[found.end : stop].lstrip(" .):,-–"), case.offer)
    if told is None or told != found.places[0]:
        return None
    return case.chosen(told, "mark and text", found.start, stop)


def _starts_with_mark(case: Case) -> bool:
    found = mark_at(case.text, 0, len(case.text), case.offer)
    return bool(found and (found.dressed or case.text[found.end : found.end + 1] in ".:,)-"))


def failure(case: Case) -> Reading | None:
    """An error message that landed in the text."""
    head = case.body.raw[:_HEAD].lower()
    failed = FAILURE.match(case.body.raw) and any(sign in head for sign in FAILURE_SIGNS)
    if failed or head.strip(" .[]'\"\n") in EMPTY_WORDS:
        return case.nothing("unparsed", "failure", "error message")
    return None


def echo(case: Case) -> Reading | None:
    """The question, the options or the instruction quoted back and nothing else."""
    text = case.text
    if len(text) < _SHORT and _ECHO.search(text) and not _ANSWERS.search(text):
        return case.nothing("unparsed", "echo", "only repeats the instruction")
    if restates(case):
        return case.nothing("unparsed", "echo", "only repeats the question")
    if len(text) <= _LONGEST_ECHO and _repeats_options(case):
        return case.nothing("unparsed", "echo", "only repeats the options")
    return None


def _repeats_options(case: Case) -> bool:
    """Whether the reply ends with the list of options, each mark once, nearly each with an option's own text."""
    if not LISTED.match("\n" + case.text.rstrip().rpartition("\n")[2]) or POINTED.search(case.text):
        return False
    lines = [line for line in case.text.split("\n") if line.strip()]
    items = [item for line in lines if (item := LISTED.match("\n" + line))]
    marks = {item[1].upper() for item in items}
    if len(marks) < min(case.offer.count, 3) or len(items) > len(marks) or len(lines) > len(marks) + _ECHO_LINES:
        return False
    own = sum(exactly(item.string[item.end() :], case.offer) is not None for item in items)
    return own >= len(marks) - 1
