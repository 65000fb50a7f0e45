"""Convert a dataset to a benchmark folder: read, reform, add images, record the source of every item."""

from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError, ItemError, MissingImage, short
from eyetest.records import Item, Lineage, Manifest, OptionProvenance
from eyetest.reform.catalog import Dataset
from eyetest.reform.images import ImageFinder
from eyetest.reform.readers import read_annotations
from eyetest.reform.reformers import REFORMERS, ItemDraft, Kit
from eyetest.reform.reformers.base import Drafts
from eyetest.wording import counted

REFORM_STEP = "reform"
MISSING = "missing_images"  # tag of an item with the names of its missing images
_REPORT_EVERY = 500


class Reformed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of reforming a dataset."""

    benchmark: Benchmark
    items: int
    records: int  # records that became items; a record may become several
    without_images: int
    passed_over: dict[str, int]
    notes: tuple[str, ...]


class Reforming(msgspec.Struct, frozen=True, kw_only=True):
    """What to reform, and the destination."""

    dataset: Dataset
    annotations: tuple[Path, ...]
    images: Path | None = None
    to: Path
    limit: int | None = None
    seed: int = 0
    overwrite: bool = False


def reform(
    plan: Reforming,
    kit: Kit | None = None,
    progress: Callable[[int], None] = lambda items: None,
    drafting: Drafts | None = None,
) -> Reformed:
    """Write the benchmark of a dataset; `drafting` replaces the items that its reformer makes."""
    kit = kit or Kit(plan.seed)
    dataset = plan.dataset
    reading, settings = dataset.checked(dataset.name)
    annotations = read_annotations(dataset.reader, plan.annotations, reading)
    source = ", ".join(dict.fromkeys(path.name for path in plan.annotations))
    step = Lineage(step=REFORM_STEP, source=source, note=f"{dataset.reader} → {dataset.reformer}", seed=plan.seed)
    manifest = Manifest(name=dataset.name, licence=dataset.licence, source=dataset.url, lineage=(step,))
    records: set[str] = set()
    names = ItemNames()
    without = 0
    with BenchmarkWriter(plan.to, manifest, overwrite=plan.overwrite) as writer:
        finder = ImageFinder(plan.images, writer.images)
        drafts = (drafting or REFORMERS[dataset.reformer].drafts)(annotations, settings, kit)
        for number, draft in enumerate(islice(drafts, plan.limit), 1):
            if number % _REPORT_EVERY == 0:
                progress(number)
            if (name := names.of(draft)) is None:
                kit.passed_over["the same record again"] += 1
                continue
            item = msgspec.structs.replace(_completed(draft, dataset, finder, plan.seed), id=name)
            try:
                writer.add(item, f"record {draft.record}")
            except ItemError as error:
                kit.passed_over[f"{error.field}: expected {error.expected}"] += 1
                continue
            without += MISSING in item.tags
            records.add(draft.record)
        told = msgspec.structs.replace(step, note="; ".join((step.note, *kit.notes)))
        writer.manifest = msgspec.structs.replace(manifest, lineage=(told,))
        items = writer.counts.items
        if not items:
            reasons = "; ".join(f"{reason}: {count:,}" for reason, count in kit.passed_over.most_common(3))
            raise InputError(f"{source}: no record became an item" + (f" ({reasons})" if reasons else ""))
    return Reformed(
        benchmark=Benchmark(plan.to),
        items=items,
        records=len(records),
        without_images=without,
        passed_over=dict(kit.passed_over.most_common()),
        notes=(*kit.notes, *names.notes(), *finder.notes()),
    )


class ItemNames:
    """Unique ids of all items: published files repeat records and ids."""

    def __init__(self) -> None:
        self._known: dict[str, list[bytes]] = {}
        self._numbered: list[str] = []

    def of(self, draft: ItemDraft) -> str | None:
        """The item's id, numbered where another item has it; None where that item is identical."""
        digest = blake2b(msgspec.json.encode(draft), digest_size=8).digest()
        others = self._known.setdefault(draft.item.id, [])
        if digest in others:
            return None
        others.append(digest)
        if len(others) == 1:
            return draft.item.id
        self._numbered.append(f"{draft.item.id}#{len(others)}")
        return self._numbered[-1]

    def notes(self) -> Iterator[str]:
        """Notes for the user on repeated ids."""
        if self._numbered:
            several, first = counted(len(self._numbered), "item"), short(self._numbered[0])
            yield f"{several} numbered because another record has the same id; the first is {first}"


def _completed(draft: ItemDraft, dataset: Dataset, finder: ImageFinder, seed: int) -> Item:
    images, missing = [], []
    for shown in draft.images:
        try:
            images.append(finder.take(shown))
        except MissingImage:
            missing.append(shown.image if isinstance(shown.image, str) else "")
    tags = {"dataset": dataset.name, "dimension": dataset.dimension, "task": dataset.task, **draft.item.tags}
    if missing:
        images, tags = [], tags | {MISSING: missing}
    records = (choice.provenance for choice in draft.item.choices)
    authors = Counter(record.author for record in records if isinstance(record, OptionProvenance))
    made = ", ".join(f"{count} × {author}" for author, count in sorted(authors.items()))
    note = f"{dataset.reformer}; distractors: {made}" if made else dataset.reformer
    step = Lineage(step=REFORM_STEP, source=dataset.name, item=draft.record, note=note, seed=seed)
    return msgspec.structs.replace(draft.item, images=tuple(images), tags=tags, lineage=(step,))
