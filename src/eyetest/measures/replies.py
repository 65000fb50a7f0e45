"""Replies: their length, sentences that describe or analyse, and how faithfully a screenshot's text is copied."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import counted
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.linked import ALL_MODELS
from eyetest.measures.results import SENTENCE_KINDS, measure, split, table_of
from eyetest.measures.stats.intervals import Floats, IntervalEstimate, mean, resampled
from eyetest.measures.stats.ranking import pearson
from eyetest.measures.tables import mean_columns

_ENDS = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]{0,3}\s+|\n+|(?<=[。！？])")
_SAYS = re.compile(r"\w")
_LENGTHS = ("words", "sentences", "characters")
_LABELLED = (*SENTENCE_KINDS, "share")


def split_sentences(text: str) -> list[str]:
    """The sentences of a reply; each line is at least one, as lists and formulas lack a full stop."""
    return [part.strip() for part in _ENDS.split(text) if part and _SAYS.search(part)]


@measure(
    "length",
    "length of replies in words, sentences and characters; sentences that describe or analyse, if labelled",
    pools=True,
)
def length(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value: means over items; ``n`` counts items with a reply in words. With labels
    (``eyetest score RUN --sentences MODEL``) mean counts of each kind; ``share``: analytical among both.
    """
    keys, asked, text = results.keys(settings.by), ("benchmark", "request"), pl.col("text")
    both = pl.col("descriptive") + pl.col("analytical")
    scored = results.with_items("cluster", by=settings.by).filter(pl.col("outcome").cast(pl.String) != "failed")
    rows = scored.select(*dict.fromkeys((*keys, *asked, "item", "cluster"))).with_columns(
        pl.col(asked).cast(pl.String)
    )
    labels = [kind for kind in SENTENCE_KINDS if kind not in results.replies.collect_schema()]
    replies = results.replies.with_columns(pl.lit(None, pl.Int64).alias(kind) for kind in labels)
    words = (
        rows.join(replies, on=asked, how="inner")
        .filter(text.str.len_chars() > 0)
        .with_columns(
            text.str.count_matches(r"\S+").cast(pl.Float64).alias("words"),
            text.map_elements(lambda words: float(len(split_sentences(words))), pl.Float64).alias("sentences"),
            text.str.len_chars().cast(pl.Float64).alias("characters"),
            pl.col(SENTENCE_KINDS).cast(pl.Float64),
            pl.when(both > 0).then(pl.col("analytical") / both).alias("share"),
        )
    )
    of_item = words.group_by(*keys, "item", "cluster").agg(pl.col(_LENGTHS + _LABELLED).mean())
    table = mean_columns(of_item, keys, _LENGTHS + _LABELLED, signed=_LENGTHS + _LABELLED, level=settings.level)
    if table.is_empty():
        raise NotMeasurable("length: no answer is there in words")
    counts = {"words_n": "n", "analytical_n": "labelled"}
    shown = _LENGTHS + (_LABELLED if table.get_column("analytical_n").sum() else ())
    bounded = [f"{value}{end}" for value in shown for end in ("", "_low", "_high")]
    kept = [count for count in counts if count.removesuffix("_n") in shown]
    silent = results.scores.select(pl.len()).collect().item() - words.select(pl.len()).collect().item()
    notes = (f"{counted(silent, 'answer')} without words left out",) if silent else ()
    return Measured(table.select(*keys, *bounded, *kept).rename({name: counts[name] for name in kept}), notes)


_SCORED = ("direct", "cot", "ocr")


@measure(
    "ocr-accuracy",
    "how faithfully screenshots are transcribed (ask ocr), and the correlation of that with the score",
    by_tag=False,
)
def ocr_accuracy(results: Results, settings: Settings) -> Measured:
    """One row a model, then all: ``correlation`` of ``accuracy`` and ``score`` over items, or over models."""
    rows, scored = _transcripts(results)
    keys = ["benchmark"] if rows["benchmark"].n_unique() > 1 else []
    table = [row for key, part in split(rows, keys) for row in _transcript_rows(key, part, settings)]
    note = f"scores are of answers asked {scored} about the same screenshots"
    return Measured(table_of(table), (note,))


def _transcripts(results: Results) -> tuple[pl.DataFrame, str]:
    """``benchmark, model, item, cluster, copied, score``, and the protocol of the scored answers."""
    plain = pl.col("benchmark", "model", "modality", "ask", "request").cast(pl.String)
    shown = results.with_items("cluster").with_columns(plain).filter(pl.col("modality") == "screenshot")
    series = ["benchmark", "model", "item"]
    if "copied" not in results.replies.collect_schema():
        raise NotMeasurable("ocr-accuracy: no words of any reply are known")
    known = results.replies.select(pl.col("benchmark", "request").cast(pl.String), "copied").drop_nulls("copied")
    copied = shown.join(known, on=("benchmark", "request")).group_by(*series, "cluster").agg(pl.col("copied").mean())
    transcripts = copied.collect(engine="streaming")
    if transcripts.is_empty():
        raise NotMeasurable("ocr-accuracy: no model was asked for a transcript (modality screenshot, ask ocr)")
    scores = (
        shown.drop_nulls("score").group_by(*series, "ask").agg(pl.col("score").mean()).collect(engine="streaming")
    )
    scored = next(ask for ask in _SCORED if ask in set(scores["ask"]))
    rows = transcripts.join(scores.filter(pl.col("ask") == scored).drop("ask"), on=series).sort(series)
    if rows.is_empty():
        raise NotMeasurable(f"ocr-accuracy: no item has both a transcript and an answer asked {scored}")
    return rows, scored


def _transcript_rows(key: dict[str, Any], rows: pl.DataFrame, settings: Settings) -> Iterator[dict[str, Any]]:
    models = [part for _, part in split(rows, ["model"])]
    for part in models:
        yield key | {"model": part["model"][0], "over": "items"} | _row(part, settings)
    if len(models) < 2:
        return
    copied, scores = ([float(part[name].to_numpy().mean()) for part in models] for name in ("copied", "score"))
    value, low, high, n, _ = pearson(copied, scores, settings.level)
    about = key | {"model": ALL_MODELS, "over": "models"} | _means_of(rows, settings.level)
    yield about | IntervalEstimate(value, low, high).named("correlation") | {"n": n}


def _row(rows: pl.DataFrame, settings: Settings) -> dict[str, Any]:
    """Means and the correlation over items of one model."""
    copied, scores = (rows[name].to_numpy() - rows[name].to_numpy().mean() for name in ("copied", "score"))
    together = _correlated(copied, scores, rows["cluster"].to_numpy(), settings)
    return _means_of(rows, settings.level) | together.named("correlation") | {"n": len(rows)}


def _means_of(rows: pl.DataFrame, level: float) -> dict[str, Any]:
    copied, score = (mean(rows[name].to_numpy(), rows["cluster"].to_numpy(), level) for name in ("copied", "score"))
    return copied.named("accuracy") | score.named("score")


def _correlated(x: Floats, y: Floats, clusters: Any, settings: Settings) -> IntervalEstimate:
    """Pearson's r over items; the interval resamples whole clusters."""

    def r(sums: Floats) -> Floats:
        n, a, b, aa, bb, ab = sums.T
        spread = (aa - a * a / n) * (bb - b * b / n)
        return np.where(spread > 1e-12, (ab - a * b / n) / np.sqrt(np.clip(spread, 1e-30, None)), np.nan)[:, None]

    products = np.column_stack((np.ones_like(x), x, y, x * x, y * y, x * y))
    return resampled(products, r, settings.resampling(clusters))[0]


_SPENT = ("calls", "seconds", "tokens")


@measure(
    "cost",
    "calls, seconds, tokens and price of the answers, and what a benchmark saves whose items are all in another",
    {"over": ("", "models: one row a model, over all benchmarks and protocols")},
    by_tag=False,
)
def cost(results: Results, settings: Settings) -> Measured:
    """One row a series. A request counts once; seconds are added up as if calls had followed each other."""
    keys = ["model"] if settings.own["over"] else results.keys()
    asked = ("benchmark", "request")
    words = results.scores.select(pl.col(*dict.fromkeys((*keys, *asked))).cast(pl.String)).unique()
    if not {"seconds", "tokens_in"} <= set(results.replies.collect_schema()):
        raise NotMeasurable("cost: no answer has its seconds or tokens")
    spent = words.join(results.replies.select(*asked, "seconds", "tokens_in", "tokens_out"), on=asked)
    whole = spent.group_by(keys).agg(
        pl.len().cast(pl.Float64).alias("calls"), pl.col("seconds", "tokens_in", "tokens_out").sum()
    )
    table = whole.sort(keys).collect(engine="streaming")
    known = table.filter((pl.col("seconds") > 0) | (pl.col("tokens_in") + pl.col("tokens_out") > 0))
    if known.is_empty():
        raise NotMeasurable("cost: no answer has its seconds or tokens, which are kept when eyetest asks")
    prices = [
        entry.price.of(row["tokens_in"], row["tokens_out"])
        if (entry := results.models.get(row["model"])) is not None and entry.price is not None
        else None
        for row in known.iter_rows(named=True)
    ]
    rows = known.with_columns(
        pl.Series("cost", prices, pl.Float64), (pl.col("tokens_in") + pl.col("tokens_out")).alias("tokens")
    ).with_columns(pl.when(pl.col(name) > 0).then(pl.col(name)).alias(name) for name in ("seconds", "tokens"))
    sources = sources_of(results) if "benchmark" in keys else {}
    source = pl.col("benchmark").replace_strict(sources, default=None, return_dtype=pl.String)
    if sources:
        others = rows.select([*keys, *_SPENT]).rename({"benchmark": "source"})
        same = ["source", *(key for key in keys if key != "benchmark")]
        rows = rows.with_columns(source.alias("source")).join(
            others, on=same, how="left", suffix="_source", maintain_order="left"
        )
        saved = ((1 - pl.col(name) / pl.col(f"{name}_source")).alias(f"saved_{name}") for name in _SPENT)
        rows = rows.with_columns(saved).drop("source", *(f"{name}_source" for name in _SPENT))
    return Measured(rows)


def sources_of(results: Results) -> dict[str, str]:
    """Benchmarks whose items are all in a larger one, by id and content, and that one."""
    known = results.items.drop_nulls("content").select("benchmark", pl.coalesce("own_id", "item"), "content")
    items = {name: set(part.rows()) for (name,), part in known.group_by("benchmark", maintain_order=True)}
    bare = {name: {row[1:] for row in rows} for name, rows in items.items()}
    sources = {}
    for name, mine in bare.items():
        if larger := [other for other in bare if mine < bare[other]]:
            sources[name] = max(larger, key=lambda other: len(bare[other]))
    return sources


MEASURES = (length, ocr_accuracy, cost)
