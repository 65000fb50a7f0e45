"""Linked settings: changes of scores, ranks and items between ways of asking or benchmarks (MMMU-Pro)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import hypot, isnan
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, listed, param, short
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.compare import RIGHT
from eyetest.measures.results import AXES, PROTOCOL, TAG, measure, read_axes, split, table_of
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, mean
from eyetest.measures.stats.paired import paired
from eyetest.measures.tables import paired_columns, with_adjusted


def ranks(before: Sequence[float], after: Sequence[float]) -> tuple[list[int], list[int]]:
    """The ranks of some models in two settings, 1 the best. Ties are ordered as in the other setting."""
    orders = (
        np.lexsort((-np.array(ties, float), -np.array(scores, float)))
        for scores, ties in ((before, after), (after, before))
    )
    first, second = ((np.argsort(order) + 1).tolist() for order in orders)
    return first, second


def unpaired(before: IntervalEstimate, after: IntervalEstimate) -> IntervalEstimate:
    """How far two means over different items lie apart; the interval is from either mean's own (Newcombe's way)."""
    if before.value is None or after.value is None:
        return NOTHING
    (a, a_low, a_high), (b, b_low, b_high) = (np.array(side[:3], float).tolist() for side in (before, after))
    ends = b - a - hypot(b - b_low, a_high - a), b - a + hypot(b_high - b, a - a_low)
    low, high = (None if isnan(end) else end for end in ends)
    return IntervalEstimate(b - a, low, high, before.n + after.n)


ROLES = ("original", "four", "ten", "vision")
WORDS = {"original": "original", "four": "few options", "ten": "ten options", "vision": "vision"}
"""Names of the settings; the paper's four options are four in most items only."""


@measure(
    "linked",
    "scores, differences, ranks and flipped items of two settings (from, to), or of few options, ten and vision",
    {
        "from": ("", "where it starts: axis=value,… over benchmark and condition"),
        "to": ("", "where it goes: such as ask=cot, or benchmark=mmmu-pro,modality=screenshot"),
        "over": ("", "items: one row an item that some model has right on one side only"),
        "original": ("", "the source benchmark, if it was asked: benchmark=NAME"),
    },
    pools=True,
)
def linked(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value with both sides; ``risen``: ranks gained; Holm over all rows of a protocol. With
    ``over=items`` one row an item; without ``to`` the settings of `_recognised`, one row a series.
    """
    if (over := settings.own["over"]) not in ("", "items"):
        raise InputError(f"over: found {short(str(over))}, expected items")
    if not (over or settings.own["to"] or settings.own["from"]):
        if settings.by:
            raise NotMeasurable(f"linked: the table of all settings has no rows by tag; leave out {param('by')}")
        return _settings_table(results, settings)
    keys, shared = sides(results, settings)
    if over:
        return _flipped(shared, [key for key in keys if key != "model"])
    rows = []
    for key, part in split(shared, keys):
        pair = paired_columns(part, "score_after", "score", settings.level)
        row = key | {"from_score": pair.b, "to_score": pair.a} | pair.gap.named("difference")
        rows.append(row | {"p": pair.p, "n": pair.n})
    table = table_of(rows, p=pl.Float64).cast({key: shared.schema[key] for key in keys}).sort(keys)
    others = [key for key in keys if key != "model"]
    ranked = pl.concat([_ranked(part) for _, part in split(table, others)])
    families = [key for key in others if not key.startswith(TAG)]
    return Measured(with_adjusted(ranked.sort(keys), families), _only_shared(results, settings, shared))


def _only_shared(results: Results, settings: Settings, shared: pl.DataFrame) -> tuple[str, ...]:
    """A note where two benchmarks are compared on fewer items than they have."""
    names = [read_axes(str(settings.own[side]), side).get("benchmark") for side in ("from", "to")]
    if None in names or names[0] == names[1]:
        return ()
    sizes = [len(results.items.filter(pl.col("benchmark") == name)) for name in names]
    number = shared.get_column("item").n_unique()
    if max(sizes) <= number:
        return ()
    of = " and ".join(f"{size:,} of {name}" for size, name in zip(sizes, names, strict=True))
    return (f"scores and ranks are on the {counted(number, 'item')} that both have ({of}); rank-shifts takes all",)


def sides(results: Results, settings: Settings) -> tuple[list[str], pl.DataFrame]:
    """The keys of series, and the items that a series has in ``from`` and ``to``: ``*keys, item, cluster, score,
    score_after``.
    """
    wanted = {side: read_axes(str(settings.own.get(side, "")), side) for side in ("from", "to")}
    if not all(wanted.values()):
        raise NotMeasurable("linked: say what to compare, such as from=ask=direct to=ask=cot")
    named = [axis for axis in ("benchmark", *AXES) if any(axis in values for values in wanted.values())]
    keys = [key for key in results.keys(settings.by) if key not in named]
    frames = []
    for side, values in wanted.items():
        scores = results.scores.filter(pl.col(axis) == value for axis, value in values.items())
        _refuse_mixtures(scores, [axis for axis in named if axis not in values], side)
        frames.append(replace(results, scores=scores).per_item(keys).drop("tests"))
        if not len(frames[-1]):
            where = ",".join(f"{axis}={value}" for axis, value in values.items())
            raise NotMeasurable(f"linked: nothing was scored under {where}")
    if not len(frames[0].join(frames[1], on=keys, how="semi", nulls_equal=True)):
        raise NotMeasurable(
            f"linked: no model was asked both ways with the same {listed(keys, 9)}; name in from and to what differs"
        )
    shared = frames[0].join(frames[1].drop("cluster"), on=[*keys, "item"], suffix="_after", nulls_equal=True)
    if shared.is_empty():
        raise NotMeasurable("linked: the two settings have no item in common")
    return keys, shared


def _refuse_mixtures(rows: pl.LazyFrame, axes: Iterable[str], side: str) -> None:
    """Refuse an axis that only the other side names and that varies on this one, as the comparison is ambiguous."""
    for axis in axes:
        values = rows.select(pl.col(axis).cast(pl.String).unique().sort()).collect(engine="streaming").to_series()
        if len(values) > 1:
            raise InputError(f"{side}: say which {axis} is meant: {listed(values, 9)}")


def _ranked(table: pl.DataFrame) -> pl.DataFrame:
    before, after = ranks(table.get_column("from_score").to_list(), table.get_column("to_score").to_list())
    columns = table.with_columns(pl.Series("from_rank", before), pl.Series("to_rank", after))
    return columns.with_columns((pl.col("from_rank") - pl.col("to_rank")).alias("risen"))


def _flipped(shared: pl.DataFrame, keys: Sequence[str]) -> Measured:
    """By item: how many of how many models lost or won it, and which; most lost first."""
    before, after = pl.col("score") >= RIGHT, pl.col("score_after") >= RIGHT
    model = pl.col("model").cast(pl.String)
    sides = {"lost": before & ~after, "won": ~before & after}
    table = shared.group_by(*keys, "item").agg(
        *(side.sum().cast(pl.Int64).alias(name) for name, side in sides.items()),
        pl.len().cast(pl.Int64).alias("n"),
        *(model.filter(side).sort().str.join(", ").alias(f"{name}_by") for name, side in sides.items()),
    )
    order = [*(False for _ in keys), True, False, False]
    kept = table.filter((pl.col("lost") > 0) | (pl.col("won") > 0))
    return Measured(kept.sort(*keys, "lost", "won", "item", descending=order))


_SCREENSHOT = "screenshot"
_DELTAS = {"delta1": "ten", "delta2": "vision", "delta3": "overall"}
Axes = Mapping[str, str | int]


def linked_settings(results: Results, own: Mapping[str, Any]) -> dict[str, Axes]:
    """Where the answers of each setting are, as recognised by their items; the user may name the original."""
    original = read_axes(str(own.get("original", "")), "original")
    where = _recognised(results, original.get("benchmark"))
    if original:
        where["original"] = original
    modalities = dict.fromkeys(ROLES, "image") | {"vision": _SCREENSHOT}
    ordered: dict[str, Axes] = {
        role: {"modality": modalities[role], **where[role]} for role in ROLES if role in where
    }
    if "ten" not in ordered or not ordered.keys() & {"original", "four", "vision"}:
        raise NotMeasurable(
            "linked: say what to compare, such as from=ask=direct to=ask=cot; there are no linked settings, "
            "which are runs over few options, over more options of the same items, and over screenshots of them"
        )
    return ordered


def _recognised(results: Results, original: str | int | None) -> dict[str, Axes]:
    """Settings recognised by items: the number of options of a benchmark, and whose items it shares."""
    asked = results.scores.select(pl.col("benchmark", "modality").cast(pl.String)).unique().collect()
    modalities = {name: set(part.get_column("modality")) for (name,), part in asked.group_by("benchmark")}
    counted = (
        results.items.drop_nulls("options")
        .group_by("benchmark")
        .agg(pl.col("options").mean(), pl.col("item"))
        .sort("options", "benchmark")
    )
    known = {name: (options, set(items)) for name, options, items in counted.iter_rows() if name in modalities}
    images = [name for name in known if modalities[name] != {_SCREENSHOT} and name != original]
    roles: dict[str, Axes] = {}
    if shot := [name for name in modalities if _SCREENSHOT in modalities[name]]:
        roles["vision"] = {"benchmark": max(shot, key=lambda name: (known.get(name, (0,))[0], name))}
    if not images:
        return roles
    many = images[-1]
    few = [name for name in images if name != many and known[name][0] < known[many][0]]
    roles["ten"] = {"benchmark": many}
    alike = {name: len(known[name][1] & known[many][1]) / len(known[name][1] | known[many][1]) for name in few}
    by_overlap = sorted(few, key=lambda name: (alike[name], name))
    if by_overlap and alike[by_overlap[-1]]:
        roles["four"] = {"benchmark": by_overlap.pop()}
    if len(by_overlap) == 1:
        roles["original"] = {"benchmark": by_overlap[0]}
    return roles


def _settings_table(results: Results, settings: Settings) -> Measured:
    """One row a model and way of asking; ``overall`` is the mean of ten options and vision, ``delta1`` to ``delta3``
    are ten, vision and overall less the start, ``risen`` counts ranks gained since.
    """
    linked = linked_settings(results, settings.own)
    start = next(role for role in ROLES if role in linked)
    keys = ["model", *(axis for axis in results.varied(PROTOCOL) if axis != "modality")]
    of_item = _by_item(results, linked, keys)
    rows = [key | _settled(part, list(linked), start, settings.level) for key, part in split(of_item, keys)]
    table = table_of([row for row in rows if row["ten"] is not None or row["vision"] is not None] or rows)
    others = [key for key in keys if key != "model"]
    ranked = pl.concat([_with_ranks(part, start) for _, part in split(table, others)])
    down = [*(False for _ in others), True, True]
    ordered = ranked.sort(*others, "overall", "ten", descending=down, nulls_last=True)
    return Measured(ordered, _notes(ranked, linked, start))


def _by_item(results: Results, linked: Mapping[str, Axes], keys: Sequence[str]) -> pl.DataFrame:
    """Mean scores by series, setting and item; an item's cluster is that of its first setting."""
    axes = {axis for where in linked.values() for axis in where if axis not in ("benchmark", "modality")}
    named = pl.concat(
        results.scores.filter(pl.col(axis) == value for axis, value in where.items()).with_columns(
            setting=pl.lit(role)
        )
        for role, where in linked.items()
    )
    scores = named.group_by(*(key for key in keys if key not in axes), "setting", "benchmark", "item")
    of_item = scores.agg(pl.col("score").mean()).drop_nulls("score").collect(engine="streaming")
    of_item = of_item.with_columns(pl.col("benchmark").cast(pl.String))
    placed = of_item.join(results.items.select("benchmark", "item", "cluster"), on=("benchmark", "item"), how="left")
    order = pl.col("setting").replace_strict({role: number for number, role in enumerate(ROLES)})
    first = placed.drop_nulls("cluster").sort(order).unique("item", keep="first").select("item", "cluster")
    joined = placed.drop("cluster", "benchmark").join(first, on="item", how="left")
    return joined.with_columns(pl.coalesce("cluster", "item")).sort(*keys, "setting", "item")


def _settled(rows: pl.DataFrame, roles: Sequence[str], start: str, level: float) -> dict[str, Any]:
    """One model's row, of the items that it has in all settings; an original with other items is separate."""
    wide = rows.pivot("setting", index=["item", "cluster"], values="score", aggregate_function="mean")
    there = [role for role in roles if role in wide.columns]
    others = [role for role in there if role != "original"]
    has = pl.all_horizontal(pl.col(role).is_not_null() for role in others) if others else pl.lit(False)
    alike = "original" in there and wide.select((pl.col("original").is_not_null() == has).all()).item()
    ours = there if alike else others
    complete = wide.drop_nulls(ours) if ours else wide
    clusters = complete.get_column("cluster").to_numpy()
    columns = {role: complete.get_column(role).cast(pl.Float64).to_numpy() for role in ours}
    if {"ten", "vision"} <= columns.keys():
        columns["overall"] = (columns["ten"] + columns["vision"]) / 2
    estimates = {name: mean(column, clusters, level) for name, column in columns.items()}
    if "original" in there and "original" not in ours:
        alone = wide.drop_nulls("original")
        estimates["original"] = mean(alone.get_column("original"), alone.get_column("cluster"), level)
    row: dict[str, Any] = {}
    for name in (*roles, "overall"):
        row |= estimates.get(name, NOTHING).named(name)
    for delta, name in _DELTAS.items():
        gap = NOTHING
        if name != start and name in estimates and start in columns:
            gap = paired(columns[name], columns[start], clusters, level).gap
        elif name != start and name in estimates and start in estimates:
            gap = unpaired(estimates[start], estimates[name])
        row |= gap.named(delta)
    return row | {"paired": start in columns if start in there else None, "n": len(complete)}


def _with_ranks(table: pl.DataFrame, start: str) -> pl.DataFrame:
    """Each setting's rank among the models that have it and the start, and the ranks gained."""
    for name in ("ten", "vision", "overall"):
        if name == start or name not in table.columns:
            continue
        both = table.with_row_index("row").drop_nulls([start, name])
        before, after = ranks(both.get_column(start).to_list(), both.get_column(name).to_list())
        moved = {f"{name}_rank": after, f"{name}_risen": [a - b for a, b in zip(before, after, strict=True)]}
        placed = both.select("row").with_columns(pl.Series(k, v, pl.Int64) for k, v in moved.items())
        table = table.with_row_index("row").join(placed, on="row", how="left", maintain_order="left").drop("row")
    return table


def _notes(table: pl.DataFrame, linked: Mapping[str, Axes], start: str) -> tuple[str, ...]:
    settings = [f"{WORDS[role]}: {', '.join(f'{a} {v}' for a, v in where.items())}" for role, where in linked.items()]
    notes = [f"settings recognised: {'; '.join(settings)}", f"differences are from {WORDS[start]}"]
    if start != "original":
        notes.append("no source benchmark was asked: the published differences start from it (original=benchmark=…)")
    if (table.get_column("paired") == False).any():  # noqa: E712 (null is not false)
        notes.append("the original has other items: its differences are not paired")
    return tuple(notes)


MEASURES = (linked,)
