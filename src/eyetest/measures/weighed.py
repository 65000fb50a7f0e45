"""Answers that are weighed choices: the log-probabilities that a run has stored, laid out for arithmetic.

Every normalisation is made of these numbers, so none is a reason to ask again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import param
from eyetest.measures.results import PROTOCOL, TESTS, NotMeasurable, Results
from eyetest.measures.stats.intervals import Bools, Floats, Ints
from eyetest.measures.stats.likelihoods import likeliest
from eyetest.records.request import read_candidates

_LIKE = ("benchmark", "model", "item", *PROTOCOL, *TESTS)
"""What tells answers apart."""
_WORDS = ("benchmark", "model", "item", *PROTOCOL, "marks", "request", "cluster")
_TABLES = ("logs", "tokens", "bytes", "golds")


@dataclass(frozen=True)
class WeighedAnswers:
    """Answers, and of each choice what it weighs: answers × choices.

    ``logs`` are −inf where a choice is impossible and nan where the item has no such choice; all of a row are nan
    where as many choices were not weighed as the item has, which is read as no answer. ``tokens`` and ``bytes`` are
    nan where nobody counted them.
    """

    rows: pl.DataFrame
    """``benchmark, model, item``, protocol, tests, ``request, cluster, own_id, options, score``, and some tags."""
    logs: Floats
    tokens: Floats
    bytes: Floats
    golds: Bools

    def take(self, index: Any) -> "WeighedAnswers":
        """Some of the answers, by their numbers or by a mask."""
        arrays = {name: getattr(self, name)[index] for name in _TABLES}
        numbers = np.arange(len(self.rows))[index]
        return replace(self, rows=self.rows[numbers.tolist()], **arrays)

    def where(self, **values: str) -> "WeighedAnswers":
        """The answers under some protocol: ``sight="blind"``."""
        mask = np.ones(len(self.rows), bool)
        for name, value in values.items():
            mask &= (self.rows.get_column(name) == value).to_numpy()
        return self.take(mask)

    def with_options(self, options: int) -> "WeighedAnswers":
        """The answers to items of so many options, and no column for more."""
        some = self.take((self.rows.get_column("options") == options).to_numpy())
        return replace(some, **{name: getattr(some, name)[:, :options] for name in _TABLES})

    def matches(self, other: "WeighedAnswers") -> tuple[Ints, Ints]:
        """The numbers of answers here, and of those there that were asked for alike in all but their sight."""
        key = [name for name in _LIKE if name != "sight"]
        mine, theirs = (
            side.rows.select(key).with_row_index(name) for side, name in ((self, "mine"), (other, "theirs"))
        )
        pairs = mine.join(theirs, on=key, how="inner").sort("mine").select("mine", "theirs").cast(pl.Int64)
        return pairs.get_column("mine").to_numpy(), pairs.get_column("theirs").to_numpy()

    def right(self, weights: Floats) -> Floats:
        """1 where the choice of the largest weight is right, else 0, as scoring has it; nan where weights lack."""
        chosen = likeliest(weights)
        hits = self.golds[np.arange(len(chosen)), chosen] & (chosen >= 0)
        lacks = (np.isnan(weights) & ~np.isnan(self.logs)).any(axis=1)
        return np.where(lacks, np.nan, hits.astype(float))


def weighed(
    results: Results, name: str, methods: Sequence[str], by: Sequence[str] = (), also: str = ""
) -> WeighedAnswers:
    """The weighed answers of some results, with some tags, for the measure of this name.

    ``also`` is what has to be asked for beside the method, in words.
    """
    how = pl.col("method").cast(pl.String).is_in(methods)
    asked = " ".join(filter(None, (param("method", ",".join(methods)), also)))
    nothing = NotMeasurable(f"{name}: no choice was weighed; ask a model that gives likelihoods with {asked}")
    if results.scores.filter(how).head(1).collect().is_empty():
        raise nothing
    scored = results.with_items("cluster", "options", "golds", "own_id", by=by).filter(
        how & (pl.col("outcome").cast(pl.String) != "failed")
    )
    columns = ("template", "order", "trial", "options", "golds", "score", *results.by_tags(by))
    own_id = pl.coalesce("own_id", pl.col("item").cast(pl.String)).alias("own_id")
    plain = scored.select(pl.col(_WORDS).cast(pl.String), own_id, *columns)
    if "candidates" not in results.replies.collect_schema():
        raise nothing
    request = pl.col("benchmark", "request").cast(pl.String)
    known = results.replies.select(request, "candidates").drop_nulls("candidates")
    rows = plain.join(known, on=("benchmark", "request")).sort(_LIKE).collect(engine="streaming")
    if rows.is_empty():
        raise nothing
    if rows.get_column("options").null_count() == len(rows):
        raise NotMeasurable(f"{name}: no right choice is known; name the benchmark with {param('bench')}")
    return _laid_out(rows)


def _laid_out(rows: pl.DataFrame) -> WeighedAnswers:
    candidates = [read_candidates(text) for text in rows.get_column("candidates")]
    options = rows.get_column("options").fill_null(0).to_numpy()
    lengths = np.fromiter(map(len, candidates), np.int64, len(candidates))
    shape = len(rows), max(1, int(options.max()))
    fits = np.flatnonzero(lengths == options)
    counts = options[fits]
    row = np.repeat(fits, counts)
    column = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    cells = np.full((*shape, 3), np.nan)
    values = [
        (-np.inf if one.logprob is None else one.logprob, one.tokens, one.bytes)
        for one in chain.from_iterable(candidates[number] for number in fits)
    ]
    cells[row, column] = np.array(values, float).reshape(len(values), 3)
    golds = np.zeros(shape, bool)
    places = rows.select("golds").with_row_index("row").explode("golds").drop_nulls()
    golds[places.get_column("row").to_numpy(), places.get_column("golds").to_numpy()] = True
    logs, tokens, sizes = np.moveaxis(cells, 2, 0)
    return WeighedAnswers(rows.drop("candidates", "golds"), logs, tokens, sizes, golds)
