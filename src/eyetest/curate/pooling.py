"""Pool benchmarks: items of several become one benchmark in which ids, a tag and the lineage name their source.

One pass over the items. Only items whose images another source shows too, and items of words alone, can repeat
others; of these a few bytes are kept, so that memory does not grow with the questions.
"""

import os
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark, BenchmarkWriter, is_benchmark
from eyetest.benchmarks.folder import REPEATS
from eyetest.benchmarks.opening import Progress, cache_folder, forget_older
from eyetest.benchmarks.tags import TagMaps
from eyetest.errors import counted, param
from eyetest.probes.duplicates import Key, item_key, question_key, word_triples
from eyetest.probes.subject import Thresholds, has_its_images, names_images
from eyetest.records import DIALOGUE, POOL, Item, Lineage, Manifest, PooledSource, tag_word
from eyetest.tabular.table import SheetWriter

BENCHMARK_TAG = "benchmark"  # the tag that names the source of an item
SAME, OTHER_KEY, NEAR = "same", "other answer key", "near"
_MOST_NEAR = 200_000  # items whose words are kept to look for near repeats
_SKETCH = 256  # bits
_ROW = 40  # bits of the row in the place of an item; above them is the number of its source
_REPORT_EVERY = 500
_LONGEST_NAME = 80


class Source(NamedTuple):
    """A benchmark to pool, under the name that its items get."""

    name: str
    benchmark: Benchmark
    licence: str = ""


class Pooled(NamedTuple):
    """A pool: how many items each source gave, and repeats by kind."""

    benchmark: Benchmark
    items: dict[str, int]
    repeats: Counter[str]
    dropped: int
    notes: list[str]


def named_sources(sources: Sequence[Source]) -> list[Source]:
    """Sources with names that can begin an id: as given, or their benchmarks' own, numbered where they are alike."""
    taken: Counter[str] = Counter()
    named = []
    for given, benchmark, licence in sources:
        plain = re.sub(r"[/\\:,=@\s]+", "-", given or benchmark.manifest.name)[:_LONGEST_NAME].strip("-")
        name = plain or "benchmark"
        while name in taken:
            taken[plain] += 1
            name = f"{plain}-{taken[plain]}"
        taken[name] += 1
        named.append(Source(name, benchmark, licence or benchmark.manifest.licence))
    return named


class Pooling(NamedTuple):
    """What to pool: ``drop`` names the later items that are left out because they repeat earlier ones."""

    sources: Sequence[Source]
    maps: TagMaps
    drop: str = ""


def open_pool(pooling: Pooling, progress: Progress) -> tuple[Benchmark, list[str]]:
    """A pool in the cache, and notes where it is new."""
    sources, name = pooling.sources, "+".join(source.name for source in pooling.sources)[:_LONGEST_NAME]
    known = [(source.name, source.benchmark.manifest.fingerprint, source.licence) for source in sources]
    whose = "\n".join(str(source.benchmark.path.resolve()) for source in sources)
    cached = cache_folder(os.fsencode(whose), known, pooling.maps.maps, name)
    if is_benchmark(cached):
        return Benchmark(cached), []
    pooled = pool_benchmarks(pooling, cached, name, overwrite=True, progress=progress)
    forget_older(cached)
    return pooled.benchmark, pooled.notes


def pool_benchmarks(
    pooling: Pooling, to: Path, name: str, *, overwrite: bool = False, progress: Progress = lambda share: None
) -> Pooled:
    """Write a pool; it appears when it is complete."""
    sources, maps, drop = pooling
    total, written = sum(len(source.benchmark) for source in sources), 0
    repeats, dropped, items = Counter[str](), 0, dict[str, int]()
    finder = _RepeatFinder(sources)
    with BenchmarkWriter(to, _manifest(sources, name), overwrite=overwrite, gold_required=False) as writer:
        with (writer.folder / REPEATS).open("w", newline="", encoding="utf-8") as file:
            sheet = SheetWriter(file, ("item", "repeats", "kind", "dropped"))
            for number, source in enumerate(sources):
                items[source.name] = 0
                for row, item in enumerate(source.benchmark):
                    pooled = _pooled(item, source, maps)
                    kind, other = finder.find(item, number, row)
                    gone = kind == SAME if drop == SAME else bool(kind) and drop == NEAR
                    if kind:
                        sheet.write([(pooled.id, other, kind, "yes" if gone else "no")])
                        repeats[kind] += 1
                    if gone:
                        dropped += 1
                    else:
                        writer.adopt(pooled, source.benchmark)
                        items[source.name] += 1
                    written += 1
                    if written % _REPORT_EVERY == 0:
                        progress(written / total)
                finder.end_source()
                writer.adopt_tables(source.benchmark, f"{source.name}/")
        if not repeats:
            (writer.folder / REPEATS).unlink()
        notes = maps.notes()
    if repeats:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in repeats.most_common())
        left = f"{dropped:,} of them left out" if dropped else f"{param('drop_repeats', NEAR)} leaves them out"
        listing = f"listed in {to / REPEATS}; {left}"
        notes.append(
            f"{counted(repeats.total(), 'item')} that repeat those of an earlier source ({kinds}), {listing}"
        )
    return Pooled(Benchmark(to), items, repeats, dropped, notes + finder.notes)


def _manifest(sources: Sequence[Source], name: str) -> Manifest:
    known = [(source, source.benchmark.manifest) for source in sources]
    licences = {source.licence for source in sources}
    return Manifest(
        name=name,
        licence=licences.pop() if len(licences) == 1 else "",
        canary=" ".join(dict.fromkeys(manifest.canary for _, manifest in known if manifest.canary)),
        lineage=tuple(
            Lineage(step=POOL, source=f"{source.name} {manifest.version}", note=manifest.fingerprint)
            for source, manifest in known
        ),
        sources=tuple(
            PooledSource(
                name=source.name,
                version=manifest.version,
                fingerprint=manifest.fingerprint,
                items=len(source.benchmark),
                licence=source.licence,
            )
            for source, manifest in known
        ),
    )


def _pooled(item: Item, source: Source, maps: TagMaps) -> Item:
    """The item under its name in the pool. What names other items, a group or a dialogue, gets the same prefix."""
    prefix, tags = f"{source.name}/", dict(item.tags)
    if BENCHMARK_TAG not in tags or not source.benchmark.manifest.sources:
        tags[BENCHMARK_TAG] = source.name
    if (dialogue := tag_word(tags.get(DIALOGUE))) is not None:
        tags[DIALOGUE] = prefix + dialogue
    return msgspec.structs.replace(
        item,
        id=prefix + item.id,
        group=prefix + item.group if item.group else "",
        tags=maps.apply(tags, source.name) if maps.maps else tags,
        lineage=(*item.lineage, Lineage(step=POOL, source=source.name, item=item.id)),
    )


class _Wording(NamedTuple):
    """The words of an item: hashes of its word triples, and a sketch of them that rules most pairs out."""

    place: int
    hashes: bytes
    size: int
    sketch: int

    @classmethod
    def of(cls, item: Item, place: int) -> "_Wording":
        hashes = {crc32(triple.encode("utf-8", "replace")) for triple in word_triples(item)}
        sketch = 0
        for value in hashes:
            sketch |= 1 << value % _SKETCH
        return cls(place, array("I", hashes).tobytes(), len(hashes), sketch)

    def is_near(self, other: "_Wording", level: float) -> bool:
        """Whether the shares of common triples reach a level."""
        least = level * (self.size + other.size) / (1 + level)
        mine, theirs = (self.sketch & ~other.sketch).bit_count(), (other.sketch & ~self.sketch).bit_count()
        if not self.size or self.size - mine < least or other.size - theirs < least:
            return False
        return len({*array("I", self.hashes)} & {*array("I", other.hashes)}) >= least


class _RepeatFinder:
    """Finds items that repeat those of earlier sources: exactly, with another answer key, or nearly."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources, self._level = sources, Thresholds().text.near_duplicate
        self._images = [_image_keys(source.benchmark) for source in sources]
        values, counts = np.unique(np.concatenate([np.unique(keys) for keys in self._images]), return_counts=True)
        self._may_repeat = [np.isin(keys, values[counts > 1]) for keys in self._images]
        self._ids: dict[int, pa.ChunkedArray] = {}
        self._known = np.empty((3, 0), np.uint64)  # of earlier sources: questions, sorted; whole items; places
        self._new = tuple(array("Q") for _ in range(3))
        self._near: dict[int, list[_Wording]] = defaultdict(list)
        self._compared = self._left_out = 0

    def find(self, item: Item, source: int, row: int) -> tuple[str, str]:
        """The kind of repeat and the earlier item; both empty for an item that repeats none, which is remembered."""
        in_words = not (item.images or names_images(item))
        if not self._may_repeat[source][row] or not (in_words or has_its_images(item)):
            return "", ""
        question, whole, place = _hash(question_key(item)), _hash(item_key(item)), source << _ROW | row
        first, end = (int(np.searchsorted(self._known[0], np.uint64(question), side)) for side in ("left", "right"))
        if first < end:
            equal = np.flatnonzero(self._known[1, first:end] == whole)
            kind, at = (SAME, equal[0]) if len(equal) else (OTHER_KEY, 0)
            return kind, self._name(int(self._known[2, first + at]))
        for column, value in zip(self._new, (question, whole, place), strict=True):
            column.append(value)
        return ("", "") if in_words else self._find_near(_Wording.of(item, place), int(self._images[source][row]))

    def _find_near(self, wording: _Wording, images: int) -> tuple[str, str]:
        others = (other for other in self._near[images] if other.place >> _ROW != wording.place >> _ROW)
        if near := next((other for other in others if wording.is_near(other, self._level)), None):
            return NEAR, self._name(near.place)
        if self._compared < _MOST_NEAR:
            self._near[images].append(wording)
            self._compared += 1
        else:
            self._left_out += 1
        return "", ""

    def end_source(self) -> None:
        """Make the items of a source earlier ones."""
        every = np.hstack([self._known, [np.frombuffer(column, np.uint64) for column in self._new]])
        self._known = every[:, np.argsort(every[0], kind="stable")]
        self._new = tuple(array("Q") for _ in range(3))

    @property
    def notes(self) -> list[str]:
        """What was not compared."""
        kept = f"near repeats of {_MOST_NEAR:,} items on shared images were looked for"
        return [f"{kept}; of {self._left_out:,} more only exact ones"] if self._left_out else []

    def _name(self, place: int) -> str:
        source = self._sources[number := place >> _ROW]
        if number not in self._ids:
            self._ids[number] = source.benchmark.table(["id"]).column("id")
        return f"{source.name}/{self._ids[number][place & (1 << _ROW) - 1].as_py()}"


def _image_keys(benchmark: Benchmark) -> NDArray[np.uint64]:
    """A hash of each item's images."""
    names = pl.col("images").list.eval(pl.element().struct.field("sha256")).list.join(" ")
    return benchmark.scan(["images"]).select(names.hash()).collect(engine="streaming").to_series().to_numpy()


def _hash(key: Key) -> int:
    return int.from_bytes(blake2b(msgspec.json.encode(key), digest_size=8).digest())
