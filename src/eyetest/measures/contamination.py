"""Has a model memorized a test? Each item of it stands beside twins, the same question with another answer. A model
that does not know the test cannot know which of them is the original (design/contamination.md).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, listed, nearest, short
from eyetest.grammar import read_names
from eyetest.measures.likelihood import GENERATE, WEIGHED, weighed
from eyetest.measures.results import (
    TAG,
    Measured,
    NotMeasurable,
    Results,
    Settings,
    measure,
    split,
    table_of,
    values_of,
)
from eyetest.measures.stats import memorization
from eyetest.measures.stats.intervals import NOTHING, Floats
from eyetest.measures.tables import only_benchmarks, paired_columns, with_adjusted
from eyetest.records import BLIND_MODALITIES, EDITION, FRESH, ORIGINAL, TWIN

_TAG = TAG + EDITION
_EDITION = pl.col(_TAG)
_OF = pl.when(_EDITION == ORIGINAL).then("item").otherwise("group").cast(pl.String).alias("of")
"""The original of an item's family."""
_FAMILY = (ORIGINAL, TWIN)
_BLIND = pl.col("modality").cast(pl.String).is_in(BLIND_MODALITIES)
_EVIDENCE = {"no-image likelihoods": (4, 4), "no-image answers": (4, 1), "answers to twins": (1, 3)}
"""What a test rests on, the most powerful first. Powers: to which the strength of a gold is raised, because the few
that are remembered then outweigh many small preferences, and of its probability in the mean of the statistic.
"""
_LIKELIHOODS = next(iter(_EVIDENCE))
_DETECTABLE = {"detectable": memorization.REMEMBERED, "detectable_half": memorization.HALF}
_FEWEST_CLEAN = 3
_SHAPE = {"held": pl.Float64, "chance": pl.Float64, "evidence": pl.String}
_CANNOT = "p is about memory of the answers: it does not tell the items with their images from their texts alone"


@measure(
    "contamination",
    "originals against answer-changing twins (harden renew --twins): p of memory, share of items seen, drop",
    {"clean": ("", "models known not to have seen the test, A,B,C: p is relative to them; for twins that differ")},
)
def contamination(results: Results, settings: Settings) -> Measured:
    """One row a model and tag value. ``p``: exact, from drawing anew which of each family is the original; ``dose``:
    share of originals seen; ``detectable``: the smallest one found with power .8 at p < .01 if golds are remembered
    with a probability of .9, ``detectable_half``: of .5; ``drop``: score on originals less twins, with the image;
    ``fresh_drop``: less fresh items.
    """
    if _TAG not in results.items.columns or not (results.items.get_column(_TAG) == TWIN).any():
        raise NotMeasurable(
            "contamination: no item is a twin; eyetest harden renew --twins 1 makes a benchmark that has some"
        )
    keys = [key for key in results.keys(settings.by) if key not in ("modality", "method")]
    held, scores = _held(results, keys, settings.by), _scores(results, keys, settings.by)
    rows, clean = list(_rows(held, scores, keys, settings)), _clean(results, str(settings.own["clean"]))
    if not rows:
        raise NotMeasurable("contamination: no model answered an original and its twin")
    around = [key for key in keys if key != "model"]
    notes = [_CANNOT, *(_calibrate(rows, clean, around, settings.level) if clean else ())]
    table = table_of(rows, p=pl.Float64, **dict.fromkeys(_DETECTABLE, pl.Float64)).drop("excess").sort(keys)
    if table.get_column("fresh").null_count() == len(table):
        table = table.drop("fresh", "^fresh_drop.*$")
    if _LIKELIHOODS not in {row["evidence"] for row in rows}:
        ask = "--condition no-image+first-token, where a model gives likelihoods"
        notes.append(f"answers show less than likelihoods without the image: {ask}")
    return Measured(with_adjusted(table, around), tuple(notes))


def _clean(results: Results, names: str) -> list[str]:
    """The models that are known to be clean."""
    there = results.scores.select(pl.col("model").cast(pl.String).unique()).collect().to_series().to_list()
    clean = read_names(names, "own", there) if names else []
    for name in clean:
        if name not in there:
            raise InputError(f"contamination: no answers of {short(name)} (clean); {nearest(name, there)}")
    if clean and len(clean) < _FEWEST_CLEAN:
        raise InputError(f"contamination: {counted(len(clean), 'clean model')}, expected at least {_FEWEST_CLEAN}")
    return clean


def _calibrate(
    rows: list[dict[str, Any]], clean: Sequence[str], around: Sequence[str], level: float
) -> Iterator[str]:
    """Replace each p by that beside the clean models of the same series; these have none."""
    known = [row for row in rows if row["model"] in clean and row["excess"] is not None]
    for row in rows:
        like = [one["excess"] for one in known if all(one[key] == row[key] for key in (*around, "evidence"))]
        enough = row["model"] not in clean and row["excess"] is not None and len(like) >= _FEWEST_CLEAN
        row["p"] = memorization.calibrated(row["excess"], np.array(like)) if enough else None
        if row["p"] is None or row["p"] >= (1 - level) / 2:
            row["dose_low"] = None if row["dose"] is None else 0.0
    certain = any(row["evidence"] == _LIKELIHOODS for row in rows)
    checked = "; by likelihoods, checked for models up to twice as certain as these" if certain else ""
    yield f"p is relative to {listed(clean)}, given as clean{checked}"


def _answers(results: Results, by: Sequence[str]) -> pl.LazyFrame:
    """The scored answers about editions."""
    every = results.with_items("cluster", "group", "gold", "options", _TAG, by=by).with_columns(_OF)
    words = pl.col("benchmark", "model", "item", "choice").cast(pl.String)
    return every.filter(_EDITION.is_not_null(), pl.col("score").is_not_null()).with_columns(words)


def _scores(results: Results, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row per series and original: mean scores of original, twins and fresh item, with the image."""
    series = [*dict.fromkeys((*keys, "benchmark")), "of"]
    each = _answers(results, by).filter(~_BLIND).group_by(*series, _TAG, "item")
    scores = each.agg(pl.col("score").mean(), pl.col("cluster").first())
    scores = scores.group_by(*series, _TAG).agg(pl.col("score").mean(), pl.col("cluster").first())
    original, twin, fresh = (scores.filter(edition == _EDITION).drop(_TAG) for edition in (*_FAMILY, FRESH))
    both = original.join(twin.drop("cluster"), on=series, suffix="_twin")
    both = both.join(fresh.select(*series, pl.col("score").alias("score_fresh")), on=series, how="left")
    return both.sort(series).collect(engine="streaming")


def _held(results: Results, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row per series, family and member: how strongly its gold is held, by each kind of evidence."""
    series = [*dict.fromkeys((*keys, "benchmark")), "of"]
    answers = _answers(results, by).filter(_EDITION.is_in(_FAMILY))
    every = [_weighed(results, series, by), _chosen(answers, series), _on_twins(answers, results.exchanged, series)]
    return pl.concat(every).filter(pl.len().over(*series, "evidence") > 1)


def _weighed(results: Results, series: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """Probability of each gold without the image, of each benchmark by the method that weighed its choices."""
    every = list[pl.DataFrame]()
    for name in values_of(results, "benchmark"):
        of_benchmark = only_benchmarks(results, [name])
        tables = (_weighed_by(of_benchmark, method, series, by) for method in WEIGHED)
        every += next((parts for parts in tables if parts), [])
    kind = pl.lit(_LIKELIHOODS).alias("evidence")
    schema = {**dict.fromkeys((*series, "item"), pl.String), "first": pl.Boolean, **_SHAPE}
    if not every:
        return pl.DataFrame(schema=schema)
    return _by_member(pl.concat(every).lazy().with_columns(kind), series).collect()


def _weighed_by(results: Results, method: str, series: Sequence[str], by: Sequence[str]) -> list[pl.DataFrame]:
    """The probabilities by one method, a table a series; none where no choice was weighed so."""
    try:
        answers = weighed(results, by, method)
    except NotMeasurable:
        return []
    there = results.items.select("benchmark", "item", "group", _TAG)
    rows = answers.rows.join(there, on=("benchmark", "item"), how="left", maintain_order="left")
    rows = rows.with_columns(_OF, first=_EDITION == ORIGINAL, number=pl.int_range(pl.len()))
    single = (answers.golds.sum(axis=1) == 1) & ~np.isnan(answers.logs).all(axis=1)
    usable = rows.filter(pl.Series(single), _BLIND, _EDITION.is_in(_FAMILY))
    tables = []
    for _, part in split(usable, [name for name in series if name != "of"]):
        taken = part.get_column("number").to_numpy()
        shares = np.where(answers.golds[taken], memorization.without_letters(answers.logs[taken]), 0.0)
        tables.append(part.with_columns(pl.Series("held", shares.sum(axis=1)), chance=1 / pl.col("options")))
    return tables


def _chosen(answers: pl.LazyFrame, series: Sequence[str]) -> pl.DataFrame:
    """How often each gold is chosen without the image."""
    asked = _BLIND & (pl.col("method").cast(pl.String) == GENERATE) & pl.col("gold").is_not_null()
    return _by_member(
        answers.filter(asked).with_columns(
            pl.col("choice").eq_missing(pl.col("gold")).cast(pl.Float64).alias("held"),
            pl.lit("no-image answers").alias("evidence"),
            first=_EDITION == ORIGINAL,
            chance=1 / pl.col("options"),
        ),
        series,
    ).collect(engine="streaming")


def _on_twins(answers: pl.LazyFrame, exchanged: pl.LazyFrame, series: Sequence[str]) -> pl.DataFrame:
    """How often each gold is given on its own image, times the square of how often on those of its family."""
    seen = answers.filter(~_BLIND)
    golds = seen.select(
        *series, pl.col("item").alias("whose"), "gold", "options", first=_EDITION == ORIGINAL
    ).unique()
    letters = seen.filter(pl.col("gold").is_not_null()).drop("gold", "options")
    chosen = letters.join(golds.filter(pl.col("gold").is_not_null()), on=series).with_columns(
        pl.col("choice").eq_missing(pl.col("gold")).cast(pl.Float64).alias("given")
    )
    words = seen.filter(pl.col("gold").is_null()).drop("gold", "options")
    worth = exchanged.with_columns(pl.col("benchmark", "whose").cast(pl.String)).rename({"worth": "given"})
    written = words.join(worth, on=("benchmark", "request")).join(
        golds.filter(pl.col("gold").is_null()), on=[*series, "whose"]
    )
    columns, own = [*series, "item", "whose", "first", "options", "given"], pl.col("item") == pl.col("whose")
    every = pl.concat([chosen.select(columns), written.select(columns)])
    of_item = every.group_by(*series, "whose", "item", "first").agg(pl.col("given").mean(), pl.col("options").first())
    strength = pl.col("given").filter(own).first() * pl.col("given").filter(~own).mean() ** 2
    return (
        of_item.group_by(*series, "whose", "first")
        .agg(strength.alias("held"), (1 / pl.col("options").first()).alias("chance"))
        .filter(pl.col("held").is_not_null())
        .select(
            *series, pl.col("whose").alias("item"), "first", "held", "chance", evidence=pl.lit("answers to twins")
        )
        .sort(*series, pl.col("first").not_(), "item")
        .collect(engine="streaming")
    )


def _by_member(rows: pl.LazyFrame, series: Sequence[str]) -> pl.LazyFrame:
    means = rows.group_by(*series, "item", "first").agg(pl.col("held").mean(), pl.col("chance", "evidence").first())
    return means.select(*series, "item", "first", *_SHAPE).sort(*series, pl.col("first").not_(), "item")


def _rows(
    held: pl.DataFrame, scores: pl.DataFrame, keys: Sequence[str], settings: Settings
) -> Iterator[dict[str, Any]]:
    drops = {tuple(key.values()): part for key, part in split(scores, keys)}
    tests = {tuple(key.values()): part for key, part in split(held, keys)}
    for key in sorted({*drops, *tests}, key=str):
        named = dict(zip(keys, key, strict=True))
        row = named | _test(tests.get(key, held.clear()), settings)
        row |= _drop(drops.get(key, scores.clear()), settings.level)
        if n := row["n"] or len(drops.get(key, ())):
            yield row | {"n": n}


def _test(members: pl.DataFrame, settings: Settings) -> dict[str, Any]:
    """The test of one series, by the most powerful evidence there is."""
    every = (_families(members, kind) for kind in _EVIDENCE)
    families = next((found for found in every if len(found)), None)
    if families is None:
        unknown: dict[str, Any] = {"evidence": None, "p": None, **NOTHING.named("dose")}
        return unknown | dict.fromkeys((*_DETECTABLE, "excess")) | {"n": 0, "twins": 0}
    lists, kind = families.get_column("held").to_list(), families.item(0, "evidence")
    values: Floats = np.full((len(lists), max(map(len, lists))), np.nan)
    for row, own in zip(values, lists, strict=True):
        row[: len(own)] = own
    (power, raised), sizes = _EVIDENCE[kind], (~np.isnan(values)).sum(axis=1).astype(float)
    null = memorization.redrawn(values**power, settings.resamples, settings.seed, relative=kind == _LIKELIHOODS)
    chances = families.get_column("chance").fill_null(0.5).clip(upper_bound=0.5).to_numpy()
    row = {"evidence": kind, "p": null.p, **memorization.dose(values, chances, settings.level, null.p).named("dose")}
    row |= {name: memorization.detectable(null, sizes, share**raised) for name, share in _DETECTABLE.items()}
    return row | {"excess": null.excess, "n": len(values), "twins": int(sizes.sum()) - len(values)}


def _families(members: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The families of one kind of evidence whose original and a twin have it: ``held``, the original first."""
    own = members.filter(pl.col("evidence") == kind)
    grouped = own.group_by("benchmark", "of", maintain_order=True).agg(
        "held", pl.col("first").any(), pl.col("chance", "evidence").first()
    )
    return grouped.filter(pl.col("first"), pl.col("held").list.len() > 1)


def _drop(scores: pl.DataFrame, level: float) -> dict[str, Any]:
    """Scores on originals beside twins and beside fresh items."""
    drop = paired_columns(scores, "score", "score_twin", level)
    fresh = paired_columns(scores.drop_nulls("score_fresh"), "score", "score_fresh", level)
    row = {ORIGINAL: drop.a, TWIN: drop.b} | drop.gap.named("drop")
    return row | {FRESH: fresh.b} | fresh.gap.named("fresh_drop")


MEASURES = (contamination,)
