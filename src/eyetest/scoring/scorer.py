"""Scores of answers: each is read by a rule set or measured by a text metric; equal answers are read only once."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import polars as pl
import polars.selectors as cs

from eyetest.records import Condition, Item, Response, letter, shown_order
from eyetest.records.item import read_candidates
from eyetest.records.tables import GIVEN, Ask, Asked, ReadingKind, Score, columns
from eyetest.scoring.forms import FormDecisions
from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, CorpusScore, ItemMetric
from eyetest.scoring.rules import RULE_SETS, Reading, Reply, RuleSet
from eyetest.scoring.rules.cleaning import reply_proper
from eyetest.text.numbers import READ

_ANSWER_LINE = re.compile(r"^[\s*_#>]{0,12}answer[\s*_]{0,4}[:：][\s*_]{0,4}", re.IGNORECASE | re.MULTILINE)


def answer_part(text: str, ask: Ask) -> str:
    """The text that a metric compares: the reply proper, and of an answer with reasons its last ``Answer: X``."""
    text = reply_proper(text)
    if ask == "direct":
        return text
    lines = list(_ANSWER_LINE.finditer(text, max(0, len(text) - READ)))
    return text[lines[-1].end() :].strip().strip("*_ ") if lines else text


ACCURACY = "accuracy"
_LIKELIHOOD = "likelihood"
_TOGETHER = "scored over all answers together"
_TEXT_METRIC = "open"
_VOTES = 3  # from so many reference answers on, they are votes, and VQA's measure counts them


class Scored(msgspec.Struct, frozen=True):
    """A read and scored answer: the last columns of the scores table."""

    reading: ReadingKind | None
    choice: str | None  # letter of the choice meant, in the order as written
    rule: str | None
    metric: str
    score: float | None
    marked: bool | None = None
    why: str = ""
    span: tuple[int, int] | None = None
    probability: float | None = None


_CONFIRMED, _REFUSED = 1.0, 0.0


class Scorer:
    """Scores by one rule set, and one metric for text items; ``rescore_given`` replaces imported scores.

    ``sure``: choices, refusals and ambiguous replies whose reading is less probably right are left unread.
    ``forms``: people's decisions on forms of replies, which outrank it.
    """

    def __init__(
        self,
        rules: str = "eyetest",
        metric: str | None = None,
        *,
        rescore_given: bool = False,
        sure: float = 0.0,
        forms: FormDecisions | None = None,
    ) -> None:
        self.rules = RULE_SETS[rules]
        self.metric = metric
        self.rescore_given = rescore_given
        self.sure = sure
        self.forms = forms or FormDecisions()
        if metric is not None:
            METRICS[metric]

    def score(self, item: Item, condition: Condition, response: Response) -> Scored:
        """Score an answer: None for a failed call or without a gold, 0 for refusals and blocked questions. An
        imported score stands, unless it is to be replaced and there are words and a gold to do it by.
        """
        if response.outcome == "failed":
            return Scored(None, None, None, self._metric_of(item), None)
        scored = self._read(item, condition, response)
        has_words = response.text is not None or bool(response.candidates)
        if response.given is None or (self.rescore_given and item.has_gold and has_words):
            return scored if item.has_gold else msgspec.structs.replace(scored, score=None)
        return msgspec.structs.replace(scored, rule=GIVEN, metric=GIVEN, score=response.given)

    def rescore(self, item: Item, condition: Condition, reading: Reading) -> Scored:
        """Score the choice that was read out of an answer."""
        order = shown_order(item, condition)
        choice = letter(order[reading.index]) if reading.index is not None else None
        right = reading.index is not None and order[reading.index] in item.gold
        score = float(right) if item.has_gold else None
        why, rule = "would guess" if reading.would_guess else reading.why, _rule(self.rules, reading)
        at = reading.span
        return Scored(reading.kind, choice, rule, ACCURACY, score, reading.marked, why, at, reading.probability)

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

    def _read(self, item: Item, condition: Condition, response: Response) -> Scored:
        metric = self._metric_of(item)
        if response.candidates:
            return _weighed(item, response.candidates)
        if response.outcome == "blocked" or response.text is None:
            return Scored(None, None, None, metric, 0.0 if response.outcome == "blocked" else None)
        if item.choices:
            options = tuple(item.choices[position].text for position in shown_order(item, condition))
            is_truncated = response.outcome == "truncated"
            reply = Reply(response.text, options, condition.letters, is_truncated, item.question)
            return self.rescore(item, condition, self._accepted(reply, self.rules.read(reply)))
        return self._text(item, answer_part(response.text, condition.ask), metric)

    def _accepted(self, reply: Reply, reading: Reading) -> Reading:
        """A reading, or that the reply is unread: a person refused its form, or it is not sure enough."""
        decision = self.forms.of(reply)
        if decision == "read":
            return msgspec.structs.replace(reading, probability=_CONFIRMED)
        if decision == "unread":
            return Reading("unparsed", rule=reading.rule, why="its form is refused", probability=_REFUSED)
        sureness = reading.probability
        if sureness is None or sureness >= self.sure or reading.kind in ("unparsed", "cut off"):
            return reading
        why = f"not sure enough ({sureness:.2f} < {self.sure:g})"
        return Reading("unparsed", rule=reading.rule, why=why, probability=sureness)

    def _text(self, item: Item, text: str, name: str) -> Scored:
        metric = METRICS[name]
        score = None
        if isinstance(metric, ItemMetric):
            score = metric.score(text, item.references, Context(item.question, item.tags))
        ours = RULE_SETS["eyetest"]
        if not score and (reading := ours.read(Reply(text, ()))).kind == "refused":
            return Scored("refused", None, _rule(ours, reading), name, 0.0, None, reading.why, reading.span)
        return Scored("text", None, None, name, score, None, "" if isinstance(metric, ItemMetric) else _TOGETHER)


def _rule(rules: RuleSet, reading: Reading) -> str:
    return f"{rules.version} {reading.rule}".rstrip()


def _weighed(item: Item, candidates: Sequence[float | None]) -> Scored:
    """The likeliest choice; one without a log-probability is impossible."""
    if len(candidates) != len(item.choices):
        why = f"{len(candidates)} likelihoods for {len(item.choices)} choices"
        return Scored("unparsed", None, _LIKELIHOOD, ACCURACY, 0.0, None, why)
    weights = [-math.inf if log is None or math.isnan(log) else log for log in candidates]
    best = max(range(len(weights)), key=weights.__getitem__)
    if weights.count(weights[best]) > 1:
        return Scored("ambiguous", None, _LIKELIHOOD, ACCURACY, 0.0, None, "equal likelihoods")
    return Scored("chosen", letter(best), _LIKELIHOOD, ACCURACY, float(best in item.gold))


LEAST = 0.5  # least score between 0 and 1 that counts as right
_usual_scorer = cache(Scorer)


def is_hit(item: Item, condition: Condition, response: Response) -> bool | None:
    """Whether a response is right. None without an answer to judge: a failed call, or nothing known."""
    score = _usual_scorer().score(item, condition, response).score
    return None if score is None else score >= LEAST


def quoted(item: Item, condition: Condition, response: Response) -> str:
    """A response as repeated in a later turn of a dialogue: the text of the chosen option, or the answer."""
    choice = _usual_scorer().score(item, condition, response).choice
    if choice is not None:
        return item.choices[ord(choice) - ord("A")].text
    return "" if response.outcome == "failed" else answer_part(response.text or "", condition.ask).strip()


_CONDITION = Condition.__struct_fields__
_LIKE = ("item", "ask", "order", "letters", "outcome", "text", "candidates", "given")
_TEXTS = ("reading", "choice", "rule", "metric")
_SCORED_TYPES = {**dict.fromkeys(_TEXTS, pl.String), "score": pl.Float64, "marked": pl.Boolean}
_SCORED_TYPES["probability"] = pl.Float64
_CORPUS = ("model", *_CONDITION, "sample", "metric")
# Part of a corpus: no failed calls, no answers without known words
_IS_ANSWER = pl.col("reading").is_not_null() | (pl.col("outcome").cast(pl.String) == "blocked")

_References = Mapping[str, Sequence[str]]


def score_table(answers: pl.LazyFrame, items: Iterable[Item], scorer: Scorer) -> pl.LazyFrame:
    """Score answers: columns of `Score`, one row per answer. Answers to unknown items are left out."""
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


def corpus_table(answers: pl.LazyFrame, items: Iterable[Item], scores: pl.LazyFrame) -> pl.DataFrame:
    """The score of each corpus as a whole, where a metric has one that is not the mean over its items (BLEU)."""
    names = scores.select(pl.col("metric").unique()).collect().to_series()
    pooled = sorted(name for name in names if name in METRICS and isinstance(METRICS[name], CorpusMetric))
    wanted = scores.filter(pl.col("metric").is_in(pooled) & _IS_ANSWER)
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
        for like, _, ask, order, letters, outcome, text, candidates, given in by_item.pop(item.id, ()):
            condition = Condition(ask=ask, order=order, letters=letters)
            logs = tuple(candidate.logprob for candidate in read_candidates(candidates))
            response = Response(request="", outcome=outcome, text=text, given=given, candidates=logs)
            scored = scorer.score(item, condition, response)
            if _is_corpus(scored.metric):
                references[item.id] = item.references
            yield (like, *(getattr(scored, name) for name in _SCORED_TYPES))
        if not by_item:
            return


def _is_corpus(name: str) -> bool:
    """Whether a metric cannot score a single answer."""
    return name in METRICS and not isinstance(METRICS[name], ItemMetric)


def _with_corpus_scores(scored: pl.LazyFrame, references: _References) -> pl.LazyFrame:
    """Fill in metrics that need all answers of a model together: one corpus per model, condition and sample."""
    frame = scored.collect().with_row_index("row")
    alone = [name for name in frame.get_column("metric").unique() if _is_corpus(name)]
    captions = frame.filter(pl.col("metric").is_in(alone) & _IS_ANSWER)
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
    """Each corpus and its scores; a refusal or a blocked question enters as an empty caption."""
    for key, group in captions.group_by(_CORPUS, maintain_order=True):
        texts = group.select(pl.when(pl.col("reading") == "text").then("text").fill_null("")).to_series()
        ask = key[_CORPUS.index("ask")]
        answers = [answer_part(text, ask) for text in texts]
        golds = [references[item] for item in group.get_column("item")]
        metric = METRICS[str(key[-1])]
        assert isinstance(metric, CorpusMetric)
        yield key, group, metric.score_all(answers, golds)
