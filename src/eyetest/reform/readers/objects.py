"""Objects in images: COCO's instances, and expressions that refer to them (RefCOCO, RefCOCO+, RefCOCOg)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, Box, ClassLabel, FileSettings, Region
from eyetest.reform.readers.base import (
    AnnotationFiles,
    Entries,
    first_of,
    image_of,
    lists_objects,
    name_of,
    reads,
    size_of,
    texts,
)
from eyetest.tabular.table import Values

# Reference image names end in an object's number: COCO_train2014_000000581857_16.jpg
_OBJECT_NUMBER = re.compile(r"(COCO_\w+?_\d{12})_\d+(\.\w+)$")
_EXPRESSIONS = "sentences|captions|expressions|sents|expression|sent|text|caption|answer"
_IMAGES = "image|img_path|image_path|file_name|img|image_name|image_id"
# Tables with one of these columns give boxes by corners; others by left, top, width, height
_CORNERS = {"height", "raw_anns", "img_path", "sent"}


@reads("coco-objects", "COCO's instances JSON: images, annotations with bbox and category_id, categories")
def _read_coco_objects(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image, with all its objects."""
    documents = _without_copies(document for _, document in files.documents(_is_instances))
    if not documents:
        raise files.unlike('COCO\'s instances JSON, {"images": …, "annotations": [{"bbox": …}], "categories": …}')
    classes = {entry["name"]: entry for document in documents for entry in document["categories"]}
    return Annotations(
        lambda: (record for document in documents for record in _coco_images(document)),
        tuple(ClassLabel(name=name, parent=entry.get("supercategory") or "") for name, entry in classes.items()),
    )


def _is_instances(document: Any) -> bool:
    if not isinstance(document, dict) or not {"images", "categories"} <= set(document):
        return False
    return lists_objects(document.get("annotations"), "bbox", "category_id", "image_id")


def _without_copies(documents: Iterable[Values]) -> list[Values]:
    """Files about other images than those before: COCO's key points and stuff repeat its objects."""
    known: set[Any] = set()
    others = []
    for document in documents:
        images = [image for image in document["images"] if image["id"] not in known]
        known.update(image["id"] for image in images)
        if images:
            others.append(document | {"images": images})
    return others


def _coco_images(document: Values) -> Iterator[Annotation]:
    names = {entry["id"]: entry["name"] for entry in document["categories"]}
    regions: dict[Any, list[Region]] = defaultdict(list)
    for entry in document["annotations"]:
        region = Region(
            box=_box(entry["bbox"], corners=False),
            id=str(entry.get("id", "")),
            label=names[entry["category_id"]],
            is_crowd=bool(entry.get("iscrowd")),
        )
        regions[entry["image_id"]].append(region)
    for image in document["images"]:
        yield Annotation(
            id=str(image["id"]),
            images=(image.get("file_name") or str(image["id"]),),
            size=size_of(image),
            regions=tuple(regions[image["id"]]),
        )


class Reference(NamedTuple):
    """One object that expressions refer to."""

    id: str
    image: str | bytes
    box: Box | None
    expressions: tuple[str, ...]
    label: str = ""
    size: tuple[int, int] | None = None
    split: str = ""


@reads("refcoco", "RefCOCO's refs(*) as JSON and instances.json, or JSON Lines and Parquet made of them")
def _read_refcoco(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per object that was referred to, with all such objects of its image."""
    documents = sorted(files.documents(_is_references))  # refs(unc), the last by name, decides where two differ
    if entries := list({entry["ref_id"]: entry for _, document in documents for entry in document}.values()):
        return _by_image(_from_references(entries, files))
    expected = "RefCOCO's refs(*) as JSON beside instances.json (pickles are not read: docs/reform.md), or a table"
    return _by_image(_from_tables(files.entries(("bbox", _EXPRESSIONS, _IMAGES), expected)))


def _by_image(references: Iterable[Reference]) -> Annotations:
    """One record per reference, with the boxes of all references in its image."""
    images: dict[str | bytes, list[Reference]] = defaultdict(list)
    for reference in references:
        images[reference.image].append(reference)

    def records() -> Iterator[Annotation]:
        for image, several in images.items():
            regions: list[Region] = []
            positions: dict[int, int] = {}
            for number, reference in enumerate(several):
                if (box := reference.box) is not None:
                    positions[number] = len(regions)
                    words = reference.expressions
                    regions.append(Region(box=box, id=reference.id, label=reference.label, expressions=words))
            for number, reference in enumerate(several):
                yield Annotation(
                    id=reference.id,
                    images=(image,),
                    size=reference.size,
                    regions=tuple(regions),
                    gold=positions.get(number),
                    tags={"split": reference.split} if reference.split else {},
                )

    return Annotations(records)


def _is_references(document: Any) -> bool:
    return lists_objects(document, "ref_id", "ann_id", "sentences")


def _has_boxes(document: Any) -> bool:
    return isinstance(document, dict) and "images" in document and lists_objects(document.get("annotations"), "bbox")


def _from_references(entries: list[Values], files: AnnotationFiles) -> Iterator[Reference]:
    """References without boxes, which are in another file; without it the reformer says that nothing can be asked."""
    objects: dict[Any, Values] = {}
    images: dict[Any, Values] = {}
    names: dict[Any, str] = {}
    for _, document in files.documents(_has_boxes):
        objects |= {entry["id"]: entry for entry in document["annotations"]}
        images |= {entry["id"]: entry for entry in document.get("images", ())}
        names |= {entry["id"]: entry["name"] for entry in document.get("categories", ())}
    for entry in entries:
        image = images.get(entry.get("image_id"), {})
        name = image.get("file_name") or _OBJECT_NUMBER.sub(r"\1\2", str(entry.get("file_name") or ""))
        known = objects.get(entry["ann_id"])
        box = (known or entry).get("bbox")
        yield Reference(
            id=str(entry["ref_id"]),
            image=name or str(entry["image_id"]),
            box=_box(box, corners=known is None and not _CORNERS.isdisjoint(entry)) if box else None,
            expressions=_expressions(entry["sentences"]),
            label=names.get(entry.get("category_id"), ""),
            size=size_of(image),
            split=str(entry.get("split") or ""),
        )


def _from_tables(entries: Entries) -> Iterator[Reference]:
    for number, row in entries.numbered("-", alone=True):
        image = first_of(row, _IMAGES)
        yield Reference(
            id=name_of(row, "ref_id|question_id|id", number),
            image=_OBJECT_NUMBER.sub(r"\1\2", image) if isinstance(image, str) else image_of(image),
            box=_box(row["bbox"], corners=not _CORNERS.isdisjoint(row)) if row["bbox"] else None,
            expressions=_expressions(first_of(row, _EXPRESSIONS)),
            size=size_of(row),
            split=str(row.get("split") or ""),
        )


def _box(sides: Any, *, corners: bool) -> Box:
    if isinstance(sides, str):
        sides = msgspec.json.decode(sides)
    left, top, third, fourth = map(float, sides)
    return (left, top, third - left, fourth - top) if corners else (left, top, third, fourth)


def _expressions(value: Any) -> tuple[str, ...]:
    """Expressions as cleaned by the dataset, or else as written."""
    several = value if isinstance(value, list) else [value]
    return texts([first_of(entry, "sent|raw") if isinstance(entry, dict) else entry for entry in several])


READER = (_read_coco_objects, _read_refcoco)
