"""Do options stand where their words need them? Shuffles and added distractors tear them from their place.

"None of the above" speaks of what stands above it, and an option that says just "B" collides with the mark B: whoever
answers "B" may mean either. Neither needs a statistic, so both are facts.
"""

import re
from collections.abc import Iterator, Sequence

from eyetest.benchmarks.rows.options import bring_marks
from eyetest.probes.subject import Subject, untested
from eyetest.probes.words import normalise_option
from eyetest.records import Finding, Item, letter
from eyetest.wording import counted

_ABOVE = re.compile(
    r"\W*(?:all|none?|any|both|either|neither|each|some|two|one)\s+(?:o[ft]\s+)?(?:the\s+|these\s+)?above"
    r"(?:\s+(?:two|three|four)(?:\s+\w+)?)?"
    r"(?:[\s-]+(?:mentioned|listed|given|stated|options?|choices?|answers?|statements?|reasons?|responses?|is|are|were"
    r"|correct|right|true|false|wrong|incorrect|apply|applies))*"
    r"\s*(?:[.,;:!)(].*|\s[–—-]\s.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""All that an option says. "Above the line" and "all above average" are ordinary options."""
_CATCH_ALL = re.compile(
    r"\W*neither\b|\W*(?:none|all|both|any)\s+of\s+(?:these|them|those|the (?:others?|options|choices|answers))\b"
    r"|.*\b(?:cannot|can't|can not|could not|unable to|impossible to) (?:be )?(?:determine|tell|say|answer|infer)"
    r"|\W*(?:not enough|insufficient|unknown|uncertain|i don't know|not sure|no answer|not given|other)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What may follow "all of the above", since nobody would count it in."""
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


NOT_A_VALUE = {"nan", "null", "<na>", "#n/a"}
"""What programs write for a missing value."""


class OptionOrder:
    """The probe."""

    name = "option-order"
    summary = "Do options stand where their words need them?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each kind of text that has lost its place."""
        offering = [item for item in subject.items if len(item.choices) > 1]
        if not offering:
            yield untested(self.name, "no-choices", "No item has options: nothing can stand in the wrong place")
            return
        above = {item.id: _named(item, positions) for item in offering if (positions := misplaced_above(item))}
        yield from self._findings("above-not-last", "bad", above, 'with "of the above" above an ordinary option',
                               "What was above no longer is, or not all of it: the words mean something else, and "
                               "the gold may be wrong. Options were probably shuffled or added.")  # fmt: skip
        letters = {item.id: _named(item, positions) for item in offering if (positions := other_letters(item))}
        yield from self._findings("letter-options", "suspect", letters, "with a letter offered under another letter",
                               'Whoever answers "B" may mean the option B or the option that says "B". Put such '
                               "options under their own marks, or give them other words.")  # fmt: skip
        marked = {
            item.id: "; ".join(choice.text[:20] for choice in item.choices[:3])
            for item in offering
            if bring_marks([choice.text for choice in item.choices])
        }
        yield from self._findings("marked-options", "suspect", marked, "with options that bring marks of their own",
                               'A model is shown "A. B. sheep" or the like. Importing the file anew takes marks off '
                               "where they are in order; `--fix` leaves such options where they are.")  # fmt: skip

    def _findings(self, kind: str, severity: str, seen: dict[str, str], what: str, detail: str) -> Iterator[Finding]:
        if seen:
            yield Finding(
                probe=self.name,
                kind=kind,
                severity=severity,  # type: ignore[arg-type]
                verdict="review",
                title=f"{counted(len(seen), 'item')} {what}",
                detail=detail,
                items=tuple(seen),
                evidence=seen,
                numbers={"items": len(seen)},
            )


def misplaced_above(item: Item) -> list[int]:
    """Positions of options that speak of all above them while an ordinary option stands below."""
    texts = [choice.text for choice in item.choices]
    ordinary = [i for i, text in enumerate(texts) if not _refers(text)]
    last = max(ordinary, default=-1)
    return [i for i, text in enumerate(texts) if i < last and _ABOVE.fullmatch(text.strip())]


def _refers(text: str) -> bool:
    """Whether an option is about other options, so that it may stand below "all of the above"."""
    return bool(_ABOVE.fullmatch(text.strip()) or _CATCH_ALL.match(text) or _NAMES_LETTERS.search(text))


def other_letters(item: Item) -> list[int]:
    """Positions of options that are nothing but the mark of another option of the same item."""
    marks = {letter(i) for i in range(len(item.choices))}
    matches = [_LETTER.fullmatch(choice.text) for choice in item.choices]
    said = [match[1].upper() if match else "" for match in matches]
    return [i for i, text in enumerate(said) if text in marks and text != letter(i)]


def lost_options(item: Item) -> list[int]:
    """Positions of options that are what some program wrote for a missing value."""
    return [i for i, choice in enumerate(item.choices) if choice.text.strip().casefold() in NOT_A_VALUE]


def empty_options(item: Item) -> list[int]:
    """Positions of options without text."""
    return [i for i, choice in enumerate(item.choices) if not choice.text.strip()]


def repeated_options(item: Item) -> list[int]:
    """Positions of options that repeat another; where one of the equals is gold, the others are the repeats."""
    kept: dict[str, int] = {}
    repeats = []
    for i, choice in sorted(enumerate(item.choices), key=lambda pair: not pair[1].correct):
        if choice.text.strip() and kept.setdefault(normalise_option(choice.text) or choice.text, i) != i:
            repeats.append(i)
    return sorted(repeats)


def can_reorder(item: Item) -> bool:
    """Whether no text of the item depends on the order of its options or on the letters they get."""
    if item.group or _NAMES_OPTIONS.search(item.question) or _NAMES_OPTIONS.search(item.hint):
        return False
    texts = [choice.text for choice in item.choices]
    return not bring_marks(texts) and not any(map(is_tied, texts))


def closing_options(item: Item) -> list[int]:
    """Positions of the last options that speak of all before them: they may stay last while others change places."""
    last = len(item.choices)
    while last and _SPEAKS_OF_ALL.fullmatch(item.choices[last - 1].text.strip()):
        last -= 1
    return list(range(last, len(item.choices)))


def is_tied(text: str) -> bool:
    """Whether a text depends on the order of options or on their letters."""
    return bool(_TIED_TO_ORDER.search(text) or _NAMES_LETTERS.search(text) or _LETTER.fullmatch(text))


def _named(item: Item, positions: Sequence[int]) -> str:
    return ", ".join(f"{letter(i)}: {item.choices[i].text!r}" for i in positions[:4])


PROBE = OptionOrder()
