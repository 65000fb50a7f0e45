"""Scores laid side by side on the same items: models, protocols, or two settings that are compared."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, nearest, short
from eyetest.measures.results import AXES, PROTOCOL, TAG, NotMeasurable, Results, Settings
from eyetest.measures.stats.intervals import Floats
from eyetest.records import Condition, read_order
from eyetest.wording import listed


@dataclass(frozen=True)
class SideBySide:
    """Scores of items × columns, nan where missing. ``key`` says what they share, ``columns`` what not."""

    key: Mapping[str, Any]
    columns: Sequence[tuple[Any, ...]]
    scores: Floats
    clusters: NDArray[np.str_]
    items: Sequence[str] = ()

    def table(self, columns: Sequence[tuple[Any, ...]]) -> Floats:
        """These columns in this order; one that nobody has is nan."""
        place = {column: i for i, column in enumerate(self.columns)}
        nothing = np.full(len(self.scores), np.nan)
        return np.column_stack([self.scores[:, place[c]] if c in place else nothing for c in columns])


def side_by_side(results: Results, around: Sequence[str], across: Sequence[str] = ("model",)) -> list[SideBySide]:
    """One array for each value of the columns ``around``, with a column for each value of the columns ``across``.

    An item's tests are averaged, failed calls are out. Items of the same name, and of the same cluster, are one row.
    """
    tags = [name for name in (*around, *across) if name.startswith(TAG)]
    scores = (
        results.with_items("cluster", *tags)
        .group_by(*around, *across, "item", "cluster")
        .agg(pl.col("score").mean())
        .drop_nulls(["score", *(name for name in across if name.startswith(TAG))])
        .sort(*around, *across, "item", "cluster")
        .collect(engine="streaming")
    )
    if not around:
        return [_arranged({}, scores, across)] if len(scores) else []
    groups = scores.group_by(*around, maintain_order=True)
    return [_arranged(dict(zip(around, key, strict=True)), part, across) for key, part in groups]


def _arranged(key: Mapping[str, Any], scores: pl.DataFrame, across: Sequence[str]) -> SideBySide:
    rows = scores.select("item", "cluster").unique().sort("item", "cluster").with_row_index("row")
    columns = scores.select(across).unique().sort(across).with_row_index("column")
    placed = scores.join(rows, on=("item", "cluster")).join(columns, on=list(across))
    table = np.full((len(rows), len(columns)), np.nan)
    row, column, score = (placed.get_column(name).to_numpy() for name in ("row", "column", "score"))
    table[row, column] = score
    clusters = rows.get_column("cluster").to_numpy().astype(np.str_)
    return SideBySide(key, columns.drop("column").rows(), table, clusters, rows.get_column("item").to_list())


_USUAL = Condition()
Protocol = tuple[str, ...]
"""One value for each axis of `PROTOCOL`."""


class Series:
    """Scores by model and protocol, nan where there is none."""

    def __init__(self, scores: SideBySide) -> None:
        """From scores laid out across ``model`` and the protocol."""
        self.clusters = scores.clusters
        self._columns: dict[str, dict[Protocol, Floats]] = {}
        for place, (model, *protocol) in enumerate(scores.columns):
            self._columns.setdefault(str(model), {})[tuple(map(str, protocol))] = scores.scores[:, place]

    @property
    def models(self) -> list[str]:
        """Who answered."""
        return sorted(self._columns)

    def protocols(self, model: str, sights: Collection[str]) -> list[Protocol]:
        """The protocols with some sights under which a model answered."""
        return [protocol for protocol in self._columns.get(model, {}) if protocol[0] in sights]

    def column(self, model: str, protocol: Protocol | None) -> Floats:
        """One series; nan throughout where there is none."""
        if protocol is None:
            return np.full(len(self.clusters), np.nan)
        return self._columns[model][protocol]


def like(protocols: Sequence[Protocol], wanted: Protocol) -> list[Protocol]:
    """The protocols that differ in sight alone; or else those of the only other way of asking, to be named then."""
    same = [protocol for protocol in protocols if protocol[1:] == wanted[1:]]
    return same or (list(protocols) if len({protocol[1:] for protocol in protocols}) == 1 else [])


def protocol_label(protocol: Protocol | None) -> str | None:
    """A protocol in few words: its sight, its ask, and whatever else is not as usual."""
    if protocol is None:
        return None
    axes = zip(PROTOCOL, protocol, strict=True)
    return " ".join(value for axis, value in axes if axis in ("sight", "ask") or value != getattr(_USUAL, axis))


FROM_TO: Mapping[str, tuple[Any, str]] = {
    "from": ("", "where the comparison starts: axis=value,… over benchmark and condition, such as ask=direct"),
    "to": ("", "where it goes: such as ask=cot, or benchmark=mmmu-pro,sight=screenshot"),
}
_WHOLE_NUMBERS = ("template", "order", "trial")


@dataclass(frozen=True)
class Sides:
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


def sides(results: Results, settings: Settings, name: str) -> Sides:
    """The scores on either side of what a measure's ``from`` and ``to`` say."""
    wanted = [_parsed(str(settings.own.get(side, "")), side) for side in ("from", "to")]
    if not all(wanted):
        raise NotMeasurable(f"{name}: say what to compare, such as from=ask=direct to=ask=cot")
    named = [axis for axis in ("benchmark", *AXES) if any(axis in side for side in wanted)]
    tags = results.by_tags(settings.by)
    series = results.keys()
    keys = [key for key in series if key not in named] + tags
    frames = []
    for side, words in zip(wanted, ("from", "to"), strict=True):
        rows = results.with_items("cluster", *tags).filter(pl.col(axis) == value for axis, value in side.items())
        _refuse_mixtures(rows, [axis for axis in named if axis not in side], words)
        of_item = rows.group_by(*keys, "item", "cluster").agg(pl.col("score").mean())
        frames.append(of_item.drop_nulls("score").sort(*keys, "item").collect(engine="streaming"))
        if not len(frames[-1]):
            raise NotMeasurable(f"{name}: nothing was scored under {_told(side)}")
    if not len(frames[0].join(frames[1], on=keys, how="semi", nulls_equal=True)):
        raise NotMeasurable(
            f"{name}: no model was asked both ways with the same {listed(keys, 9)}; name in from and to what differs"
        )
    return Sides(keys, *frames)


def _parsed(text: str, side: str) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        axis, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise InputError(f"{side}: {short(word)} is not axis=value")
        if axis not in ("benchmark", *AXES):
            raise InputError(f"{side}: no axis {short(axis)}; {nearest(axis, ('benchmark', *AXES))}")
        found[axis] = _number(axis, value, side) if axis in _WHOLE_NUMBERS else value
    return found


def _number(axis: str, value: str, side: str) -> int:
    if value.isdecimal():
        return int(value)
    try:
        if axis == "order":
            return read_order(value)
    except ValueError:
        pass
    raise InputError(f"{side}: {axis} is a whole number; found {short(value)}")


def _told(side: Mapping[str, str | int]) -> str:
    return ",".join(f"{axis}={value}" for axis, value in side.items())


def _refuse_mixtures(rows: pl.LazyFrame, axes: Iterable[str], side: str) -> None:
    """An axis that only the other side names must not vary on this one: nobody would know what was compared."""
    for axis in axes:
        values = rows.select(pl.col(axis).cast(pl.String).unique().sort()).collect(engine="streaming").to_series()
        if len(values) > 1:
            raise InputError(f"{side}: say which {axis} is meant: {listed(values, 9)}")
