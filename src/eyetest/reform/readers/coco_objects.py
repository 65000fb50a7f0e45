"""COCO's instances: ``{"images", "annotations": [{image_id, category_id, bbox}], "categories"}``."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, Region
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_KEYS = {"images", "annotations", "categories"}


class CocoObjects(Reader):
    """One record a picture, with all its objects."""

    name = "coco-objects"
    summary = "COCO's instances JSON: images, annotations with bbox and category_id, categories"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The pictures of all files that are there."""
        documents = _without_copies(document for _, document in files.documents(_is_instances))
        if not documents:
            raise files.unlike('COCO\'s instances JSON, {"images": …, "annotations": [{"bbox": …}], "categories": …}')
        classes = {entry["name"]: entry for document in documents for entry in document["categories"]}

        def records() -> Iterator[Annotation]:
            for document in documents:
                yield from _pictures(document)

        return Annotations(
            records,
            tuple(ClassLabel(name=name, parent=entry.get("supercategory") or "") for name, entry in classes.items()),
        )


def _is_instances(document: Any) -> bool:
    if not isinstance(document, dict) or not set(document) >= _KEYS:
        return False
    annotations = document["annotations"]
    return bool(annotations) and {"bbox", "category_id", "image_id"} <= set(annotations[0])


def _without_copies(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Files about other pictures than those before: COCO's key points and stuff are about the same as its objects."""
    known: set[Any] = set()
    others = []
    for document in documents:
        images = [image for image in document["images"] if image["id"] not in known]
        known.update(image["id"] for image in images)
        if images:
            others.append(document | {"images": images})
    return others


def _pictures(document: dict[str, Any]) -> Iterator[Annotation]:
    names = {entry["id"]: entry["name"] for entry in document["categories"]}
    regions: dict[Any, list[Region]] = defaultdict(list)
    for entry in document["annotations"]:
        regions[entry["image_id"]].append(region_of(entry, names))
    for image in document["images"]:
        yield Annotation(
            id=str(image["id"]),
            images=(image.get("file_name") or str(image["id"]),),
            size=size_of(image),
            regions=tuple(regions[image["id"]]),
        )


def region_of(entry: dict[str, Any], names: dict[Any, str]) -> Region:
    """An object as COCO writes it."""
    left, top, width, height = entry["bbox"]
    return Region(
        box=(float(left), float(top), float(width), float(height)),
        id=str(entry.get("id", "")),
        label=names[entry["category_id"]],
        is_crowd=bool(entry.get("iscrowd")),
    )


def size_of(image: dict[str, Any]) -> tuple[int, int] | None:
    """Width and height of a picture, where COCO's entry says them."""
    return (int(image["width"]), int(image["height"])) if image.get("width") and image.get("height") else None


READER = CocoObjects()
