"""What one answer is worth: it is read by a rule set, or measured by a text metric, and says by which."""

from collections.abc import Sequence

import msgspec

from eyetest.errors import InputError
from eyetest.records import Condition, Item, ReadingKind, identity, letter, shown_order
from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, ItemMetric
from eyetest.scoring.rules import RULE_SETS, Reading, Reply

ACCURACY = "accuracy"
GIVEN = "given"
_TEXT_METRIC = "open"
_VOTES = 3
"""From so many reference answers on, they are votes, and VQA's measure counts them."""


class Scored(msgspec.Struct, frozen=True):
    """An answer read and valued: the last columns of the scores table."""

    reading: ReadingKind | None
    choice: str | None
    """Which choice was meant: its letter in the order as written."""
    rule: str | None
    """The rule set's version and the rule that found it."""
    metric: str
    score: float | None
    why: str = ""
    span: tuple[int, int] | None = None


class Said(msgspec.Struct, frozen=True):
    """What is known of an answer."""

    outcome: str
    text: str | None
    given: float | None = None
    candidates: tuple[float, ...] = ()


class Scorer:
    """Reads and scores by one rule set, and one metric for text items."""

    def __init__(self, rules: str = "eyetest", metric: str | None = None) -> None:
        self.rules = RULE_SETS[rules]
        self.metric = metric
        if metric is not None:
            METRICS[metric]

    def score(self, item: Item, condition: Condition, said: Said) -> Scored:
        """What an answer is worth. A failed call is worth nothing that could be counted: its score is None.

        Refusals, ambiguous and unreadable answers and blocked questions are answers, and score 0. A score that
        somebody else gave is used as it is.
        """
        if said.outcome == "failed":
            return Scored(None, None, None, self._metric_of(item), None)
        scored = self._read(item, condition, said)
        if said.given is None:
            return scored
        reading, choice = (scored.reading, scored.choice) if said.text else (None, None)
        return Scored(reading, choice, GIVEN, GIVEN, said.given)

    def metric_for(self, item: Item) -> str:
        """The metric of a text item: the user's, the item's own tag, or what its references call for."""
        own = item.tags.get("metric")
        if self.metric is not None:
            return self.metric
        if isinstance(own, str) and own in METRICS:
            return own
        return "vqa" if len(item.references) >= _VOTES else _TEXT_METRIC

    def _metric_of(self, item: Item) -> str:
        return ACCURACY if item.choices else self.metric_for(item)

    def _read(self, item: Item, condition: Condition, said: Said) -> Scored:
        metric = self._metric_of(item)
        if said.candidates:
            return _weighed(item, said.candidates)
        if said.outcome == "blocked" or said.text is None:
            return Scored(None, None, None, metric, 0.0 if said.outcome == "blocked" else None)
        return self._choice(item, condition, said.text) if item.choices else self._text(item, said.text, metric)

    def _choice(self, item: Item, condition: Condition, text: str) -> Scored:
        order = shown_order(item, condition)
        options = tuple(item.choices[position].text for position in order)
        found: Reading = self.rules.read(Reply(text, options, condition.marks))
        choice = identity(order, found.index) if found.index is not None else None
        right = found.index is not None and order[found.index] in item.gold
        why = "would guess" if found.would_guess else found.why
        rule = f"{self.rules.version} {found.rule}"
        return Scored(found.kind, choice, rule, ACCURACY, float(right), why, found.span)

    def _text(self, item: Item, text: str, name: str) -> Scored:
        metric = METRICS[name]
        score = None
        if isinstance(metric, ItemMetric):
            score = metric.score(text, item.references, Context(item.question, item.tags))
        if not score and declines(text):
            return Scored("refused", None, RULE_SETS["eyetest"].version, name, 0.0)
        return Scored("text", None, None, name, score)


def declines(text: str) -> bool:
    """Whether a reply declines and says nothing else."""
    return RULE_SETS["eyetest"].read(Reply(text, ())).kind == "refused"


def corpus_scores(name: str, answers: Sequence[str], references: Sequence[Sequence[str]]) -> Sequence[float | None]:
    """Scores that depend on all answers of a model together: captions."""
    metric = METRICS[name]
    if not isinstance(metric, CorpusMetric):
        raise InputError(f'the metric "{name}" scores one answer at a time')
    return metric.score_all(answers, references).items


def _weighed(item: Item, candidates: Sequence[float]) -> Scored:
    best = max(range(len(candidates)), key=candidates.__getitem__)
    if list(candidates).count(candidates[best]) > 1:
        return Scored("ambiguous", None, "likelihood", ACCURACY, 0.0, "equal likelihoods")
    return Scored("chosen", letter(best), "likelihood", ACCURACY, float(best in item.gold))
