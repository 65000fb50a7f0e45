"""Pool benchmarks: items of several become one benchmark in which ids, a tag and the lineage name their source.

One pass over the items, of which two hashes are kept, so that memory does not grow with the questions.
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

from eyetest.benchmarks import Benchmark, BenchmarkWriter, is_benchmark
from eyetest.benchmarks.folder import REPEATS
from eyetest.benchmarks.opening import cache_folder, forget_older
from eyetest.benchmarks.tags import TagMaps
from eyetest.errors import counted, name_folder, names_of, param
from eyetest.probes.duplicates import Key, item_key, question_key
from eyetest.probes.subject import has_its_images, names_images
from eyetest.records import DIALOGUE, POOL, Item, Lineage, Manifest, PooledSource, tag_word
from eyetest.tabular.table import sheet_text

BENCHMARK_TAG = "benchmark"  # the tag that names the source of an item
SAME, OTHER_KEY = "same", "other answer key"
_REPORT_EVERY = 500
_LONGEST_NAME = 80
Progress = Callable[[float], None]  # is handed a share from 0 to 1


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
    for folder in (cached, cached.absolute(), cached.resolve()):
        name_folder(str(folder), *chain.from_iterable(names_of(str(source.benchmark.path)) for source in sources))
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
    finder = _RepeatFinder()
    with BenchmarkWriter(to, _manifest(sources, name), overwrite=overwrite, gold_required=False) as writer:
        listed_repeats = []
        for source in sources:
            for row, item in enumerate(source.benchmark):
                pooled = _pooled(item, source, maps)
                kind, other = finder.find(item, pooled.id)
                gone = drop and kind == SAME
                if kind:
                    listed_repeats.append((pooled.id, other, kind, "yes" if gone else "no"))
                    repeats[kind] += 1
                if not gone:
                    writer.adopt(pooled, source.benchmark)
                    items[source.name] += 1
                if row % _REPORT_EVERY == 0:
                    progress(items.total() / total)
            finder.end_source()
            writer.adopt_tables(source.benchmark, f"{source.name}/")
        if repeats:
            table = sheet_text(("item", "repeats", "kind", "dropped"), listed_repeats)
            (writer.folder / REPEATS).write_bytes(table.encode("utf-8", "replace"))
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
    pooled = msgspec.structs.replace(
        item,
        id=prefix + item.id,
        group=prefix + item.group if item.group else "",
        tags=tags,
        lineage=(*item.lineage, Lineage(step=POOL, source=source.name, item=item.id)),
    )
    return maps.tagged(pooled, source.name) if maps else pooled


class _RepeatFinder:
    """Finds items that repeat those of earlier sources, with the same or another answer key."""

    def __init__(self) -> None:
        self._questions, self._items = dict[int, str](), dict[int, str]()  # the first of earlier sources, by hash
        self._new: list[tuple[int, int, str]] = []  # of the current source

    def find(self, item: Item, name: str) -> tuple[str, str]:
        """The kind of repeat and the earlier item; both empty for an item that repeats none, which is remembered."""
        if not has_its_images(item) if item.images else names_images(item):  # whether images are equal is not known
            return "", ""
        question = question_key(item)
        hashed, whole = _hash(question), _hash(item_key(item, question))
        if whole in self._items:
            return SAME, self._items[whole]
        self._new.append((hashed, whole, name))
        return (OTHER_KEY, self._questions[hashed]) if hashed in self._questions else ("", "")

    def end_source(self) -> None:
        """Make the items of a source earlier ones."""
        for question, whole, name in self._new:
            self._questions.setdefault(question, name)
            self._items.setdefault(whole, name)
        self._new.clear()


def _hash(key: Key) -> int:
    return int.from_bytes(blake2b(msgspec.json.encode(key), digest_size=8).digest())
