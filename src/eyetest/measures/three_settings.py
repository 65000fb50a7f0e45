"""A benchmark's linked settings (MMMU-Pro): few options, ten options, all in one picture; and blind at each step.

Which answers belong to which setting is seen from the items: the benchmark with the most options has ten, the one
with fewer that shares its items four, and what was asked as a screenshot is vision. Somebody may say it instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from eyetest.errors import InputError, nearest
from eyetest.measures.aligned import parse_axes
from eyetest.measures.hits import BLIND_SETTING, blind_sights, strictest_sights
from eyetest.measures.linked import ranks, unpaired
from eyetest.measures.means import mean_table
from eyetest.measures.results import (
    PROTOCOL,
    Measure,
    Measured,
    NotMeasurable,
    Own,
    Results,
    Settings,
    refuse_tags,
    split,
    table_of,
)
from eyetest.measures.stats.intervals import NOTHING, Floats, IntervalEstimate, mean
from eyetest.measures.stats.paired import is_verdict, paired

ROLES = ("original", "four", "ten", "vision")
WORDS = {"original": "original", "four": "few options", "ten": "ten options", "vision": "vision"}
"""What people call the settings; the paper's four options are four in most items only."""
STEPS = ("original", "four", "ten")
"""The settings after which blind accuracy is told."""
EVERYBODY = "all models"
_PICTURE, _SCREENSHOT = "image", "screenshot"
_ROLE_SETTINGS: Own = {
    "original": ("", "the source benchmark, if it was asked: benchmark=NAME"),
    "four": ("", "the setting with few options, if it is not to be recognised: benchmark=NAME"),
    "ten": ("", "the setting with more options: benchmark=NAME"),
    "vision": ("", "the setting in one picture: benchmark=NAME,sight=screenshot"),
}
_DELTAS = {"delta1": "ten", "delta2": "vision", "delta3": "overall"}
Axes = Mapping[str, str | int]


@dataclass(frozen=True)
class LinkedSettings:
    """Where the answers of each setting are; a setting that nobody was asked in is not there."""

    where: Mapping[str, Axes]

    def rows(self, scores: pl.LazyFrame, role: str) -> pl.LazyFrame:
        """The scores of one setting."""
        return scores.filter(pl.col(axis) == value for axis, value in self.where[role].items())

    def named(self, results: Results) -> pl.LazyFrame:
        """All scores that belong to a setting, with a column that says to which."""
        parts = [self.rows(results.scores, role).with_columns(pl.lit(role).alias("setting")) for role in self.where]
        return pl.concat(parts)


def linked_settings(results: Results, own: Mapping[str, Any]) -> LinkedSettings:
    """The settings of some results: as the user names them, and otherwise as their items tell."""
    said = {role: parse_axes(str(own.get(role, "")), role) for role in ROLES}
    where: dict[str, Axes] = {role: axes for role, axes in said.items() if axes}
    for role, axes in _recognised(results, where).items():
        where.setdefault(role, axes)
    for role in ("original", "four", "ten"):
        if role in where:
            where[role] = {"sight": _PICTURE, **where[role]}
    if "vision" in where:
        where["vision"] = {"sight": _SCREENSHOT, **where["vision"]}
    ordered = {role: where[role] for role in ROLES if role in where}
    if "ten" not in ordered or not ordered.keys() & {"original", "four", "vision"}:
        raise NotMeasurable(
            "no linked settings: they are runs over few options, over more options of the same items, and over "
            "screenshots of them"
        )
    return LinkedSettings(ordered)


def _recognised(results: Results, said: Mapping[str, Axes]) -> dict[str, Axes]:
    """What the items tell: how many options a benchmark has, and whose items it shares."""
    asked = results.scores.select(pl.col("benchmark", "sight").cast(pl.String)).unique().collect()
    sights = {name: set(part.get_column("sight")) for (name,), part in asked.group_by("benchmark")}
    taken = {axes.get("benchmark") for role, axes in said.items() if role != "vision"}
    counted = (
        results.items.drop_nulls("options")
        .group_by("benchmark")
        .agg(pl.col("options").mean(), pl.col("item"))
        .sort("options", "benchmark")
    )
    known = {name: (options, set(items)) for name, options, items in counted.iter_rows() if name in sights}
    pictures = [name for name in known if sights[name] != {_SCREENSHOT} and name not in taken]
    roles: dict[str, Axes] = {}
    if shot := [name for name in sights if _SCREENSHOT in sights[name]]:
        roles["vision"] = {"benchmark": max(shot, key=lambda name: (known.get(name, (0,))[0], name))}
    many = said["ten"].get("benchmark") if "ten" in said else (pictures[-1] if pictures else None)
    if many is None or many not in known:
        return roles
    few = [name for name in pictures if name != many and known[name][0] < known[many][0]]
    roles["ten"] = {"benchmark": many}
    by_overlap = sorted(few, key=lambda name: (_alike(known[name][1], known[many][1]), name))
    if by_overlap and "four" not in said and _alike(known[by_overlap[-1]][1], known[many][1]):
        roles["four"] = {"benchmark": by_overlap.pop()}
    if len(by_overlap) == 1 and "original" not in said:
        roles["original"] = {"benchmark": by_overlap[0]}
    return roles


def _alike(some: set[str], others: set[str]) -> float:
    return len(some & others) / len(some | others)


class ThreeSettings(Measure):
    """MMMU-Pro's table: each setting's score, overall, the differences from where it began, and how ranks move."""

    name = "three-settings"
    summary = "few options, ten options and vision: overall, differences from the original, ranks (MMMU-Pro)"
    own: ClassVar[Own] = {
        **_ROLE_SETTINGS,
        "from": ("", "what differences start from: original or four (default: original where it was asked)"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a model and way of asking; ``n`` counts the items that it has in each setting it was asked in.

        ``overall`` is the mean of ten options and vision; ``delta1``, ``delta2`` and ``delta3`` are ten options,
        vision and overall less the start. ``risen`` says by how many ranks a model got better since.
        """
        refuse_tags(self.name, settings)
        linked = linked_settings(results, settings.own)
        start = _start(linked, str(settings.own.get("from", "")))
        keys = ["model", *(axis for axis in results.varied(PROTOCOL) if axis != "sight")]
        of_item = _by_item(results, linked, keys)
        rows = [key | _settled(part, list(linked.where), start, settings.level) for key, part in split(of_item, keys)]
        table = table_of([row for row in rows if row["ten"] is not None or row["vision"] is not None] or rows)
        others = [key for key in keys if key != "model"]
        ranked = pl.concat([_with_ranks(part, start) for _, part in split(table, others)])
        return Measured(
            ranked.sort(
                *others, "overall", "ten", descending=[*(False for _ in others), True, True], nulls_last=True
            ),
            _notes(ranked, linked, start),
        )


def _start(linked: LinkedSettings, said: str) -> str:
    """What differences start from."""
    usual = next(role for role in ROLES if role in linked.where)
    if said and said not in linked.where:
        raise InputError(f'from: nobody was asked in "{said}"; {nearest(said, linked.where)}')
    return said or usual


def _by_item(results: Results, linked: LinkedSettings, keys: Sequence[str]) -> pl.DataFrame:
    """Mean scores by series, setting and item. An item's cluster is that of its first setting: a screenshot is its
    own picture, whatever picture it shows.
    """
    axes = {axis for where in linked.where.values() for axis in where if axis not in ("benchmark", "sight")}
    scores = linked.named(results).group_by(*(key for key in keys if key not in axes), "setting", "benchmark", "item")
    of_item = scores.agg(pl.col("score").mean()).drop_nulls("score").collect(engine="streaming")
    of_item = of_item.with_columns(pl.col("benchmark").cast(pl.String))
    placed = of_item.join(results.items.select("benchmark", "item", "cluster"), on=("benchmark", "item"), how="left")
    order = pl.col("setting").replace_strict({role: number for number, role in enumerate(ROLES)})
    first = placed.drop_nulls("cluster").sort(order).unique("item", keep="first").select("item", "cluster")
    joined = placed.drop("cluster", "benchmark").join(first, on="item", how="left")
    return joined.with_columns(pl.coalesce("cluster", "item")).sort(*keys, "setting", "item")


def _settled(rows: pl.DataFrame, roles: Sequence[str], start: str, level: float) -> dict[str, Any]:
    """One model's row. Settings over the same items are told of the items that it has in all of them."""
    wide = rows.pivot("setting", index=["item", "cluster"], values="score", aggregate_function="mean")
    there = [role for role in roles if role in wide.columns]
    ours = [role for role in there if role != "original" or _pairs(wide, there)]
    complete = wide.drop_nulls(ours) if ours else wide
    clusters = complete.get_column("cluster").to_numpy()
    columns = {role: complete.get_column(role).cast(pl.Float64).to_numpy() for role in ours}
    if {"ten", "vision"} <= columns.keys():
        columns["overall"] = (columns["ten"] + columns["vision"]) / 2
    told = {name: mean(column, clusters, level) for name, column in columns.items()}
    if "original" in there and "original" not in ours:
        alone = wide.drop_nulls("original")
        told["original"] = mean(alone.get_column("original"), alone.get_column("cluster"), level)
    row: dict[str, Any] = {}
    for name in (*roles, "overall"):
        row |= told.get(name, NOTHING).named(name)
    for delta, name in _DELTAS.items():
        row |= _difference(columns, told, (start, name), clusters, level).named(delta)
    return row | {"paired": start in columns if start in there else None, "n": len(complete)}


def _pairs(wide: pl.DataFrame, there: Sequence[str]) -> bool:
    """Whether the original has the very items of the other settings: differences can be paired then."""
    others = [role for role in there if role != "original"]
    has = pl.all_horizontal(pl.col(role).is_not_null() for role in others) if others else pl.lit(False)
    return bool(wide.select((pl.col("original").is_not_null() == has).all()).item())


def _difference(
    columns: Mapping[str, Floats],
    told: Mapping[str, IntervalEstimate],
    between: tuple[str, str],
    clusters: Any,
    level: float,
) -> IntervalEstimate:
    start, name = between
    if name == start or name not in told or start not in told:
        return NOTHING
    if start not in columns:
        return unpaired(told[start], told[name])
    pair = paired(columns[name], columns[start], clusters, level)
    return IntervalEstimate(pair.difference, pair.low, pair.high, pair.n)


def _with_ranks(table: pl.DataFrame, start: str) -> pl.DataFrame:
    """Each setting's rank among the models that have it and the start, and by how many ranks it is better there."""
    for name in ("ten", "vision", "overall"):
        if name == start or name not in table.columns:
            continue
        both = table.with_row_index("row").drop_nulls([start, name])
        before, after = ranks(both.get_column(start).to_list(), both.get_column(name).to_list())
        moved = {f"{name}_rank": after, f"{name}_risen": [a - b for a, b in zip(before, after, strict=True)]}
        placed = both.select("row").with_columns(pl.Series(k, v, pl.Int64) for k, v in moved.items())
        table = table.with_row_index("row").join(placed, on="row", how="left", maintain_order="left").drop("row")
    return table


def _notes(table: pl.DataFrame, linked: LinkedSettings, start: str) -> tuple[str, ...]:
    told = [
        f"{WORDS[role]}: {', '.join(f'{a} {v}' for a, v in where.items())}" for role, where in linked.where.items()
    ]
    notes = [f"settings recognised: {'; '.join(told)}", f"differences are from {WORDS[start]}"]
    if start != "original":
        notes.append("no source benchmark was asked: the published differences start from it (original=benchmark=…)")
    if (table.get_column("paired") == False).any():  # noqa: E712 (null is not false)
        notes.append("the original has other items: its differences are not paired")
    return tuple(notes)


class BlindSteps(Measure):
    """What is answered without the picture after each step of hardening, beside what guessing scores there."""

    name = "blind-steps"
    summary = "accuracy without the picture on the original, filtered and ten-option items, beside guessing"
    own: ClassVar[Own] = {**{role: _ROLE_SETTINGS[role] for role in STEPS}, "blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a step and model, then one for all of them together: ``accuracy``, ``guessing``, ``above``.

        Where the original was asked too, items with few options are the filtered ones; if nobody was asked about
        those blind by themselves, they are told from the answers to the original ones.
        """
        refuse_tags(self.name, settings)
        linked = linked_settings(results, settings.own)
        known = results.items.select("benchmark", "item", "cluster", "options").drop_nulls("options")
        sights = blind_sights(str(settings.own["blind"]))
        blind = results.scores.filter(pl.col("sight").cast(pl.String).is_in(sights))
        words = WORDS | ({"four": "filtered"} if "original" in linked.where else {})
        parts = [
            (words[role], part)
            for role in STEPS
            if role in linked.where and len(part := _blind_rows(blind, known, linked.where, role))
        ]
        if not parts:
            raise NotMeasurable("blind-steps: nobody was asked without the picture; ask with sight blind")
        rows = pl.concat([part.with_columns(pl.lit(step).alias("step")) for step, part in parts])
        guess = pl.col("accuracy") - pl.col("guessing")
        everybody = rows.group_by("step", "item", "cluster", "guessing", maintain_order=True).agg(
            pl.lit(EVERYBODY).alias("model"), pl.col("accuracy").mean()
        )
        both = pl.concat([rows, everybody.select(rows.columns)]).with_columns(guess.alias("above"))
        keys, values = ["step", "model"], ["accuracy", "above", "guessing"]
        table = mean_table(both.lazy(), keys, values, settings.level, signed=["above"])
        order = pl.col("step").replace_strict({words[role]: number for number, role in enumerate(STEPS)})
        spared = ("guessing_low", "guessing_high", "clusters")
        return Measured(table.sort(order, pl.col("model") == EVERYBODY, "model").drop(spared))


def _blind_rows(blind: pl.LazyFrame, known: pl.DataFrame, where: Mapping[str, Axes], role: str) -> pl.DataFrame:
    """``model, item, cluster, accuracy, guessing``, each model under the sight in which it answers most."""
    items = known.filter(pl.col("benchmark") == where[role]["benchmark"])
    answers = blind.filter(pl.col("benchmark") == where[role]["benchmark"]).drop_nulls("score")
    if role == "four" and "original" in where and not len(answers.head(1).collect()):
        answers = blind.filter(pl.col("benchmark") == where["original"]["benchmark"]).drop_nulls("score")
    of_item = answers.group_by(pl.col("model", "sight").cast(pl.String), "item").agg(
        pl.col("score").mean(), is_verdict(pl.col("score")).all().alias("accuracy binary")
    )
    rows = of_item.collect(engine="streaming").join(items.drop("benchmark"), on="item").sort("model", "sight", "item")
    if rows.is_empty():
        return rows
    strict = rows.join(strictest_sights(rows, ["model"]), on=["model", "sight"], how="semi")
    return strict.select(
        *("model", "item", pl.coalesce("cluster", "item").alias("cluster")),
        pl.col("score").alias("accuracy"),
        (1 / pl.col("options")).alias("guessing"),
    )


MEASURES = (ThreeSettings(), BlindSteps())
