"""Rules over repeated calls, and when a verdict can no longer change.

A rule counts hits: a model *answers* an item if enough of its trials hit, and the item *falls* under the rule if
enough models answer it. A missing call, whether it failed or was never sent, could have been either; so what is
decided is decided whatever the missing calls would have said, and a run that stops there ends in the verdicts of the
full run.
"""

import re
from collections.abc import Sequence

import msgspec

from eyetest.errors import InputError
from eyetest.records.settings import Cut, Operator

_WORDS: dict[str, Operator] = {
    "more than": ">",
    "at least": ">=",
    "at most": "<=",
    "fewer than": "<",
    "less than": "<",
    "exactly": "==",
}
_SIGNS = {">": ">", ">=": ">=", "≥": ">=", "<": "<", "<=": "<=", "≤": "<=", "=": "==", "==": "=="}
_OPERATORS = "|".join((*_WORDS, *sorted(_SIGNS, key=len, reverse=True)))
_PHRASE = re.compile(rf"(?:hits\s*)?({_OPERATORS})\s*(\d+)\s+of\s+(\d+)\s*(trials?|models?)?")
_HIT_ONCE = Cut(op=">=", value=1)


class Tally(msgspec.Struct, frozen=True):
    """What is known of one model on one item: trials that hit, and trials whose result is not known (yet)."""

    hits: int = 0
    unknown: int = 0


class StoppingRule(msgspec.Struct, frozen=True, kw_only=True):
    """``more than 5 of 10 trials, at least 3 of 4 models``."""

    answers: Cut = _HIT_ONCE
    """Over a model's hits: whether the model answers the item."""
    trials: int = 1
    falls: Cut = _HIT_ONCE
    """Over the number of models that answer: whether the item falls under the rule."""
    models: int = 1

    @property
    def told(self) -> str:
        """The rule in words."""
        models = f"{self.falls.op} {self.falls.value:g} of {self.models} models"
        trials = f"{self.answers.op} {self.answers.value:g} of {self.trials} trials, "
        return (trials if self.trials > 1 else "") + models

    def model_answers(self, tally: Tally) -> bool | None:
        """Whether a model answers the item; None while that is open."""
        return _settled(self.answers, tally.hits, tally.hits + tally.unknown)

    def verdict(self, tallies: Sequence[Tally]) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        known = [self.model_answers(tally) for tally in tallies]
        return _settled(self.falls, known.count(True), known.count(True) + known.count(None))

    def decisions_needed(self, tallies: Sequence[Tally]) -> int:
        """How many more models have to be decided, at best, before the verdict is."""
        known = [self.model_answers(tally) for tally in tallies]
        return _fewest(self.falls, known.count(True), known.count(None))

    def trials_needed(self, tally: Tally) -> int:
        """How many more trials of a model have to be known, at best, before the model is decided."""
        return _fewest(self.answers, tally.hits, tally.unknown)


def parse_rule(text: str, *, trials: int, models: int) -> StoppingRule:
    """A rule in words, checked against the run it is for: ``more than 5 of 10 trials, at least 3 of 4 models``.

    Units may be left out where only one fits; ``hits <= 2 of 8`` is a rule over eight models asked once each.
    """
    rule = StoppingRule(trials=trials, models=models, falls=Cut(op=">=", value=1))
    seen: set[str] = set()
    phrases = [phrase.strip() for phrase in text.split(",")]
    for index, phrase in enumerate(phrases):
        match = _PHRASE.fullmatch(phrase.lower())
        if match is None:
            raise InputError(
                f'"{phrase}" is no rule; write such as "more than 5 of 10 trials, at least 3 of 4 models"'
            )
        operator, value, total, unit = match.groups()
        cut = Cut(op=_WORDS.get(operator) or _SIGNS[operator], value=int(value))  # type: ignore[arg-type]
        unit = (unit or _unit(int(total), index, len(phrases), trials, models)).rstrip("s")
        if unit in seen:
            raise InputError(f'"{text}" says twice how many {unit}s it takes')
        seen.add(unit)
        has = trials if unit == "trial" else models
        if int(total) != has:
            raise InputError(f'"{phrase}": the run has {has} {unit}{"s" * (has != 1)}, not {total}')
        if _settled(cut, 0, has) is not None:
            raise InputError(f'"{phrase}" is {"always" if cut.holds(0) else "never"} so; no call could change it')
        rule = msgspec.structs.replace(rule, **{"answers" if unit == "trial" else "falls": cut})
    if models > 1 and "model" not in seen:
        raise InputError(f'"{text}" does not say how many of the {models} models it takes')
    if trials > 1 and "trial" not in seen:
        raise InputError(f'"{text}" does not say how many of the {trials} trials it takes')
    return rule


def _unit(total: int, index: int, phrases: int, trials: int, models: int) -> str:
    if phrases == 2:
        return ("trial", "model")[index]
    return "trial" if total == trials and models == 1 else "model"


def _settled(cut: Cut, least: int, most: int) -> bool | None:
    sides = {cut.holds(count) for count in range(least, most + 1)}
    return sides.pop() if len(sides) == 1 else None


def _fewest(cut: Cut, hits: int, unknown: int) -> int:
    """The smallest number of results that can settle a cut, if they all turn out the right way."""
    for more in range(unknown + 1):
        if any(_settled(cut, hits + new, hits + new + unknown - more) is not None for new in range(more + 1)):
            return more
    return unknown
