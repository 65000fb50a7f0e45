"""Two settings side by side: ``from`` and ``to`` as a user says them, and the scores of items under each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyetest.errors import InputError, nearest, short
from eyetest.measures.results import AXES, NotMeasurable, Results, Settings
from eyetest.records import read_order
from eyetest.wording import listed

OWN: Mapping[str, tuple[Any, str]] = {
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
