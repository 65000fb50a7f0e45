"""How probable it is that a reading is right.

Estimated is the share of right readings among readings of the same group, on replies that people labelled. A group
is the kind of evidence that decided a reading (``EVIDENCE``), then the rule, then whether the reply names an option
beside the one that was read, and where. Of ``n`` readings of a group (weighted) with ``r`` right ones the estimate is

    p = (r + STRENGTH · parent) / (n + STRENGTH),

where ``parent`` is the estimate of the group that contains this one, from its readings outside this group: the
mean of a Beta posterior whose prior is worth ``STRENGTH`` readings of the neighbours (Gelman et al., Bayesian Data
Analysis, 3rd edition, section 5.3, with a fixed strength). The outermost estimate is (r + 1) / (n + 2). Each labelled
reading counts once. A rule or a place without labelled readings has the estimate of its parent.

Assumed is that readings of a group are right equally often in replies of other models and benchmarks. The rules were
written with most of the labelled replies, which makes the estimates of common groups somewhat too high.
``certainty.yaml`` holds the counts, which ``python -m tools.reading --certainty`` writes.
The independent check is ``tests/scoring/rules/test_certainty.py``, which leaves out each source in turn.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec

from eyetest.records.tables import mark
from eyetest.scoring.rules import Reading, Reply, RuleSet
from eyetest.store.handwritten import parse_yaml

STRENGTH = 10.0
Place = Literal["none", "before", "behind"]
Counts = Mapping[str, Mapping[str, Mapping[str, tuple[float, float]]]]
"""Right readings and all readings, both weighted, by evidence, rule and place."""

EVIDENCE = {
    "mark alone": ("whole reply", "box", "closing line", "last word"),
    "announced": (
        "answer is", "answer heading", "the right one is", "is the answer", "chooses", "all but", "on second thought",
        "rather", "is correct",
    ),
    "opening": ("opening mark", "opening option"),
    "asserted": ("therefore", "so it is", "likely", "is the most", "the most is", "more than"),
    "inferred": ("ruled out", "alike", "judged list", "states what was asked"),
}  # fmt: skip
"""Kinds of evidence for a choice, by the rules that won. Any other rule is a mere mention of the option."""
_EVIDENCE_OF = {rule: evidence for evidence, rules in EVIDENCE.items() for rule in rules}
_MENTION = "mentioned"

_READ = 24_000  # characters of the end of a reply in which other options are looked for
_BEFORE = 300  # and of those before the words that decided
_LETTER = re.compile(r"(?<!\w)\(?([^\W\d_])(?![\w'’])(?=[).:*,]|\s(?![a-z])|$)")
_SMALL_LETTER = re.compile(r"(?<!\w)\(?([a-z])\)")
_DIGIT = re.compile(r"(?<![\w.])\(?(\d{1,2})(?:\)|[.:](?!\d))")


class Group(NamedTuple):
    """What readings have in common that are right equally often."""

    evidence: str
    rule: str
    place: Place


class Certainty:
    """The probabilities of readings, from counts of right readings on labelled replies."""

    def __init__(self, counts: Counts, rules: str = "", strength: float = STRENGTH) -> None:
        self.rules = rules
        """The version of the rules whose readings were counted."""
        self._strength = strength
        self._sums: dict[tuple[str, ...], tuple[float, float]] = {}
        self._probabilities: dict[Group, float] = {}
        for group, right, n in _leaves(counts):
            for depth in range(len(group) + 1):
                sums = self._sums.get(group[:depth], (0.0, 0.0))
                self._sums[group[:depth]] = (sums[0] + right, sums[1] + n)

    def probability(self, group: Group) -> float:
        """The probability that a reading of this group is right."""
        if group not in self._probabilities:
            self._probabilities[group] = self._shrink(group)
        return self._probabilities[group]

    def _shrink(self, group: Group) -> float:
        """The share of right readings of a group, shrunk to its parents."""
        probability = 0.5
        strength = 2.0
        for depth in range(len(group) + 1):
            right, n = self._sums.get(tuple(group[:depth]), (0.0, 0.0))
            inner_right, inner_n = self._sums.get(tuple(group[: depth + 1]), (0.0, 0.0))
            if depth < len(group):
                right, n = right - inner_right, n - inner_n
            probability = (right + strength * probability) / (n + strength)
            strength = self._strength
        return probability

    def of(self, reply: Reply, reading: Reading) -> float:
        """The probability that a reading of a reply is right."""
        return self.probability(group_of(reply, reading))


@lru_cache(maxsize=1)
def load_certainty() -> Certainty:
    """The probabilities that ship with the package."""
    stored = parse_yaml((files(__package__) / "certainty.yaml").read_text("utf-8"), "certainty.yaml")
    return Certainty(stored["counts"], stored["rules"])


def group_of(reply: Reply, reading: Reading) -> Group:
    """The group of a reading."""
    evidence: str = reading.kind
    if reading.kind == "chosen":
        evidence = _EVIDENCE_OF.get(reading.rule, _MENTION)
    return Group(evidence, reading.rule, find_other_options(reply, reading))


def find_other_options(reply: Reply, reading: Reading) -> Place:
    """Where a reply names an option beside the one that was read, by its mark or its text.

    Shortly before the words that decided the reading, or behind them. Where no option was read, any option counts,
    as behind.
    """
    if reading.rule == "whole reply":
        return "none"
    start = max(0, len(reply.text) - _READ)
    decided = start
    if reading.index is not None and reading.span is not None:
        decided = max(start, reading.span[1])
        start = max(start, decided - _BEFORE)
    text = reply.text[start:]
    decided -= start
    place: Place = "none"
    for at in _named_at(text, reply, reading.index):
        if at >= decided:
            return "behind"
        place = "before"
    return place


def _named_at(text: str, reply: Reply, read: int | None) -> Iterator[int]:
    """Where a text names options other than the one that was read; of equal texts only the last."""
    lower = text.lower()
    chosen = "" if read is None else reply.options[read].lower()
    for index, option in enumerate(reply.options):
        words = option.lower().strip(" .")
        if index == read or len(words) < 2 or words in chosen:
            continue
        at = lower.rfind(words)
        if at >= 0:
            yield at
    pattern, marks = _marks_of(reply)
    for match in pattern.finditer(text):
        if match[1] in marks and marks[match[1]] != read:
            yield match.start()


def _marks_of(reply: Reply) -> tuple[re.Pattern[str], dict[str, int]]:
    """What a mark of an option looks like in a reply, and the positions of the marks."""
    positions = range(len(reply.options))
    if reply.letters == "digit":
        return _DIGIT, {mark("digit", index): index for index in positions}
    if reply.letters == "lower":
        return _SMALL_LETTER, {mark("lower", index): index for index in positions}
    if reply.letters == "upper":
        return _LETTER, {mark("upper", index): index for index in positions}
    return _LETTER, {letter: index for index, letter in enumerate(reply.letters)}


def _leaves(counts: Counts) -> Iterator[tuple[tuple[str, ...], float, float]]:
    for evidence, rules in counts.items():
        for rule, places in rules.items():
            for place, (right, n) in places.items():
                yield (evidence, rule, place), right, n


class RatedRules:
    """A rule set whose readings have the probability that they are right."""

    def __init__(self, rules: RuleSet, certainty: Certainty | None = None) -> None:
        self.name = rules.name
        self.summary = rules.summary
        self.version = rules.version
        self._rules = rules
        self._certainty = certainty

    def read(self, reply: Reply) -> Reading:
        """Read a reply, and say how probable it is that this is right."""
        certainty = self._certainty or load_certainty()
        reading = self._rules.read(reply)
        return msgspec.structs.replace(reading, probability=round(certainty.of(reply, reading), 4))
