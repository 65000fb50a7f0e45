"""Stored log-probabilities of choices: against generated answers (ReForm-Eval), by normalisation, by image."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, heading, nearest, param, short
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.hits import HIT
from eyetest.measures.linked import ALL_MODELS
from eyetest.measures.results import PROTOCOL, TESTS, Own, measure, split, table_of
from eyetest.measures.stats.agreement import cohen
from eyetest.measures.stats.intervals import Bools, Floats, Ints
from eyetest.measures.stats.likelihoods import among_choices, gained, likeliest, moved
from eyetest.measures.tables import compared, mean_columns, mean_table
from eyetest.records.item import read_candidates

GENERATE = "generate"
WEIGHED = ("likelihood", "first-token")
CELLS = ("both", "only_generated", "only_weighed", "neither")  # who is right
_BOTH_CHOSE = pl.col("choice").is_not_null() & pl.col("choice_weighed").is_not_null()


@measure(
    "generation-likelihood",
    "generation minus likelihood by model and language backbone, and how far both ways choose alike",
)
def generation_likelihood(results: Results, settings: Settings) -> Measured:
    """One row a series, tag value and way of weighing; then the models of each backbone, and all. ``difference``:
    generated less weighed; ``same`` and ``kappa``: agreement of choices; ``unread``: share without a choice.
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
    shares = mean_columns(of_item.lazy(), ["row"], ["same", "unread", *CELLS], level=settings.level)
    rows = [
        key | _row(part, of_item.filter(pl.col("row") == row), means, settings)
        for row, ((key, part), means) in enumerate(zip(parts, shares.iter_rows(named=True), strict=True))
    ]
    types = dict.fromkeys(("base", *keys), pl.String)
    unknown = all(row["base"] is None for row in rows)
    note = f"no backbones: no model names its language model (base: in models.yaml, with {param('models')})"
    return Measured(table_of(rows, **types), (note,) if unknown else ())


def _pairs(results: Results, way: str, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row per pair of scored answers: ``*keys, item, cluster, base``, and of each side score and choice."""
    words = [*dict.fromkeys((*keys, "benchmark", "model", "item"))]
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
    generated, weighed = (pl.col(name) >= HIT.value for name in ("score", "score_weighed"))
    cells = (generated & weighed, generated & ~weighed, ~generated & weighed, ~generated & ~weighed)
    of_item = pairs.group_by("benchmark", "model", "item", "cluster", maintain_order=True).agg(
        pl.col("score", "score_weighed").mean(),
        (pl.col("choice") == pl.col("choice_weighed")).filter(_BOTH_CHOSE).mean().alias("same"),
        pl.col("choice").is_null().mean().alias("unread"),
        *(cell.mean().alias(name) for name, cell in zip(CELLS, cells, strict=True)),
    )
    return of_item.with_columns(pl.lit(True).alias(f"{name} binary") for name in ("same", "unread", *CELLS))


def _row(pairs: pl.DataFrame, of_item: pl.DataFrame, shares: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    pair = compared(of_item, "score", "score_weighed", settings.level)
    counts = {"n": pair.n, "clusters": pair.clusters, "models": of_item.get_column("model").n_unique()}
    row = {"generated": pair.a, "weighed": pair.b} | pair.gap() | counts
    both = pairs.filter(_BOTH_CHOSE)
    kappa = cohen(both.select("choice", "choice_weighed").rows(), settings.resampling(both.get_column("cluster")))
    row |= {name: shares[name] for name in ("same", "same_low", "same_high")} | kappa.named("kappa")
    return row | {name: shares[name] for name in ("unread", *CELLS)}


_LIKE = ("benchmark", "model", "item", *PROTOCOL, *TESTS)  # what tells answers apart
_WORDS = ("benchmark", "model", "item", *PROTOCOL, "letters", "request", "cluster")
_TABLES = ("logs", "tokens", "bytes", "golds")


@dataclass(frozen=True)
class WeighedAnswers:
    """Answers with a weight of each choice. ``logs``: −inf for an impossible choice, nan for none, all nan where not
    all choices were weighed; ``tokens`` and ``bytes``: nan where not counted.
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
        """The answers under some protocol: ``modality="no-image"``."""
        mask = np.ones(len(self.rows), bool)
        for name, value in values.items():
            mask &= (self.rows.get_column(name) == value).to_numpy()
        return self.take(mask)

    def with_options(self, options: int) -> "WeighedAnswers":
        """The answers to items of so many options, and no column for more."""
        some = self.take((self.rows.get_column("options") == options).to_numpy())
        return replace(some, **{name: getattr(some, name)[:, :options] for name in _TABLES})

    def matches(self, other: "WeighedAnswers") -> tuple[Ints, Ints]:
        """Indices of answers here, and of those there that differ only in modality."""
        key = [name for name in _LIKE if name != "modality"]
        mine, theirs = (
            side.rows.select(key).with_row_index(name) for side, name in ((self, "mine"), (other, "theirs"))
        )
        pairs = mine.join(theirs, on=key, how="inner").sort("mine").select("mine", "theirs").cast(pl.Int64)
        return pairs.get_column("mine").to_numpy(), pairs.get_column("theirs").to_numpy()

    def right(self, weights: Floats) -> Floats:
        """1 where the choice of the largest weight is right, else 0, as in scoring; nan where weights are missing."""
        chosen = likeliest(weights)
        hits = self.golds[np.arange(len(chosen)), chosen] & (chosen >= 0)
        lacks = (np.isnan(weights) & ~np.isnan(self.logs)).any(axis=1)
        return np.where(lacks, np.nan, hits.astype(float))


def weighed(
    results: Results, name: str, methods: Sequence[str], by: Sequence[str] = (), also: str = ""
) -> WeighedAnswers:
    """The weighed answers of some results for a measure; ``also``: what must be asked for beside the method."""
    how = pl.col("method").cast(pl.String).is_in(methods)
    asked = " ".join(filter(None, (param("method", ",".join(methods)), also)))
    nothing = NotMeasurable(f"{name}: no choice was weighed; ask a model that gives likelihoods with {asked}")
    if results.scores.filter(how).head(1).collect().is_empty():
        raise nothing
    scored = results.with_items("cluster", "options", "golds", "own_id", by=by).filter(
        how & (pl.col("outcome").cast(pl.String) != "failed")
    )
    columns = ("template", "order", "sample", "options", "golds", "score", *results.by_tags(by))
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
        (-np.inf if choice.logprob is None else choice.logprob, choice.tokens, choice.bytes)
        for choice in chain.from_iterable(candidates[number] for number in fits)
    ]
    cells[row, column] = np.array(values, float).reshape(len(values), 3)
    golds = np.zeros(shape, bool)
    places = rows.select("golds").with_row_index("row").explode("golds").drop_nulls()
    golds[places.get_column("row").to_numpy(), places.get_column("golds").to_numpy()] = True
    logs, tokens, sizes = np.moveaxis(cells, 2, 0)
    return WeighedAnswers(rows.drop("candidates", "golds"), logs, tokens, sizes, golds)


SUM, TOKEN, BYTE, PMI, IMAGE_PMI = "sum", "per token", "per byte", "PMI", "image-PMI"
NORMALISATIONS = (SUM, TOKEN, BYTE, PMI, IMAGE_PMI)
LIKELIHOOD = "likelihood"
NO_IMAGE_REFERENCE = ("no-image", "the modality that image-PMI is compared with: no-image, gray or no-image-guess")
_UNASKED = {"image": "no-question", "no-image": "nothing"}  # what a modality is without its question
References = Mapping[str, str | None]  # the reference modality of a normalisation, if it has one


@measure(
    "normalisations",
    "accuracy under likelihood by normalisation: sum, per token, per byte, PMI, image-PMI, and what they change",
    {
        "modality": ("image", "the modality whose accuracy is reported: image or no-image"),
        "no_image": NO_IMAGE_REFERENCE,
    },
)
def normalisations(results: Results, settings: Settings) -> Measured:
    """One row a series, tag value and normalisation; ``difference`` is paired, from the sum. A tie is no answer."""
    every = weighed(results, "normalisations", (LIKELIHOOD,), settings.by)
    modality = str(settings.own["modality"])
    answers = every.where(modality=modality)
    if answers.rows.is_empty():
        known = nearest(modality, every.rows.get_column("modality").unique())
        raise InputError(f"modality: no choice was weighed under {modality}; {known}")
    answers = answers.take(answers.rows.get_column("score").is_not_null().to_numpy())
    without = str(settings.own["no_image"])
    references = {PMI: _UNASKED.get(modality), IMAGE_PMI: without if modality == "image" else None}
    weights = _weights(every, answers, references)
    if not weights:
        raise NotMeasurable("normalisations: no weighed item has a right choice")
    keys = [key for key in results.keys(settings.by) if key not in ("modality", "method")]
    right = [pl.Series(name, answers.right(values), nan_to_null=True) for name, values in weights.items()]
    of_item = (
        answers.rows.select(*dict.fromkeys((*keys, "item", "cluster")))
        .with_columns(right)
        .group_by(*keys, "item", "cluster")
        .agg(pl.col(list(weights)).mean())
        .with_columns(pl.lit(True).alias(f"{name} binary") for name in weights)
        .sort(*keys, "item")
    )
    means = mean_columns(of_item.lazy(), keys, list(weights), level=settings.level)
    rows = [
        key | {"normalisation": name} | row
        for (key, part), means_of in zip(split(of_item, keys), means.iter_rows(named=True), strict=True)
        for name in weights
        if (row := _normalised(part, means_of, name, settings.level))["n"]
    ]
    return Measured(table_of(rows), tuple(_notes(answers, weights, references)))


def _normalised(of_item: pl.DataFrame, means: Mapping[str, Any], name: str, level: float) -> dict[str, Any]:
    """Accuracy under one normalisation, and its paired difference from the sum."""
    gap = compared(of_item, name, SUM, level).gap()
    row = {f"accuracy{end}": means[f"{name}{end}"] for end in ("", "_low", "_high")}
    row |= dict.fromkeys(gap) if name == SUM else gap
    return row | {"n": means[f"{name}_n"], "clusters": means[f"{name}_clusters"]}


def _weights(every: WeighedAnswers, answers: WeighedAnswers, references: References) -> dict[str, Floats]:
    """Weights of choices for each normalisation that the answers allow."""
    if answers.rows.is_empty():
        return {}
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = {SUM: answers.logs, TOKEN: answers.logs / answers.tokens, BYTE: answers.logs / answers.bytes}
    for name, modality in references.items():
        weights[name] = np.full(answers.logs.shape, np.nan)
        if modality is not None:
            others = every.where(modality=modality)
            mine, theirs = answers.matches(others)
            weights[name][mine] = gained(answers.logs[mine], others.logs[theirs])
    return {name: values for name, values in weights.items() if name == SUM or not np.isnan(values).all()}


def _notes(answers: WeighedAnswers, weights: dict[str, Floats], references: References) -> Iterator[str]:
    for name, modality in references.items():
        if modality and name not in weights:
            yield f"{name}: not measured (no model was asked the same with {param('modality', modality)})"
    for name, why in ((TOKEN, "tokens"), (BYTE, "bytes")):
        if name not in weights:
            yield f"sum {name}: not measured (the number of {why} of choices was not stored)"
    for name, values in weights.items():
        lacks = int((np.isnan(values) & ~np.isnan(answers.logs)).any(axis=1).sum())
        if lacks:
            yield f"{name}: {lacks:,} of {len(values):,} answers lack what it takes, and are left out"


_PMI = ("gold_lead", "gold_pmi", "chosen_pmi")
_SHARES = ("helped", "hurt", "left_alone")
_LEAST = 0.05
_OWN: Own = {
    "with_image": ("image", "the modality with the image; gray instead shows the effect of the presence of an image"),
    "no_image": NO_IMAGE_REFERENCE,
    "over": ("", "items: one row an item, with means over models"),
    "least": (_LEAST, "how far the probability of the right choice has to move for the image to help or hurt"),
}


@measure(
    "image-use",
    "image-PMI of right and chosen options, probability that the image moves, items that it helps or hurts",
    _OWN,
)
def image_use(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; PMI in nats, ``moved`` a share of probability. ``gold_lead`` is how much more
    the image raises right choices than wrong ones; it helps or hurts where their probability changes by ``least``;
    ``moved_by_grey`` is the same for a gray image. With ``over=items``: one row an item, unmoved ones first.
    """
    over = str(settings.own["over"])
    if over not in ("", "items"):
        raise InputError(f"over: found {short(over)}, expected items")
    rows, notes = _changes_by_item(results, settings)
    keys = [key for key in results.keys(settings.by) if key != "modality"]
    if over:
        return Measured(_by_models(rows, [key for key in keys if key != "model"], settings.level), notes)
    table = mean_table(rows.lazy(), keys, (*_PMI, "moved", *_SHARES), settings.level, signed=(*_PMI, "moved"))
    try:
        gray, _ = _changes_by_item(results, replace(settings, own={**settings.own, "with_image": "gray"}))
    except NotMeasurable:
        return Measured(table, notes)
    moved_too = mean_table(gray.lazy(), keys, ["moved"], settings.level, signed=["moved"])
    floor = moved_too.select(*keys, pl.col("^moved.*$").name.replace("^moved", "moved_by_grey"))
    counts = ("n", "clusters")
    joined = table.join(floor, on=keys, how="left", maintain_order="left", nulls_equal=True)
    return Measured(joined.select(pl.exclude(counts), *counts), notes)


def _by_models(rows: pl.DataFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    """One row per item: means over models; ``with_image`` and ``no_image``: share whose likeliest choice is right."""
    about = [*keys, "item"]
    models = rows.with_columns(pl.col("model").alias("cluster")).lazy()
    means = mean_columns(models, about, ("gold_pmi", "moved"), signed=("gold_pmi", "moved"), level=level)
    most = rows.group_by(about).agg(
        pl.col("moved").max().alias("most_moved"), pl.col("helped", "hurt", "with_image", "no_image").mean()
    )
    shown = ("gold_pmi", "gold_pmi_low", "gold_pmi_high", "helped", "hurt", "with_image", "no_image")
    table = means.join(most, on=about, nulls_equal=True)
    ordered = table.select(*about, "most_moved", "moved", *shown, pl.col("moved_n").alias("n"))
    return ordered.sort(*keys, "most_moved", "moved", "item", nulls_last=True)


def _changes_by_item(results: Results, settings: Settings) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A row per series and item: means over its tests of the image's effect, and notes."""
    own = settings.own
    least = float(own["least"])
    if not 0 <= least < 1:
        raise InputError(f"{heading('own', 'least')}: found {short(least)}, expected a share from 0 to 1")
    every = weighed(results, "image-use", WEIGHED, settings.by)
    seen, unseen = (every.where(modality=str(own[side])) for side in ("with_image", "no_image"))
    mine, theirs = seen.matches(unseen)
    if not len(mine):
        asked = param("modality", f"{own['with_image']},{own['no_image']}")
        raise NotMeasurable(f"image-use: no choice was weighed both with and without the image; ask with {asked}")
    before, after = unseen.take(theirs), seen.take(mine)
    shown = (after.rows.get_column("request") != before.rows.get_column("request")).to_numpy()
    if not shown.any():
        raise NotMeasurable("image-use: no item has an image")
    values = _changes(after.take(shown), before.take(shown), least)
    keys = [key for key in results.keys(settings.by) if key != "modality"]
    about = [*dict.fromkeys((*keys, "model", "item", "cluster"))]
    rows = after.take(shown).rows.select(about).hstack(values)
    of_item = rows.group_by(about, maintain_order=True).agg(pl.col(values.columns).mean())
    binary = [pl.lit(True).alias(f"{share} binary") for share in _SHARES]
    notes = []
    if plain := int((~shown).sum()):
        notes.append(f"{counted(plain, 'answer')} about no image left out")
    if undefined := values["gold_pmi"].null_count() - values["with_image"].null_count():
        notes.append(f"{counted(undefined, 'answer')} without a PMI: the right choice was impossible on one side")
    return of_item.with_columns(binary), tuple(notes)


def _changes(after: WeighedAnswers, before: WeighedAnswers, least: float) -> pl.DataFrame:
    """The image's effect on each answer; null where undefined, as where a choice was impossible before."""
    pmi = gained(after.logs, before.logs)
    chances, without = among_choices(after.logs), among_choices(before.logs)
    chosen, number = likeliest(after.logs), np.arange(len(pmi))
    has_gold = after.golds.any(axis=1)
    held, held_before = (np.where(after.golds, side, 0.0).sum(axis=1) for side in (chances, without))
    rise = np.where(has_gold, held - held_before, np.nan)
    others = ~after.golds & ~np.isnan(pmi)
    wrong = np.where(others, pmi, 0.0).sum(axis=1) / np.where(others.any(axis=1), others.sum(axis=1), np.nan)
    gold_pmi = _of_golds(after) - _of_golds(before)
    columns: dict[str, Floats] = {
        "gold_lead": gold_pmi - wrong,
        "gold_pmi": gold_pmi,
        "chosen_pmi": np.where(chosen >= 0, pmi[number, chosen], np.nan),
        "moved": moved(chances, without),
        "helped": np.where(np.isnan(rise), np.nan, rise > least),
        "hurt": np.where(np.isnan(rise), np.nan, rise < -least),
        "left_alone": np.where(np.isnan(rise), np.nan, np.abs(rise) <= least),
        "with_image": np.where(has_gold, after.right(after.logs), np.nan),
        "no_image": np.where(has_gold, before.right(before.logs), np.nan),
    }
    finite = {name: np.where(np.isfinite(values), values, np.nan) for name, values in columns.items()}
    return pl.DataFrame(finite, nan_to_null=True)


def _of_golds(answers: WeighedAnswers) -> Floats:
    """The log-probability of the right choice, or of any of several; nan where unknown."""
    logs = np.logaddexp.reduce(np.where(answers.golds, answers.logs, -np.inf), axis=1)
    return np.where(answers.golds.any(axis=1), logs, np.nan)


MEASURES = (generation_likelihood, normalisations, image_use)
