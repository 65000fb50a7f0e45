"""What blind answers betray: items that many inspectors hit without looking, and items that leaked with pictures.

MMStar calls an item abnormal that at least 6 of 8 inspectors answer blind, and a multi-modal leak one that a model
answers blind although its own language model does not.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, param
from eyetest.measures.blindness import BLIND_SETTING, blind_sights, strictest_sights, told_choice
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings, refuse_tags
from eyetest.measures.stats.intervals import Floats, mean
from eyetest.measures.stats.luck import exactly, most_of
from eyetest.wording import counted

_HOW = PROTOCOL[1:]


class BlindHits:
    """How many items are hit blind by 0, 1, 2 … inspectors, beside what guessing would give."""

    name = "blind-hits"
    summary = "items by how many inspectors answer them blind, and by luck alone"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {"blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a number of hits, in each benchmark and tag value."""
        rows: list[dict[str, Any]] = []
        keys = ["benchmark", *results.by_tags(settings.by)]
        found, notes = _hits(results, settings, self.name)
        for key, hits in found.group_by(*keys, maintain_order=True):
            inspectors = max(hits.get_column("asked"))
            by_luck = _by_luck(hits, inspectors)
            for number in range(inspectors + 1):
                n = hits.filter(pl.col("hits") == number).height
                row = dict(zip(keys, key, strict=True)) | {"hits": number, "items": n, "share": n / len(hits)}
                rows.append(row | {"by_luck": None if by_luck is None else float(by_luck[number])})
        return Measured(pl.DataFrame(rows, infer_schema_length=None), (*notes, *_uneven(found)))


class AbnormalHitRate:
    """The share of items that most inspectors answer blind."""

    name = "abnormal-hit-rate"
    summary = "share of items that most inspectors answer blind, and what luck alone would give"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "blind": BLIND_SETTING,
        "at-least": (0.75, "the share of inspectors that makes it abnormal (6 of 8)"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a benchmark and tag value."""
        share = float(settings.own["at-least"])
        if not 0 < share <= 1:
            raise InputError(f"at-least: found {share:g}, expected a share of the inspectors: above 0, at most 1")
        keys = ["benchmark", *results.by_tags(settings.by)]
        hits, notes = _hits(results, settings, self.name)
        rows: list[dict[str, Any]] = []
        for key, part in hits.group_by(*keys, maintain_order=True):
            inspectors = max(part.get_column("asked"))
            needed = int(np.ceil(inspectors * share - 1e-9))
            abnormal = (part.get_column("hits") >= needed).cast(pl.Float64).to_numpy()
            found = mean(abnormal, part.get_column("cluster").to_numpy(), settings.level)
            by_luck = _by_luck(part, inspectors)
            row = dict(zip(keys, key, strict=True))
            row |= {"rate": found.value, "rate_low": found.low, "rate_high": found.high, "n": found.n}
            row |= {"by_luck": None if by_luck is None else float(by_luck[needed:].sum())}
            rows.append(row | {"inspectors": inspectors, "needed": needed})
        return Measured(pl.DataFrame(rows, infer_schema_length=None), (*notes, *_uneven(hits)))


class LeakHits:
    """For each item, how many models answer it blind although their language model does not."""

    name = "leak-hits"
    summary = "per item: models that answer it blind although their own language model does not"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {"blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item that some pair was asked, the most suspicious first."""
        refuse_tags(self.name, settings)
        bases = {name: entry.base for name, entry in results.models.items() if entry.base}
        every = _right(results, settings.own["blind"], self.name)
        right, notes = _strictest(every)
        pairs = pl.DataFrame(
            {"model": list(bases), "base": list(bases.values())}, schema={"model": pl.String, "base": pl.String}
        )
        pairs = right.join(pairs, on="model")
        same = pairs.join(_as_base(every), on=("benchmark", "item", "base", *_HOW, "sight"))
        other = pairs.join(same, on=("benchmark", "model", *_HOW), how="anti").join(
            _as_base(right).drop("sight"), on=("benchmark", "item", "base", *_HOW)
        )
        both = pl.concat([same, other])
        if both.is_empty():
            raise NotMeasurable(
                "leak-hits: no model and its language model (base: in models.yaml) both answered blind"
            )
        table = (
            both.group_by("benchmark", "item")
            .agg((pl.col("right") & ~pl.col("base_right")).sum().alias("leak_hits"), pl.len().alias("pairs"))
            .with_columns((pl.col("leak_hits") / pl.col("pairs")).alias("share"))
            .sort("share", "leak_hits", "item", descending=[True, True, False])
        )
        most = table.filter(pl.col("share") > 0.5).height
        note = f"{counted(most, 'item')} of {len(table):,} leaked to more than half of the pairs"
        return Measured(table, (note, *notes))


def _as_base(right: pl.DataFrame) -> pl.DataFrame:
    """What a language model answered, to be laid beside the model that was built on it."""
    named = (pl.col("model").alias("base"), pl.col("right").alias("base_right"))
    return right.select("benchmark", "item", *_HOW, "sight", *named)


def _right(results: Results, said: str, name: str) -> pl.DataFrame:
    """Whether each model under each protocol answered each item blind in more than half of its tests."""
    sights = blind_sights(said)
    blind = Results(results.scores.filter(pl.col("sight").is_in(sights)), results.items, results.models)
    scores = blind.per_item(["benchmark", "model", "sight", *_HOW])
    if scores.is_empty():
        told = f"sight {', '.join(sights)}; ask so, or name another ({param('own', 'blind=…')})"
        raise NotMeasurable(f"{name}: nobody has a score with {told}")
    return scores.with_columns((pl.col("score") > 0.5).alias("right"))


def _strictest(right: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """An inspector is a model that is asked in one way: who was asked in several has the strictest of them."""
    keys = ["benchmark", "model", *_HOW]
    taken = strictest_sights(right, keys)
    ways = right.group_by(keys, maintain_order=True).agg(pl.col("sight").unique().sort())
    both = taken.join(ways, on=keys, suffix="_all", maintain_order="left")
    notes = told_choice([tuple(all_) for all_ in both.get_column("sight_all")], both.get_column("sight").to_list())
    return right.join(taken, on=[*keys, "sight"], how="semi"), notes


def _hits(results: Results, settings: Settings, name: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    tags = results.by_tags(settings.by)
    chance = (1 / pl.col("options")).fill_null(0.0).alias("chance")
    right, notes = _strictest(_right(results, settings.own["blind"], name))
    hits = (
        right.group_by("benchmark", "item", "cluster")
        .agg(pl.col("right").sum().alias("hits"), pl.len().alias("asked"), pl.col("tests").sort())
        .join(results.items.select("benchmark", "item", chance, *tags), on=("benchmark", "item"), how="left")
        .sort("benchmark", *tags, "item")
    )
    return hits, notes


def _uneven(hits: pl.DataFrame) -> tuple[str, ...]:
    fewer = hits.filter(pl.col("asked") < pl.col("asked").max().over("benchmark")).height
    return (f"{counted(fewer, 'item')} with answers of fewer inspectors than others",) if fewer else ()


def _by_luck(hits: pl.DataFrame, inspectors: int) -> Floats | None:
    """The share of items with each number of hits if every inspector guessed; None where items are not known.

    Who was tested several times has to guess right in more than half of them.
    """
    if hits.get_column("chance").null_count():
        return None
    total: Floats = np.zeros(inspectors + 1)
    kinds = Counter((chance, *tests) for chance, tests in hits.select("chance", "tests").iter_rows())
    for (chance, *tests), items in kinds.items():
        total[: len(tests) + 1] += items * exactly([most_of(trials, chance) for trials in tests])
    return total / len(hits)


MEASURES = (BlindHits(), AbnormalHitRate(), LeakHits())
