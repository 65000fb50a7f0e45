"""A benchmark on disk: ``benchmark.json``, ``items.parquet`` and ``images/``; it may be far larger than memory."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, SupportsIndex, overload

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.benchmarks.images import ImageStore
from eyetest.errors import InputError, ItemError, as_named, nearest, short
from eyetest.records import FOLDER_VERSION, ImageRef, Item, ItemCounts, Manifest, Media, check, gold_text
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.store.files import add_checksum, inside, is_as_written, read_regular, sealed_json, unsealed_json
from eyetest.tabular.record_files import array, damage_in_one_line, read_parquet, sound_file, write_parquet

_TEXT = pa.string()


def _list_of(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(list(fields.items())))


_PROVENANCE = pa.struct([("author", _TEXT), ("checked_by", pa.list_(_TEXT))])
SCHEMA = pa.schema(
    {
        "id": _TEXT,
        "question": _TEXT,
        "images": _list_of(sha256=_TEXT, format=_TEXT, width=pa.int32(), height=pa.int32(), size=pa.int64()),
        "media": _list_of(kind=_TEXT, reference=_TEXT),
        "choices": _list_of(text=_TEXT, correct=pa.bool_(), provenance=_PROVENANCE),
        "references": pa.list_(_TEXT),
        "hint": _TEXT,
        "history": _list_of(question=_TEXT, answer=_TEXT),
        "description": _TEXT,
        "group": _TEXT,
        "tags": _TEXT,
        "lineage": _list_of(step=_TEXT, source=_TEXT, item=_TEXT, note=_TEXT, seed=pa.int64()),
    }
)


def to_table(items: Iterable[Item]) -> pa.Table:
    """Items as an Arrow table."""
    rows = list(items)
    columns = {name: [_plain(getattr(item, name)) for item in rows] for name in SCHEMA.names if name != "tags"}
    columns["tags"] = [msgspec.json.encode(item.tags).decode() if item.tags else None for item in rows]
    return pa.Table.from_pydict(columns, SCHEMA)


def _plain(value: Any) -> Any:
    """A value as Arrow takes it: a record as a tuple, since its fields are in the schema's order; unset is None."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, msgspec.Struct):
        return tuple(map(_plain, msgspec.structs.astuple(value)))
    return None if value is msgspec.UNSET else value


def from_batch(batch: pa.RecordBatch) -> Iterator[Item]:
    """Items of an Arrow batch."""
    for row in batch.to_pylist():
        row["tags"] = msgspec.json.decode(row["tags"]) if row["tags"] else {}
        for choice in row["choices"]:
            if not choice.get("provenance"):
                choice.pop("provenance", None)
        yield msgspec.convert(row, Item)


_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("id", "question", "options", "gold", "images", "group", "hint", "description"), pl.String),
    "options": pl.List(pl.String),
    "images": pl.Int64,
}


def item_frame(items: Iterable[Item]) -> pl.DataFrame:
    """One row per item. A tag named like another column becomes ``tags.NAME``."""
    rows: list[tuple[Any, ...]] = []
    every: list[dict[str, Any]] = []
    for item in items:
        options = [choice.text for choice in item.choices]
        about = (item.group, item.hint, item.description)
        rows.append((item.id, item.question, options, gold_text(item), len(item.images), *about))
        every.append(item.tags)
    tags = {tag: [has.get(tag) for has in every] for tag in dict.fromkeys(tag for has in every for tag in has)}
    named = {f"tags.{tag}" if tag in _COLUMNS else tag: values for tag, values in tags.items()}
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row").with_columns(
        _tag(name, values) for name, values in named.items()
    )


def _tag(name: str, values: list[Any]) -> pl.Series:
    """A tag as a column: of one type where its values have one, else each value as JSON."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= {str, bool}):
        return pl.Series(name, values, dtype=pl.Float64 if len(kinds) > 1 else None)
    texts = [value if value is None else msgspec.json.encode(value).decode() for value in values]
    return pl.Series(name, texts, pl.String)


MANIFEST = "benchmark.json"
ITEMS = "items.parquet"
_IMAGES = "images"
SKIPPED = "skipped.jsonl"
LAYOUT, LEGIBILITY = "layout.parquet", "legibility.parquet"  # beside items of screenshots: parts and legibility
INPUTS = "inputs.json"
EMBEDDINGS = "embeddings"  # vectors of texts and images, a file for each encoder
CHANGES = "changes.csv"
README, CROISSANT, FACTS = "README.md", "croissant.json", "card.yaml"  # FACTS outlives the items
REPEATS = "repeats.csv"  # of a pool: items that repeat those of an earlier source
_OURS = (MANIFEST, ITEMS, _IMAGES, SKIPPED, INPUTS, CHANGES, REPEATS, FACTS, LAYOUT, LEGIBILITY, EMBEDDINGS)
_FINGERPRINT = b"fingerprint"
_ROW_GROUP = 2_000
_MOST_KEPT = 48 * 2**20
_MOST_PENDING = 16 * 2**20
_BATCH = 500
_lately_opened: dict[Path, None] = {}


class Benchmark:
    """A benchmark folder, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = _read_manifest(path)
        self.images = ImageStore(path / _IMAGES)
        self._checked: tuple[int, ...] = ()  # identity of the items' file that was last verified
        self._groups: dict[int, pa.Table] = {}
        _lately_opened.pop(path.absolute(), None)
        _lately_opened[path.absolute()] = None

    def _repr_html_(self) -> str:
        return str(import_module("eyetest.commands.cards").benchmark_card(self))

    def __len__(self) -> int:
        return self.manifest.counts.items

    def __iter__(self) -> Iterator[Item]:
        with self._items() as file:
            for batch in file.iter_batches(_BATCH):
                batch.validate(full=True)
                yield from from_batch(batch)

    @overload
    def __getitem__(self, which: str | SupportsIndex) -> Item: ...

    @overload
    def __getitem__(self, which: slice) -> list[Item]: ...

    def __getitem__(self, which: str | SupportsIndex | slice) -> Item | list[Item]:
        """An item by its id (text) or position (a number); several by a slice."""
        if isinstance(which, str):
            return self.take([self.position(which)])[0]
        try:
            taken = range(len(self))[which]
        except TypeError:
            kinds = "its id (text), its position (a whole number), or a slice"
            raise TypeError(f"found {short(which)}, expected {kinds}") from None
        except IndexError:
            there = f"{self.manifest.name} has {len(self):,} items, from 0"
            raise IndexError(f'no item at {which}: {there}; an item whose id is {which} is ["{which}"]') from None
        return self.take([taken])[0] if isinstance(taken, int) else self.take(taken)

    @property
    def frame(self) -> pl.DataFrame:
        """All items as one table: texts, golds in words, the number of images, and a column for each tag."""
        return item_frame(self)

    @cached_property
    def _position_of(self) -> dict[str, int]:
        return {item_id: n for n, item_id in enumerate(self.table(["id"]).column("id").to_pylist())}

    def position(self, item_id: str) -> int:
        """The position of an item in the benchmark."""
        if item_id not in self:
            ids = list(islice(self._position_of, 5_000))
            known = nearest(item_id, ids)
            hint = known if len(self) <= 20 else known.partition("known:")[0] or f"the first is {short(ids[0])}"
            raise InputError(f"no item {short(item_id)} in {self.manifest.name}; {hint}")
        return self._position_of[item_id]

    def positions(self, item_ids: Iterable[str]) -> list[int]:
        """The positions of some items."""
        return list(map(self.position, item_ids))

    def take(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions, in that order. Cheap where the positions are near each other."""
        items: dict[int, Item] = {}
        with self._items() as file:
            groups = range(file.metadata.num_row_groups)
            ends = np.cumsum([file.metadata.row_group(group).num_rows for group in groups])
            by_group: dict[int, list[int]] = {}
            for position, group in zip(positions, np.searchsorted(ends, positions, "right").tolist(), strict=True):
                by_group.setdefault(group, []).append(position)
            for group, here in by_group.items():
                table = self._row_group(file, group)
                rows = [position + len(table) - int(ends[group]) for position in here]
                if rows == list(range(rows[0], rows[-1] + 1)):
                    taken = table.slice(rows[0], len(rows))  # without `pyarrow.compute`, which is slow to load
                else:
                    taken = table.take(array(rows, pa.int64()))
                found = (item for batch in taken.to_batches() for item in from_batch(batch))
                items.update(zip(here, found, strict=True))
        return [items[position] for position in positions]

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all items, as they are stored: far cheaper than the items."""
        with self._items() as file:
            return file.read(columns)

    def scan(self, columns: Sequence[str]) -> pl.LazyFrame:
        """Some columns, lazily."""
        return pl.DataFrame(self.table(columns)).lazy()

    def by_image(self) -> list[int]:
        """All positions, items that share their first image side by side, otherwise in the benchmark's order."""
        return list(map(int, np.argsort(self.image_groups(), kind="stable")))

    def image_groups(self) -> NDArray[np.int64]:
        """For each item, the position of the first item with the same first image; its own if it has none."""
        row, first = pl.col("row"), pl.col("images").list.first().struct.field("sha256")
        groups = pl.when(first.is_null()).then(row).otherwise(row.first().over(first)).cast(pl.Int64)
        return self.scan(["images"]).with_row_index("row").select(groups).collect().to_series().to_numpy()

    def _row_group(self, file: pq.ParquetFile, group: int) -> pa.Table:
        """A row group, cached: items that share an image may be far apart."""
        table = self._groups.pop(group, None)
        if table is None:
            table = file.read_row_group(group)
            table.validate(full=True)
            while self._groups and table.nbytes + sum(t.nbytes for t in self._groups.values()) > _MOST_KEPT:
                self._groups.pop(next(iter(self._groups)))
        self._groups[group] = table
        return table

    def verify(self) -> None:
        """Raise where the items are damaged, or others than the manifest describes."""
        with self._items():
            pass

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._position_of

    def __repr__(self) -> str:
        return f"<Benchmark {self.manifest.name!r}: {len(self):,} items in {as_named(str(self.path))}>"

    @contextmanager
    def _items(self) -> Iterator[pq.ParquetFile]:
        """The items' file, verified against its checksum and the manifest: neither truncated nor exchanged."""
        with damage_in_one_line(self.path / ITEMS):
            path = inside(self.path / ITEMS, self.path)
            about = path.stat()
            identity = about.st_ino, about.st_size, about.st_mtime_ns
            if identity != self._checked:
                repair = "restore the file as eyetest wrote it, or import the benchmark again"
                found = pq.read_metadata(sound_file(path, self.path, SCHEMA, repair))
                fingerprint = (found.metadata or {}).get(_FINGERPRINT, b"").decode("ascii", "replace")
                if (found.num_rows, fingerprint) != (len(self), self.manifest.fingerprint):
                    raise InputError(f"{self.path / ITEMS} holds other items than {MANIFEST} describes")
                self._checked = identity
            with pq.ParquetFile(path) as file:
                yield file


def home_of(image: ImageRef) -> Benchmark | None:
    """A recently opened benchmark that has an image."""
    found = (path for path in reversed(_lately_opened) if ImageStore(path / _IMAGES).has(image))
    return next(map(Benchmark, found), None)


def copy_without_images(benchmark: Benchmark, to: Path) -> None:
    """Copy a benchmark's items without images, unless the target has some already; damaged ones are replaced."""
    if is_benchmark(to) and (not damage_of(to) or damage_of(benchmark.path)):
        return
    with replacing_folder(to) as temporary:
        for name in (MANIFEST, ITEMS):
            (temporary / name).write_bytes(read_regular(benchmark.path / name, benchmark.path))


class BenchmarkWriter:
    """Write a benchmark folder; it appears, complete, when the block ends, and not at all if it fails.

    >>> with BenchmarkWriter(Path("shapes"), Manifest(name="shapes")) as writer:   # doctest: +SKIP
    ...     image = writer.images.put(png_bytes)
    ...     writer.add(Item(id="1", question="What is it?", images=(image,), references=("a circle",)))
    """

    def __init__(
        self, path: Path, manifest: Manifest, *, overwrite: bool = False, gold_required: bool = True
    ) -> None:
        refuse_to_replace(path, overwrite=overwrite)
        self.path, self.manifest, self._gold_required = path, manifest, gold_required
        self._replacing = replacing_folder(path, overwrite=overwrite)
        self._pending: list[Item] = []
        self._pending_bytes = 0
        self._used: set[str] = set()
        self._media: set[Media] = set()
        self._ids: set[str] = set()
        self._options: Counter[int] = Counter()
        self._digest = hashlib.sha256()

    def __enter__(self) -> "BenchmarkWriter":
        self._open = ExitStack()
        self.folder = self._open.enter_context(self._replacing)
        self._open.push(self._close)
        self.images = ImageStore(self.folder / _IMAGES)
        self.images.root.mkdir()
        self._parquet = pq.ParquetWriter(self.folder / ITEMS, SCHEMA, compression="zstd")
        return self

    def __exit__(self, *failure: Any) -> None:
        self._open.__exit__(*failure)

    def add(self, item: Item, where: str = "") -> None:
        """Append an item whose images are in ``images`` already."""
        check(item, where, gold_required=self._gold_required)
        if item.id in self._ids:
            raise ItemError(where or f"item {short(item.id)}", "id", f"{short(item.id)} again", "an id of its own")
        self._ids.add(item.id)
        self._options[len(item.choices)] += 1
        self._used.update(image.sha256 for image in item.images)
        self._media.update(item.media)
        text = msgspec.json.encode(item, order="sorted")
        self._digest.update(text)
        self._pending.append(item)
        self._pending_bytes += len(text)
        if len(self._pending) >= _ROW_GROUP or self._pending_bytes > _MOST_PENDING:
            self._flush()

    def adopt(self, item: Item, source: Benchmark) -> None:
        """Append an item of another benchmark together with its images."""
        for image in item.images:
            self.images.copy(image, source.images)
        self.add(item)

    def adopt_tables(self, source: Benchmark, prefix: str = "") -> None:
        """Append the tables beside another benchmark's items, restricted to the items added here.

        With ``prefix``, which its ids got and no other source has, those ids are forgotten: memory stays constant.
        """
        for name in (LAYOUT, LEGIBILITY):
            if (source.path / name).is_file():
                table = read_parquet(inside(source.path / name, source.path))
                ids = [f"{prefix}{item}" for item in table.column("item").to_pylist()]
                kept = array([row for row, item in enumerate(ids) if item in self._ids], pa.int64())
                column = table.schema.get_field_index("item")
                table = table.set_column(column, "item", array(ids, pa.string())).take(kept)
                if (before := self.folder / name).is_file():
                    table = pa.concat_tables([read_parquet(before), table], promote_options="default")
                write_parquet(table, before)
        if prefix:
            self._ids.clear()

    def _flush(self) -> None:
        if self._pending:
            self._parquet.write_table(to_table(self._pending))
            self._pending.clear()
            self._pending_bytes = 0

    def _close(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._parquet.close()
            return
        self._flush()
        fingerprint = self._digest.hexdigest()
        self._parquet.add_key_value_metadata({_FINGERPRINT: fingerprint})
        self._parquet.close()
        if not self._options:
            raise InputError(f"no items, so {self.path} was not written")
        add_checksum(self.folder / ITEMS)
        self.images.keep_only(self._used)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        total, texts = self._options.total(), self._options.pop(0, 0)
        counts = ItemCounts(
            items=total,
            choice_items=total - texts,
            text_items=texts,
            options={str(number): self._options[number] for number in sorted(self._options)},
            images=len(self.images),
            image_bytes=self.images.size,
            media=dict(Counter(media.kind for media in self._media)),
        )
        self.manifest = self.manifest.holding(counts, fingerprint, now)
        (self.folder / MANIFEST).write_bytes(sealed_json(self.manifest))
        if (self.path / FACTS).is_file():
            (self.folder / FACTS).write_bytes(read_regular(self.path / FACTS, self.path))


def write_items(
    to: Path, items: Iterable[Item], source: Benchmark, manifest: Manifest, *, overwrite: bool
) -> Benchmark:
    """Write items of a benchmark, perhaps changed, as another one, with the tables beside them."""
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for item in items:
            writer.adopt(item, source)
        writer.adopt_tables(source)
    return Benchmark(to)


def damage_of(path: Path) -> str:
    """What is wrong with the items or the manifest of a benchmark folder, in one line; empty where nothing is."""
    try:
        Benchmark(path).verify()
    except FileNotFoundError:
        return f"{path / ITEMS} is missing"
    except InputError as error:
        return str(error)
    return ""


def is_benchmark(path: Path) -> bool:
    """Whether a path is a benchmark folder."""
    return (path / MANIFEST).is_file()


def refuse_to_replace(path: Path, *, overwrite: bool) -> None:
    """Raise before a benchmark is written where it may not be."""
    card = (README, CROISSANT) if is_as_written(path / README) else ()
    refuse_to_lose(path, overwrite=overwrite, ours=(*_OURS, *card) if is_benchmark(path) else ())


def distinct_images(items: Iterable[Item]) -> dict[str, ImageRef]:
    """Every image once, by its hash, in order of first use."""
    return {image.sha256: image for item in items for image in item.images}


def _read_manifest(path: Path) -> Manifest:
    try:
        data = read_regular(path / MANIFEST, path)
    except FileNotFoundError:
        raise InputError(f"{path} is no benchmark folder: there is no {MANIFEST} in it") from None
    try:
        version = msgspec.json.decode(data).get("folder_version")
        if version != FOLDER_VERSION:
            known = f"this eyetest reads {FOLDER_VERSION}"
            raise InputError(f"{path} is a benchmark folder of version {short(version)}; {known}")
        return msgspec.json.decode(unsealed_json(data), type=Manifest)
    except (msgspec.DecodeError, AttributeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{path / MANIFEST} is not a benchmark manifest: {error}") from None
