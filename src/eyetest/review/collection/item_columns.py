"""Items as columns: what can be filtered and sorted by, one row an item of every benchmark that was opened."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import TAG
from eyetest.records import ImageRef, letter, tag_word

BETWEEN = "/"
"""Between benchmark and item, where two benchmarks call an item the same."""
_STORED = ("id", "question", "images", "choices", "group", "tags")
_TYPES: dict[str, Any] = {
    "benchmark": pl.String,
    "item": pl.String,
    "question": pl.String,
    "options": pl.List(pl.String),
    "gold": pl.String,
    "picture": pl.String,
    "pictures": pl.Int64,
}
_read_tags = msgspec.json.Decoder(dict[str, Any]).decode


class ItemColumns:
    """The items of some benchmarks by their names, as a table to be filtered and sorted."""

    def __init__(self, benchmarks: Mapping[str, Benchmark]) -> None:
        frames = {name: _stored(benchmark) for name, benchmark in benchmarks.items()}
        none = pl.DataFrame(schema=_TYPES)
        tables = [_columns(name, frame) for name, frame in frames.items()]
        self.table = pl.concat([none, *tables], how="diagonal")
        self._images = [frame.get_column("images").explode().drop_nulls() for frame in frames.values()]
        self._groups = [frame.get_column("group") for frame in frames.values()]

    def add_unknown(self, unknown: Mapping[str, Iterable[str]]) -> None:
        """Add items that answers or verdicts name and no benchmark has (any more), by benchmark."""
        rows = [(name, item) for name, items in unknown.items() for item in items]
        added = pl.DataFrame(rows, schema={"benchmark": pl.String, "item": pl.String}, orient="row")
        self.table = pl.concat([self.table, added], how="diagonal")

    def named(self) -> pl.DataFrame:
        """The table with a ``position`` and an ``id`` that tells items of the same name apart by their benchmark."""
        apart = pl.concat_str("benchmark", pl.lit(BETWEEN), "item")
        id_ = pl.when(pl.col("item").is_duplicated()).then(apart).otherwise("item").alias("id")
        numbers = pl.int_range(pl.len(), dtype=pl.Int64).alias("position")
        return self.table.select(numbers, id_, pl.all())

    @cached_property
    def pictures(self) -> Mapping[str, ImageRef]:
        """All pictures by their hashes."""
        return {row["sha256"]: ImageRef(**row) for images in self._images for row in images.unique().to_list()}

    def clusters(self) -> NDArray[np.int64]:
        """By position, which items depend on each other: those that share a picture, or are one group."""
        size = len(self.table)
        shas = self.table.get_column("pictures").fill_null(0).to_numpy()
        holders = np.repeat(np.arange(size), shas)
        every = [images.struct.field("sha256") for images in self._images]
        codes = pl.concat([pl.Series(dtype=pl.String), *every]).rank("dense").to_numpy().astype(np.int64)
        heads, keys = self._grouped()
        nodes = size + (int(codes.max()) + 1 if len(codes) else 0)
        rows = np.concatenate([holders, heads])
        columns = np.concatenate([size + codes, nodes + keys])
        total = nodes + (int(keys.max()) + 1 if len(keys) else 0)
        edges = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(total, total))
        _, labels = connected_components(edges, directed=False)
        own: NDArray[np.int64] = labels[:size].astype(np.int64)
        return own

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


def _stored(benchmark: Benchmark) -> pl.DataFrame:
    frame = pl.from_arrow(benchmark.table(_STORED))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _columns(name: str, stored: pl.DataFrame) -> pl.DataFrame:
    images = pl.col("images").list
    return stored.select(
        pl.lit(name).alias("benchmark"),
        pl.col("id").alias("item"),
        "question",
        pl.col("choices").list.eval(pl.element().struct.field("text")).alias("options"),
        pl.Series("gold", _golds(stored), pl.String),
        images.first().struct.field("sha256").alias("picture"),
        images.len().cast(pl.Int64).alias("pictures"),
        *(pl.Series(TAG + tag, values, pl.String) for tag, values in _tags(stored.get_column("tags")).items()),
    )


def _golds(stored: pl.DataFrame) -> list[str | None]:
    """The letters of the right options."""
    golds: list[str | None] = [None] * len(stored)
    options = stored.select("choices").with_row_index("row").explode("choices").drop_nulls("choices")
    places = pl.int_range(pl.len()).over("row").alias("place")
    right = options.with_columns(places).filter(pl.col("choices").struct.field("correct"))
    for row, place in right.select("row", "place").iter_rows():
        before = golds[row]
        golds[row] = letter(place) if before is None else f"{before}, {letter(place)}"
    return golds


def _tags(texts: pl.Series) -> dict[str, list[str | None]]:
    """Tags of a single value, as words."""
    columns: dict[str, list[str | None]] = {}
    for row, text in enumerate(texts):
        for tag, value in _read_tags(text).items() if text else ():
            if (word := tag_word(value)) is not None:
                if tag not in columns:
                    columns[tag] = [None] * len(texts)
                columns[tag][row] = word
    return columns


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
            codes = known.get_column("value").rank("dense").cast(pl.Int64).to_numpy() - 1
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
