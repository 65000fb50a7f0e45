"""Replies: their length and format, sentences that describe or analyse, and how faithfully a screenshot's text is
copied.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from eyetest.errors import InputError, counted, heading, short
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.results import ALL_MODELS, SENTENCE_KINDS, measure, split, table_of
from eyetest.measures.stats.intervals import IntervalEstimate, mean
from eyetest.measures.stats.ranking import pearson
from eyetest.measures.tables import mean_columns
from eyetest.records import GIVEN, ModelEntry

_ENDS = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]{0,3}\s+|\n+|(?<=[。！？])")
_SAYS = re.compile(r"\w")
_LENGTHS = ("words", "sentences", "characters")
_LABELLED = (*SENTENCE_KINDS, "share")
_IS_CHOSEN = pl.col("reading") == "chosen"
_MARKED = pl.when(
    (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & pl.col("options").is_not_null()),
    pl.col("method") == "generate",
    pl.col("outcome").cast(pl.String).is_in(["answered", "truncated"]),
    pl.col("reading") != "text",
    ~_IS_CHOSEN | pl.col("marked").is_not_null(),
).then((_IS_CHOSEN & pl.col("marked")).fill_null(value=False).cast(pl.Float64))
"""Whether an answer to a choice item carries an option mark; null where it does not count."""


def split_sentences(text: str) -> list[str]:
    """The sentences of a reply; each line is at least one, as lists and formulas lack a full stop."""
    return [part.strip() for part in _ENDS.split(text) if part and _SAYS.search(part)]


@measure(
    "length",
    "length of replies in words, sentences and characters; the share that carry an option mark; how many sentences a "
    "judge labelled descriptive and analytical (MMMU-Pro's Figure 8 counts their tokens)",
    pools=True,
)
def length(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value: means over items; ``n`` counts items with a reply in words, ``format_hits`` is
    the share of answers to ``choice_n`` items with options that carry an option mark. With labels
    (``eyetest score RUN --sentences MODEL``) mean counts of sentences of each kind, where MMMU-Pro's Figure 8 counts
    their tokens; ``share``: analytical among both.
    """
    keys, asked, text = results.keys(settings.by), ("benchmark", "request"), pl.col("text")
    both = pl.col("descriptive") + pl.col("analytical")
    scored = results.with_items("cluster", "options", by=settings.by)
    rows = scored.filter(pl.col("outcome").cast(pl.String) != "failed").with_columns(_MARKED.alias("format_hits"))
    rows = rows.select(*dict.fromkeys((*keys, *asked, "item", "cluster", "format_hits")))
    words = rows.with_columns(pl.col(asked).cast(pl.String)).join(
        results.replies.filter(text.str.len_chars() > 0).with_columns(
            text.str.count_matches(r"\S+").cast(pl.Float64).alias("words"),
            text.map_elements(lambda words: float(len(split_sentences(words))), pl.Float64).alias("sentences"),
            text.str.len_chars().cast(pl.Float64).alias("characters"),
            pl.col(SENTENCE_KINDS).cast(pl.Float64),
            pl.when(both > 0).then(pl.col("analytical") / both).alias("share"),
        ),
        on=asked,
        how="left",
    )
    values = (*_LENGTHS, "format_hits", *_LABELLED)
    of_item = words.group_by(*keys, "item", "cluster").agg(pl.col(values).mean())
    of_item = of_item.with_columns(pl.lit(value=True).alias("format_hits binary"))
    table = mean_columns(of_item, keys, values, signed=_LENGTHS + _LABELLED, level=settings.level)
    counts = {"words_n": "n", "format_hits_n": "choice_n", "analytical_n": "labelled"}
    known = {count for count in counts if table.get_column(count).sum()}
    if not known:
        raise NotMeasurable("length: no answer is there in words")
    shown = [*_LENGTHS, *(["format_hits"] if "format_hits_n" in known else [])]
    shown += _LABELLED if "analytical_n" in known else ()
    bounded = [f"{value}{end}" for value in shown for end in ("", "_low", "_high")]
    kept = [count for count in counts if count == "words_n" or count in known]
    silent = words.select(pl.col("words").is_null().sum()).collect().item()
    silent += results.scores.select(pl.len()).collect().item() - rows.select(pl.len()).collect().item()
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
    transcripts = _transcripts(results)
    rows, notes = list[dict[str, Any]](), dict[str, None]()
    keys = results.varied(["benchmark"])
    refusals = list[NotMeasurable]()
    for _, of_benchmark in split(transcripts, ["benchmark"]):
        try:
            part, ask = _beside_scores(results, of_benchmark)
        except NotMeasurable as refusal:
            refusals.append(refusal)
            continue
        key = {name: of_benchmark.item(0, name) for name in keys}
        rows += _transcript_rows(key, part, settings)
        where = f"{key['benchmark']}: " if key else ""
        notes[f"{where}scores are of answers asked {ask} about the same screenshots"] = None
    if not rows:
        raise refusals[0]
    return Measured(table_of(rows), tuple(notes))


def _screenshots(results: Results) -> pl.LazyFrame:
    """The answers about screenshots."""
    plain = pl.col("benchmark", "model", "modality", "ask", "request").cast(pl.String)
    return results.with_items("cluster").with_columns(plain).filter(pl.col("modality") == "screenshot")


_OF_TRANSCRIPT = ("benchmark", "model", "item")


def _transcripts(results: Results) -> pl.DataFrame:
    """``benchmark, model, item, cluster, copied``."""
    known = results.replies.select(pl.col("benchmark", "request").cast(pl.String), "copied").drop_nulls("copied")
    copies = _screenshots(results).join(known, on=("benchmark", "request"))
    means = copies.group_by(*_OF_TRANSCRIPT, "cluster").agg(pl.col("copied").mean())
    transcripts = means.collect(engine="streaming").sort(_OF_TRANSCRIPT)
    if transcripts.is_empty():
        raise NotMeasurable("ocr-accuracy: no model was asked for a transcript (modality screenshot, ask ocr)")
    return transcripts


def _beside_scores(results: Results, transcripts: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The transcripts of one benchmark with the ``score`` of their items, and how the scored answers were asked."""
    of_benchmark = _screenshots(results).filter(pl.col("benchmark") == transcripts.item(0, "benchmark"))
    answers = of_benchmark.drop_nulls("score").group_by(*_OF_TRANSCRIPT, "ask").agg(pl.col("score").mean())
    scores = answers.collect(engine="streaming")
    ask = next((ask for ask in _SCORED if ask in set(scores["ask"])), None)
    rows = transcripts.join(scores.filter(pl.col("ask") == ask).drop("ask"), on=_OF_TRANSCRIPT).sort(_OF_TRANSCRIPT)
    if ask is None or rows.is_empty():
        asked = f"asked {ask}" if ask else "with a score"
        raise NotMeasurable(f"ocr-accuracy: no item has both a transcript and an answer {asked}")
    return rows, ask


def _transcript_rows(key: dict[str, Any], rows: pl.DataFrame, settings: Settings) -> Iterator[dict[str, Any]]:
    models = [part for _, part in split(rows, ["model"])]
    for part in models:
        about = key | {"model": part["model"][0], "over": "items"} | _means_of(part, settings.level)
        yield about | _correlation(part["copied"], part["score"], settings.level)
    if len(models) < 2:
        return
    copied, scores = ([float(part[name].to_numpy().mean()) for part in models] for name in ("copied", "score"))
    about = key | {"model": ALL_MODELS, "over": "models"} | _means_of(rows, settings.level)
    yield about | _correlation(copied, scores, settings.level)


def _correlation(copied: ArrayLike, scores: ArrayLike, level: float) -> dict[str, Any]:
    value, low, high, n, _ = pearson(copied, scores, level)
    return IntervalEstimate(value, low, high).named("correlation") | {"n": n}


def _means_of(rows: pl.DataFrame, level: float) -> dict[str, Any]:
    copied, score = (mean(rows[name].to_numpy(), rows["cluster"].to_numpy(), level) for name in ("copied", "score"))
    return copied.named("accuracy") | score.named("score")


_SPENT = ("calls", "seconds", "tokens")


@measure(
    "cost",
    "calls, seconds, tokens and price of the answers, and what a benchmark saves whose items are all in another",
    {"over": ("", "models: one row a model, over all benchmarks and protocols")},
    by_tag=False,
)
def cost(results: Results, settings: Settings) -> Measured:
    """One row a series. A request counts once; seconds are added up as if calls had followed each other."""
    if (over := settings.own["over"]) not in ("", "models"):
        raise InputError(f"{heading('own', 'over')}: found {short(over)}, expected models")
    keys = ["model"] if over else results.keys()
    asked = ("benchmark", "request")
    words = results.scores.select(pl.col(*dict.fromkeys((*keys, *asked))).cast(pl.String)).unique()
    spent = words.join(results.replies.select(*asked, "seconds", "tokens_in", "tokens_out"), on=asked)
    whole = spent.group_by(keys).agg(
        pl.len().cast(pl.Float64).alias("calls"), pl.col("seconds", "tokens_in", "tokens_out").sum()
    )
    table = whole.sort(keys).collect(engine="streaming")
    known = table.filter((pl.col("seconds") > 0) | (pl.col("tokens_in") + pl.col("tokens_out") > 0))
    if known.is_empty():
        raise NotMeasurable("cost: no answer has its seconds or tokens, which are kept when eyetest asks")
    prices = [_price_of(results.models.get(row["model"]), row) for row in known.iter_rows(named=True)]
    rows = known.with_columns(
        pl.Series("cost", prices, pl.Float64), (pl.col("tokens_in") + pl.col("tokens_out")).alias("tokens")
    ).with_columns(pl.when(pl.col(name) > 0).then(pl.col(name)).alias(name) for name in ("seconds", "tokens"))
    if sources := sources_of(results) if "benchmark" in keys else {}:
        source = pl.col("benchmark").replace_strict(sources, default=None, return_dtype=pl.String)
        others = rows.select([*keys, *_SPENT]).rename({"benchmark": "source"})
        same = ["source", *(key for key in keys if key != "benchmark")]
        rows = rows.with_columns(source.alias("source")).join(
            others, on=same, how="left", suffix="_source", maintain_order="left"
        )
        saved = ((1 - pl.col(name) / pl.col(f"{name}_source")).alias(f"saved_{name}") for name in _SPENT)
        rows = rows.with_columns(saved).drop("source", *(f"{name}_source" for name in _SPENT))
    return Measured(rows)


def _price_of(entry: ModelEntry | None, row: Mapping[str, Any]) -> float | None:
    """What the tokens of a series cost; None where its price or its tokens are unknown, which is not free."""
    if entry is None or entry.price is None or not row["tokens_in"] + row["tokens_out"]:
        return None
    return entry.price.of(row["tokens_in"], row["tokens_out"])


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
