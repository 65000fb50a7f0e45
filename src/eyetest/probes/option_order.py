"""Are options where their words need them? ("None of the above", or an option "B" under another letter.)"""

import re
from collections.abc import Callable, Iterator, Sequence

from eyetest.benchmarks.options import bring_letters
from eyetest.errors import counted
from eyetest.probes.subject import Subject, defects, probe, untested
from eyetest.records import Finding, Item, Severity, letter
from eyetest.text import option_key

_ABOVE = re.compile(
    r"\W*(?:all|none?|any|both|either|neither|each|some|two|one)\s+(?:o[ft]\s+)?(?:the\s+|these\s+)?above"
    r"(?:\s+(?:two|three|four)(?:\s+\w+)?)?"
    r"(?:[\s-]+(?:mentioned|listed|given|stated|options?|choices?|answers?|statements?|reasons?|responses?|is|are|were"
    r"|correct|right|true|false|wrong|incorrect|apply|applies))*"
    r"\s*(?:[.,;:!)(].*|\s[–—-]\s.*)?",
    re.IGNORECASE | re.DOTALL,
)  # all that an option says. "Above the line" and "all above average" are ordinary options.
_CATCH_ALL = re.compile(
    r"\W*neither\b|\W*(?:none|all|both|any)\s+of\s+(?:these|them|those|the (?:others?|options|choices|answers))\b"
    r"|.*\b(?:cannot|can't|can not|could not|unable to|impossible to) (?:be )?(?:determine|tell|say|answer|infer)"
    r"|\W*(?:not enough|insufficient|unknown|uncertain|i don't know|not sure|no answer|not given|other)\b",
    re.IGNORECASE | re.DOTALL,
)  # what may follow "all of the above", since it is not meant by that
_SPEAKS_OF_ALL = re.compile(
    rf"{_ABOVE.pattern}"
    r"|\W*(?:all|none|any|both|neither)\s+of\s+(?:these|them|those|the (?:others?|options|choices|answers))\W*",
    re.IGNORECASE | re.DOTALL,
)
_LETTER = re.compile(r"[\s\"'`*([{]*([A-Za-z])[\s\"'`*)\]}.:]*")
_TIED_TO_ORDER = re.compile(
    r"\b(?:all|none|both|neither|either|any|each) (?:of (?:the |these|them|those|above)|are|is)\b"
    r"|\b(?:above|below)\b",
    re.IGNORECASE,
)
_NAMES_LETTERS = re.compile(r"\b[A-J]\)?\s*(?:and|or|nor|&|,|/|\+)\s*\(?[A-J]\b|\b(?:only|both|not) \(?[A-J]\b")
_NAMES_OPTIONS = re.compile(r"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Ss]tatement)s?\s*\(?[A-J]\b|\([A-J]\)")

_COUNTS = dict(zip(("two", "three", "four", "five", "six", "seven", "eight"), range(2, 9), strict=True))
_COUNT = rf"(?P<count>{'|'.join(_COUNTS)}|[2-9]|10)"
_LIST = (
    r"(?P<letters>\(?A\)?(?:(?:\s*[,/;]\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+)\(?[B-J]\)?)+"
    r"|\(?A\)?\s*(?:-|–|to|through)\s*\(?[B-J]\)?)(?![\w'])"
)
_OFFERED = r"(?:options|choices|alternatives|answers|possibilities)"
_REWORDED = (
    (re.compile(rf"\b(?P<verb>select|choose|pick|answer)\s+(?:one\s+)?(?:from|with|among|of|between)?\s*"
                rf"(?:the\s+)?(?:letters?|{_OFFERED})?:?\s*{_LIST}", re.IGNORECASE), r"\g<verb> from the options"),
    (re.compile(rf"\bof the following {_COUNT}\b", re.IGNORECASE), "of the following"),
    (re.compile(rf"\b{_COUNT} (?P<rest>(?:following |given |possible |listed |answer )*{_OFFERED})\b", re.IGNORECASE),
     r"\g<rest>"),
)  # fmt: skip
_LEFT_TO_PEOPLE = (
    re.compile(rf"\b(?:which|one|any|only) of the {_COUNT}\b", re.IGNORECASE),
    re.compile(rf"\b(?:{_OFFERED[3:-1]}|letters?|option|answer)\b[^.?!]{{0,20}}?{_LIST}"),
)


NOT_A_VALUE = frozenset(("nan", "null", "<na>", "#n/a"))  # what programs write for a missing value


@probe("option-order", "Do options stand where their words need them?")
def _option_order(subject: Subject) -> Iterator[Finding]:
    """One finding for each kind of misplaced text."""
    offering = [item for item in subject.items if len(item.choices) > 1]
    if not offering:
        yield untested(_option_order.name, "no-choices", "No item has options: nothing can stand in the wrong place")
    for kind, severity, find, what, detail in _DEFECTS:
        seen = {item.id: text for item in offering if (text := find(item))}
        title = f"{counted(len(seen), 'item')} {what}"
        yield from defects(_option_order.name, kind, severity, seen, title, verdict="review", detail=detail)


def misplaced_above(item: Item) -> list[int]:
    """Positions of options that refer to all above them while an ordinary option is below."""
    texts = [choice.text for choice in item.choices]
    ordinary = [i for i, text in enumerate(texts) if not _refers(text)]
    last = max(ordinary, default=-1)
    return [i for i, text in enumerate(texts) if i < last and _ABOVE.fullmatch(text.strip())]


def _refers(text: str) -> bool:
    """Whether an option is about other options, so that it may be below "all of the above"."""
    return bool(_ABOVE.fullmatch(text.strip()) or _CATCH_ALL.match(text) or _NAMES_LETTERS.search(text))


def other_letters(item: Item) -> list[int]:
    """Positions of options that are only the mark of another option of the same item."""
    letters = {letter(i) for i in range(len(item.choices))}
    matches = [_LETTER.fullmatch(choice.text) for choice in item.choices]
    texts = [match[1].upper() if match else "" for match in matches]
    return [i for i, text in enumerate(texts) if text in letters and text != letter(i)]


def lost_options(item: Item) -> list[int]:
    """Positions of options that a program wrote for a missing value."""
    return [i for i, choice in enumerate(item.choices) if choice.text.strip().casefold() in NOT_A_VALUE]


def empty_options(item: Item) -> list[int]:
    """Positions of options without text."""
    return [i for i, choice in enumerate(item.choices) if not choice.text.strip()]


def repeated_options(item: Item) -> list[int]:
    """Positions of options that repeat another; where one of the equals is gold, the others are the repeats."""
    kept: dict[str, int] = {}
    repeats = []
    for i, choice in sorted(enumerate(item.choices), key=lambda pair: not pair[1].correct):
        if choice.text.strip() and kept.setdefault(option_key(choice.text) or choice.text, i) != i:
            repeats.append(i)
    return sorted(repeats)


def named_options(item: Item) -> str:
    """The words with which a question names all letters of its options, or their number; empty if it does not."""
    patterns = (*(pattern for pattern, _ in _REWORDED), *_LEFT_TO_PEOPLE)
    matches = (match for pattern in patterns for match in pattern.finditer(item.question))
    return next((match[0] for match in matches if _names_all(match, len(item.choices))), "")


def reworded(item: Item) -> str:
    """The question without letters and number of its options, where it can be reworded; else as it is."""
    question = item.question
    for pattern, words in _REWORDED:
        for match in reversed(list(pattern.finditer(question))):
            if _names_all(match, len(item.choices)):
                question = question[: match.start()] + match.expand(words) + question[match.end() :]
    return question


def _names_all(match: re.Match[str], options: int) -> bool:
    found = match.groupdict()
    if count := found.get("count"):
        return _COUNTS.get(count.lower(), int(count) if count.isdigit() else 0) == options
    letters = re.findall(r"[A-J]\b", found["letters"])
    listed = [letter(number) for number in range(options)]
    return letters == listed or (len(letters) == 2 and letters == [listed[0], listed[-1]])


def can_reorder(item: Item) -> bool:
    """Whether no text of the item depends on the order of its options or on the letters they get."""
    if item.group or _NAMES_OPTIONS.search(item.question) or _NAMES_OPTIONS.search(item.hint):
        return False
    texts = [choice.text for choice in item.choices]
    return not bring_letters(texts) and not any(map(is_tied, texts))


def closing_options(item: Item) -> list[int]:
    """Positions of the last options that refer to all before them: they may stay last while others move."""
    last = len(item.choices)
    while last and _SPEAKS_OF_ALL.fullmatch(item.choices[last - 1].text.strip()):
        last -= 1
    return list(range(last, len(item.choices)))


def is_tied(text: str) -> bool:
    """Whether a text depends on the order of options or on their letters."""
    return bool(_TIED_TO_ORDER.search(text) or _NAMES_LETTERS.search(text) or _LETTER.fullmatch(text))


def _named(item: Item, positions: Sequence[int]) -> str:
    return ", ".join(f"{letter(i)}: {item.choices[i].text!r}" for i in positions[:4])


_DEFECTS: tuple[tuple[str, Severity, Callable[[Item], str], str, str], ...] = (
    ("above-not-last", "bad", lambda item: _named(item, misplaced_above(item)),
     'with "of the above" above an ordinary option', "What was above no longer is, or not all of it: the words mean "
     "something else, and the gold may be wrong. Options were probably shuffled or added."),
    ("letter-options", "suspect", lambda item: _named(item, other_letters(item)),
     "with a letter offered under another letter", 'An answer "B" may mean the option B or the option that says "B". '
     "Put such options under their own letters, or give them other words."),
    ("named-options", "note", lambda item: f'"{phrase}"' if (phrase := named_options(item)) else "",
     "whose question names its letters or their number", "With more or fewer options the question is wrong. "
     "`harden options` rewords it where that is safe, and leaves other items alone."),
)  # fmt: skip
PROBE = _option_order
