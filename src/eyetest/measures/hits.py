"""Hits: which items are answered, by how many. Blind, by models whose language model misses, with the picture.

What a hit is stands here once, for measures and for screens. MMStar calls an item abnormal that at least 6 of 8
inspectors answer blind, and a multi-modal leak one that a model answers blind although its own language model does
not. Not seeing has several ways (no picture and no word of it, no picture and a word to guess, a grey picture), which
give different scores: who is not told to guess may refuse. Where a model was asked in several, the strictest counts,
the one in which it answers most.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, param, short
from eyetest.measures.results import (
    PROTOCOL,
    TAG,
    Measure,
    Measured,
    NotMeasurable,
    Own,
    Results,
    Settings,
    refuse_tags,
    split,
)
from eyetest.measures.stats.intervals import Floats, mean
from eyetest.measures.stats.luck import exactly, most_of
from eyetest.records import BLIND_SIGHTS, Cut
from eyetest.wording import counted, listed

ANY = "any"
HIT = Cut(op=">=", value=1)
"""From which score on an answer is right, unless a recipe says otherwise."""
UNDECIDED = "undecided"
_HOW = PROTOCOL[1:]
_ROUNDING = 1e-9
BLIND_SETTING = (ANY, f"the sight that counts as not seeing: {', '.join(BLIND_SIGHTS)}, or the strictest of any")
_NEARLY_ALL = 0.9
"""A sight under which a model answered fewer items than this share of another's is no rival to it."""


def mostly(hits: Any, tests: Any) -> Any:
    """Whether a model answers an item: more than half of its tests are hits. Of numbers, or of columns."""
    return 2 * hits > tests


def is_leak(model: Any, base: Any) -> Any:
    """Whether a model answers an item blind that its language model does not. Of bools, or of columns."""
    return model > base


def band_of(bands: Mapping[str, Sequence[int]], least: int, most: int) -> str | None:
    """The band of difficulty that holds every number of hits from ``least`` to ``most``; None where several do."""
    return next((name for name, (low, high) in bands.items() if low <= least and most <= high), None)


def covered(bands: Mapping[str, Sequence[int]]) -> int | None:
    """The largest number of hits that has a band, if each from 0 on has exactly one."""
    numbers = sorted(number for low, high in bands.values() for number in range(low, high + 1))
    whole = numbers == list(range(len(numbers))) and all(low <= high for low, high in bands.values())
    return numbers[-1] if whole and numbers else None


def blind_sights(said: str) -> tuple[str, ...]:
    """The sights that count as not seeing: all of the family, or those that the user names."""
    return BLIND_SIGHTS if said == ANY else tuple(word.strip() for word in said.split(","))


def strictest(columns: Mapping[str, Floats]) -> str:
    """Of several sights the one under which most is answered, on the items that all have; nan where one has not."""
    counts = {sight: np.count_nonzero(~np.isnan(column)) for sight, column in columns.items()}
    most = max(counts.values())
    rivals = sorted((sight for sight, n in counts.items() if n >= _NEARLY_ALL * most), key=_rank)
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
    names = listed(sorted({sight for sights in ways for sight in sights}, key=_rank))
    each = [name for name, several in zip(taken, asked, strict=True) if len(several) > 1]
    counts = listed([f"{name} {each.count(name):,}" for name in sorted(set(each), key=_rank)])
    return (f"asked without the picture in several ways ({names}): the higher score counts, {counts}",)


def _rank(sight: str) -> int:
    return BLIND_SIGHTS.index(sight) if sight in BLIND_SIGHTS else len(BLIND_SIGHTS)


class BlindHits(Measure):
    """How many items are hit blind by 0, 1, 2 … inspectors, beside what guessing would give."""

    name = "blind-hits"
    summary = "items by how many inspectors answer them blind, and by luck alone"
    own: ClassVar[Own] = {"blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a number of hits, in each benchmark and tag value."""
        rows: list[dict[str, Any]] = []
        items, notes = _hits(results, settings, self.name)
        for key, part in split(items, ["benchmark", *results.by_tags(settings.by)]):
            by_luck = _by_luck(part)
            for number, luck in enumerate(by_luck):
                n = part.filter(pl.col("hits") == number).height
                rows.append(key | {"hits": number, "items": n, "share": n / len(part), "by_luck": luck})
        return Measured(pl.DataFrame(rows, infer_schema_length=None), notes)


class AbnormalHitRate(Measure):
    """The share of items that most inspectors answer blind."""

    name = "abnormal-hit-rate"
    summary = "share of items that most inspectors answer blind, and what luck alone would give"
    own: ClassVar[Own] = {
        "blind": BLIND_SETTING,
        "at-least": (0.75, "the share of inspectors that makes it abnormal (6 of 8)"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a benchmark and tag value."""
        share = float(settings.own["at-least"])
        if not 0 < share <= 1:
            raise InputError(f"at-least: found {share:g}, expected a share of the inspectors: above 0, at most 1")
        items, notes = _hits(results, settings, self.name)
        rows: list[dict[str, Any]] = []
        for key, part in split(items, ["benchmark", *results.by_tags(settings.by)]):
            by_luck = _by_luck(part)
            inspectors = len(by_luck) - 1
            needed = int(np.ceil(inspectors * share - _ROUNDING))
            abnormal = (part.get_column("hits") >= needed).cast(pl.Float64).to_numpy()
            rate = mean(abnormal, part.get_column("cluster").to_numpy(), settings.level)
            luck = None if by_luck[0] is None else sum(filter(None, by_luck[needed:]))
            row = key | rate.named("rate") | {"n": rate.n, "by_luck": luck}
            rows.append(row | {"inspectors": inspectors, "needed": needed})
        return Measured(pl.DataFrame(rows, infer_schema_length=None), notes)


class LeakHits(Measure):
    """For each item, how many models answer it blind although their language model does not."""

    name = "leak-hits"
    summary = "per item: models that answer it blind although their own language model does not"
    own: ClassVar[Own] = {"blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item that some pair was asked, the most suspicious first."""
        refuse_tags(self.name, settings)
        bases = [(name, entry.base) for name, entry in results.models.items() if entry.base]
        every = _answered(results, settings.own["blind"], self.name)
        strict, notes = _strictest(every)
        pairs = strict.join(
            pl.DataFrame(bases, schema={"model": pl.String, "base": pl.String}, orient="row"), on="model"
        )
        same = pairs.join(_as_base(every), on=("benchmark", "item", "base", *_HOW, "sight"))
        other = pairs.join(same, on=("benchmark", "model", *_HOW), how="anti").join(
            _as_base(strict).drop("sight"), on=("benchmark", "item", "base", *_HOW)
        )
        both = pl.concat([same, other])
        if both.is_empty():
            raise NotMeasurable(
                "leak-hits: no model and its language model (base: in models.yaml) both answered blind"
            )
        table = (
            both.group_by("benchmark", "item")
            .agg(is_leak(pl.col("right"), pl.col("base_right")).sum().alias("leak_hits"), pl.len().alias("pairs"))
            .with_columns((pl.col("leak_hits") / pl.col("pairs")).alias("share"))
            .sort("share", "leak_hits", "item", "benchmark", descending=[True, True, False, False])
        )
        most = table.filter(pl.col("share") > 0.5).height
        note = f"{counted(most, 'item')} of {len(table):,} leaked to more than half of the pairs"
        return Measured(table, (note, *notes))


def _as_base(answered: pl.DataFrame) -> pl.DataFrame:
    """What a language model answered, to be laid beside the model that was built on it."""
    named = (pl.col("model").alias("base"), pl.col("right").alias("base_right"))
    return answered.select("benchmark", "item", *_HOW, "sight", *named)


def _answered(results: Results, said: str, name: str) -> pl.DataFrame:
    """Whether each model under each protocol answered each item blind."""
    sights, keys, score = blind_sights(said), ("benchmark", "model", "sight", *_HOW), pl.col("score")
    scores = (
        results.with_items("cluster")
        .filter(pl.col("sight").is_in(sights))
        .group_by(*keys, "item", "cluster")
        .agg(score.mean(), score.count().alias("tests"), (score >= HIT.value).sum().alias("hits"))
        .filter(pl.col("tests") > 0)
        .sort(*keys, "item")
        .collect(engine="streaming")
    )
    if scores.is_empty():
        told = f"sight {', '.join(sights)}; ask so, or name another ({param('own', 'blind=…')})"
        raise NotMeasurable(f"{name}: nobody has a score with {told}")
    return scores.with_columns(mostly(pl.col("hits"), pl.col("tests")).alias("right"))


def _strictest(answered: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """An inspector is a model that is asked in one way: who was asked in several has the strictest of them."""
    keys = ["benchmark", "model", *_HOW]
    taken = strictest_sights(answered, keys)
    ways = answered.group_by(keys, maintain_order=True).agg(pl.col("sight").unique().sort())
    both = taken.join(ways, on=keys, suffix="_all", maintain_order="left")
    notes = told_choice([tuple(all_) for all_ in both.get_column("sight_all")], both.get_column("sight").to_list())
    return answered.join(taken, on=[*keys, "sight"], how="semi"), notes


def _hits(results: Results, settings: Settings, name: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """By item: hits, inspectors that were asked, and the tests that each of them had."""
    tags = results.by_tags(settings.by)
    chance = (1 / pl.col("options")).fill_null(0.0).alias("chance")
    strict, notes = _strictest(_answered(results, settings.own["blind"], name))
    items = (
        strict.group_by("benchmark", "item", "cluster")
        .agg(pl.col("right").sum().alias("hits"), pl.len().alias("asked"), pl.col("tests").sort())
        .join(results.items.select("benchmark", "item", chance, *tags), on=("benchmark", "item"), how="left")
        .sort("benchmark", *tags, "item")
    )
    fewer = items.filter(pl.col("asked") < pl.col("asked").max().over("benchmark")).height
    uneven = f"{counted(fewer, 'item')} with answers of fewer inspectors than others"
    return items, (*notes, uneven) if fewer else notes


def _by_luck(items: pl.DataFrame) -> list[float | None]:
    """The share of items with 0, 1, 2 … hits if every inspector guessed; None where items are not known.

    Who was tested several times has to guess right in more than half of them.
    """
    inspectors = max(items.get_column("asked"))
    if items.get_column("chance").null_count():
        return [None] * (inspectors + 1)
    total: Floats = np.zeros(inspectors + 1)
    kinds = Counter((chance, *tests) for chance, tests in items.select("chance", "tests").iter_rows())
    for (chance, *tests), number in kinds.items():
        total[: len(tests) + 1] += number * exactly([most_of(trials, chance) for trials in tests])
    return [float(share) for share in total / len(items)]


class Difficulty(Measure):
    """How many items are easy, middling and hard for a panel, by how many of its models get them right."""

    name = "difficulty"
    summary = "items by band of difficulty: how many models of a panel get them right"
    own: ClassVar[Own] = {
        "bands": ("easy:6-9,middle:3-5,hard:0-2", "names and numbers of right models, from 0 to the whole panel"),
        "right": (1.0, "the mean score over tests from which on a model has an item right"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a band and tag value; ``undecided`` are items with failed calls that could change their band."""
        bands = parse_bands(str(settings.own["bands"]))
        size = max(high for _, high in bands.values())
        families = results.families(settings.by)
        rows, other = [], set()
        for key, part in split(_hit_counts(results, families, float(settings.own["right"])), families):
            panel = max(part.get_column("models"))
            if panel == size:
                rows += [key | row for row in _band_rows(part, bands, size)]
            else:
                other.add(panel)
        asked = [str(panel) for panel in sorted(other)]
        wrong_size = f"the bands are for a panel of {size}, and {listed(asked, 9)} answered"
        if not rows:
            mend = param("own", f"bands={_thirds(max(other))}")
            raise NotMeasurable(f"difficulty: {wrong_size}; give bands for those: {mend}")
        return Measured(pl.DataFrame(rows, infer_schema_length=None), (f"left out: {wrong_size}",) if other else ())


def parse_bands(words: str) -> dict[str, tuple[int, int]]:
    """``easy:6-9,middle:3-5,hard:0-2`` as least and most right models; every number has one band."""
    bands: dict[str, tuple[int, int]] = {}
    for word in words.split(","):
        name, _, numbers = (part.strip() for part in word.partition(":"))
        low, _, high = numbers.partition("-")
        if not name or name in bands or not low.strip().isdecimal() or not (high or low).strip().isdecimal():
            raise InputError(f"bands: {short(word)} is not a new NAME:LEAST-MOST, such as easy:6-9")
        bands[name] = (int(low), int(high or low))
    if covered(bands) is None:
        raise InputError(f"bands: {short(words)} does not give every number from 0 on exactly one band")
    return bands


def _thirds(panel: int) -> str:
    """Bands that cut a panel in three, to show how they are written."""
    easy, hard = panel - panel // 3, panel // 3
    middle = f"middle:{hard + 1}-{easy - 1}," if hard + 1 < easy else ""
    return f"easy:{max(easy, hard + 1)}-{panel},{middle}hard:0-{hard}"


def _hit_counts(results: Results, around: Sequence[str], right: float) -> pl.DataFrame:
    """How many items have how many hits, with how many models that answered and were asked."""
    score = pl.col("score")
    return (
        results.with_items(*(name for name in around if name.startswith(TAG)))
        .group_by(*around, "item", "model")
        .agg(score.mean())
        .group_by(*around, "item")
        .agg((score >= right - _ROUNDING).sum().alias("hits"), score.count().alias("known"), pl.len().alias("models"))
        .group_by(*around, "hits", "known", "models")
        .agg(pl.len().alias("items"))
        .sort(*around, "hits", "known", "models")
        .collect(engine="streaming")
    )


def _band_rows(counts: pl.DataFrame, bands: Mapping[str, tuple[int, int]], size: int) -> Iterator[dict[str, Any]]:
    items = dict.fromkeys(bands, 0)
    for hits, known, number in counts.select("hits", "known", "items").iter_rows():
        band = band_of(bands, hits, hits + size - known) or UNDECIDED
        items[band] = items.get(band, 0) + number
    total = sum(items.values())
    return ({"band": band, "items": number, "share": number / total} for band, number in items.items())


MEASURES = (BlindHits(), AbnormalHitRate(), LeakHits(), Difficulty())
