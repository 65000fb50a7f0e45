"""Stored log-probabilities of choices: accuracy by normalisation (ReForm-Eval), effect of the image."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from eyetest.errors import InputError, naming_benchmark, param, short
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.results import PROTOCOL, TESTS, measure
from eyetest.measures.stats.intervals import Bools, Floats
from eyetest.measures.stats.likelihoods import among_choices, gained, likeliest, moved
from eyetest.measures.tables import mean_table
from eyetest.records.item import read_candidates

GENERATE, LIKELIHOOD, FIRST_TOKEN = "generate", "likelihood", "first-token"
WEIGHED = (LIKELIHOOD, FIRST_TOKEN)


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
    asked = param("condition", method)
    nothing = NotMeasurable(f"likelihood: no choice was weighed; ask a model that gives likelihoods with {asked}")
    if results.scores.filter(how).head(1).collect().is_empty():
        raise nothing
    scored = results.with_items("cluster", "options", "golds", by=by).filter(
        how & (pl.col("outcome").cast(pl.String) != "failed")
    )
    columns = ("template", "order", "sample", "options", "golds", "score", *results.by_tags(by))
    plain = scored.select(pl.col(_WORDS).cast(pl.String), *columns)
    request = pl.col("benchmark", "request").cast(pl.String)
    known = results.replies.select(request, "candidates").drop_nulls("candidates")
    rows = plain.join(known, on=("benchmark", "request")).sort(_LIKE).collect(engine="streaming")
    if rows.is_empty():
        raise nothing
    if rows.get_column("options").null_count() == len(rows):
        raise NotMeasurable(f"likelihood: no right choice is known; {naming_benchmark()}")
    return _laid_out(rows)


def _laid_out(rows: pl.DataFrame) -> WeighedAnswers:
    options = rows.get_column("options").fill_null(0).to_list()
    shape = len(rows), max(1, *options)
    cells, golds = np.full((*shape, 3), np.nan), np.zeros(shape, bool)
    for row, (text, places) in enumerate(rows.select("candidates", "golds").iter_rows()):
        golds[row, places or []] = True
        choices = read_candidates(text)
        if choices and len(choices) == options[row]:
            values = [
                (-np.inf if choice.logprob is None else choice.logprob, choice.tokens, choice.bytes)
                for choice in choices
            ]
            cells[row, : len(choices)] = np.array(values, float)
    logs, tokens, sizes = np.moveaxis(cells, 2, 0)
    return WeighedAnswers(rows.drop("candidates", "golds"), logs, tokens, sizes, golds)


NORMALISATIONS = ("sum", "per_token", "per_byte", "pmi", "image_pmi")
_LACKING = {
    "per_token": "the number of tokens of choices was not stored",
    "per_byte": "the number of bytes of choices was not stored",
    "pmi": "no model was asked the same with modality no-question",
    "image_pmi": "no model was asked the same with modality no-image",
}
_EFFECTS = ("moved", "gold_lead", "gold_pmi")


@measure(
    "likelihood",
    "accuracy under likelihood by normalisation (sum, per token, per byte, PMI, image-PMI); effect of the image",
    {"over": ("", "items: one row an item, with means over models")},
)
def likelihood(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value, with the image: accuracies by normalisation; with answers without the image too
    the share of probability that it ``moved``, how much likelier it makes right choices in nats (``gold_pmi``), and
    how much more so than wrong ones (``gold_lead``). With ``over=items``: one row an item, unmoved ones first.
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
        known = rows.drop_nulls("moved").with_columns(pl.col("model").alias("cluster"))
        if known.is_empty():
            wanted = "with and without the image (modality image,no-image)"
            raise NotMeasurable(f"likelihood: no choice was weighed {wanted}")
        keys = [key for key in keys if key != "model"]
        about = [*keys, "item"]
        most = known.group_by(about).agg(pl.col("moved").max().alias("most_moved"))
        table = mean_table(known.lazy(), about, _EFFECTS, settings.level, signed=_EFFECTS).drop("clusters")
        table = table.join(most, on=about, nulls_equal=True)
        return Measured(table.sort(*keys, "most_moved", "moved", "item"), notes)
    shown = [name for name in (*NORMALISATIONS, *_EFFECTS) if rows.get_column(name).count()]
    return Measured(mean_table(rows.lazy(), keys, shown, settings.level, signed=_EFFECTS), notes)


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
        .with_columns(pl.lit(True).alias(f"{name} binary") for name in NORMALISATIONS)
    )
    lacks = (
        f"{name}: not measured ({why})" for name, why in _LACKING.items() if not of_item.get_column(name).count()
    )
    return of_item, tuple(lacks)


def _effects(after: WeighedAnswers, before: Floats) -> dict[str, Floats]:
    """The image's effect on each answer; nan where undefined, as where a choice was impossible before."""
    pmi = gained(after.logs, before)
    others = ~after.golds & ~np.isnan(pmi)
    wrong = np.where(others, pmi, 0.0).sum(axis=1) / np.where(others.any(axis=1), others.sum(axis=1), np.nan)
    with np.errstate(invalid="ignore"):
        of_golds, before_golds = (
            np.logaddexp.reduce(np.where(after.golds, logs, -np.inf), axis=1) for logs in (after.logs, before)
        )
        gold_pmi = np.where(after.golds.any(axis=1), of_golds - before_golds, np.nan)
        values = moved(among_choices(after.logs), among_choices(before)), gold_pmi - wrong, gold_pmi
    return {name: np.where(np.isfinite(of), of, np.nan) for name, of in zip(_EFFECTS, values, strict=True)}


MEASURES = (likelihood,)
