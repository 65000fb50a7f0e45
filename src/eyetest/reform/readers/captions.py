"""Captions in the forms that publishers use: COCO's (NoCaps too), Karpathy's, TextCaps', Flickr30K's and tables."""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, FileSettings
from eyetest.reform.readers.base import (
    AnnotationFiles,
    first_of,
    image_of,
    lists_objects,
    name_of,
    reads,
    size_of,
    texts,
)
from eyetest.tabular.literals import parse_list
from eyetest.tabular.table import Values

# ``1000092795.jpg#0`` and a caption after a tab: Flickr30K's results_20130124.token
_TOKEN = re.compile(r"([^\s#|,]+)#(\d+)\w*[\t ]+(.+)")
# ``1000092795.jpg| 0| caption``: Kaggle's results.csv, one line of which lacks a bar
_BARS = re.compile(r"([^|]+)\|(?:\s*(\d+)\s*\|?)?\s*(.*)")
_BARS_HEADER = re.compile(r"image_name\s*\|.*")
_IMAGES = "image|filename|file_name|image_file_name|img_path|image_path|image_name|img"
_CAPTIONS = "caption|captions|raw|sentences|annotations_captions|caption_str|comment|answer"


@reads("captions", "captions: COCO's, NoCaps', Karpathy's and TextCaps' JSON, Flickr30K's token file or CSV, tables")
def _read_captions(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image, with all its captions."""
    documents = [document for _, document in files.documents(_is_document)]
    if documents:
        return _merged(record for document in documents for record in _from_document(document))
    if tokens := files.texts(_TOKEN):
        lines = (match for path in tokens for match in files.matches(path, _TOKEN, "an image, #, a caption"))
        return _merged(_record(match[1], match[3]) for match in lines)
    if bars := files.texts(_BARS_HEADER):
        expected = "an image, |, a number, |, a caption"
        lines = (match for path in bars for match in files.matches(path, _BARS, expected))
        return _merged(_record(match[1], match[3]) for match in lines if not _BARS_HEADER.fullmatch(match[0]))
    expected = "captions: COCO's or Karpathy's JSON, a .token file, or a table with image and caption"
    entries = files.entries((_IMAGES, _CAPTIONS), expected)
    return _merged(_from_row(row, number) for number, row in entries.numbered("-", alone=True))


def _record(name: str, caption: str) -> Annotation:
    return Annotation(id=name.strip(), images=(name.strip(),), captions=texts(caption))


def _merged(records: Iterable[Annotation]) -> Annotations:
    """One record per image; files have a line or an entry for each of its captions."""
    images: dict[str, Annotation] = {}
    captions: dict[str, list[str]] = {}
    for record in records:
        images.setdefault(record.id, record)
        captions.setdefault(record.id, []).extend(record.captions)

    def merged() -> Iterator[Annotation]:
        for key, record in images.items():
            yield msgspec.structs.replace(record, captions=tuple(captions[key]))

    return Annotations(merged)


def _is_document(document: Any) -> bool:
    """Whether it is one of the three forms that separate images and captions."""
    if not isinstance(document, dict):
        return False
    images, annotations, data = (document.get(key) for key in ("images", "annotations", "data"))
    if annotations:
        return lists_objects(annotations, "caption", "image_id")
    if data:
        is_textcaps = document.get("dataset_name") == "textcaps" or lists_objects(data, "caption_str")
        return is_textcaps and lists_objects(data, "image_id")
    return lists_objects(images, "sentences") or lists_objects(images, "file_name")


def _from_document(document: Values) -> Iterator[Annotation]:
    if "data" in document:
        return _from_textcaps(document["data"])
    if lists_objects(document.get("images"), "sentences"):
        return _from_karpathy(document["images"])
    return _from_coco(document)


def _from_coco(document: Values) -> Iterator[Annotation]:
    for image in document.get("images") or ():
        key = str(image["id"])
        tags = {"domain": image["domain"]} if image.get("domain") else {}
        yield Annotation(id=key, images=(image.get("file_name") or key,), size=size_of(image), tags=tags)
    for entry in document.get("annotations") or ():
        key = str(entry["image_id"])
        yield Annotation(id=key, images=(key,), captions=texts(entry["caption"]))


def _from_karpathy(images: list[Values]) -> Iterator[Annotation]:
    for image in images:
        path = PurePosixPath(image.get("filepath") or "", image["filename"])
        yield Annotation(
            id=str(image.get("cocoid") or image["filename"]),
            images=(str(path),),
            captions=tuple(text for sentence in image["sentences"] for text in texts(sentence["raw"])),
            tags={"split": image["split"]} if image.get("split") else {},
        )


def _from_textcaps(entries: list[Values]) -> Iterator[Annotation]:
    """An entry for each caption, which also has all captions of its image."""
    known: set[tuple[str, str]] = set()
    for entry in entries:
        key = str(entry["image_id"])
        captions = texts(first_of(entry, "reference_strs|caption_str"))
        fresh = tuple(caption for caption in captions if (key, caption) not in known)
        known.update((key, caption) for caption in fresh)
        path = first_of(entry, "image_path|image_name") or key
        yield Annotation(
            id=key,
            images=(path,),
            size=size_of(entry, "image_"),
            captions=fresh,
            tags={"split": entry["set_name"]} if entry.get("set_name") else {},
        )


def _from_row(row: Values, number: str) -> Annotation:
    image = next((shown for key in _IMAGES.split("|") if row.get(key) and (shown := image_of(row[key]))), "")
    captions = first_of(row, _CAPTIONS)
    if isinstance(captions, str):
        captions = parse_list(captions, quoted=True) or captions
    name = image if isinstance(image, str) else name_of(row, _IMAGES.partition("|")[2], "")
    key = name_of(row, "image_id|img_id|id|question_id", name or number)
    tags = {tag: row[tag] for tag in ("split", "domain", "image_domain") if row.get(tag)}
    return Annotation(id=key, images=(image or key,), captions=texts(captions), tags=tags)


READER = _read_captions
