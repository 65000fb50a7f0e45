"""What measures are given and what they give back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import polars as pl

from eyetest.errors import EyetestError, InputError, nearest, param, short
from eyetest.records import Condition, ModelEntry

PROTOCOL = ("sight", "ask", "shots", "method")
"""How a question was put: scores under different protocols are different scores."""
TESTS = ("template", "order", "marks", "trial")
"""The same question in other words, another order, once more: scores over these are averaged."""
CAPTION_METRICS = ("bleu", "cider", "meteor", "rouge")
"""How metrics of captions begin: their scores have scales of their own."""
TAG = "tag."
"""Columns of the item table that hold tags begin so."""
ITEM_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "item", "cluster", "group"), pl.String),
    **{"options": pl.Int64, "gold": pl.String, "position": pl.Int64, "kinds": pl.List(pl.Int64)},
}
"""The columns of the item table, beside its tags."""
AXES = (*Condition.__struct_fields__, "trial")
Own = Mapping[str, tuple[Any, str]]
"""A measure's own settings: their defaults and what they mean."""


class NotMeasurable(EyetestError):  # noqa: N818 (says why a measure does not apply; nothing went wrong)
    """A measure that does not apply to these results, and why."""


@dataclass(frozen=True)
class Results:
    """Scores on one or more benchmarks, and what is known of their items and models.

    ``scores``: ``benchmark``, then the columns of `eyetest.records.Score`. Lazy, because there may be many millions.
    ``items``: a row an item, with the columns of `ITEM_TYPES` and a column ``tag.NAME`` for each tag. ``cluster``
    names what makes items depend on each other (a picture, a passage). ``options`` is their number, ``gold`` the
    letter of the right choice in the order as written, ``position`` its place from 0; all are null for text items.
    ``kinds`` numbers answers that recur from item to item, such as yes and no, option by option; null where they do
    not. Empty where only verdicts are known.
    """

    scores: pl.LazyFrame
    items: pl.DataFrame
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What has to be said beside whatever is made of them."""

    @property
    def tags(self) -> list[str]:
        """The tags that items have."""
        return [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]

    def with_items(self, *columns: str) -> pl.LazyFrame:
        """The scores, and beside each these columns of the item table. Every item has a cluster, if only itself."""
        wanted = self.items.lazy().select("benchmark", "item", *columns)
        joined = self.scores.join(wanted, on=("benchmark", "item"), how="left")
        return joined.with_columns(pl.coalesce("cluster", "item")) if "cluster" in columns else joined

    def every_item(self, *columns: str) -> pl.DataFrame:
        """What could have been answered: the items of every benchmark that has scores, with these columns of them.

        Where nothing is known of a benchmark, these are the items that anybody has an answer to.
        """
        scored = self.scores.select(pl.col("benchmark").cast(pl.String).unique()).collect(engine="streaming")
        known = self.items.select("benchmark", "item", *columns).join(scored, on="benchmark", how="semi")
        unknown = scored.join(known, on="benchmark", how="anti")
        if unknown.is_empty():
            return known
        named = self.scores.select(pl.col("benchmark", "item").cast(pl.String)).join(
            unknown.lazy(), on="benchmark", how="semi"
        )
        return pl.concat([known, named.unique().collect(engine="streaming")], how="diagonal")

    def by_tags(self, by: Sequence[str]) -> list[str]:
        """The columns that hold some tags; an unknown tag is refused."""
        for tag in by:
            if tag not in self.tags:
                known = nearest(tag, self.tags) if self.tags else "the items have no tags"
                raise InputError(f"no tag {short(tag)}; {known}")
        return [TAG + tag for tag in by]

    def varied(self, axes: Sequence[str]) -> list[str]:
        """Those of some columns in which the scores differ."""
        different = self.scores.select(axes).unique().collect(engine="streaming")
        return [axis for axis in axes if different.get_column(axis).n_unique() > 1]

    def keys(self, by: Sequence[str] = ()) -> list[str]:
        """What tells series of scores apart: model, benchmark and protocol where they vary, and some tags."""
        return [*self.varied(["benchmark"]), "model", *self.varied(PROTOCOL), *self.by_tags(by)]

    def families(self, by: Sequence[str] = ()) -> list[str]:
        """What models are compared within: benchmark and protocol where they vary, and some tags."""
        return [*self.varied(("benchmark", *PROTOCOL)), *self.by_tags(by)]

    def per_item(self, keys: Sequence[str]) -> pl.DataFrame:
        """The mean score of each item over its tests: ``*keys, item, cluster, score, tests``. No failed calls."""
        grouped = self.with_items("cluster").group_by(*keys, "item", "cluster")
        mean = grouped.agg(pl.col("score").mean(), pl.col("score").count().alias("tests"))
        return mean.filter(pl.col("tests") > 0).sort(*keys, "item").collect(engine="streaming")


@dataclass(frozen=True)
class Settings:
    """What the user may say to every measure, and ``own``, what only one of them understands."""

    by: tuple[str, ...] = ()
    level: float = 0.95
    seed: int = 0
    resamples: int = 2_000
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A table of estimates: columns that say of what, then values.

    Beside a value ``x`` stand ``x_low`` and ``x_high`` where it has an interval. ``n`` counts what it rests on.
    What is undefined is null.
    """

    table: pl.DataFrame
    notes: tuple[str, ...] = ()


class Measure(Protocol):
    """One measure."""

    name: str
    summary: str
    own: ClassVar[Own] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """Compute it, or raise `NotMeasurable`."""
        ...


def refuse_tags(name: str, settings: Settings) -> None:
    """What has no rows by tag says so, rather than leave the user's words unheard."""
    if settings.by:
        mend = f"leave out {param('by')}, or keep to some items with {param('where')}"
        raise NotMeasurable(f"{name}: it has no rows by tag; {mend}")


def split(rows: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each value of some columns, in order; all of them where there are no such columns, none of none."""
    if keys:
        for key, part in rows.group_by(*keys, maintain_order=True):
            yield dict(zip(keys, key, strict=True)), part
    elif len(rows):
        yield {}, rows


def table_of(rows: Sequence[Mapping[str, Any]], **types: type[pl.DataType]) -> pl.DataFrame:
    """Rows as a table, in which a value that may have bounds is a number, also where it is undefined throughout."""
    bounded = [name for name in rows[0] if f"{name}_low" in rows[0]]
    floats = {name + end: pl.Float64 for name in bounded for end in ("", "_low", "_high")}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={**floats, **types})
