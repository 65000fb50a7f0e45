"""Scores side by side on the same items: models, protocols, or two settings that are compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, nearest, short
from eyetest.measures.results import AXES, PROTOCOL, TAG, NotMeasurable, Own, Results, Settings, split
from eyetest.measures.stats.intervals import Floats
from eyetest.records import Condition, read_order
from eyetest.wording import listed

FROM_TO: Own = {
    "from": ("", "where the comparison starts: axis=value,… over benchmark and condition, such as ask=direct"),
    "to": ("", "where it goes: such as ask=cot, or benchmark=mmmu-pro,modality=screenshot"),
}
Protocol = tuple[str, ...]  # one value for each axis of `PROTOCOL`
_USUAL = Condition()
_WHOLE_NUMBERS = ("template", "order", "sample")


@dataclass(frozen=True)
class SideBySide:
    """Scores of items × columns, nan where missing. ``key``: what they share, ``columns``: what not."""

    key: Mapping[str, Any]
    columns: Sequence[tuple[Any, ...]]
    scores: Floats
    clusters: NDArray[np.str_]
    items: Sequence[str] = ()

    def table(self, columns: Sequence[tuple[Any, ...]]) -> Floats:
        """These columns in this order; a missing one is nan."""
        index = {column: i for i, column in enumerate(self.columns)}
        nothing = np.full(len(self.scores), np.nan)
        return np.column_stack([self.scores[:, index[c]] if c in index else nothing for c in columns])


def side_by_side(results: Results, around: Sequence[str], across: Sequence[str] = ("model",)) -> list[SideBySide]:
    """One array for each value of ``around``, with a column for each value of ``across``; tests are averaged."""
    tags = [name for name in (*around, *across) if name.startswith(TAG)]
    scores = (
        results.with_items("cluster", *tags)
        .group_by(*around, *across, "item", "cluster")
        .agg(pl.col("score").mean())
        .drop_nulls(["score", *(name for name in across if name.startswith(TAG))])
        .sort(*around, *across, "item", "cluster")
        .collect(engine="streaming")
    )
    sides = []
    for key, part in split(scores, around):
        rows, columns, table = pivoted(part, ("item", "cluster"), across, "score")
        clusters = rows.get_column("cluster").to_numpy().astype(np.str_)
        sides.append(SideBySide(key, columns.rows(), table, clusters, rows.get_column("item").to_list()))
    return sides


def pivoted(
    rows: pl.DataFrame, units: Sequence[str], across: Sequence[str], value: str
) -> tuple[pl.DataFrame, pl.DataFrame, NDArray[Any]]:
    """The sorted values of ``units`` and of ``across``, and the value of each pair of both (nan if none)."""
    names, heads = (rows.select(columns).unique().sort(columns) for columns in (units, across))
    placed = rows.join(names.with_row_index("__row"), on=units, nulls_equal=True, maintain_order="left").join(
        heads.with_row_index("__column"), on=across, nulls_equal=True, maintain_order="left"
    )
    values = placed.get_column(value)
    table = np.full((len(names), len(heads)), np.nan, float if values.dtype.is_numeric() else object)
    table[placed.get_column("__row").to_numpy(), placed.get_column("__column").to_numpy()] = values.to_numpy()
    return names, heads, table


def like(protocols: Sequence[Protocol], wanted: Protocol) -> list[Protocol]:
    """The protocols that differ in modality alone; or else those of the only other way of asking, then named."""
    same = [protocol for protocol in protocols if protocol[1:] == wanted[1:]]
    return same or (list(protocols) if len({protocol[1:] for protocol in protocols}) == 1 else [])


def protocol_label(protocol: Protocol | None) -> str | None:
    """Short form of a protocol: its modality, its ask, and whatever else is not as usual."""
    if protocol is None:
        return None
    axes = zip(PROTOCOL, protocol, strict=True)
    return " ".join(value for axis, value in axes if axis in ("modality", "ask") or value != getattr(_USUAL, axis))


@dataclass(frozen=True)
class TwoSettings:
    """Mean scores of items in two settings: ``*keys, item, cluster, score``."""

    keys: list[str]
    before: pl.DataFrame
    after: pl.DataFrame

    @property
    def shared(self) -> pl.DataFrame:
        """The items that a series has in both: ``*keys, item, cluster, score, score_after``."""
        return self.before.join(
            self.after.drop("cluster"), on=[*self.keys, "item"], suffix="_after", nulls_equal=True
        )


def sides(results: Results, settings: Settings, name: str) -> TwoSettings:
    """The scores of a measure's ``from`` and ``to``."""
    wanted = {side: parse_axes(str(settings.own.get(side, "")), side) for side in FROM_TO}
    if not all(wanted.values()):
        raise NotMeasurable(f"{name}: say what to compare, such as from=ask=direct to=ask=cot")
    named = [axis for axis in ("benchmark", *AXES) if any(axis in values for values in wanted.values())]
    tags = results.by_tags(settings.by)
    keys = [key for key in results.keys(settings.by) if key not in named]
    frames = []
    for side, values in wanted.items():
        rows = results.with_items("cluster", *tags).filter(pl.col(axis) == value for axis, value in values.items())
        _refuse_mixtures(rows, [axis for axis in named if axis not in values], side)
        of_item = rows.group_by(*keys, "item", "cluster").agg(pl.col("score").mean())
        frames.append(of_item.drop_nulls("score").sort(*keys, "item").collect(engine="streaming"))
        if not len(frames[-1]):
            told = ",".join(f"{axis}={value}" for axis, value in values.items())
            raise NotMeasurable(f"{name}: nothing was scored under {told}")
    if not len(frames[0].join(frames[1], on=keys, how="semi", nulls_equal=True)):
        raise NotMeasurable(
            f"{name}: no model was asked both ways with the same {listed(keys, 9)}; name in from and to what differs"
        )
    return TwoSettings(keys, *frames)


def parse_axes(text: str, side: str) -> dict[str, str | int]:
    """Read ``benchmark=A,modality=image`` by axis; ``side`` is the setting of the text."""
    values: dict[str, str | int] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        axis, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise InputError(f"{side}: {short(word)} is not axis=value")
        if axis not in ("benchmark", *AXES):
            raise InputError(f"{side}: no axis {short(axis)}; {nearest(axis, ('benchmark', *AXES))}")
        values[axis] = _number(axis, value, side) if axis in _WHOLE_NUMBERS else value
    return values


def _number(axis: str, value: str, side: str) -> int:
    try:
        return read_order(value) if axis == "order" and not value.isdecimal() else int(value)
    except ValueError:
        raise InputError(f"{side}: {axis} is a whole number; found {short(value)}") from None


def _refuse_mixtures(rows: pl.LazyFrame, axes: Iterable[str], side: str) -> None:
    """Refuse an axis that only the other side names and that varies on this one, as the comparison is ambiguous."""
    for axis in axes:
        values = rows.select(pl.col(axis).cast(pl.String).unique().sort()).collect(engine="streaming").to_series()
        if len(values) > 1:
            raise InputError(f"{side}: say which {axis} is meant: {listed(values, 9)}")
