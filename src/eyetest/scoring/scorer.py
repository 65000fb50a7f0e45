"""What one answer is worth: it is read by a rule set, or measured by a text metric, and says by which."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from eyetest.records import GIVEN, Condition, Item, ReadingKind, Response, identity, letter, shown_order
from eyetest.records.tables import Ask
from eyetest.scoring.metrics import METRICS, Context, ItemMetric
from eyetest.scoring.rules import RULE_SETS, Reading, Reply, RuleSet

_THINKING_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THINKING_BEGINS = re.compile(r"\s{0,20}<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"^[\s*_#>]{0,12}answer[\s*_]{0,4}[:：][\s*_]{0,4}", re.IGNORECASE | re.MULTILINE)
_READ = 20_000
"""Only the end of a long answer is looked through for its last line."""


def answer_part(text: str, ask: Ask) -> str:
    """What a metric compares. A thinking block that never ends is no answer.

    Where the model was asked to reason first and end in a line ``Answer: X``, only what stands there counts; if it
    did not do so, all of it does.
    """
    ends = list(_THINKING_ENDS.finditer(text))
    if ends:
        text = text[ends[-1].end() :].lstrip()
    elif _THINKING_BEGINS.match(text):
        return ""
    if ask == "direct":
        return text
    lines = list(_ANSWER_LINE.finditer(text, max(0, len(text) - _READ)))
    return text[lines[-1].end() :].strip().strip("*_ ") if lines else text


ACCURACY = "accuracy"
_LIKELIHOOD = "likelihood"
_TOGETHER = "scored over all answers together"
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
    marked: bool | None = None
    """Whether the choice was there to be read by its mark, and not only by its words."""
    why: str = ""
    span: tuple[int, int] | None = None


class Said(msgspec.Struct, frozen=True):
    """What is known of an answer."""

    outcome: str
    text: str | None
    given: float | None = None
    candidates: tuple[float, ...] = ()

    @classmethod
    def by(cls, response: Response) -> "Said":
        """What a response says."""
        weights = tuple(math.nan if weight is None else weight for weight in response.candidates)
        return cls(response.outcome, response.text, response.given, weights)


class Scorer:
    """Reads and scores by one rule set, and one metric for text items.

    ``rescore_given``: a score that somebody else gave is not used where the words are there to score.
    """

    def __init__(self, rules: str = "eyetest", metric: str | None = None, *, rescore_given: bool = False) -> None:
        self.rules = RULE_SETS[rules]
        self.metric = metric
        self.rescore_given = rescore_given
        if metric is not None:
            METRICS[metric]

    def score(self, item: Item, condition: Condition, said: Said) -> Scored:
        """What an answer is worth. A failed call is worth nothing that could be counted: its score is None.

        Refusals, ambiguous and unreadable answers and blocked questions are answers, and score 0. Where nobody said
        what is right, they are read and have no score. A score that somebody else gave is used as it is, unless it is
        to be given anew and there are words and a gold to do it by.
        """
        if said.outcome == "failed":
            return Scored(None, None, None, self._metric_of(item), None)
        scored = self._read(item, condition, said)
        if said.given is None or (self.rescore_given and item.has_gold and _has_words(said)):
            return scored if item.has_gold else msgspec.structs.replace(scored, score=None)
        return msgspec.structs.replace(scored, rule=GIVEN, metric=GIVEN, score=said.given)

    def rescore(self, item: Item, condition: Condition, found: Reading) -> Scored:
        """What a choice is worth that somebody else read out of an answer; it is marked as theirs."""
        order = shown_order(item, condition)
        choice = identity(order, found.index) if found.index is not None else None
        right = found.index is not None and order[found.index] in item.gold
        score = float(right) if item.has_gold else None
        return Scored(found.kind, choice, _rule(self.rules, found), ACCURACY, score, found.marked, found.why)

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
        if item.choices:
            return self._choice(item, condition, said.text)
        return self._text(item, answer_part(said.text, condition.ask), metric)

    def _choice(self, item: Item, condition: Condition, text: str) -> Scored:
        order = shown_order(item, condition)
        options = tuple(item.choices[position].text for position in order)
        found: Reading = self.rules.read(Reply(text, options, condition.marks))
        choice = identity(order, found.index) if found.index is not None else None
        right = found.index is not None and order[found.index] in item.gold
        why = "would guess" if found.would_guess else found.why
        rule = _rule(self.rules, found)
        return Scored(found.kind, choice, rule, ACCURACY, float(right), found.marked, why, found.span)

    def _text(self, item: Item, text: str, name: str) -> Scored:
        metric = METRICS[name]
        score = None
        if isinstance(metric, ItemMetric):
            score = metric.score(text, item.references, Context(item.question, item.tags))
        ours = RULE_SETS["eyetest"]
        if not score and (found := ours.read(Reply(text, ()))).kind == "refused":
            return Scored("refused", None, _rule(ours, found), name, 0.0, None, found.why, found.span)
        return Scored("text", None, None, name, score, None, "" if isinstance(metric, ItemMetric) else _TOGETHER)


def _has_words(said: Said) -> bool:
    return said.text is not None or bool(said.candidates)


def _rule(rules: RuleSet, found: Reading) -> str:
    return f"{rules.version} {found.rule}".rstrip()


def _weighed(item: Item, candidates: Sequence[float]) -> Scored:
    """The likeliest choice. One that is no number, which JSON writes as nothing, is that of the impossible."""
    if len(candidates) != len(item.choices):
        why = f"{len(candidates)} likelihoods for {len(item.choices)} choices"
        return Scored("unparsed", None, _LIKELIHOOD, ACCURACY, 0.0, None, why)
    weights = [-math.inf if math.isnan(weight) else weight for weight in candidates]
    best = max(range(len(weights)), key=weights.__getitem__)
    if weights.count(weights[best]) > 1:
        return Scored("ambiguous", None, _LIKELIHOOD, ACCURACY, 0.0, None, "equal likelihoods")
    return Scored("chosen", letter(best), _LIKELIHOOD, ACCURACY, float(best in item.gold))


LEAST = 0.5
"""From which score on an answer that is worth something between 0 and 1 counts as right."""
_DECLINING = ("i can't", "i cannot", "i'm sorry", "i am sorry", "i'm unable", "i am unable", "as an ai", "cannot see")


def is_hit(item: Item, condition: Condition, response: Response) -> bool | None:
    """Whether a response is right. None where there is no answer to judge: the call failed, or nothing is known."""
    score = _scorer().score(item, condition, Said.by(response)).score
    return None if score is None else score >= LEAST


@lru_cache(maxsize=1)
def _scorer() -> Scorer:
    return Scorer()


def looks_refused(text: str) -> bool:
    """Whether a reply seems to decline; a quick look for a display, not a reading."""
    head = text[:200].lower()
    return any(words in head for words in _DECLINING)
