"""The length of replies, and how many of their sentences describe or analyse."""

import re
from collections.abc import Sequence

import polars as pl

from eyetest.measures.means import mean_table
from eyetest.measures.results import SENTENCE_KINDS, Measured, NotMeasurable, Results, Settings, measure
from eyetest.wording import counted

_ENDS = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]{0,3}\s+|\n+|(?<=[。！？])")
_SAYS = re.compile(r"\w")


def split_sentences(text: str) -> list[str]:
    """The sentences of a reply; each line is at least one, as lists and formulas lack a full stop."""
    return [part.strip() for part in _ENDS.split(text) if part and _SAYS.search(part)]


@measure("length", "length of replies in words, sentences and characters, by model, setting and tag")
def length(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value: means over items; ``n`` counts items with a reply in words."""
    keys = results.keys(settings.by)
    text = pl.col("text")
    words = (
        _replies(results, keys, settings)
        .filter(text.str.len_chars() > 0)
        .with_columns(
            text.str.count_matches(r"\S+").cast(pl.Float64).alias("words"),
            text.map_elements(lambda words: float(len(split_sentences(words))), pl.Float64).alias("sentences"),
            text.str.len_chars().cast(pl.Float64).alias("characters"),
        )
    )
    values = ["words", "sentences", "characters"]
    table = _means(words, keys, values, settings.level)
    if table.is_empty():
        raise NotMeasurable("length: no answer is there in words")
    silent = results.scores.select(pl.len()).collect().item() - words.select(pl.len()).collect().item()
    return Measured(table, (f"{counted(silent, 'answer')} without words left out",) if silent else ())


@measure("sentences", "sentences that describe or analyse, as a judge labelled them (eyetest score --sentences)")
def sentences(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value: mean counts of a reply; ``share`` is of the analytical among both kinds."""
    keys, kinds = results.keys(settings.by), list(SENTENCE_KINDS)
    both = pl.col("descriptive") + pl.col("analytical")
    known = _replies(results, keys, settings).drop_nulls("analytical")
    of_reply = known.with_columns(
        pl.col(kinds).cast(pl.Float64), pl.when(both > 0).then(pl.col("analytical") / both).alias("share")
    )
    table = _means(of_reply, keys, [*kinds, "share"], settings.level)
    if table.is_empty():
        raise NotMeasurable("sentences: no judge has labelled any; eyetest score RUN --sentences MODEL asks one")
    return Measured(table)


def _replies(results: Results, keys: Sequence[str], settings: Settings) -> pl.LazyFrame:
    """Replies, with their series and item."""
    said = results.with_items("cluster", by=settings.by).filter(pl.col("outcome").cast(pl.String) != "failed")
    asked = ("benchmark", "request")
    rows = said.select(*dict.fromkeys((*keys, *asked, "item", "cluster"))).with_columns(pl.col(asked).cast(pl.String))
    return rows.join(results.replies, on=asked, how="inner")


def _means(replies: pl.LazyFrame, keys: Sequence[str], values: Sequence[str], level: float) -> pl.DataFrame:
    of_item = replies.group_by(*keys, "item", "cluster").agg(pl.col(values).mean())
    return mean_table(of_item, keys, values, level, signed=values).drop("clusters")


MEASURES = (length, sentences)
