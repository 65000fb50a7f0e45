"""Has a model memorized a test? Each item of it stands beside twins, the same question with another answer. Where the
answer key was drawn evenly among them, a model that does not know the test cannot know which of them is the original;
elsewhere it is compared with models that are known to be clean (design/contamination.md).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, listed, nearest, percent, short
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
from eyetest.measures.stats.clean_models import FEWEST_CLEAN, Ability, EditionColumns, compare_with_clean
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
_LIKELIHOODS, _BLIND_ANSWERS, _TO_TWINS = _EVIDENCE
_DETECTABLE = {"detectable": memorization.REMEMBERED, "detectable_half": memorization.HALF}
_SHAPE = {"held": pl.Float64, "chance": pl.Float64, "evidence": pl.String}
NAMED_AS_CLEAN = "named as clean"
_NO_P = "no_p"
"""The column that says why a model has no p beside clean models."""
_EXACT = (
    "p assumes nothing about the model, but that each key was drawn evenly among the options, as in a synthetic "
    "benchmark; where people chose the keys, name clean models: --set clean=A,B,…"
)
_CANNOT = "p is about memory of the answers: it does not tell the items with their images from their texts alone"


@measure(
    "contamination",
    "originals against answer-changing twins (harden renew --twins): p of memory, share of items seen, drop",
    {"clean": ("", "models known not to have seen the test, A,B,…: p is relative to them at equal ability")},
)
def contamination(results: Results, settings: Settings) -> Measured:
    """One row a model and tag value.

    ``p``: exact, from drawing anew which of each family is the original, or beside clean models, and then ``no_p``
    says why a model has none; ``dose``: share of originals seen; ``detectable``: the smallest one found with power .8
    at p < .01 if golds are remembered with a probability of .9, ``detectable_half``: of .5; ``drop``: score on
    originals less twins, with the image; ``fresh_drop``: less fresh items.
    """
    if _TAG not in results.items.columns or not (results.items.get_column(_TAG) == TWIN).any():
        raise NotMeasurable(
            "contamination: no item is a twin; eyetest harden renew --twins 1 makes a benchmark that has some"
        )
    keys = [key for key in results.keys(settings.by) if key not in ("modality", "method")]
    held, scores = _held(results, keys, settings.by), _scores(results, keys, settings.by)
    clean = _clean(results, str(settings.own["clean"]))
    rows = list(_rows(held, scores, keys, settings))
    if not rows:
        raise NotMeasurable("contamination: no model answered an original and its twin")
    around = [key for key in keys if key != "model"]
    notes = [_CANNOT]
    if clean:
        fresh = _fresh_ability(results, scores, keys, settings.by)
        notes += _compare_rows(rows, clean, Series(tuple(keys), held, fresh))
    else:
        notes.append(_EXACT)
    numbers = ("p", *_DETECTABLE, *NOTHING.named("dose"))
    table = table_of(rows, **dict.fromkeys(numbers, pl.Float64)).sort(keys)
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
    if clean and len(clean) < FEWEST_CLEAN:
        raise InputError(f"contamination: {counted(len(clean), 'clean model')}, expected at least {FEWEST_CLEAN}")
    return clean


class Series(NamedTuple):
    """The values by which models are compared: of members of families, and of fresh items."""

    keys: tuple[str, ...]
    held: pl.DataFrame
    fresh: pl.DataFrame

    def members_of(self, row: dict[str, Any]) -> pl.DataFrame:
        """The members of families that the model of a row answered, by the evidence of the row."""
        same = [pl.col(key).eq_missing(row[key]) for key in self.keys]
        return self.held.filter(*same, pl.col("evidence") == row["evidence"])

    def fresh_of(self, row: dict[str, Any]) -> float | None:
        """What the model of a row reaches on fresh items, by the evidence of the row."""
        same = [pl.col(key).eq_missing(row[key]) for key in self.keys]
        values = self.fresh.filter(*same, pl.col("evidence") == row["evidence"]).get_column("fresh")
        return values.item() if len(values) else None


def _compare_rows(rows: list[dict[str, Any]], clean: Sequence[str], series: Series) -> Iterator[str]:
    """Replace the p of each row by that beside the clean models, which themselves have none."""
    around = [key for key in series.keys if key != "model"]
    references = [dict(row) for row in rows if row["model"] in clean and row["evidence"] is not None]
    for row in rows:
        alike = [reference for reference in references if _is_alike(row, reference, around)]
        p, reason = _p_beside(row, alike, clean, series)
        row.update({"p": p, _NO_P: reason, **dict.fromkeys(_DETECTABLE), **NOTHING.named("dose")})
        if row["model"] not in clean and reason is not None:
            yield f"{row['model']} has no p: {reason}"
    yield f"p is relative to {listed(clean, len(clean))}, named as clean, at equal ability"
    yield "the share of items seen and the smallest detectable one belong to the exact p, without clean models"


def _is_alike(row: dict[str, Any], reference: dict[str, Any], around: Sequence[str]) -> bool:
    return all(row[key] == reference[key] for key in (*around, "evidence"))


def _p_beside(
    row: dict[str, Any], references: Sequence[dict[str, Any]], clean: Sequence[str], series: Series
) -> tuple[float | None, str | None]:
    """The p of a model beside clean ones, or why there is none."""
    if row["model"] in clean:
        return None, NAMED_AS_CLEAN
    if row["evidence"] is None:
        return None, "no answers to an original and its twin that can be compared"
    if len(references) < FEWEST_CLEAN:
        return None, f"{counted(len(references), 'clean model')} with the same evidence, {FEWEST_CLEAN} needed"
    models = [*references, row]
    held, members = _shared_members([series.members_of(model) for model in models])
    if not len(members.family):
        return None, "it and the clean models answered no family in common"
    abilities = [series.fresh_of(model) for model in models]
    fresh = None if None in abilities else np.array(abilities, float)
    found = compare_with_clean(held, members, fresh, likelihoods=row["evidence"] == _LIKELIHOODS)
    if found.outside is not None:
        return None, _outside_range(found.outside)
    return found.p, "the clean models do not differ from each other" if found.p is None else None


def _outside_range(ability: Ability) -> str:
    """Why a model is not compared: a sentence with its value and those of the clean models."""
    value, low, high = ability.values[-1], ability.values[:-1].min(), ability.values[:-1].max()
    others = f"the clean models {percent(low)} to {percent(high)}"
    return f"its ability is outside the range of the clean models ({ability.name}: {percent(value)}, {others})"


def _shared_members(tables: Sequence[pl.DataFrame]) -> tuple[Floats, EditionColumns]:
    """The values of some models on the members that all of them answered, in families with an original and a twin."""
    member = ("benchmark", "of", "item")
    shared = tables[-1].select(*member, "first")
    for number, table in enumerate(tables):
        shared = shared.join(table.select(*member, pl.col("held").alias(f"model {number}")), on=member)
    whole = pl.col("first").any() & pl.col("first").not_().any()
    shared = shared.filter(whole.over("benchmark", "of")).sort(member)
    families = shared.select(pl.struct("benchmark", "of").rle_id()).to_series().to_numpy().astype(np.int64)
    values = shared.select(f"model {number}" for number in range(len(tables))).to_numpy().T
    return values.astype(float), EditionColumns(families, shared.get_column("first").to_numpy())


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
    every = [
        _weighed(results, series, by, _FAMILY),
        _chosen(answers, series),
        _on_twins(answers, results.exchanged, series),
    ]
    return pl.concat(every).filter(pl.len().over(*series, "evidence") > 1)


def _fresh_ability(results: Results, scores: pl.DataFrame, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row per series and evidence: what the model reaches on fresh items, which it cannot have seen."""
    series = [*dict.fromkeys((*keys, "benchmark")), "of"]
    answers = _answers(results, by).filter(_EDITION == FRESH)
    weighed_items = _weighed(results, series, by, (FRESH,))
    above = weighed_items.with_columns((pl.col("held") > pl.col("chance")).cast(pl.Float64).alias("held"))
    blind = pl.concat([above, _chosen(answers, series)]).group_by(*keys, "evidence").agg(pl.col("held").mean())
    seen = scores.drop_nulls("score_fresh").group_by(*keys).agg(pl.col("score_fresh").mean().alias("fresh"))
    named = seen.with_columns(pl.lit(_TO_TWINS).alias("evidence"))
    return pl.concat([blind.rename({"held": "fresh"}), named], how="diagonal")


def _weighed(results: Results, series: Sequence[str], by: Sequence[str], editions: Sequence[str]) -> pl.DataFrame:
    """Probability of each gold without the image, of each benchmark by the method that weighed its choices."""
    every = list[pl.DataFrame]()
    for name in values_of(results, "benchmark"):
        of_benchmark = only_benchmarks(results, [name])
        tables = (_weighed_by(of_benchmark, method, series, by, editions) for method in WEIGHED)
        every += next((parts for parts in tables if parts), [])
    kind = pl.lit(_LIKELIHOODS).alias("evidence")
    schema = {**dict.fromkeys((*series, "item"), pl.String), "first": pl.Boolean, **_SHAPE}
    if not every:
        return pl.DataFrame(schema=schema)
    return _by_member(pl.concat(every).lazy().with_columns(kind), series).collect()


def _weighed_by(
    results: Results, method: str, series: Sequence[str], by: Sequence[str], editions: Sequence[str]
) -> list[pl.DataFrame]:
    """The probabilities by one method, a table a series; none where no choice was weighed so."""
    try:
        answers = weighed(results, by, method)
    except NotMeasurable:
        return []
    there = results.items.select("benchmark", "item", "group", _TAG)
    rows = answers.rows.join(there, on=("benchmark", "item"), how="left", maintain_order="left")
    rows = rows.with_columns(_OF, first=_EDITION == ORIGINAL, number=pl.int_range(pl.len()))
    single = (answers.golds.sum(axis=1) == 1) & ~np.isnan(answers.logs).all(axis=1)
    usable = rows.filter(pl.Series(single), _BLIND, _EDITION.is_in(editions))
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
            pl.lit(_BLIND_ANSWERS).alias("evidence"),
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
        .select(*series, pl.col("whose").alias("item"), "first", "held", "chance", evidence=pl.lit(_TO_TWINS))
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
        return unknown | dict.fromkeys(_DETECTABLE) | {"n": 0, "twins": 0}
    lists, kind = families.get_column("held").to_list(), families.item(0, "evidence")
    values: Floats = np.full((len(lists), max(map(len, lists))), np.nan)
    for row, own in zip(values, lists, strict=True):
        row[: len(own)] = own
    (power, raised), sizes = _EVIDENCE[kind], (~np.isnan(values)).sum(axis=1).astype(float)
    null = memorization.redrawn(values**power, settings.resamples, settings.seed)
    chances = families.get_column("chance").fill_null(0.5).clip(upper_bound=0.5).to_numpy()
    row = {"evidence": kind, "p": null.p, **memorization.dose(values, chances, settings.level, null.p).named("dose")}
    row |= {name: memorization.detectable(null, sizes, share**raised) for name, share in _DETECTABLE.items()}
    return row | {"n": len(values), "twins": int(sizes.sum()) - len(values)}


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
