"""Hits: which items are answered, by how many models: without the image (MMStar), beyond the language model, by
panels of a size. A model is one inspector: of several ways of asking the highest score counts.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, listed, param, short
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings, measure, split
from eyetest.measures.stats.chance import exactly, most_of
from eyetest.measures.stats.intervals import Floats, mean
from eyetest.measures.tables import strictest, way_rank
from eyetest.records import BLIND_MODALITIES, Cut

ANY = "any"
HIT = Cut(op=">=", value=1)  # from which score on an answer is right, unless a recipe says otherwise


def mostly(hits: Any, tests: Any) -> Any:
    """Whether a model answers an item: more than half of its tests are hits. Of numbers, or of columns."""
    return 2 * hits > tests


@measure(
    "no-image-hits",
    "items by how many inspectors answer them without the image, and by chance alone; by item also leaks",
    {"over": ("", "items: one row an item, with models whose language model misses it")},
)
def no_image_hits(results: Results, settings: Settings) -> Measured:
    """One row a number of hits, benchmark and tag value; ``at_least`` is the share of items with so many or more,
    beside the same if every inspector guessed (``by_chance``). With ``over=items`` one row an item, leaks first.
    """
    every = _answered(results)
    items, notes = _hits(every, results, settings.by)
    if (over := settings.own["over"]) not in ("", "items"):
        raise InputError(f"over: found {short(over)}, expected items")
    if over:
        if settings.by:
            raise NotMeasurable(f"no-image-hits: rows are items already; leave out {param('by')}")
        return _by_item(items, every, results, notes)
    rows: list[dict[str, Any]] = []
    for key, part in split(items, ["benchmark", *results.by_tags(settings.by)]):
        hits, clusters = (part.get_column(name).to_numpy() for name in ("hits", "cluster"))
        by_chance = _by_chance(part)
        for number, chance in enumerate(by_chance):
            n = int((hits == number).sum())
            row = key | {"hits": number, "items": n, "share": n / len(part), "by_chance": chance}
            row |= mean(hits >= number, clusters, settings.level).named("at_least")
            rest = None if chance is None else sum(filter(None, by_chance[number:]))
            rows.append(row | {"at_least_by_chance": rest})
    return Measured(pl.DataFrame(rows, infer_schema_length=None), notes)


def _by_item(items: pl.DataFrame, every: pl.DataFrame, results: Results, notes: tuple[str, ...]) -> Measured:
    """Hits of each item, and of the models that have a language model, those that answer what that one does not."""
    bases = [(name, entry.base) for name, entry in results.models.items() if entry.base]
    named = pl.DataFrame(bases, schema={"model": pl.String, "base": pl.String}, orient="row")
    strict = strictest_answers(every)[0].select("benchmark", "item", "model", "right")
    of_base = strict.rename({"model": "base", "right": "base_right"})
    leaks = (
        strict.join(named, on="model")
        .join(of_base, on=("benchmark", "item", "base"))
        .group_by("benchmark", "item")
        .agg((pl.col("right") > pl.col("base_right")).sum().alias("leak_hits"), pl.len().alias("pairs"))
        .with_columns((pl.col("leak_hits") / pl.col("pairs")).alias("leak_share"))
    )
    table = items.select("benchmark", "item", "hits", "asked").join(leaks, on=("benchmark", "item"), how="left")
    order = ("leak_share", "leak_hits", "hits", "item", "benchmark")
    table = table.sort(order, descending=[True, True, True, False, False], nulls_last=True)
    if leaks.is_empty():
        unknown = "leaks: not measured (no model and its language model, base: in models.yaml, both answered)"
        return Measured(table.drop(leaks.columns[2:]), (unknown, *notes))
    most = leaks.filter(pl.col("leak_share") > 0.5).height
    return Measured(
        table, (f"{counted(most, 'item')} of {len(leaks):,} leaked to more than half of the pairs", *notes)
    )


def _answered(results: Results) -> pl.DataFrame:
    """Whether each model under each protocol without the image answered each item; ``way``: the protocol in words."""
    keys, score = ("benchmark", "model", *PROTOCOL), pl.col("score")
    scores = (
        results.with_items("cluster")
        .filter(pl.col("modality").is_in(BLIND_MODALITIES))
        .group_by(*keys, "item", "cluster")
        .agg(score.mean(), score.count().alias("tests"), (score >= HIT.value).sum().alias("hits"))
        .filter(pl.col("tests") > 0)
        .sort(*keys, "item")
        .collect(engine="streaming")
    )
    if scores.is_empty():
        raise NotMeasurable(
            f"no-image-hits: no model has a score with modality {', '.join(BLIND_MODALITIES)}; ask so"
        )
    words = [axis for axis in PROTOCOL if axis == "modality" or scores.get_column(axis).n_unique() > 1]
    way = pl.concat_str(pl.col(words).cast(pl.String), separator=" ").alias("way")
    return scores.with_columns(mostly(pl.col("hits"), pl.col("tests")).alias("right"), way)


def strictest_answers(every: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Make a model one inspector: of several ways of asking the strictest counts."""
    keys, taken = ["benchmark", "model"], []
    for key, part in split(every, keys):
        wide = part.pivot("way", index=["item"], values="score", aggregate_function="mean").drop("item")
        way = strictest({ways.name: ways.cast(pl.Float64).to_numpy() for ways in wide})
        taken.append(key | {"way": way, "ways": wide.columns})
    chosen = pl.DataFrame(taken).cast({name: every.schema[name] for name in keys})
    kept = every.join(chosen, on=[*keys, "way"], how="semi")
    several = chosen.filter(pl.col("ways").list.len() > 1)
    if several.is_empty():
        return kept, ()
    counts = Counter(several.get_column("way"))
    ways, each = (sorted(names, key=way_rank) for names in ({*several.get_column("ways").explode()}, counts))
    best = listed([f"{way} {counts[way]:,}" for way in each])
    return kept, (f"asked without the image in several ways ({listed(ways)}): the higher score counts, {best}",)


def _hits(every: pl.DataFrame, results: Results, by: Sequence[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """By item: hits, inspectors asked, and the tests of each of them."""
    tags = results.by_tags(by)
    chance = (1 / pl.col("options")).fill_null(0.0).alias("chance")
    strict, notes = strictest_answers(every)
    items = (
        strict.group_by("benchmark", "item", "cluster")
        .agg(pl.col("right").sum().alias("hits"), pl.len().alias("asked"), pl.col("tests").sort())
        .join(results.items.select("benchmark", "item", chance, *tags), on=("benchmark", "item"), how="left")
        .sort("benchmark", *tags, "item")
    )
    fewer = items.filter(pl.col("asked") < pl.col("asked").max().over("benchmark")).height
    uneven = f"{counted(fewer, 'item')} with answers of fewer inspectors than others"
    return items, (*notes, uneven) if fewer else notes


def _by_chance(items: pl.DataFrame) -> list[float | None]:
    """The share of items with 0, 1, 2 … hits if every inspector guessed; None where items are unknown."""
    inspectors = max(items.get_column("asked"))
    if items.get_column("chance").null_count():
        return [None] * (inspectors + 1)
    total: Floats = np.zeros(inspectors + 1)
    kinds = Counter((chance, *tests) for chance, tests in items.select("chance", "tests").iter_rows())
    for (chance, *tests), number in kinds.items():
        total[: len(tests) + 1] += number * exactly([most_of(samples, chance) for samples in tests])
    return [float(share) for share in total / len(items)]


MEASURES = (no_image_hits,)
