"""Pool benchmarks: items of several become one benchmark in which ids, a tag and the lineage name their source.

One pass over the items. Only items whose images another source shows too, and items of words alone, can repeat
others; of these two hashes are kept, so that memory does not grow with the questions.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

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
from eyetest.probes.duplicates import Key, item_key, question_key
from eyetest.probes.subject import has_its_images, names_images
from eyetest.records import DIALOGUE, POOL, Item, Lineage, Manifest, PooledSource, tag_word
from eyetest.tabular.table import SheetWriter

BENCHMARK_TAG = "benchmark"  # the tag that names the source of an item
SAME, OTHER_KEY = "same", "other answer key"
_REPORT_EVERY = 500
_LONGEST_NAME = 80
_Place = tuple[int, int]  # the number of a source, and a row of it


class Source(NamedTuple):
    """A benchmark to pool, under the name that its items get."""

    name: str
    benchmark: Benchmark
    licence: str = ""


class Pooled(NamedTuple):
    """A pool: how many items each source gave, and repeats by kind."""

    benchmark: Benchmark
    items: Counter[str]
    repeats: Counter[str]
    notes: list[str]


def named_sources(sources: Sequence[Source]) -> list[Source]:
    """Sources with names that can begin an id: as given, or their benchmarks' own, numbered where they are alike."""
    named: dict[str, Source] = {}
    for given, benchmark, licence in sources:
        plain = re.sub(r"[/\\:,=@\s]+", "-", given or benchmark.manifest.name)[:_LONGEST_NAME].strip("-")
        names = chain([plain or "benchmark"], (f"{plain}-{number}" for number in count(2)))
        name = next(name for name in names if name not in named)
        named[name] = Source(name, benchmark, licence or benchmark.manifest.licence)
    return list(named.values())


class Pooling(NamedTuple):
    """What to pool; with ``drop`` later items that are the same as earlier ones are left out."""

    sources: Sequence[Source]
    maps: TagMaps | None
    drop: bool = False


def open_pool(pooling: Pooling, progress: Progress, tell: Callable[[str], None]) -> Benchmark:
    """A pool in the cache; where it is new, ``tell`` gets the notes on it."""
    sources, name = pooling.sources, "+".join(source.name for source in pooling.sources)[:_LONGEST_NAME]
    known = [(source.name, source.benchmark.manifest.fingerprint, source.licence) for source in sources]
    whose = "\n".join(str(source.benchmark.path.resolve()) for source in sources)
    cached = cache_folder(os.fsencode(whose), known, (), name)
    if not is_benchmark(cached):
        for line in pool_benchmarks(pooling, cached, name, overwrite=True, progress=progress).notes:
            tell(line)
        forget_older(cached)
    return Benchmark(cached)


def pool_benchmarks(
    pooling: Pooling, to: Path, name: str, *, overwrite: bool = False, progress: Progress = lambda share: None
) -> Pooled:
    """Write a pool; it appears when it is complete."""
    sources, maps, drop = pooling
    total, repeats, items = sum(len(source.benchmark) for source in sources), Counter[str](), Counter[str]()
    finder = _RepeatFinder(sources)
    with BenchmarkWriter(to, _manifest(sources, name), overwrite=overwrite, gold_required=False) as writer:
        with (writer.folder / REPEATS).open("w", newline="", encoding="utf-8") as file:
            sheet = SheetWriter(file, ("item", "repeats", "kind", "dropped"))
            for number, source in enumerate(sources):
                for row, item in enumerate(source.benchmark):
                    pooled = _pooled(item, source, maps)
                    kind, other = finder.find(item, number, row)
                    gone = drop and kind == SAME
                    if kind:
                        sheet.write([(pooled.id, other, kind, "yes" if gone else "no")])
                        repeats[kind] += 1
                    if not gone:
                        writer.adopt(pooled, source.benchmark)
                        items[source.name] += 1
                    if row % _REPORT_EVERY == 0:
                        progress(items.total() / total)
                finder.end_source()
                writer.adopt_tables(source.benchmark, f"{source.name}/")
        if not repeats:
            (writer.folder / REPEATS).unlink()
        notes = maps.notes() if maps else []
    if repeats:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in repeats.most_common())
        how = f"eyetest pool {param('drop_repeats', True)} leaves the same ones out"
        dropped = total - items.total()
        left = f"listed in {to / REPEATS}; {f'{dropped:,} of them left out' if dropped else how}"
        notes.append(f"{counted(repeats.total(), 'item')} repeat items of an earlier source ({kinds}), {left}")
    return Pooled(Benchmark(to), items, repeats, notes)


def _manifest(sources: Sequence[Source], name: str) -> Manifest:
    known = [(source, source.benchmark.manifest) for source in sources]
    licences = {source.licence for source in sources}
    return Manifest(
        name=name,
        licence=licences.pop() if len(licences) == 1 else "",
        canary=" ".join(dict.fromkeys(manifest.canary for _, manifest in known if manifest.canary)),
        lineage=tuple(Lineage(step=POOL, source=f"{source.name} {manifest.version}") for source, manifest in known),
        sources=tuple(
            PooledSource(source.name, manifest.version, manifest.fingerprint, manifest.counts.items, source.licence)
            for source, manifest in known
        ),
    )


def _pooled(item: Item, source: Source, maps: TagMaps | None) -> Item:
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
        tags=maps.apply(tags, source.name) if maps else tags,
        lineage=(*item.lineage, Lineage(step=POOL, source=source.name, item=item.id)),
    )


class _RepeatFinder:
    """Finds items that repeat those of earlier sources, with the same or another answer key."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        images = [_image_keys(source.benchmark) for source in sources]
        values, counts = np.unique(np.concatenate([np.unique(keys) for keys in images]), return_counts=True)
        self._may_repeat = [np.isin(keys, values[counts > 1]) for keys in images]
        self._ids: dict[int, pa.ChunkedArray] = {}
        self._questions, self._items = dict[int, _Place](), dict[int, _Place]()  # first of earlier sources, by hash
        self._new: list[tuple[int, int, _Place]] = []  # of the current source

    def find(self, item: Item, source: int, row: int) -> tuple[str, str]:
        """The kind of repeat and the earlier item; both empty for an item that repeats none, which is remembered."""
        unknown = not has_its_images(item) if item.images else names_images(item)
        if unknown or not self._may_repeat[source][row]:
            return "", ""
        question = question_key(item)
        hashed, whole = _hash(question), _hash(item_key(item, question))
        if whole in self._items:
            return SAME, self._name(self._items[whole])
        self._new.append((hashed, whole, (source, row)))
        return (OTHER_KEY, self._name(self._questions[hashed])) if hashed in self._questions else ("", "")

    def end_source(self) -> None:
        """Make the items of a source earlier ones."""
        for question, whole, place in self._new:
            self._questions.setdefault(question, place)
            self._items.setdefault(whole, place)
        self._new.clear()

    def _name(self, place: _Place) -> str:
        number, row = place
        if number not in self._ids:
            self._ids[number] = self._sources[number].benchmark.table(["id"]).column("id")
        return f"{self._sources[number].name}/{self._ids[number][row].as_py()}"


def _image_keys(benchmark: Benchmark) -> NDArray[np.uint64]:
    """A hash of each item's images."""
    names = pl.col("images").list.eval(pl.element().struct.field("sha256")).list.join(" ")
    return benchmark.scan(["images"]).select(names.hash()).collect(engine="streaming").to_series().to_numpy()


def _hash(key: Key) -> int:
    return int.from_bytes(blake2b(msgspec.json.encode(key), digest_size=8).digest())
