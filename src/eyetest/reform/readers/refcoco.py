"""RefCOCO, RefCOCO+ and RefCOCOg: ``refs(unc).p`` with ``instances.json``, and the forms that others made of them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, Box, Region
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture, texts
from eyetest.reform.readers.binaries import is_pickle, read_pickle
from eyetest.reform.readers.coco_objects import size_of
from eyetest.tabular.files import read_rows

_NO_PICKLES = (".json", ".jpg", ".png")
_OBJECT_NUMBER = re.compile(r"(COCO_\w+?_\d{12})_\d+(\.\w+)$")
"""The pickle's names of pictures end in the number of an object: COCO_train2014_000000581857_16.jpg."""
_EXPRESSIONS = ("sentences", "captions", "expressions", "sents", "expression", "sent", "text", "caption", "answer")
_PICTURES = ("image", "img_path", "image_path", "file_name", "img", "image_name", "image_id")
_IDS = ("ref_id", "question_id", "id")
_CORNERS = ("height", "raw_anns", "img_path", "sent")
"""Tables that have one of these columns say a box by its corners; the others by left, top, width and height."""


class Reference(NamedTuple):
    """One object that people referred to."""

    id: str
    picture: str | bytes
    box: Box | None
    expressions: tuple[str, ...]
    label: str = ""
    size: tuple[int, int] | None = None
    split: str = ""


class RefCoco(Reader):
    """One record an object that was referred to, with all such objects of its picture."""

    name = "refcoco"
    summary = "RefCOCO's refs(*).p and instances.json, or JSON, JSON Lines and Parquet made of them"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The objects of all files that are there, picture by picture."""
        entries = _pickled(files) or [entry for _, document in files.documents(_is_references) for entry in document]
        if entries:
            return _by_picture(_from_references(entries, files))
        if documents := [document for _, document in files.documents(_is_phrases, beside=False)]:
            return _by_picture(reference for document in documents for reference in _from_phrases(document))
        if tables := files.tables(_is_row):
            return _by_picture(_from_tables(tables))
        raise files.unlike("RefCOCO's refs(*).p beside instances.json, or a table with image, bbox and expression")


def _by_picture(references: Iterable[Reference]) -> Annotations:
    """One record a reference, with the boxes of all references to something in its picture."""
    pictures: dict[str | bytes, list[Reference]] = defaultdict(list)
    for reference in references:
        pictures[reference.picture].append(reference)

    def records() -> Iterator[Annotation]:
        for image, several in pictures.items():
            boxed = [reference for reference in several if reference.box]
            regions = tuple(map(_region, boxed))
            positions = {id(reference): position for position, reference in enumerate(boxed)}
            for reference in several:
                yield Annotation(
                    id=reference.id,
                    images=(image,),
                    size=reference.size,
                    regions=regions,
                    gold=positions.get(id(reference)),
                    tags={"split": reference.split} if reference.split else {},
                )

    return Annotations(records)


def _region(reference: Reference) -> Region:
    assert reference.box
    return Region(box=reference.box, id=reference.id, label=reference.label, expressions=reference.expressions)


def _is_references(document: Any) -> bool:
    """Whether it is the list that the pickle holds."""
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and {"ref_id", "ann_id", "sentences"} <= set(document[0])
    )


def _pickled(files: AnnotationFiles) -> list[dict[str, Any]]:
    """What the pickles hold; where the instances were named, those that lie beside them.

    Several in one folder divide the same references into other splits; then ``refs(unc).p`` comes before Google's.
    """
    for paths in (files.files, files.beside):
        pickles = [path for path in paths if path.suffix.lower() not in _NO_PICKLES and is_pickle(path)]
        contents = [content for path in sorted(pickles, reverse=True) if _is_references(content := read_pickle(path))]
        if contents:
            entries = (entry for content in reversed(contents) for entry in content)
            return list({entry["ref_id"]: entry for entry in entries}.values())
    return []


def _from_references(entries: list[dict[str, Any]], files: AnnotationFiles) -> Iterator[Reference]:
    """The boxes are in another file; without it nothing can be asked, which is for the reformer to say."""
    objects: dict[Any, dict[str, Any]] = {}
    images: dict[Any, dict[str, Any]] = {}
    names: dict[Any, str] = {}
    for _, document in files.documents(_is_instances):
        objects |= {entry["id"]: entry for entry in document["annotations"]}
        images |= {entry["id"]: entry for entry in document["images"]}
        names |= {entry["id"]: entry["name"] for entry in document.get("categories", ())}
    for entry in entries:
        image = images.get(entry.get("image_id"), {})
        name = image.get("file_name") or _OBJECT_NUMBER.sub(r"\1\2", str(entry.get("file_name") or ""))
        known = objects.get(entry["ann_id"])
        said = (known or entry).get("bbox")
        yield Reference(
            id=str(entry["ref_id"]),
            picture=name or str(entry["image_id"]),
            box=_box(said, corners=known is None and _says_corners(entry)) if said else None,
            expressions=_expressions(entry["sentences"]),
            label=names.get(entry.get("category_id"), ""),
            size=size_of(image),
            split=str(entry.get("split") or ""),
        )


def _is_instances(document: Any) -> bool:
    if not isinstance(document, dict) or not document.get("annotations"):
        return False
    return {"images", "categories"} <= set(document) and "bbox" in document["annotations"][0]


def _is_phrases(document: Any) -> bool:
    """COCO's form with a picture for each expression, as models that ground phrases are trained on."""
    if not isinstance(document, dict) or not document.get("images") or not document.get("annotations"):
        return False
    return "caption" in document["images"][0] and "bbox" in document["annotations"][0]


def _from_phrases(document: dict[str, Any]) -> Iterator[Reference]:
    boxes = {entry["image_id"]: entry["bbox"] for entry in document["annotations"]}
    for image in document["images"]:
        yield Reference(
            id=str(image["id"]),
            picture=image["file_name"],
            box=_box(boxes[image["id"]], corners=False) if image["id"] in boxes else None,
            expressions=texts(image["caption"]),
            size=size_of(image),
        )


def _is_row(row: dict[str, Any]) -> bool:
    return "bbox" in row and any(key in row for key in _EXPRESSIONS) and any(key in row for key in _PICTURES)


def _from_tables(tables: list[Path]) -> Iterator[Reference]:
    for path in tables:
        for number, row in read_rows(path):
            image = next(row[key] for key in _PICTURES if row.get(key) is not None)
            said = next(row[key] for key in _EXPRESSIONS if row.get(key))
            width, height = row.get("width"), row.get("height")
            yield Reference(
                id=next((str(row[key]) for key in _IDS if row.get(key) is not None), f"{path.stem}-{number}"),
                picture=_OBJECT_NUMBER.sub(r"\1\2", image) if isinstance(image, str) else picture(image),
                box=_box(row["bbox"], corners=_says_corners(row)) if row["bbox"] else None,
                expressions=_expressions(said),
                size=(int(width), int(height)) if width and height else None,
                split=str(row.get("split") or ""),
            )


def _says_corners(row: dict[str, Any]) -> bool:
    return any(key in row for key in _CORNERS)


def _box(said: Any, *, corners: bool) -> Box:
    if isinstance(said, str):
        said = msgspec.json.decode(said)
    left, top, third, fourth = map(float, said)
    return (left, top, third - left, fourth - top) if corners else (left, top, third, fourth)


def _expressions(said: Any) -> tuple[str, ...]:
    """What people said, as the dataset cleaned it, or else as they wrote it."""
    several = said if isinstance(said, list) else [said]
    words = [(one.get("sent") or one.get("raw")) if isinstance(one, dict) else one for one in several]
    return texts(words)


READER = RefCoco()
