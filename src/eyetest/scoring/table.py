"""All answers of a run at once: equal answers are read once, however many rows say the same.

In: a lazy frame of answers and the items they are about. Out: the scores table, in the order of its contract.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import polars.selectors as cs

from eyetest.records import Asked, Condition, Item, Score, columns
from eyetest.records.request import read_candidates
from eyetest.scoring.metrics import METRICS, CorpusMetric, CorpusScore, ItemMetric, corpus_metric
from eyetest.scoring.scorer import Said, Scored, Scorer, answer_part

_CONDITION = Condition.__struct_fields__
_LIKE = ("item", "ask", "order", "marks", "outcome", "text", "candidates", "given")
"""What decides how an answer is read and what it is worth."""
_FOUND_TYPES = {
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
    found = _score_unique(known, items, scorer, references)
    values = pl.DataFrame(found, schema={"like": known.schema["like"], **_FOUND_TYPES}, orient="row")
    like = known.join(values, on="like", how="inner").drop("like")
    scored = answers.join(like.lazy(), on=_LIKE, how="inner", nulls_equal=True, maintain_order="left")
    if references:
        scored = _with_corpus_scores(scored, references)
    return scored.select(pl.col(pl.Categorical).cast(pl.String), ~cs.categorical()).select(columns(Score))


def stored_scores(scores: pl.LazyFrame) -> pl.LazyFrame:
    """A table of scores as it was stored; a column that an older version wrote it without is empty."""
    there = scores.collect_schema().names()
    new = [pl.lit(None, type_).alias(name) for name, type_ in _FOUND_TYPES.items() if name not in there]
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
    rows = [(*key, found.overall) for key, _, found in _corpora(frame, references)] if asked else []
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
            found = scorer.score(item, condition, Said(outcome, text, given, _decoded(candidates)))
            if _is_corpus(found.metric):
                references[item.id] = item.references
            yield (like, *_values(found))
        if not by_item:
            return


def _decoded(candidates: str | None) -> tuple[float, ...]:
    return tuple(float("nan") if weight is None else weight for weight in read_candidates(candidates)[0])


def _values(found: Scored) -> tuple[Any, ...]:
    return tuple(getattr(found, name) for name in _FOUND_TYPES)


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
    for _, group, found in _corpora(captions, references):
        rows += group.get_column("row").to_list()
        values += found.items
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
