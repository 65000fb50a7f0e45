"""Items as columns: what can be filtered and sorted by, one row an item of every benchmark that was opened."""

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import TAG
from eyetest.measures.stats.sets import set_labels
from eyetest.records import MAX_CHOICES, ImageRef, letter, tag_word
from eyetest.tabular.record_files import numbers

BETWEEN = "/"
"""Between benchmark and item, where two benchmarks call an item the same."""
_STORED = ("id", "question", "group", "tags")
_TYPES: dict[str, Any] = {
    "benchmark": pl.String,
    "item": pl.String,
    "question": pl.String,
    "gold": pl.String,
    "picture": pl.Categorical,
    "pictures": pl.Int64,
}
_POSITION = pl.int_range(pl.len(), dtype=pl.Int64).alias("position")
_MARKS = pl.Series([letter(place) for place in range(MAX_CHOICES)])
_read_tags = msgspec.json.Decoder(dict[str, Any]).decode


class ItemColumns:
    """The items of some benchmarks by their names, as a table to be filtered and sorted."""

    def __init__(self, benchmarks: Mapping[str, Benchmark]) -> None:
        self._benchmarks = benchmarks.values()
        none = pl.DataFrame(schema=_TYPES)
        scans = [one.scan(_STORED) for one in self._benchmarks]
        with ThreadPoolExecutor() as aside:
            golds = [aside.submit(_golds, one) for one in self._benchmarks]
            pictures = [aside.submit(_ShownPictures.of, one) for one in self._benchmarks]
            stored = [_stored(name, scan) for name, scan in zip(benchmarks, scans, strict=True)]
            self._shown = [one.result() for one in pictures]
        tables = [
            table.with_columns(gold.result(), *shown.columns())
            for table, gold, shown in zip(stored, golds, self._shown, strict=True)
        ]
        self._groups = [table.drop_in_place("group") for table in tables]
        self.table = pl.concat([none, *tables], how="diagonal")

    @cached_property
    def options(self) -> pl.Series:
        """The texts of all options, by position; read when somebody first needs them, for most is in them."""
        texts = pl.col("choices").list.eval(pl.element().struct.field("text")).alias("options")
        tables = [one.scan(["choices"]).select(texts).collect(engine="streaming") for one in self._benchmarks]
        told = pl.concat([pl.DataFrame(schema={"options": pl.List(pl.String)}), *tables]).to_series()
        return told.extend_constant(None, len(self.table) - len(told))

    def add_unknown(self, unknown: Mapping[str, Iterable[str]]) -> None:
        """Add items that answers or verdicts name and no benchmark has (any more), by benchmark."""
        rows = [(name, item) for name, items in unknown.items() for item in items]
        added = pl.DataFrame(rows, schema={"benchmark": pl.String, "item": pl.String}, orient="row")
        self.table = pl.concat([self.table, added], how="diagonal")

    def places(self) -> dict[str, pl.DataFrame]:
        """By benchmark its items, and the ``position`` of each."""
        table = self.table.select("benchmark", "item").with_columns(_POSITION)
        parts = table.partition_by("benchmark", include_key=False, as_dict=True)
        return {str(name): part for (name,), part in parts.items()}

    def named(self) -> pl.DataFrame:
        """The table with a ``position`` and an ``id`` that tells items of the same name apart by their benchmark."""
        id_ = pl.col("item").alias("id")
        if self.table.get_column("benchmark").n_unique() > 1:
            apart = pl.concat_str("benchmark", pl.lit(BETWEEN), "item")
            id_ = pl.when(pl.col("item").is_duplicated()).then(apart).otherwise("item").alias("id")
        return self.table.select(_POSITION, id_, pl.all())

    def picture(self, sha256: str) -> ImageRef | None:
        """A picture of some item by its hash."""
        found = self._images.filter(pl.col("sha256") == sha256).head(1).to_dicts()
        return ImageRef(**found[0]) if found else None

    @cached_property
    def _images(self) -> pl.DataFrame:
        """All pictures, a row each; read when the first of them is looked at."""
        images = (
            one.scan(["images"]).explode("images").drop_nulls("images").unnest("images") for one in self._benchmarks
        )
        tables = [one.unique().collect(engine="streaming") for one in images]
        return pl.concat([pl.DataFrame(schema={"sha256": pl.String}), *tables], how="diagonal")

    def clusters(self) -> NDArray[np.int64]:
        """By position, which items depend on each other: those that share a picture, or are one group."""
        counts = [shown.counts for shown in self._shown]
        holders = np.repeat(np.arange(sum(map(len, counts))), np.concatenate([np.zeros(0, np.int64), *counts]))
        codes = np.concatenate(
            [np.zeros(0, np.int64), *(shown.hashes.to_physical().to_numpy() for shown in self._shown)]
        )
        return set_labels(len(self.table), (holders, codes), self._grouped())

    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Items that are in a group, and the number of each one's group; the item that others vary is in it too."""
        groups = pl.concat([pl.Series(dtype=pl.String), *self._groups])
        table = self.table[: len(groups)].select("benchmark", "item").with_row_index("row")
        member = table.with_columns(group=groups).filter(pl.col("group") != "").drop("item")
        if member.is_empty():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        head = table.rename({"item": "group"}).join(member, on=("benchmark", "group"), how="semi")
        both = pl.concat([member.select("row", "benchmark", "group"), head.select("row", "benchmark", "group")])
        key = pl.struct("benchmark", "group").rank("dense").cast(pl.Int64)
        rows = both.select(pl.col("row").cast(pl.Int64), key.alias("key"))
        return rows.get_column("row").to_numpy(), rows.get_column("key").to_numpy()


class _ShownPictures(NamedTuple):
    """How many pictures each item has, and the hashes of all of them, in order."""

    counts: NDArray[np.int64]
    hashes: pl.Series

    @classmethod
    def of(cls, benchmark: Benchmark) -> "_ShownPictures":
        counts, hashes = [np.zeros(0, np.int64)], [pl.Series(dtype=pl.Categorical)]
        for number, of_batch in benchmark.part("images", "sha256"):
            counts.append(number)
            texts = pl.from_arrow(of_batch)
            assert isinstance(texts, pl.Series)
            hashes.append(texts.cast(pl.Categorical))
        return cls(np.concatenate(counts), pl.concat(hashes))

    def columns(self) -> list[pl.Series]:
        """The first picture of each item, and how many it has."""
        starts = pl.Series(np.cumsum(self.counts) - self.counts)
        first = self.hashes.gather(starts.set(pl.Series(self.counts == 0), None))
        return [first.alias("picture"), pl.Series("pictures", self.counts, pl.Int64)]


def _stored(name: str, scan: pl.LazyFrame) -> pl.DataFrame:
    stored = scan.collect(engine="streaming").rename({"id": "item"})
    tags = _tags(stored.drop_in_place("tags"))
    return stored.with_columns(pl.lit(name).alias("benchmark"), *tags)


def _golds(benchmark: Benchmark) -> pl.Series:
    """The letters of the right options."""
    some = (_letters(*part) for part in benchmark.part("choices", "correct"))
    return pl.concat([pl.Series(dtype=pl.String), *some]).alias("gold")


def _letters(counts: NDArray[np.int64], correct: pa.Array) -> pl.Series:
    right = np.flatnonzero(numbers(correct))
    rows = np.repeat(np.arange(len(counts)), counts)[right]
    places = right - (np.cumsum(counts) - counts)[rows]
    last = np.full(len(counts), -1)
    last[rows] = places
    golds = _MARKS.gather(pl.Series(last).replace(-1, None))
    several = np.flatnonzero(np.bincount(rows, minlength=len(counts)) > 1)
    spans = zip(*np.searchsorted(rows, (several, several + 1)).tolist(), strict=True)
    return golds.scatter(several, [", ".join(_MARKS[places[slice(*span)].tolist()]) for span in spans])


def _tags(texts: pl.Series) -> list[pl.Series]:
    """Tags of a single value, as words. Most items are tagged like others, so each text is read once."""
    distinct = texts.unique(maintain_order=True).drop_nulls()
    columns: dict[str, list[str | None]] = {}
    for row, text in enumerate(distinct):
        for tag, value in _read_tags(text).items() if text else ():
            if (word := tag_word(value)) is not None:
                columns.setdefault(TAG + tag, [None] * len(distinct))[row] = word
    words = [pl.Series(tag, values, pl.String) for tag, values in columns.items()]
    rows = pl.DataFrame([distinct, pl.int_range(len(distinct), eager=True).alias("row")])
    alike = texts.to_frame().join(rows, on=texts.name, how="left", maintain_order="left").get_column("row")
    return [column.gather(alike) for column in words]


class Facets:
    """How many items of a view have which value of a column, for all columns that are worth a choice."""

    def __init__(self, items: pl.DataFrame, columns: Mapping[str, str]) -> None:
        """``columns``: by the name of a facet; one may hold lists."""
        self._size = len(items)
        self._facets: dict[str, tuple[list[str], NDArray[np.int64], NDArray[np.int64]]] = {}
        for facet, column in columns.items():
            pairs = items.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("__row"), value=column)
            if pairs.schema["value"].is_nested():
                pairs = pairs.explode("value")
            known = pairs.drop_nulls("value")
            values = known.get_column("value").unique().sort()
            codes = known.get_column("value").cast(pl.Enum(values)).to_physical().to_numpy().astype(np.int64)
            self._facets[facet] = (values.to_list(), known.get_column("__row").to_numpy(), codes)

    def counts(self, positions: NDArray[np.int64]) -> dict[str, dict[str, int]]:
        """By facet the values that some items have, the most frequent first."""
        shown = np.zeros(self._size, bool)
        shown[positions] = True
        counts = {}
        for facet, (values, rows, codes) in self._facets.items():
            numbers = np.bincount(codes[shown[rows]], minlength=len(values)).tolist()
            known = Counter({value: number for value, number in zip(values, numbers, strict=True) if number})
            counts[facet] = dict(known.most_common())
        return counts


def rank_of(values: pl.Series) -> NDArray[np.float64]:
    """Where each value of a column stands among the others, numbers by their size; nan where there is none."""
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        values = numbers if numbers.null_count() == values.null_count() else values
    ranks: NDArray[np.float64] = values.rank("dense").cast(pl.Float64).to_numpy()
    return ranks
