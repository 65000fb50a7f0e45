"""All answers of a run at once: equal answers are read once, however many rows say the same.

In: a lazy frame of answers and the items they are about. Out: the scores table, in the order of its contract.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import polars as pl
import polars.selectors as cs

from eyetest.records import Condition, Item, Score, columns
from eyetest.scoring.metrics import METRICS, CorpusMetric, ItemMetric
from eyetest.scoring.scorer import Said, Scored, Scorer, corpus_scores

_CONDITION = Condition.__struct_fields__
_LIKE = ("item", "order", "marks", "outcome", "text", "candidates", "given")
"""What decides how an answer is read and what it is worth."""
_FOUND = ("reading", "choice", "rule", "metric", "score")
_FOUND_TYPES = {
    "reading": pl.String,
    "choice": pl.String,
    "rule": pl.String,
    "metric": pl.String,
    "score": pl.Float64,
}
_GROUP = ("model", *_CONDITION, "trial", "metric")


def score_table(answers: pl.LazyFrame, items: Iterable[Item], scorer: Scorer) -> pl.LazyFrame:
    """The scores of answers: columns of `Score`, one row an answer. Answers to unknown items are left out."""
    different = answers.select(_LIKE).unique().with_row_index("like")
    known = different.collect(engine="streaming")
    found = _score_unique(known, items, scorer)
    values = pl.DataFrame(found, schema={"like": known.schema["like"], **_FOUND_TYPES}, orient="row")
    like = known.join(values, on="like", how="inner").drop("like")
    scored = answers.join(like.lazy(), on=_LIKE, how="inner", nulls_equal=True)
    wanted = {name for name in values.get_column("metric").unique() if _is_corpus(name)}
    if wanted:
        scored = _with_corpus_scores(scored, items, wanted)
    return scored.select(pl.col(pl.Categorical).cast(pl.String), ~cs.categorical()).select(columns(Score))


def _score_unique(known: pl.DataFrame, items: Iterable[Item], scorer: Scorer) -> Iterator[tuple[Any, ...]]:
    by_item: dict[str, list[tuple[Any, ...]]] = {}
    for row in known.cast({pl.Categorical: pl.String}).iter_rows():
        by_item.setdefault(row[1], []).append(row)
    for item in items:
        for like, _, order, marks, outcome, text, candidates, given in by_item.pop(item.id, ()):
            condition = Condition(order=order, marks=marks)
            weights = tuple(msgspec.json.decode(candidates)) if candidates else ()
            found = scorer.score(item, condition, Said(outcome, text, given, weights))
            yield (like, *_values(found))
        if not by_item:
            return


def _values(found: Scored) -> tuple[Any, ...]:
    return tuple(getattr(found, name) for name in _FOUND)


def _is_corpus(name: str) -> bool:
    if name not in METRICS:
        return False
    return isinstance(METRICS[name], CorpusMetric) and not isinstance(METRICS[name], ItemMetric)


def _with_corpus_scores(scored: pl.LazyFrame, items: Iterable[Item], wanted: set[str]) -> pl.LazyFrame:
    """Fill in metrics that need all answers of a model together: one corpus a model, condition and trial."""
    references = {item.id: item.references for item in items if not item.choices}
    frame = scored.collect().with_row_index("row")
    captions = frame.filter(pl.col("metric").is_in(sorted(wanted)) & (pl.col("reading") == "text"))
    rows: list[int] = []
    values: list[float | None] = []
    for key, group in captions.group_by(_GROUP):
        texts = [text or "" for text in group.get_column("text")]
        rows += group.get_column("row").to_list()
        values += corpus_scores(str(key[-1]), texts, [references[item] for item in group.get_column("item")])
    new = pl.DataFrame({"row": rows, "corpus": values}, schema={"row": frame.schema["row"], "corpus": pl.Float64})
    filled = frame.join(new, on="row", how="left").with_columns(pl.coalesce("corpus", "score").alias("score"))
    return filled.drop("row", "corpus").lazy()
