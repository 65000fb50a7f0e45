"""How much is said: the length of replies, and how many of their sentences describe or analyse."""

import re
from collections.abc import Sequence
from typing import ClassVar

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import SENTENCE_KINDS, Measure, Measured, NotMeasurable, Own, Results, Settings
from eyetest.wording import counted

_ENDS = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]{0,3}\s+|\n+|(?<=[。！？])")
_SAYS = re.compile(r"\w")


def split_sentences(text: str) -> list[str]:
    """The sentences of a reply. A line is one at least, as lists and formulas end theirs without a full stop."""
    return [part.strip() for part in _ENDS.split(text) if part and _SAYS.search(part)]


class Length(Measure):
    """The length of replies by model and setting; models that look less at a problem say less about it."""

    name = "length"
    summary = "length of replies in words, sentences and characters, by model, setting and tag"
    own: ClassVar[Own] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value: means over items; ``n`` counts items with a reply in words.

        Failed calls and verdicts without words are left out.
        """
        keys = results.keys(settings.by)
        text = pl.col("text")
        words = (
            _replies(results, keys, settings)
            .filter(text.str.len_chars() > 0)
            .with_columns(
                text.str.count_matches(r"\S+").cast(pl.Float64).alias("words"),
                text.map_elements(lambda words: len(split_sentences(words)), pl.Int64)
                .cast(pl.Float64)
                .alias("sentences"),
                text.str.len_chars().cast(pl.Float64).alias("characters"),
            )
        )
        values = ["words", "sentences", "characters"]
        of_item = words.group_by(*keys, "item", "cluster").agg(pl.col(values).mean())
        table = mean_columns(of_item, keys, values, signed=values, level=settings.level)
        if table.is_empty():
            raise NotMeasurable("length: no answer is there in words")
        spared = [f"{value}_{count}" for value in values for count in ("n", "clusters")]
        told = table.with_columns(pl.col("words_n").alias("n")).drop(spared)
        silent = results.scores.select(pl.len()).collect().item() - words.select(pl.len()).collect().item()
        return Measured(told, (f"{counted(silent, 'answer')} without words left out",) if silent else ())


class Sentences(Measure):
    """What replies are made of, as far as a judge was asked: sentences that describe, and sentences that analyse."""

    name = "sentences"
    summary = "sentences that describe or analyse, as a judge labelled them (eyetest score --sentences)"
    own: ClassVar[Own] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value: mean counts of a reply; ``share`` is of the analytical among both kinds."""
        keys, kinds = results.keys(settings.by), list(SENTENCE_KINDS)
        both = pl.col("descriptive") + pl.col("analytical")
        known = _replies(results, keys, settings).drop_nulls("analytical")
        of_reply = known.with_columns(
            pl.col(kinds).cast(pl.Float64), pl.when(both > 0).then(pl.col("analytical") / both).alias("share")
        )
        of_item = of_reply.group_by(*keys, "item", "cluster").agg(pl.col(*kinds, "share").mean())
        table = mean_columns(of_item, keys, [*kinds, "share"], signed=[*kinds, "share"], level=settings.level)
        if table.is_empty():
            raise NotMeasurable("sentences: no judge has labelled any; eyetest score RUN --sentences MODEL asks one")
        spared = [f"{value}_{count}" for value in (*kinds, "share") for count in ("n", "clusters")]
        return Measured(table.with_columns(pl.col("analytical_n").alias("n")).drop(spared))


def _replies(results: Results, keys: Sequence[str], settings: Settings) -> pl.LazyFrame:
    """What was said, with the series and the item that it belongs to."""
    said = results.with_items("cluster", by=settings.by).filter(pl.col("outcome").cast(pl.String) != "failed")
    asked = ("benchmark", "request")
    rows = said.select(*dict.fromkeys((*keys, *asked, "item", "cluster"))).with_columns(pl.col(asked).cast(pl.String))
    return rows.join(results.replies, on=asked, how="inner")


MEASURES = (Length(), Sentences())
