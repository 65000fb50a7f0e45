"""Checks without a model: which items can grow, and which proposals are also right, repeated or odd in form."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import combinations

import msgspec

from eyetest.harden.options.record import OPTIONS_STEP, OptionSettings
from eyetest.harden.options.writers import read_written
from eyetest.probes.guessing import case_of, form_of
from eyetest.probes.option_order import NOT_A_VALUE, can_reorder, closing_options, is_tied, named_options, reworded
from eyetest.records import Item, Lineage, image_numbers
from eyetest.reform.distractors.answer_kinds import TOO_NEAR, TWO_SIDED, KindName, WrittenNumber
from eyetest.reform.distractors.answers import alike_colours
from eyetest.reform.distractors.written import Case
from eyetest.text import Level, holds_phrase, parse, same
from eyetest.text import normalized as key
from eyetest.text.numbers import agrees

_LONGEST = 300
# Limits of a proposal's length: times the longest and the shortest option, and letters beyond
_LONGER, _SHORTER, _SPAN = 1.8, 0.5, 6
_COUNTED = 30  # whole numbers up to here differ if they differ by one
_FORMULA = re.compile(r"^(\$++|\\\()(.*?)((?<!\$)\$++|\\\))$", re.DOTALL)
_MARK = re.compile(r"^\s*(?:[-*•]|\(?[A-Ja-j1-9][.)]|\(?10[.)])\s+(?=\S)")  # what a writer may put before a text
_FORMS = {"word": 0, "phrase": 1, "sentence": 2}
_CLOSED = tuple(
    frozenset(words.split(", "))
    for words in (
        "yes, no, maybe, sometimes, partly",
        "true, false, partly true",
        "right, wrong, correct, incorrect",
        "always, usually, often, sometimes, rarely, never",
        "increase, increases, decrease, decreases, no change, same, stays same, remains same, does not change",
        "greater, greater than, less, less than, equal, equal to, more, fewer, same, larger, smaller",
        "agree, strongly agree, disagree, strongly disagree, neutral",
        "entailment, neutral, contradiction",
        "supports, refutes, supported, refuted",
    )
)  # answers beside which there are no others
_UNDECIDED = re.compile(
    r"insufficient|not enough|cannot|can't|can not|unknown|uncertain|undetermined|not sure|unsure|not given|neither"
)


class Guard:
    """Checks proposals for an item, and corrects those that differ in format only."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._options = case.options
        self._number = read_written(case.gold)
        pairs = combinations(self._options, 2)
        self._nested = any(_contains(*pair) for pair in pairs if not same(*pair, Level.UNITS))

    def repaired(self, text: str) -> str:
        """The proposal in the format of the present options."""
        text = _MARK.sub("", text).strip()
        text = text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'`“”" else text
        text = " ".join(text.split())
        if self._number is not None:
            return self._as_number(text)
        text = _dressed(text, self._options)
        cases = {case_of(option) for option in self._options}
        if len(cases) == 1 and case_of(text) not in cases and text:
            text = _in_case(text, cases.pop(), self._options)
        points = {option.rstrip().endswith(".") for option in self._options}
        if len(points) == 1 and text.endswith(".") not in points:
            text = text[:-1] if text.endswith(".") else f"{text}."
        return text

    def _as_number(self, text: str) -> str:
        """A number with the gold's decimals, signs and unit, where its value stays the same."""
        number, gold = read_written(text), self._number
        if number is None or gold is None:
            return text
        is_other_unit = number.after.strip() and key(number.after) != key(gold.after)
        is_finer = Decimal(f"{number.value:.{gold.decimals}f}") != number.value
        return text if is_other_unit or is_finer else gold.written(number.value)

    def refusal(self, text: str) -> str:
        """The reason why a proposal cannot be an option; empty where there is none."""
        gold = self._case.gold
        checks: tuple[tuple[str, Callable[[str], bool]], ...] = (
            ("no text", lambda text: not text.strip() or text.strip().casefold() in NOT_A_VALUE),
            ("too long", lambda text: len(text) > max(_LONGEST, *(2 * len(option) for option in self._options))),
            ("shows an image", lambda text: bool(image_numbers(text)) or "<image" in text.lower()),
            ("speaks of other options", is_tied),
            ("says the same as the gold", lambda text: self._is_option(text, (gold, *self._case.item.references))),
            ("says the same as the gold", lambda text: alike_colours(key(text), (key(gold),))),
            ("says the same as another option", lambda text: self._is_option(text, self._options)),
            ("is too near the gold", self._is_too_near),
            ("contains the gold or is part of it", lambda text: not self._nested and _contains(text, gold)),
            ("differs in form from the other options", self._is_unlike),
        )
        return next((why for why, holds in checks if holds(text)), "")

    @staticmethod
    def _is_option(text: str, options: Sequence[str]) -> bool:
        return any(same(text, option, Level.UNITS) for option in options)

    def _is_too_near(self, text: str) -> bool:
        proposed, gold = parse(text).number, parse(self._case.gold).number
        if proposed is None or gold is None or not agrees(proposed.unit, gold.unit):
            return False
        apart, own = abs(proposed.value - gold.value), self._number
        counts = self._case.kind.name == "count"
        if own and not own.decimals and apart >= 1 and (own.is_year or counts or abs(own.value) <= _COUNTED):
            return False  # one more or one less is another answer
        values = [number.value for text in self._case.present if (number := parse(text).number)]
        nearest = min((abs(value - gold.value) for value in values), default=float("inf"))
        return apart < min(float(TOO_NEAR) * max(abs(proposed.value), abs(gold.value)), nearest / 2)

    def _is_unlike(self, text: str) -> bool:
        """Whether the text differs from the present options recognisably without the question."""
        if self._number is not None:
            return not _written_alike(read_written(text), [read_written(option) for option in self._options])
        forms = [form_of(option) for option in self._options]
        form = form_of(text)
        if (form == "number") != ("number" in forms) and (form == "number" or set(forms) == {"number"}):
            return True
        reach = [_FORMS[known] for known in forms if known in _FORMS]
        if form in _FORMS and reach and not min(reach) - 1 <= _FORMS[form] <= max(reach) + 1:
            return True
        lengths = [len(option) for option in self._options]
        low, high = min(lengths) * _SHORTER - _SPAN, max(lengths) * _LONGER + _SPAN
        cases = {case_of(option) for option in self._options}
        return not low <= len(text) <= high or (len(cases) == 1 and case_of(text) not in {*cases, "none"})


def _dressed(text: str, options: Sequence[str]) -> str:
    """A text with formula signs where all options have them, and without where none has."""
    matches = [_FORMULA.match(option.strip()) for option in options]
    own = _FORMULA.match(text)
    if all(matches) and own is None and matches[0] is not None:
        return f"{matches[0][1]}{text}{matches[0][3]}"
    return own[2].strip() if own and not any(matches) else text


def _in_case(text: str, case: str, options: Sequence[str]) -> str:
    if case == "upper":
        return text.upper()
    if case == "capital":
        return text[:1].upper() + text[1:]
    proper = any(word[:1].isupper() for option in options for word in option.split()[1:])
    return text if proper or text.isupper() else text[:1].lower() + text[1:]


def _written_alike(number: WrittenNumber | None, others: Sequence[WrittenNumber | None]) -> bool:
    if number is None:
        return False
    known = [other for other in others if other is not None]
    decimals = [other.decimals for other in known]
    same_unit = any(key(number.after) == key(other.after) for other in known)
    same_sign = any(number.before.strip() == other.before.strip() for other in known)
    return same_unit and same_sign and min(decimals) <= number.decimals <= max(decimals)


def _contains(text: str, other: str) -> bool:
    """Whether a text contains all words of another, and more."""
    first, second = key(text).split(), key(other).split()
    if parse(text).number and parse(other).number:
        return False
    return holds_phrase(first, second) or holds_phrase(second, first)


def sort_item(item: Item, settings: OptionSettings) -> Case | str:
    """The case of an item that can get options, or why it cannot."""
    if not item.has_gold:
        return "no gold"
    if not item.is_choice:
        if not settings.open or item.group:
            return "an open question"
        gold = next(reference for reference in item.references if reference.strip())
        case = Case(item, gold.strip(), (), settings.options - 1)
        return "no other answers are possible" if case.kind.name in TWO_SIDED else case
    if (question := reworded(item)) != item.question:
        note = f'reworded: "{named_options(item)}" no longer names letters or number of options'
        made = Lineage(step=OPTIONS_STEP, item=item.id, note=note, seed=settings.seed)
        item = msgspec.structs.replace(item, question=question, lineage=(*item.lineage, made))
    closing = set(closing_options(item))
    rest = tuple(choice for index, choice in enumerate(item.choices) if index not in closing)
    gold = item.choices[item.gold[0]].text
    present = tuple(choice.text for choice in rest if not choice.correct)
    case = Case(item, gold, present, settings.options - len(item.choices))
    reasons: dict[str, bool] = {
        "several golds": len(item.gold) > 1,
        "has enough options": case.need <= 0,
        "images in options": any(choice.images or "<image" in choice.text.lower() for choice in item.choices),
        "options tied to their order or letters": not can_reorder(msgspec.structs.replace(item, choices=rest)),
        "the gold speaks of other options": item.gold[0] in closing,
        "no other answers are possible": is_closed([choice.text for choice in rest], case.kind.name),
        "the question names letters or number of its options": bool(named_options(item)),
    }
    return next((reason for reason, holds in reasons.items() if holds), case)


def is_closed(options: Sequence[str], kind: KindName = "text") -> bool:
    """Whether options are all possible answers: yes and no, true, false and undecided, always to never."""
    known = {key(option).removeprefix("the ") for option in options}
    decided = {text for text in known if not _UNDECIDED.search(text)}
    is_pair = kind in TWO_SIDED and len(options) <= 2
    return is_pair or (len(decided) > 1 and any(decided <= answers for answers in _CLOSED))
