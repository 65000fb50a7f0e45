"""Convert a dataset to a benchmark folder: read, reform, find and draw on images, record the source of every item."""

import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path, PurePosixPath

import msgspec
from PIL import ImageDraw

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.images import IMAGE_ENDINGS, ImageLoader, ImageStore, decode, is_file
from eyetest.errors import ImageError, InputError, ItemError, MissingImage, counted, heading, short, tallied
from eyetest.records import ImageRef, Item, Lineage, Manifest, OptionProvenance
from eyetest.reform.annotation import Box, refuse_row
from eyetest.reform.catalog import Dataset
from eyetest.reform.readers import read_annotations
from eyetest.reform.reformers import REFORMERS, Drafts, ItemDraft, Kit, Shown

REFORM_STEP = "reform"
MISSING = "missing_images"  # tag of an item with the names of its missing images
_REPORT_EVERY = 500
_NUMBER = re.compile(r"(?<!\d)(\d+)$")
_FRAME = "#ff0000"
_THINNEST_FRAME = 2
_PIXELS_A_FRAME = 200  # A frame is one pixel thicker for so many pixels of the image's longer side


class Reformed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of reforming a dataset."""

    benchmark: Benchmark
    items: int
    records: int  # records that became items; a record may become several
    without_images: int
    passed_over: dict[str, int]
    passed_in: dict[str, dict[str, int]]  # by reason: the files of these records
    bad: tuple[str, ...]  # what is wrong with records that were left out
    notes: tuple[str, ...]


class Reforming(msgspec.Struct, frozen=True, kw_only=True):
    """What to reform, and the destination."""

    dataset: Dataset
    annotations: tuple[Path, ...]
    images: Path | None = None
    to: Path
    limit: int | None = None
    seed: int = 0
    skip_bad: bool = False  # whether records that cannot be read are left out
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
    bad: dict[str, None] = {}  # what is wrong with records that were left out; files are read more than once
    refuse = (lambda error: bad.setdefault(str(error))) if plan.skip_bad else refuse_row
    annotations = read_annotations(dataset.reader, plan.annotations, reading, refuse)
    source = ", ".join(dict.fromkeys(path.name for path in plan.annotations))
    manifest = Manifest(name=dataset.name, licence=dataset.licence, source=dataset.url)
    records: set[str] = set()
    known: dict[str, list[bytes]] = defaultdict(list)  # digests of items by id: published files repeat both
    items = without = 0
    with BenchmarkWriter(plan.to, manifest, overwrite=plan.overwrite) as writer:
        finder = ImageFinder(plan.images, writer.images)
        drafts = (drafting or REFORMERS[dataset.reformer].drafts)(annotations, settings, kit)
        for number, draft in enumerate(drafts, 1):
            if number % _REPORT_EVERY == 0:
                progress(number)
            if (name := _unique_id(draft, known)) is None:
                kit.pass_over("the same record again")
                continue
            item = msgspec.structs.replace(_completed(draft, dataset, finder, plan.seed), id=name)
            try:
                writer.add(item, f"record {draft.record}")
            except ItemError as error:
                kit.pass_over(f"{error.field}: expected {error.expected}")
                continue
            items += 1
            without += MISSING in item.tags
            records.add(draft.record)
            if items == plan.limit:
                break
        note = "; ".join((f"{dataset.reader} → {dataset.reformer}", *kit.notes))
        step = Lineage(step=REFORM_STEP, source=source, note=note, seed=plan.seed)
        writer.manifest = msgspec.structs.replace(manifest, lineage=(step,))
        if not items:
            reasons = "; ".join(f"{reason}: {count:,}" for reason, count in kit.passed_over.most_common(3))
            raise InputError(f"{source}: no record became an item" + (f" ({reasons})" if reasons else ""))
    return Reformed(
        benchmark=Benchmark(plan.to),
        items=items,
        records=len(records),
        without_images=without,
        passed_over=dict(kit.passed_over.most_common()),
        passed_in={reason: dict(files.most_common()) for reason, files in kit.passed_in.items()},
        bad=tuple(bad),
        notes=(*kit.notes, *finder.notes()),
    )


def _unique_id(draft: ItemDraft, known: dict[str, list[bytes]]) -> str | None:
    """The item's id, numbered where another item has it; None where that item is identical."""
    digest = blake2b(msgspec.json.encode(draft), digest_size=8).digest()
    others = known[draft.item.id]
    if digest in others:
        return None
    others.append(digest)
    return draft.item.id if len(others) == 1 else f"{draft.item.id}#{len(others)}"


class ImageFinder:
    """Put images of a folder into a store, found by path, end of a path, file name, stem, or its last number."""

    def __init__(self, root: Path | None, store: ImageStore) -> None:
        if root is not None and not root.is_dir():
            raise InputError(f"{heading('images')}: {root} is no folder")
        self._root, self._store = root, store
        self._loader = None if root is None else ImageLoader(store, root)
        self._known: dict[Shown, ImageRef] = {}
        self._unusable: dict[str, str] = {}  # unusable images, with the reason

    def take(self, shown: Shown) -> ImageRef:
        """Get an image as it is to be shown; MissingImage where it is missing, damaged or one of several."""
        if shown in self._known:
            return self._known[shown]
        try:
            image = self._as_it_is(shown.image)
            if shown.box is not None or shown.crop is not None:
                image = self._store.put(_drawn(self._store.read(image), shown))
        except ImageError as error:
            name = shown.image if isinstance(shown.image, str) else "one that the annotations hold"
            if str(error) != name:  # it is there
                self._unusable.setdefault(name, str(error))
            raise MissingImage(name) from None
        if len(self._known) < 100_000:
            self._known[shown] = image
        return image

    def notes(self) -> Iterator[str]:
        """Notes for the user on images that could not be used."""
        if self._unusable:
            several = counted(len(self._unusable), "image")
            why = tallied(f"{short(name)}: {why}" for name, why in self._unusable.items())
            yield f"{several} cannot be used and counted as missing: {why}"

    def _as_it_is(self, name: str | bytes) -> ImageRef:
        if isinstance(name, bytes):
            return self._store.put(name)
        if self._loader is None or self._root is None:
            raise MissingImage(name)
        path = name if is_file(self._root, name) else self._nearest_path(name)
        return self._loader.load({"path": path})[0]

    def _nearest_path(self, name: str) -> str:
        """The only file of the folder that such a name can mean."""
        wanted = PurePosixPath(name.replace("\\", "/"))
        same = self._by_name.get(wanted.name.lower()) or self._by_name.get(wanted.stem.lower(), [])
        if not same and wanted.stem.isdecimal():
            same = self._by_name.get(f"#{int(wanted.stem)}", [])
        alike = defaultdict(list)
        for path in same:
            folders = zip(PurePosixPath(path).parts[-2::-1], wanted.parts[-2::-1], strict=False)
            alike[len(list(takewhile(lambda pair: pair[0] == pair[1], folders)))].append(path)
        best = alike[max(alike)] if alike else []
        if len(best) != 1:
            raise MissingImage(f"{name}: {len(best)} files have that name" if best else name)
        return best[0]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        assert self._root is not None
        paths: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._root.rglob("*")):
            if path.suffix.lower() in IMAGE_ENDINGS and path.is_file():
                relative = path.relative_to(self._root).as_posix()
                paths[path.name.lower()].append(relative)
                paths[path.stem.lower()].append(relative)
                if number := _NUMBER.search(path.stem):
                    paths[f"#{int(number[1])}"].append(relative)
        return dict(paths)


def _drawn(data: bytes, shown: Shown) -> bytes:
    image = decode(data).convert("RGB")
    if shown.box is not None:
        width = max(_THINNEST_FRAME, max(image.size) // _PIXELS_A_FRAME)
        ImageDraw.Draw(image).rectangle(_corners(shown.box, image.size), outline=_FRAME, width=width)
    if shown.crop is not None:
        left, top, right, bottom = _corners(shown.crop, image.size)
        image = image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _corners(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    left, top, width, height = box
    x = [round(min(max(at, 0), size[0] - 1)) for at in (left, max(left + width, left))]
    y = [round(min(max(at, 0), size[1] - 1)) for at in (top, max(top + height, top))]
    return x[0], y[0], x[1], y[1]


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
