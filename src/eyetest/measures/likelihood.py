"""Stored log-probabilities of choices: against generated answers (ReForm-Eval), by normalisation, by image."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, param, short
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.linked import ALL_MODELS
from eyetest.measures.results import PROTOCOL, TESTS, measure, split, table_of
from eyetest.measures.stats.intervals import Bools, Floats
from eyetest.measures.stats.likelihoods import (
    among_choices,
    gained,
    likeliest,
    moved,
)
from eyetest.measures.tables import compared, mean_columns, mean_table
from eyetest.records.item import read_candidates

GENERATE, LIKELIHOOD, FIRST_TOKEN = "generate", "likelihood", "first-token"
WEIGHED = (LIKELIHOOD, FIRST_TOKEN)
_BOTH_CHOSE = pl.col("choice").is_not_null() & pl.col("choice_weighed").is_not_null()


@measure(
    "generation-likelihood",
    "generation minus likelihood by model and language backbone, and how far both ways choose alike",
    pools=True,
)
def generation_likelihood(results: Results, settings: Settings) -> Measured:
    """One row a series, tag value and way of weighing; then the models of each backbone, and all. ``difference``:
    generated less weighed; ``same``: share of equal choices; ``unread``: share without a choice.
    """
    keys = [key for key in results.keys(settings.by) if key != "method"]
    parts = [
        ({"weighed_by": way} | key, part)
        for way in WEIGHED
        for key, part in _parts(_pairs(results, way, keys, settings.by), keys)
    ]
    if not parts:
        wanted = param("method", f"{WEIGHED[0]},{GENERATE}")
        raise NotMeasurable(
            f"generation-likelihood: no model has both generated and weighed answers to an item; {wanted}"
        )
    of_item = pl.concat(
        _pairs_by_item(part).with_columns(pl.lit(row).alias("row")) for row, (_, part) in enumerate(parts)
    )
    shares = mean_columns(of_item.lazy(), ["row"], ["same", "unread"], level=settings.level)
    rows = [
        key | _row(of_item.filter(pl.col("row") == row), means, settings)
        for row, ((key, _), means) in enumerate(zip(parts, shares.iter_rows(named=True), strict=True))
    ]
    types = dict.fromkeys(("base", *keys), pl.String)
    unknown = all(row["base"] is None for row in rows)
    note = f"no backbones: no model names its language model (base: in models.yaml, with {param('models')})"
    return Measured(table_of(rows, **types), (note,) if unknown else ())


def _pairs(results: Results, way: str, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row per pair of scored answers: ``*keys, item, cluster, base``, and of each side score and choice."""
    words = [*dict.fromkeys((*keys, "benchmark", "model", *results.members, "item"))]
    method = pl.col("method").cast(pl.String)
    scored = results.with_items("cluster", by=by).drop_nulls("score")
    answers = scored.select(
        pl.col(words).cast(pl.String), "cluster", *TESTS, method, pl.col("choice").cast(pl.String), "score"
    )
    weighed = answers.filter(method == way).collect(engine="streaming")
    if weighed.is_empty():
        return weighed.with_columns(pl.lit(None, pl.String).alias("base"))
    alike = [axis for axis in TESTS if weighed.get_column(axis).n_unique() > 1]
    on = [*words, *alike]
    generated = answers.filter(method == GENERATE).drop(set(TESTS) - set(alike), "method")
    pairs = generated.join(weighed.lazy().select(*on, "choice", "score"), on=on, nulls_equal=True, suffix="_weighed")
    known = pl.DataFrame(
        [(name, entry.base) for name, entry in results.models.items()],
        schema={"model": pl.String, "base": pl.String},
        orient="row",
    )
    return pairs.join(known.lazy(), on="model", how="left").sort(*on).collect(engine="streaming")


def _parts(answers: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The pairs of each model, then of all models of a backbone, then of all models."""
    around = [key for key in keys if key != "model"]
    for key, part in split(answers, ["base", *keys]):
        yield key, part
    for key, part in split(answers, ["base", *around]):
        if key["base"] is not None and (models := part.get_column("model").n_unique()) > 1:
            yield {"base": key["base"]} | {name: key.get(name, counted(models, "model")) for name in keys}, part
    for key, part in split(answers, around):
        if part.get_column("model").n_unique() > 1:
            yield {"base": None} | {name: key.get(name, ALL_MODELS) for name in keys}, part


def _pairs_by_item(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs by item and model: tests are averaged; models share the item's cluster."""
    of_item = pairs.group_by("benchmark", "model", "item", "cluster", maintain_order=True).agg(
        pl.col("score", "score_weighed").mean(),
        (pl.col("choice") == pl.col("choice_weighed")).filter(_BOTH_CHOSE).mean().alias("same"),
        pl.col("choice").is_null().mean().alias("unread"),
    )
    return of_item.with_columns(pl.lit(True).alias(f"{name} binary") for name in ("same", "unread"))


def _row(of_item: pl.DataFrame, shares: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    pair = compared(of_item, "score", "score_weighed", settings.level)
    counts = {"n": pair.n, "clusters": pair.clusters, "models": of_item.get_column("model").n_unique()}
    row = {"generated": pair.a, "weighed": pair.b} | pair.gap() | counts
    return row | {name: shares[name] for name in ("same", "same_low", "same_high", "unread")}


_LIKE = ("benchmark", "model", "item", *PROTOCOL, *TESTS)  # what tells answers apart
_WORDS = ("benchmark", "model", "item", *PROTOCOL, "letters", "request", "cluster")
_TABLES = ("logs", "tokens", "bytes", "golds")


@dataclass(frozen=True)
class WeighedAnswers:
    """Answers with a weight of each choice. ``logs``: −inf for an impossible choice, nan for none, all nan where not
    all choices were weighed; ``tokens`` and ``bytes``: nan where not counted.
    """

    rows: pl.DataFrame
    """``benchmark, model, item``, protocol, tests, ``request, cluster, options, score``, and some tags."""
    logs: Floats
    tokens: Floats
    bytes: Floats
    golds: Bools

    def take(self, mask: Bools) -> "WeighedAnswers":
        """Some of the answers."""
        return replace(self, rows=self.rows.filter(mask), **{name: getattr(self, name)[mask] for name in _TABLES})

    def beside(self, every: "WeighedAnswers", modality: str) -> Floats:
        """Log-probabilities of the same choices under another modality; nan where nothing else was sent."""
        key = [name for name in _LIKE if name != "modality"]
        mine = self.rows.select(*key, "request").with_row_index("mine")
        theirs = every.rows.with_row_index("theirs").filter(pl.col("modality") == modality)
        pairs = mine.join(theirs.select(*key, "theirs", pl.col("request").alias("other")), on=key)
        pairs = pairs.filter(pl.col("request") != pl.col("other"))
        logs = np.full(self.logs.shape, np.nan)
        logs[pairs.get_column("mine").to_numpy()] = every.logs[pairs.get_column("theirs").to_numpy()]
        return logs

    def right(self, weights: Floats) -> Floats:
        """1 where the choice of the largest weight is right, else 0, as in scoring; nan where weights are missing."""
        chosen = likeliest(weights)
        hits = self.golds[np.arange(len(chosen)), chosen] & (chosen >= 0)
        lacks = (np.isnan(weights) & ~np.isnan(self.logs)).any(axis=1)
        return np.where(lacks, np.nan, hits.astype(float))


def weighed(results: Results, by: Sequence[str] = (), method: str = LIKELIHOOD) -> WeighedAnswers:
    """The answers of some results whose choices were weighed."""
    how = pl.col("method").cast(pl.String) == method
    asked = param("method", method)
    nothing = NotMeasurable(f"likelihood: no choice was weighed; ask a model that gives likelihoods with {asked}")
    if results.scores.filter(how).head(1).collect().is_empty():
        raise nothing
    scored = results.with_items("cluster", "options", "golds", by=by).filter(
        how & (pl.col("outcome").cast(pl.String) != "failed")
    )
    columns = ("template", "order", "sample", "options", "golds", "score", *results.by_tags(by))
    plain = scored.select(pl.col(_WORDS).cast(pl.String), *columns)
    if "candidates" not in results.replies.collect_schema():
        raise nothing
    request = pl.col("benchmark", "request").cast(pl.String)
    known = results.replies.select(request, "candidates").drop_nulls("candidates")
    rows = plain.join(known, on=("benchmark", "request")).sort(_LIKE).collect(engine="streaming")
    if rows.is_empty():
        raise nothing
    if rows.get_column("options").null_count() == len(rows):
        raise NotMeasurable(f"likelihood: no right choice is known; name the benchmark with {param('bench')}")
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
        (-np.inf if choice.logprob is None else choice.logprob, choice.tokens, choice.bytes)
        for choice in chain.from_iterable(candidates[number] for number in fits)
    ]
    cells[row, column] = np.array(values, float).reshape(len(values), 3)
    golds = np.zeros(shape, bool)
    places = rows.select("golds").with_row_index("row").explode("golds").drop_nulls()
    golds[places.get_column("row").to_numpy(), places.get_column("golds").to_numpy()] = True
    logs, tokens, sizes = np.moveaxis(cells, 2, 0)
    return WeighedAnswers(rows.drop("candidates", "golds"), logs, tokens, sizes, golds)


NORMALISATIONS = ("sum", "per_token", "per_byte", "pmi", "image_pmi")
_LACKING = {
    "per_token": "the number of tokens of choices was not stored",
    "per_byte": "the number of bytes of choices was not stored",
    "pmi": "no model was asked the same with modality no-question",
    "image_pmi": "no model was asked the same with modality no-image",
}
_EFFECTS = ("moved", "gold_lead", "helped", "hurt")
_SIGNED = ("moved", "gold_lead", "gold_pmi")
_LEAST = 0.05  # how far the probability of the right choice has to move for the image to help or hurt


@measure(
    "likelihood",
    "accuracy under likelihood by normalisation (sum, per token, per byte, PMI, image-PMI); effect of the image",
    {"over": ("", "items: one row an item, with means over models")},
)
def likelihood(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value, with the image: accuracies by normalisation; with answers without the image too
    the share of probability that it ``moved``, how much more it raises right choices than wrong ones in nats
    (``gold_lead``), and where it ``helped`` or ``hurt``. With ``over=items``: one row an item, unmoved ones first.
    """
    if (over := settings.own["over"]) not in ("", "items"):
        raise InputError(f"over: found {short(over)}, expected items")
    every = weighed(results, settings.by)
    usable = (pl.col("modality") == "image") & pl.col("score").is_not_null()
    answers = every.take(every.rows.select(usable).to_series().to_numpy())
    if answers.rows.is_empty():
        raise NotMeasurable("likelihood: no choice of an item with a right one was weighed under modality image")
    keys = [key for key in results.keys(settings.by) if key not in ("modality", "method")]
    rows, notes = _by_item(every, answers, [*dict.fromkeys((*keys, "model"))])
    if over:
        return Measured(_by_models(rows, [key for key in keys if key != "model"], settings.level), notes)
    shown = [name for name in (*NORMALISATIONS, *_EFFECTS) if rows.get_column(name).count()]
    return Measured(mean_table(rows.lazy(), keys, shown, settings.level, signed=_SIGNED), notes)


def _by_item(
    every: WeighedAnswers, answers: WeighedAnswers, keys: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A row per series and item: means over its tests of what is right and of the image's effect; notes."""
    without = answers.beside(every, "no-image")
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = (
            answers.logs,
            answers.logs / answers.tokens,
            answers.logs / answers.bytes,
            gained(answers.logs, answers.beside(every, "no-question")),
            gained(answers.logs, without),
        )
    right = dict(zip(NORMALISATIONS, map(answers.right, weights), strict=True))
    values = pl.DataFrame(right | _effects(answers, without), nan_to_null=True)
    of_item = (
        answers.rows.select(*keys, "item", "cluster")
        .hstack(values)
        .group_by(*keys, "item", "cluster", maintain_order=True)
        .agg(pl.col(values.columns).mean())
        .with_columns(pl.lit(True).alias(f"{name} binary") for name in (*NORMALISATIONS, "helped", "hurt"))
    )
    lacks = (
        f"{name}: not measured ({why})" for name, why in _LACKING.items() if not of_item.get_column(name).count()
    )
    return of_item, tuple(lacks)


def _effects(after: WeighedAnswers, before: Floats) -> dict[str, Floats]:
    """The image's effect on each answer; nan where undefined, as where a choice was impossible before."""
    pmi = gained(after.logs, before)
    chances, chances_before = among_choices(after.logs), among_choices(before)
    held, held_before = (np.where(after.golds, side, 0.0).sum(axis=1) for side in (chances, chances_before))
    has_gold = after.golds.any(axis=1)
    rise = np.where(has_gold, held - held_before, np.nan)
    others = ~after.golds & ~np.isnan(pmi)
    wrong = np.where(others, pmi, 0.0).sum(axis=1) / np.where(others.any(axis=1), others.sum(axis=1), np.nan)
    with np.errstate(invalid="ignore"):
        of_golds, before_golds = (
            np.logaddexp.reduce(np.where(after.golds, logs, -np.inf), axis=1) for logs in (after.logs, before)
        )
        gold_pmi = np.where(has_gold, of_golds - before_golds, np.nan)
        columns: dict[str, Floats] = {
            "moved": moved(chances, chances_before),
            "gold_lead": gold_pmi - wrong,
            "gold_pmi": gold_pmi,
            "helped": np.where(np.isnan(rise), np.nan, rise > _LEAST),
            "hurt": np.where(np.isnan(rise), np.nan, rise < -_LEAST),
            "no_image": np.where(np.isnan(before).all(axis=1), np.nan, after.right(before)),
        }
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in columns.items()}


def _by_models(rows: pl.DataFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    """One row per item: means over models; ``with_image`` and ``no_image``: share whose likeliest choice is right."""
    about = [*keys, "item"]
    known = rows.drop_nulls("moved").with_columns(pl.col("model").alias("cluster"))
    if known.is_empty():
        raise NotMeasurable("likelihood: no choice was weighed with and without the image (modality image,no-image)")
    means = mean_columns(known.lazy(), about, ("gold_pmi", "moved"), signed=_SIGNED, level=level)
    more = known.group_by(about).agg(
        pl.col("moved").max().alias("most_moved"),
        pl.col("helped", "hurt", "no_image").mean(),
        pl.col("sum").mean().alias("with_image"),
    )
    shown = ("gold_pmi", "gold_pmi_low", "gold_pmi_high", "helped", "hurt", "with_image", "no_image")
    table = means.join(more, on=about, nulls_equal=True)
    ordered = table.select(*about, "most_moved", "moved", *shown, pl.col("moved_n").alias("n"))
    return ordered.sort(*keys, "most_moved", "moved", "item", nulls_last=True)


MEASURES = (generation_likelihood, likelihood)
