"""Captions in the forms that publishers use: COCO's (NoCaps too), Karpathy's, TextCaps', Flickr30K's and tables."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture, texts
from eyetest.reform.readers.coco_objects import size_of
from eyetest.tabular.files import read_rows
from eyetest.tabular.literals import parse_list

_TOKEN = re.compile(r"([^\s#|,]+)#(\d+)\w*[\t ]+(.+)")
"""``1000092795.jpg#0`` and a caption after a tab, as in Flickr30K's results_20130124.token."""
_BARS = re.compile(r"([^|]+)\|(?:\s*(\d+)\s*\|?)?\s*(.*)")
"""``1000092795.jpg| 0| caption``, as in Kaggle's results.csv, of which one line lacks its second bar."""
_BARS_HEADER = re.compile(r"image_name\s*\|.*")
_COMMAS_HEADER = re.compile(r"(?:image|image_name),(?:comment_number,)?(?:caption|comment)")
"""Of a table that is called captions.txt, as others on Kaggle have it."""
_PICTURES = ("image", "filename", "file_name", "image_file_name", "img_path", "image_path", "image_name", "img")
_CAPTIONS = ("caption", "captions", "raw", "sentences", "annotations_captions", "caption_str", "comment", "answer")
_IDS = ("image_id", "img_id", "id", "question_id")
_SORTING = ("split", "domain", "image_domain")


class Captions(Reader):
    """One record a picture, with all its captions."""

    name = "captions"
    summary = "captions: COCO's, NoCaps', Karpathy's and TextCaps' JSON, Flickr30K's token file or CSV, tables"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The pictures of all files of the first form that is there."""
        documents = [document for _, document in files.documents(_is_document)]
        if documents:
            return _merged(record for document in documents for record in _from_document(document))
        if tokens := files.texts(_TOKEN):
            lines = (match for path in tokens for match in files.matches(path, _TOKEN, "a picture, #, a caption"))
            return _merged(_record(match[1], match[3]) for match in lines)
        if bars := files.texts(_BARS_HEADER):
            expected = "a picture, |, a number, |, a caption"
            lines = (match for path in bars for match in files.matches(path, _BARS, expected))
            return _merged(_record(match[1], match[3]) for match in lines if not _BARS_HEADER.fullmatch(match[0]))
        if commas := files.texts(_COMMAS_HEADER):
            rows = (row for path in commas for row in csv.DictReader(files.lines(path)))
            return _merged(_from_row(row, str(number)) for number, row in enumerate(rows, 1))
        return _from_tables(files)


def _record(name: str, caption: str) -> Annotation:
    return Annotation(id=name.strip(), images=(name.strip(),), captions=texts(caption))


def _merged(records: Iterable[Annotation]) -> Annotations:
    """One record a picture; files have a line or an entry for each of its captions."""
    pictures: dict[str, Annotation] = {}
    captions: dict[str, list[str]] = {}
    for record in records:
        pictures.setdefault(record.id, record)
        captions.setdefault(record.id, []).extend(record.captions)

    def merged() -> Iterator[Annotation]:
        for key, record in pictures.items():
            yield msgspec.structs.replace(record, captions=tuple(captions[key]))

    return Annotations(merged)


def _is_document(document: Any) -> bool:
    """Whether it is one of the three forms that tell pictures and captions apart."""
    if not isinstance(document, dict):
        return False
    images, annotations, data = (document.get(key) for key in ("images", "annotations", "data"))
    if annotations:
        return _has(annotations, "caption", "image_id")
    if data:
        return _has(data, "image_id") and (document.get("dataset_name") == "textcaps" or _has(data, "caption_str"))
    return _has(images, "sentences") or _has(images, "file_name") or _is_lists(document)


def _is_lists(document: dict[str, Any]) -> bool:
    """``{"1000092795.jpg": [caption …]}``."""
    return bool(document) and all(
        isinstance(captions, list) and captions and all(isinstance(caption, str) for caption in captions)
        for captions in document.values()
    )


def _has(entries: Any, *keys: str) -> bool:
    return (
        isinstance(entries, list) and bool(entries) and isinstance(entries[0], dict) and set(keys) <= set(entries[0])
    )


def _from_document(document: dict[str, Any]) -> Iterator[Annotation]:
    if _is_lists(document):
        return (Annotation(id=name, images=(name,), captions=texts(said)) for name, said in document.items())
    if "data" in document:
        return _from_textcaps(document["data"])
    if _has(document.get("images"), "sentences"):
        return _from_karpathy(document["images"])
    return _from_coco(document)


def _from_coco(document: dict[str, Any]) -> Iterator[Annotation]:
    for image in document.get("images") or ():
        key = str(image["id"])
        tags = {"domain": image["domain"]} if image.get("domain") else {}
        yield Annotation(id=key, images=(image.get("file_name") or key,), size=size_of(image), tags=tags)
    for entry in document.get("annotations") or ():
        key = str(entry["image_id"])
        yield Annotation(id=key, images=(key,), captions=texts(entry["caption"]))


def _from_karpathy(images: list[dict[str, Any]]) -> Iterator[Annotation]:
    for image in images:
        path = PurePosixPath(image.get("filepath") or "", image["filename"])
        yield Annotation(
            id=str(image.get("cocoid") or image["filename"]),
            images=(str(path),),
            captions=tuple(text for sentence in image["sentences"] for text in texts(sentence["raw"])),
            tags={"split": image["split"]} if image.get("split") else {},
        )


def _from_textcaps(entries: list[dict[str, Any]]) -> Iterator[Annotation]:
    """An entry for each caption, which also has all captions of its picture."""
    said: set[tuple[str, str]] = set()
    for entry in entries:
        key = str(entry["image_id"])
        captions = texts(entry.get("reference_strs") or entry.get("caption_str"))
        fresh = tuple(caption for caption in captions if (key, caption) not in said)
        said.update((key, caption) for caption in fresh)
        path = entry.get("image_path") or entry.get("image_name") or key
        width, height = entry.get("image_width"), entry.get("image_height")
        yield Annotation(
            id=key,
            images=(path,),
            size=(int(width), int(height)) if width and height else None,
            captions=fresh,
            tags={"split": entry["set_name"]} if entry.get("set_name") else {},
        )


def _from_tables(files: AnnotationFiles) -> Annotations:
    tables = files.tables(lambda row: bool(_column(row, _PICTURES) and _column(row, _CAPTIONS)))
    if not tables:
        raise files.unlike("captions: COCO's or Karpathy's JSON, a .token file, or a table with image and caption")

    def records() -> Iterator[Annotation]:
        for path in tables:
            for number, row in read_rows(path):
                yield _from_row(row, f"{path.stem}-{number}")

    return _merged(records())


def _from_row(row: dict[str, Any], number: str) -> Annotation:
    image = next((shown for key in _PICTURES if row.get(key) and (shown := picture(row[key]))), "")
    captions = row[_column(row, _CAPTIONS)]
    if isinstance(captions, str):
        captions = parse_list(captions, quoted=True) or captions
    name = image if isinstance(image, str) else next((str(row[key]) for key in _PICTURES[1:] if row.get(key)), "")
    key = next((str(row[key]) for key in _IDS if row.get(key) is not None), name or number)
    tags = {tag: row[tag] for tag in _SORTING if row.get(tag)}
    return Annotation(id=key, images=(image or key,), captions=texts(captions), tags=tags)


def _column(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in row), "")


READER = Captions()
