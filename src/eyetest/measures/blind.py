"""What blind answers betray: items that many inspectors hit without looking, and items that leaked with pictures.

MMStar calls an item abnormal that at least 6 of 8 inspectors answer blind, and a multi-modal leak one that a model
answers blind although its own language model does not. Not seeing has several ways (no picture and no word of it, no
picture and a word to guess, a grey picture), which give different scores: who is not told to guess may refuse. Where
a model was asked in several, the strictest counts, the one in which it answers most.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, param
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings, refuse_tags
from eyetest.measures.stats.intervals import Floats, mean
from eyetest.measures.stats.luck import exactly, most_of
from eyetest.records import BLIND_SIGHTS
from eyetest.wording import counted, listed

ANY = "any"
BLIND_SETTING = (ANY, f"the sight that counts as not seeing: {', '.join(BLIND_SIGHTS)}, or the strictest of any")
_NEARLY_ALL = 0.9
"""A sight under which a model answered fewer items than this share of another's is no rival to it."""


def blind_sights(said: str) -> tuple[str, ...]:
    """The sights that count as not seeing: all of the family, or those that the user names."""
    return BLIND_SIGHTS if said == ANY else tuple(word.strip() for word in said.split(","))


def strictest(columns: Mapping[str, NDArray[np.float64]]) -> str:
    """Of several sights the one under which most is answered, on the items that all have; nan where one has not."""
    counts = {sight: np.count_nonzero(~np.isnan(column)) for sight, column in columns.items()}
    most = max(counts.values())
    rivals = sorted((sight for sight, n in counts.items() if n >= _NEARLY_ALL * most), key=_place)
    table = np.column_stack([columns[sight] for sight in rivals])
    shared = table[~np.isnan(table).any(axis=1)]
    if not len(shared):
        return max(rivals, key=lambda sight: counts[sight])
    return rivals[int(np.argmax(shared.mean(axis=0)))]


def strictest_sights(scores: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """``*keys, sight``: under which sight each answered most; of scores by item, each once a sight."""
    rows = []
    for key, part in scores.group_by(keys, maintain_order=True):
        if part.get_column("sight").n_unique() == 1:
            rows.append((*key, part.item(0, "sight")))
            continue
        wide = part.pivot("sight", index=["item"], values="score", aggregate_function="mean")
        columns = {name: wide.get_column(name).cast(pl.Float64).to_numpy() for name in wide.columns if name != "item"}
        rows.append((*key, strictest(columns)))
    return pl.DataFrame(rows, schema={name: scores.schema[name] for name in (*keys, "sight")}, orient="row")


def told_choice(asked: Iterable[tuple[str, ...]], taken: Iterable[str]) -> tuple[str, ...]:
    """What has to be said where models were asked in several ways without the picture: in which, which counts."""
    ways = [sights for sights in asked if len(sights) > 1]
    if not ways:
        return ()
    names = listed(sorted({sight for sights in ways for sight in sights}, key=_place))
    each = [name for name, several in zip(taken, asked, strict=True) if len(several) > 1]
    counts = listed([f"{name} {each.count(name):,}" for name in sorted(set(each), key=_place)])
    return (f"asked without the picture in several ways ({names}): the higher score counts, {counts}",)


def _place(sight: str) -> int:
    return BLIND_SIGHTS.index(sight) if sight in BLIND_SIGHTS else len(BLIND_SIGHTS)


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
