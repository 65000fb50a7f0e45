"""What answers are worth: each is read by a rule set, or measured by a text metric, and says by which.

All answers of a run are scored at once: equal answers are read once, however many rows say the same. In: a lazy frame
of answers and the items they are about. Out: the scores table, in the order of its contract.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import polars as pl
import polars.selectors as cs

from eyetest.records import (
    GIVEN,
    Asked,
    Condition,
    Item,
    ReadingKind,
    Response,
    Score,
    columns,
    identity,
    letter,
    shown_order,
)
from eyetest.records.request import read_candidates
from eyetest.records.tables import Ask
from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, CorpusScore, ItemMetric, corpus_metric
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

    def rescore(self, item: Item, condition: Condition, reading: Reading) -> Scored:
        """What a choice is worth that somebody else read out of an answer; it is marked as theirs."""
        order = shown_order(item, condition)
        choice = identity(order, reading.index) if reading.index is not None else None
        right = reading.index is not None and order[reading.index] in item.gold
        score = float(right) if item.has_gold else None
        return Scored(reading.kind, choice, _rule(self.rules, reading), ACCURACY, score, reading.marked, reading.why)

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
        reading: Reading = self.rules.read(Reply(text, options, condition.marks))
        choice = identity(order, reading.index) if reading.index is not None else None
        right = reading.index is not None and order[reading.index] in item.gold
        why = "would guess" if reading.would_guess else reading.why
        rule = _rule(self.rules, reading)
        return Scored(reading.kind, choice, rule, ACCURACY, float(right), reading.marked, why, reading.span)

    def _text(self, item: Item, text: str, name: str) -> Scored:
        metric = METRICS[name]
        score = None
        if isinstance(metric, ItemMetric):
            score = metric.score(text, item.references, Context(item.question, item.tags))
        ours = RULE_SETS["eyetest"]
        if not score and (reading := ours.read(Reply(text, ()))).kind == "refused":
            return Scored("refused", None, _rule(ours, reading), name, 0.0, None, reading.why, reading.span)
        return Scored("text", None, None, name, score, None, "" if isinstance(metric, ItemMetric) else _TOGETHER)


def _has_words(said: Said) -> bool:
    return said.text is not None or bool(said.candidates)


def _rule(rules: RuleSet, reading: Reading) -> str:
    return f"{rules.version} {reading.rule}".rstrip()


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


def quoted(item: Item, condition: Condition, response: Response) -> str:
    """What a response says, in words that a later turn of a dialogue can tell; empty where it says nothing.

    A choice is told by the option's text: earlier turns are told without their options, where a mark means nothing.
    """
    choice = _scorer().score(item, condition, Said.by(response)).choice
    if choice is not None:
        return item.choices[ord(choice) - ord("A")].text
    return "" if response.outcome == "failed" else answer_part(response.text or "", condition.ask).strip()


@lru_cache(maxsize=1)
def _scorer() -> Scorer:
    return Scorer()


def looks_refused(text: str) -> bool:
    """Whether a reply seems to decline; a quick look for a display, not a reading."""
    head = text[:200].lower()
    return any(words in head for words in _DECLINING)


_CONDITION = Condition.__struct_fields__
_LIKE = ("item", "ask", "order", "marks", "outcome", "text", "candidates", "given")
"""What decides how an answer is read and what it is worth."""
_SCORED_TYPES = {
    "reading": pl.String,
    "choice": pl.String,
    "rule": pl.String,
    "metric": pl.String,
    "score": pl.Float64,
    "marked": pl.Boolean,
}
_CORPUS = ("model", *_CONDITION, "trial", "metric")
_IS_SAID = pl.col("reading").is_not_null() | (pl.col("outcome").cast(pl.String) == "blocked")
"""What belongs to a corpus: neither calls that failed nor answers of which nobody knows the words."""

_References = Mapping[str, Sequence[str]]


def score_table(answers: pl.LazyFrame, items: Iterable[Item], scorer: Scorer) -> pl.LazyFrame:
    """The scores of answers: columns of `Score`, one row an answer. Answers to unknown items are left out."""
    different = answers.select(_LIKE).unique().with_row_index("like")
    known = different.collect(engine="streaming")
    references: dict[str, Sequence[str]] = {}
    rows = _score_unique(known, items, scorer, references)
    values = pl.DataFrame(rows, schema={"like": known.schema["like"], **_SCORED_TYPES}, orient="row")
    like = known.join(values, on="like", how="inner").drop("like")
    scored = answers.join(like.lazy(), on=_LIKE, how="inner", nulls_equal=True, maintain_order="left")
    if references:
        scored = _with_corpus_scores(scored, references)
    return scored.select(pl.col(pl.Categorical).cast(pl.String), ~cs.categorical()).select(columns(Score))


def stored_scores(scores: pl.LazyFrame) -> pl.LazyFrame:
    """A table of scores as it was stored; a column that an older version wrote it without is empty."""
    there = scores.collect_schema().names()
    new = [pl.lit(None, type_).alias(name) for name, type_ in _SCORED_TYPES.items() if name not in there]
    return scores.with_columns(new).select(columns(Score))


def corpus_table(answers: pl.LazyFrame, items: Iterable[Item], scores: pl.LazyFrame) -> pl.DataFrame:
    """The score of each corpus as a whole, where a metric has one that is not the mean over its items (BLEU)."""
    names = scores.select(pl.col("metric").unique()).collect().to_series()
    pooled = sorted(name for name in names if name in METRICS and isinstance(METRICS[name], CorpusMetric))
    wanted = scores.filter(pl.col("metric").is_in(pooled) & _IS_SAID)
    key = columns(Asked)
    texts = answers.select(*key, "text").cast({pl.Categorical: pl.String})
    frame = wanted.join(texts, on=key, maintain_order="left").collect() if pooled else wanted.head(0).collect()
    asked = set(frame.get_column("item"))
    references = {item.id: item.references for item in items if item.id in asked} if asked else {}
    rows = [(*key, corpus.overall) for key, _, corpus in _corpora(frame, references)] if asked else []
    schema = {name: frame.schema[name] for name in _CORPUS} | {"overall": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _score_unique(
    known: pl.DataFrame, items: Iterable[Item], scorer: Scorer, references: dict[str, Sequence[str]]
) -> Iterator[tuple[Any, ...]]:
    """Score each different answer; notes the references of items that have to be scored together with others."""
    by_item: dict[str, list[tuple[Any, ...]]] = {}
    for row in known.cast({pl.Categorical: pl.String}).iter_rows():
        by_item.setdefault(row[1], []).append(row)
    for item in items:
        for like, _, ask, order, marks, outcome, text, candidates, given in by_item.pop(item.id, ()):
            condition = Condition(ask=ask, order=order, marks=marks)
            scored = scorer.score(item, condition, Said(outcome, text, given, _decoded(candidates)))
            if _is_corpus(scored.metric):
                references[item.id] = item.references
            yield (like, *_values(scored))
        if not by_item:
            return


def _decoded(candidates: str | None) -> tuple[float, ...]:
    return tuple(math.nan if one.logprob is None else one.logprob for one in read_candidates(candidates))


def _values(scored: Scored) -> tuple[Any, ...]:
    return tuple(getattr(scored, name) for name in _SCORED_TYPES)


def _is_corpus(name: str) -> bool:
    """Whether a metric can say nothing about one answer alone."""
    return name in METRICS and not isinstance(METRICS[name], ItemMetric)


def _with_corpus_scores(scored: pl.LazyFrame, references: _References) -> pl.LazyFrame:
    """Fill in metrics that need all answers of a model together: one corpus a model, condition and trial."""
    frame = scored.collect().with_row_index("row")
    alone = [name for name in frame.get_column("metric").unique() if _is_corpus(name)]
    captions = frame.filter(pl.col("metric").is_in(alone) & _IS_SAID)
    rows: list[int] = []
    values: list[float | None] = []
    for _, group, corpus in _corpora(captions, references):
        rows += group.get_column("row").to_list()
        values += corpus.items
    new = pl.DataFrame({"row": rows, "corpus": values}, schema={"row": frame.schema["row"], "corpus": pl.Float64})
    filled = frame.join(new, on="row", how="left", maintain_order="left")
    of_corpus = pl.when(pl.col("reading") == "text").then("corpus")
    return filled.with_columns(pl.coalesce(of_corpus, "score").alias("score")).drop("row", "corpus").lazy()


def _corpora(
    captions: pl.DataFrame, references: _References
) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame, CorpusScore]]:
    """Each corpus and its scores.

    A refusal or a blocked question enters as an empty caption: left out, it would change what its neighbours score.
    """
    for key, group in captions.group_by(_CORPUS, maintain_order=True):
        texts = group.select(pl.when(pl.col("reading") == "text").then("text").fill_null("")).to_series()
        ask = key[_CORPUS.index("ask")]
        said = [answer_part(text, ask) for text in texts]
        golds = [references[item] for item in group.get_column("item")]
        yield key, group, corpus_metric(str(key[-1])).score_all(said, golds)
