"""A benchmark on disk: ``benchmark.json``, ``items.parquet`` and ``images/``.

Opening one reads only the manifest. Items stream from Parquet a few at a time, pictures are opened by hash
when somebody looks, so a benchmark may be far larger than memory.
"""

import hashlib
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import SupportsIndex, overload

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.benchmarks import itemtable
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.item_frame import item_frame
from eyetest.errors import InputError, ItemError, nearest, short
from eyetest.records import FOLDER_VERSION, READABLE_VERSIONS, ImageRef, Item, ItemCounts, Manifest, check
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.store.files import add_checksum, has_checksum, inside, is_as_written, read_regular
from eyetest.store.packs import INDEX, PACKS
from eyetest.tabular.bounded_parquet import BoundedParquet, open_bounded
from eyetest.tabular.record_files import array, damage_in_one_line, indices, numbers, read_parquet

MANIFEST = "benchmark.json"
ITEMS = "items.parquet"
_IMAGES = "images"
SKIPPED = "skipped.jsonl"
LAYOUT, LEGIBILITY = "layout.parquet", "legibility.parquet"
"""Tables beside the items of screenshots: where parts lie, and how well they can be read."""
INPUTS = "inputs.json"
CHANGES = "changes.csv"
"""What people changed of the items that a revision was made of."""
README, CROISSANT, SAID = "README.md", "croissant.json", "card.yaml"
"""The card, and what people said for it, which outlives the items."""
_OURS = (MANIFEST, ITEMS, _IMAGES, SKIPPED, INPUTS, CHANGES, SAID, LAYOUT, LEGIBILITY, PACKS, INDEX)
_FINGERPRINT = b"fingerprint"
"""Under which the items' file notes whose items it holds."""
_ROW_GROUP = 2_000
_MOST_KEPT = 48 * 2**20
_MOST_PENDING = 16 * 2**20
_BATCH = 500
_MANY = 65_536
"""Items of which a single field is read at once."""
_MOST_REMEMBERED = 32
_lately_opened: dict[Path, None] = {}


class Benchmark:
    """A benchmark folder, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = _read_manifest(path)
        self.images = ImageStore(path / _IMAGES)
        self._checked: tuple[int, ...] = ()
        """The items' file that was found sound."""
        self._proof: tuple[int, ...] = ()
        """The one whose checksum was found to fit."""
        self._ids: pa.ChunkedArray | None = None
        self._groups: dict[int, pa.Table] = {}
        _remember(path.absolute())

    def __len__(self) -> int:
        return self.manifest.counts.items

    def __iter__(self) -> Iterator[Item]:
        with self._items() as file:
            for batch in file.batches(_BATCH):
                yield from itemtable.from_batch(batch)

    @overload
    def __getitem__(self, which: str | SupportsIndex) -> Item: ...

    @overload
    def __getitem__(self, which: slice) -> list[Item]: ...

    def __getitem__(self, which: str | SupportsIndex | slice) -> Item | list[Item]:
        """An item by its id (text) or by where it stands (a number); several by a slice."""
        if isinstance(which, str):
            return self.take([self.position(which)])[0]
        if isinstance(which, slice):
            return self.take(range(*which.indices(len(self))))
        try:
            number = operator.index(which)
        except TypeError:
            kinds = "its id (text), where it stands (a whole number), or a slice"
            raise TypeError(f"an item is had by {kinds}, not by {short(which)}") from None
        if not -len(self) <= number < len(self):
            there = (
                f'{self.manifest.name} has {len(self):,} items, from 0; an item whose id is {number} is ["{number}"]'
            )
            raise IndexError(f"no item at {number:,}: {there}")
        return self.take([number % len(self)])[0]

    @property
    def frame(self) -> pl.DataFrame:
        """All items as one table: texts, golds in words, how many pictures, and a column for each tag."""
        return item_frame(self)

    def position(self, item_id: str) -> int:
        """Where an item stands in the benchmark."""
        with self._items() as file:
            position: int = self._id_column(file).index(item_id).as_py()
        if position < 0:
            raise InputError(f"no item {short(item_id)} in {self.manifest.name}; {self._nearest_id(item_id)}")
        return position

    def positions(self, item_ids: Iterable[str]) -> list[int]:
        """Where some items stand, all of them looked up at once."""
        with self._items() as file:
            position_of = {item_id: position for position, item_id in enumerate(self._id_column(file).to_pylist())}
        return [position_of[item_id] if item_id in position_of else self.position(item_id) for item_id in item_ids]

    def take(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions, in that order. Cheap where the positions lie near each other."""
        wanted = np.asarray(positions, np.int64)
        items: dict[int, Item] = {}
        with self._items() as file:
            groups = range(file.metadata.num_row_groups)
            ends = np.cumsum([file.metadata.row_group(group).num_rows for group in groups])
            group_of = np.searchsorted(ends, wanted, side="right")
            order = np.argsort(group_of, kind="stable")
            for here in np.split(order, np.flatnonzero(np.diff(group_of[order])) + 1) if len(order) else ():
                group = int(group_of[here[0]])
                table = self._row_group(file, group)
                rows = array((wanted[here] - ends[group] + len(table)).tolist(), pa.int64())
                taken = (item for batch in table.take(rows).to_batches() for item in itemtable.from_batch(batch))
                items.update(zip(here.tolist(), taken, strict=True))
        return [items[index] for index in range(len(wanted))]

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all items, as they are stored: far cheaper than the items, for whoever needs no more."""
        with self._items() as file:
            return file.table(columns)

    def scan(self, columns: Sequence[str]) -> pl.LazyFrame:
        """The same lazily, for whoever counts or joins them."""
        if path := self._proven():
            return pl.scan_parquet(path, glob=False).select(columns)
        frame = pl.from_arrow(self.table(columns))
        assert isinstance(frame, pl.DataFrame)
        return frame.lazy()

    def part(self, column: str, field: str) -> Iterator[tuple[NDArray[np.int64], pa.Array]]:
        """One field of what items have several of, such as ``correct`` of ``choices``: nothing else is unpacked.

        Some items at a time, how many of it each has, and all of them.
        """
        if path := self._proven():
            with damage_in_one_line(path), pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_MANY, columns=[f"{column}.list.element.{field}"]):
                    yield _unpacked(batch.column(0), field)
        else:
            for chunk in self.table([column]).column(column).chunks:
                yield _unpacked(chunk, field)

    def _proven(self) -> Path | None:
        """The items' file if its checksum fits: one that has none may stand for more than memory holds."""
        path = inside(self.path / ITEMS, self.path)
        with damage_in_one_line(path):
            identity = _identity(path)
            if identity != self._proof:
                if not has_checksum(path):
                    return None
                with pq.ParquetFile(path) as file:
                    self._refuse_others(file.schema_arrow, file.metadata)
                self._proof = identity
        return path

    def by_picture(self) -> list[int]:
        """All positions, items that share their first picture side by side, otherwise in the benchmark's order."""
        by_picture: list[int] = np.argsort(self.picture_groups(), kind="stable").tolist()
        return by_picture

    def picture_groups(self) -> NDArray[np.int64]:
        """Of each item, where the first one stands that shows the same picture first; itself if it shows none."""
        counts, hashes = [np.zeros(0, np.int64)], []
        for number, of_batch in self.part("images", "sha256"):
            counts.append(number)
            hashes.append(of_batch.take(indices((np.cumsum(number) - number)[number > 0])))
        shown = np.flatnonzero(np.concatenate(counts))
        pictures = pa.chunked_array(hashes, pa.string()).combine_chunks().dictionary_encode()
        codes = numbers(pictures.indices)
        _, firsts = np.unique(codes, return_index=True)
        order = np.arange(len(self))
        order[shown] = shown[firsts][codes]
        return order

    def _row_group(self, file: BoundedParquet, group: int) -> pa.Table:
        """A row group, kept for the next to ask: items that share a picture may lie far apart."""
        table = self._groups.pop(group, None)
        if table is None:
            table = file.table(group=group)
            while self._groups and table.nbytes + sum(t.nbytes for t in self._groups.values()) > _MOST_KEPT:
                self._groups.pop(next(iter(self._groups)))
        self._groups[group] = table
        return table

    def __contains__(self, item_id: object) -> bool:
        with self._items() as file:
            return bool(self._id_column(file).index(item_id).as_py() >= 0)

    def __repr__(self) -> str:
        return f"<Benchmark {self.manifest.name!r}: {len(self):,} items in {self.path}>"

    @contextmanager
    def _items(self) -> Iterator[BoundedParquet]:
        """The items' file, found to be the one that the manifest speaks of; whatever is wrong becomes one line."""
        path = inside(self.path / ITEMS, self.path)
        with damage_in_one_line(self.path / ITEMS):
            identity = _identity(path)
            if identity != self._checked:
                has_checksum(path)
            with open_bounded(path) as file:
                if identity != self._checked:
                    self._refuse_others(file.schema, file.metadata)
                    self._checked = identity
                yield file

    def _refuse_others(self, schema: pa.Schema, metadata: pq.FileMetaData) -> None:
        """Refuse items that are not those of the manifest: cut, exchanged, or of another kind altogether."""
        where, rows = self.path / ITEMS, metadata.num_rows
        if not itemtable.is_readable(schema):
            raise InputError(f"{where} does not have the columns of a benchmark's items")
        if rows != len(self):
            raise InputError(f"{where} holds {rows:,} items, but {MANIFEST} speaks of {len(self):,}")
        theirs = (metadata.metadata or {}).get(_FINGERPRINT)
        if theirs is not None and theirs.decode("ascii", "replace") != self.manifest.fingerprint:
            raise InputError(f"{where} holds the items of another benchmark than {MANIFEST} speaks of")

    def _id_column(self, file: BoundedParquet) -> pa.ChunkedArray:
        if self._ids is None:
            self._ids = file.table(["id"]).column("id")
        return self._ids

    def _nearest_id(self, item_id: str) -> str:
        assert self._ids is not None
        ids = self._ids.slice(0, 5_000).to_pylist()
        return (
            nearest(item_id, ids)
            if len(self) <= 20
            else nearest(item_id, ids).partition("known:")[0] or (f"the first is {short(ids[0])}")
        )


def _unpacked(lists: pa.Array, field: str) -> tuple[NDArray[np.int64], pa.Array]:
    return numbers(pc.list_value_length(lists)), pc.struct_field(lists.flatten(), field)


def _identity(path: Path) -> tuple[int, ...]:
    """What tells a file from one that took its place."""
    about = path.stat()
    return about.st_ino, about.st_size, about.st_mtime_ns


def home_of(image: ImageRef) -> Benchmark | None:
    """A benchmark, of those opened lately, that has a picture. As pictures go by their hash, any of them will do."""
    for path in reversed(_lately_opened):
        if ImageStore(path / _IMAGES).has(image):
            return Benchmark(path)
    return None


def _remember(path: Path) -> None:
    _lately_opened.pop(path, None)
    _lately_opened[path] = None
    if len(_lately_opened) > _MOST_REMEMBERED:
        del _lately_opened[next(iter(_lately_opened))]


def refuse_gold_list(benchmark: Benchmark, verb: str) -> None:
    """Stop where questions are needed and the benchmark has none."""
    if benchmark.manifest.is_gold_list:
        raise InputError(
            f"{benchmark.manifest.name} is a gold list, without questions and pictures: there is nothing to {verb}; "
            "answers to it can be imported and measured"
        )


def copy_without_pictures(benchmark: Benchmark, to: Path) -> None:
    """Keep a benchmark's items somewhere else, unless some are kept there already.

    What was asked stays known when the benchmark moves or changes.
    """
    if is_benchmark(to):
        return
    with replacing_folder(to) as temporary:
        for name in (MANIFEST, ITEMS):
            (temporary / name).write_bytes(read_regular(benchmark.path / name, benchmark.path))


class BenchmarkWriter:
    """Writes a benchmark folder; it appears, whole, when the block ends, and not at all if it fails.

    >>> with BenchmarkWriter(Path("shapes"), Manifest(name="shapes")) as writer:   # doctest: +SKIP
    ...     image = writer.images.put(png_bytes)
    ...     writer.add(Item(id="1", question="What is it?", images=(image,), references=("a circle",)))
    """

    def __init__(
        self, path: Path, manifest: Manifest, *, overwrite: bool = False, gold_required: bool = True
    ) -> None:
        refuse_to_replace(path, overwrite=overwrite)
        self.path = path
        self.manifest = manifest
        self._gold_required = gold_required
        self._replacing = replacing_folder(path, overwrite=overwrite)
        self._pending: list[Item] = []
        self._pending_bytes = 0
        self._used: set[str] = set()
        self._ids: set[str] = set()
        self._options: Counter[int] = Counter()
        self._digest = hashlib.sha256()

    def __enter__(self) -> "BenchmarkWriter":
        self.folder = self._replacing.__enter__()
        self.images = ImageStore(self.folder / _IMAGES)
        self.images.root.mkdir()
        self._parquet = pq.ParquetWriter(self.folder / ITEMS, itemtable.SCHEMA, compression="zstd")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.images.finish()
            if kind is None:
                self._finish()
            else:
                self._parquet.close()
        except BaseException as failure:
            self._replacing.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._replacing.__exit__(kind, error, trace)

    def add(self, item: Item, where: str = "") -> None:
        """Append an item whose pictures are in ``images`` already."""
        asked = not self.manifest.is_gold_list
        check(item, where, gold_required=self._gold_required, question_required=asked)
        if item.id in self._ids:
            raise ItemError(where or f"item {short(item.id)}", "id", f"{short(item.id)} again", "an id of its own")
        self._ids.add(item.id)
        self._options[len(item.choices)] += 1
        self._used.update(image.sha256 for image in item.images)
        bare = msgspec.structs.replace(item, spellings={}) if item.spellings else item
        text = msgspec.json.encode(bare, order="sorted")
        self._digest.update(text)
        self._pending.append(item)
        self._pending_bytes += len(text) + sum(len(spelling.theirs) for spelling in item.spellings.values())
        if len(self._pending) >= _ROW_GROUP or self._pending_bytes > _MOST_PENDING:
            self._flush()

    def adopt(self, item: Item, source: Benchmark) -> None:
        """Append an item of another benchmark together with its pictures."""
        for image in item.images:
            self.images.copy(image, source.images)
        self.add(item)

    def adopt_tables(self, source: Benchmark) -> None:
        """Take over what lies beside another benchmark's items, as far as it is about those that were added here."""
        for name in (LAYOUT, LEGIBILITY):
            if (source.path / name).is_file():
                table = read_parquet(inside(source.path / name, source.path))
                kept = pc.is_in(table.column("item"), value_set=array(sorted(self._ids), pa.string()))
                pq.write_table(table.filter(kept), self.folder / name, compression="zstd")

    @property
    def counts(self) -> ItemCounts:
        """What has been written so far."""
        total = self._options.total()
        return ItemCounts(
            items=total,
            choice_items=total - self._options[0],
            text_items=self._options[0],
            images=len(self.images),
            image_bytes=self.images.size,
            options={str(number): self._options[number] for number in sorted(self._options) if number},
        )

    def _flush(self) -> None:
        if self._pending:
            self._parquet.write_table(itemtable.to_table(self._pending))
            self._pending.clear()
            self._pending_bytes = 0

    def _finish(self) -> None:
        self._flush()
        fingerprint = self._digest.hexdigest()
        self._parquet.add_key_value_metadata({_FINGERPRINT: fingerprint})
        self._parquet.close()
        if not self._ids:
            raise InputError(f"no items, so {self.path} was not written")
        add_checksum(self.folder / ITEMS)
        self.images.keep_only(self._used)
        self.images.pack()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.manifest = self.manifest.holding(self.counts, fingerprint, now)
        text = msgspec.json.format(msgspec.json.encode(self.manifest), indent=2)
        (self.folder / MANIFEST).write_bytes(text + b"\n")
        if (self.path / SAID).is_file():
            (self.folder / SAID).write_bytes(read_regular(self.path / SAID, self.path))


def is_benchmark(path: Path) -> bool:
    """Whether a path is a benchmark folder of ours."""
    return (path / MANIFEST).is_file()


def refuse_to_replace(path: Path, *, overwrite: bool) -> None:
    """Stop before a benchmark is written where it may not be."""
    card = (README, CROISSANT) if is_as_written(path / README) else ()
    refuse_to_lose(path, overwrite=overwrite, ours=(*_OURS, *card) if is_benchmark(path) else ())


def distinct_images(benchmark: Benchmark) -> Iterator[ImageRef]:
    """Every picture of a benchmark once, in order of first use."""
    seen: set[str] = set()
    for item in benchmark:
        for image in item.images:
            if image.sha256 not in seen:
                seen.add(image.sha256)
                yield image


def _read_manifest(path: Path) -> Manifest:
    try:
        text = read_regular(path / MANIFEST, path)
    except FileNotFoundError:
        raise InputError(f"{path} is no benchmark folder: there is no {MANIFEST} in it") from None
    try:
        version = msgspec.json.decode(text).get("folder_version")
        if version not in READABLE_VERSIONS:
            known = " and ".join(map(str, READABLE_VERSIONS))
            raise InputError(f"{path} is a benchmark folder of version {short(version)}; this eyetest reads {known}")
        manifest = msgspec.json.decode(text, type=Manifest)
        return msgspec.structs.replace(manifest, folder_version=FOLDER_VERSION)
    except (msgspec.DecodeError, AttributeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{path / MANIFEST} is not a benchmark manifest: {error}") from None
