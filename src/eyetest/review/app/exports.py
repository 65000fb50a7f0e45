"""What somebody takes along of the items that a view shows: their ids, a table, a benchmark of them."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from eyetest.curate.selection import write_part
from eyetest.errors import InputError
from eyetest.pages.item_links import Query, write_query
from eyetest.records.recipe import BENCHMARK
from eyetest.review.app.disclosure import Disclosure
from eyetest.review.collection import Collection
from eyetest.tabular.sheets import sheet_text

_MOST_ITEMS = 5_000
"""In one zipped benchmark, which is made in memory's stead on disk, and sent in one piece."""
_HARMLESS = ("position", "item", "options", "picture")
"""Columns that say nothing of golds, besides those that items may be sorted by."""


class Exported(NamedTuple):
    """A file: its name, its kind, its bytes."""

    name: str
    kind: str
    data: bytes


def _ids(collection: Collection, query: Query, may: Disclosure) -> Exported:
    ids = collection.items.get_column("id")[collection.view(query).positions]
    return Exported(
        "ids.txt", "text/plain; charset=utf-8", "".join(f"{one}\n" for one in ids).encode("utf-8", "replace")
    )


def _table(collection: Collection, query: Query, may: Disclosure) -> Exported:
    items = collection.table[collection.view(query).positions]
    items = items.select(name for name in items.columns if name in _HARMLESS or may.may_sort(name))
    rows = ([" | ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row] for row in items.rows())
    table = sheet_text(items.columns, rows).encode("utf-8", "replace")
    return Exported("items.csv", "text/csv; charset=utf-8", table)


def _benchmark(collection: Collection, query: Query, may: Disclosure) -> Exported:
    if not may.golds:
        raise InputError("a benchmark has its golds, which are left out here")
    items = collection.items[collection.view(query).positions]
    names = items.get_column("benchmark").unique().to_list()
    if len(items) > _MOST_ITEMS:
        raise InputError(f"{len(items):,} items; a benchmark of at most {_MOST_ITEMS:,} is exported from here")
    if len(names) != 1 or names[0] not in collection.benchmarks:
        raise InputError("the items shown lie in several benchmarks, or in none; filter by benchmark first")
    whole, wanted = collection.benchmarks[names[0]], set(items.get_column("item"))
    chosen = (item for item in whole if item.id in wanted)
    with TemporaryDirectory(prefix="eyetest-export-") as folder:
        to, packed = Path(folder) / BENCHMARK, Path(folder) / "packed.zip"
        how = f"chosen by hand: {write_query(query) or 'all'}"[:2_000]
        write_part(whole, chosen, to, (f"{whole.manifest.name}-part", how), overwrite=False)
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(path for path in to.rglob("*") if path.is_file()):
                archive.write(path, path.relative_to(folder))
        return Exported("benchmark.zip", "application/zip", packed.read_bytes())


EXPORTS: Mapping[str, Callable[[Collection, Query, Disclosure], Exported]] = {
    "ids.txt": _ids,
    "items.csv": _table,
    "benchmark.zip": _benchmark,
}
"""What can be taken along, by the name under which it is asked for."""
