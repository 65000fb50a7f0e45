"""Items as columns: what can be filtered and sorted by, one row an item of every benchmark that was opened."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import TAG
from eyetest.measures.stats.intervals import DisjointSets
from eyetest.records import ImageRef, Item, letter, tag_word

BETWEEN = "/"
"""Between benchmark and item, where two benchmarks call an item the same."""
_TYPES: dict[str, Any] = {
    "id": pl.String,
    "benchmark": pl.String,
    "item": pl.String,
    "question": pl.String,
    "options": pl.List(pl.String),
    "gold": pl.String,
    "picture": pl.String,
    "pictures": pl.Int64,
}


class ItemColumns(NamedTuple):
    """All items, and what is not for sorting: clusters by position, pictures by hash."""

    table: pl.DataFrame
    clusters: NDArray[np.int64]
    pictures: Mapping[str, ImageRef]


def item_columns(benchmarks: Mapping[str, Benchmark], unknown: Mapping[str, Sequence[str]]) -> ItemColumns:
    """The items of some benchmarks by their names, then those that answers or verdicts name and no benchmark has."""
    rows: list[dict[str, Any]] = []
    pictures: dict[str, ImageRef] = {}
    joined = DisjointSets[tuple[str, str]]()
    for name, benchmark in benchmarks.items():
        for item in benchmark:
            rows.append(_row(name, item))
            for image in item.images:
                pictures.setdefault(image.sha256, image)
                joined.join((name, item.id), ("\0picture", image.sha256))
            joined.join((name, item.id), (name, item.group or item.id))
    rows += [{"benchmark": name, "item": item} for name, items in unknown.items() for item in items]
    counts = Counter(row["item"] for row in rows)
    for row in rows:
        own = row["item"]
        row["id"] = own if counts[own] == 1 else f"{row['benchmark']}{BETWEEN}{own}"
    tags = dict.fromkeys(key for row in rows for key in row if key.startswith(TAG))
    table = pl.DataFrame(rows, schema=_TYPES | dict.fromkeys(tags, pl.String)).with_row_index("position")
    roots = [joined.root((row["benchmark"], row["item"])) for row in rows]
    numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    clusters = np.fromiter((numbers[root] for root in roots), np.int64, len(roots))
    return ItemColumns(table.with_columns(pl.col("position").cast(pl.Int64)), clusters, pictures)


def _row(name: str, item: Item) -> dict[str, Any]:
    tags = {TAG + tag: word for tag, value in item.tags.items() if (word := tag_word(value)) is not None}
    return tags | {
        "benchmark": name,
        "item": item.id,
        "question": item.question,
        "options": [choice.text for choice in item.choices],
        "gold": ", ".join(map(letter, item.gold)) or None,
        "picture": item.images[0].sha256 if item.images else None,
        "pictures": len(item.images),
    }


def counted_values(values: Iterable[str | None]) -> dict[str, int]:
    """How often each value stands in a column, the most frequent first."""
    return dict(Counter(value for value in values if value is not None).most_common())
