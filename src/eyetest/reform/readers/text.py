"""Words in images, with their boxes where known (ICDAR, MMOCR, IIIT5K, COCO-Text, TextOCR), and forms (FUNSD)."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, FileSettings, Region
from eyetest.reform.readers.base import (
    AnnotationFiles,
    file_names,
    first_of,
    image_of,
    name_of,
    reads,
    size_of,
    texts,
)
from eyetest.reform.readers.binaries import read_mat
from eyetest.tabular.table import Values

_UNREADABLE = "###"  # ICDAR's mark of an illegible word
_TEXTOCR_UNREADABLE = "."  # textOCR's mark of an illegible word; COCO-Text has a field for that
_CORNERS = 8
_QUADRILATERAL = re.compile(rf"(?:\s*-?\d+(?:\.\d+)?\s*,){{{_CORNERS}}}")
_LABELLED = re.compile(r"(\S+?\.(?:png|jpe?g|gif|bmp|tiff?|webp))(\s*,\s*|\s+)(.*)", re.IGNORECASE)
_REPEATED = re.compile(r"(\S+)\s+\d+\s+\1")  # CUTE80's lines say the word twice: ``timage/001.jpg WORD 1 WORD``
_IMAGES = "img_path|ImgName|filename|file_name|image"
_WORDS = "instances|GroundTruth|text|label"
_SPLITS = {"training_data": "train", "testing_data": "test"}


@reads("scene-text", "words in images: ICDAR's or MMOCR's text files, IIIT5K's .mat, or a table of images and texts")
def _read_scene_text(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per word, as the file transcribes it."""
    boxed = [path for path in files.ending(".txt") if _QUADRILATERAL.match(next(files.lines(path), ""))]
    if boxed:
        names = file_names(boxed)
        return Annotations(lambda: (word for path in boxed for word in _boxed(files, path, names[path])))
    lists = [path for path in files.ending(".txt") if _labelled(next(files.lines(path), ""))]
    if lists:
        names = file_names(lists) if len(lists) > 1 else {}
        return Annotations(lambda: (word for path in lists for word in _listed(files, path, names.get(path, ""))))
    if words := dict(word for path in files.ending(".mat") for word in _matlab(path)):
        return Annotations(lambda: (_word(name, text) for name, text in words.items()))
    expected = "words in images: lines of corners and a text, lines of an image and a text, a .mat file, or a table"
    entries = files.entries((_IMAGES, _WORDS), expected, beside=False)
    return Annotations(lambda: (_row(entry, number) for number, entry in enumerate(entries, 1)))


def _boxed(files: AnnotationFiles, path: Path, name: str) -> Iterator[Annotation]:
    """Words of a file with four corners and a transcription per line: ``x1,y1,…,x4,y4,text``."""
    image = path.stem.removeprefix("gt_")
    for number, line in enumerate(files.lines(path), 1):
        *corners, text = line.split(",", _CORNERS)
        if len(corners) < _CORNERS:
            raise InputError(f"{path} line {number}: expected x1,y1,x2,y2,x3,y3,x4,y4,text")
        x, y = [float(corner) for corner in corners[::2]], [float(corner) for corner in corners[1::2]]
        box = (min(x), min(y), max(x) - min(x), max(y) - min(y))
        yield Annotation(
            id=f"{name.removeprefix('gt_')}:{number}",
            images=(f"{image}.jpg",),
            answers=_readable(text),
            regions=(Region(box=box, text=text.strip()),),
        )


def _labelled(line: str) -> tuple[str, str] | None:
    """Image and text of a line; None where it lacks these, as in ICDAR's lists of corners."""
    match = _LABELLED.fullmatch(line)
    if match is None or not match[3] or _QUADRILATERAL.fullmatch(f"{match[3]},"):
        return None
    _, between, text = match.groups()
    if "," in between and len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('\\"', '"')
    elif twice := _REPEATED.fullmatch(text):
        text = twice[1]
    return match[1], text


def _listed(files: AnnotationFiles, path: Path, name: str) -> Iterator[Annotation]:
    for number, line in enumerate(files.lines(path), 1):
        if (labelled := _labelled(line)) is None:
            raise InputError(f"{path} line {number}: expected an image's name and what is written on it")
        yield _word(*labelled, prefix=f"{name}:" if name else "")


def _matlab(path: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of IIIT5K's structures; its files of characters and of words are equivalent."""
    for value in read_mat(path).values():
        entries = [value] if isinstance(value, dict) else value
        for entry in entries if hasattr(entries, "__iter__") and not isinstance(entries, str | bytes) else ():
            if isinstance(entry, dict) and "ImgName" in entry:
                yield str(entry["ImgName"]), str(entry["GroundTruth"] if "GroundTruth" in entry else entry["chars"])


def _row(entry: Values, number: int) -> Annotation:
    image, text = first_of(entry, _IMAGES), first_of(entry, _WORDS)
    if isinstance(text, list):
        text = " ".join(str(instance["text"]) for instance in text)
    name = image["path"] if isinstance(image, dict) else image
    return _word(name if isinstance(name, str) and name else str(number), text, image=image_of(image))


def _word(name: str, text: Any, *, image: str | bytes = b"", prefix: str = "") -> Annotation:
    name = str(PurePosixPath(name.replace("\\", "/")))
    return Annotation(id=f"{prefix}{name}", images=(image or name,), answers=_readable(text))


def _readable(text: Any) -> tuple[str, ...]:
    return tuple(word for word in texts(text) if word != _UNREADABLE)


@reads("coco-text", "COCO-Text's or TextOCR's JSON: {imgs: {id: …}, anns: {id: {image_id, bbox, utf8_string}}}")
def _read_coco_text(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per word, with its box."""
    documents = [document for _, document in files.documents(_is_coco_text)]
    if documents:
        return Annotations(lambda: (word for document in documents for word in _coco_words(document)))
    expected = 'COCO-Text\'s JSON, {"imgs": {…}, "anns": {…: {"image_id": …, "utf8_string": …}}}'
    rows = files.entries(("image_id", "bbox", "utf8_string"), expected)
    return Annotations(lambda: (_coco_word(number, row, {}) for number, row in rows.numbered()))


def _coco_words(document: Values) -> Iterator[Annotation]:
    images, words = _parts(document)
    known = {str(image.get("id", key)): image for key, image in images}
    for key, word in words:
        yield _coco_word(key, word, known.get(str(word["image_id"]), {}))


def _coco_word(key: str, word: Values, image: Values) -> Annotation:
    box = msgspec.json.decode(word["bbox"]) if isinstance(word["bbox"], str) else word["bbox"]
    left, top, width, height = map(float, box)
    number, text = word["image_id"], word.get("utf8_string")
    # Images of which the file says nothing: all of COCO-Text's are of one subset of COCO.
    file = f"COCO_train2014_{int(number):012d}.jpg" if str(number).isdigit() else f"{number}.jpg"
    unreadable = word["legibility"] != "legible" if "legibility" in word else text == _TEXTOCR_UNREADABLE
    tags = {"split": image.get("set")} | {tag: word.get(tag) for tag in ("legibility", "language", "class")}
    return Annotation(
        id=name_of(word, "id", key),
        images=(name_of(image, "file_name|filename", file),),
        size=size_of(image),
        answers=() if unreadable else texts(text),
        regions=(Region(box=(left, top, width, height), text=str(text or "").strip()),),
        tags={"image": str(number)} | {tag: value for tag, value in tags.items() if value},
    )


def _parts(document: Any) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Images and words, each with its key, whether under keys or in lists."""
    for images, words in (("imgs", "anns"), ("images", "annotations")):
        if isinstance(document, dict) and words in document:
            return _keyed(document.get(images, {})), _keyed(document[words])
    return [], []


def _keyed(values: Any) -> list[tuple[str, Any]]:
    return list(values.items()) if isinstance(values, dict) else [(str(n), value) for n, value in enumerate(values)]


def _is_coco_text(document: Any) -> bool:
    return any(isinstance(word, dict) and "utf8_string" in word for _, word in _parts(document)[1])


@reads("funsd", 'FUNSD\'s JSON, one file a form: {"form": [{id, text, label, linking: [[key, value], …]}]}')
def _read_funsd(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per key of a form; its answer is all that the key is linked to, in the order of the links."""
    forms = list(files.documents(_is_form))
    if not forms:
        raise files.unlike('FUNSD\'s JSON, one file a form: {"form": [{"id": …, "text": …, "linking": …}]}')
    return Annotations(lambda: (record for path, form in forms for record in _form_keys(path, form["form"])))


def _form_keys(path: Path, form: list[Values]) -> Iterator[Annotation]:
    written = {block["id"]: str(block.get("text") or "") for block in form}
    values = {block["id"] for block in form if block.get("label") == "answer"}
    keys = [block for block in form if block.get("label") == "question"]
    times = Counter(written[key["id"]].strip() for key in keys)
    split = next((_SPLITS[part] for part in reversed(path.parts) if part in _SPLITS), "")
    for key in keys:
        linked = dict.fromkeys(end for pair in key.get("linking") or () for end in pair if end in values)
        question = written[key["id"]].strip()
        tags = {"split": split, "same_keys": times[question] if times[question] > 1 else 0}
        yield Annotation(
            id=f"{path.stem}:{key['id']}",
            images=(f"{path.stem}.png",),
            question=question,
            answers=texts(" ".join(written[block] for block in linked if written[block])),
            tags={tag: value for tag, value in tags.items() if value},
        )


def _is_form(document: Any) -> bool:
    blocks = document.get("form") if isinstance(document, dict) else None
    return isinstance(blocks, list) and all(isinstance(block, dict) and "id" in block for block in blocks)


READER = (_read_scene_text, _read_coco_text, _read_funsd)
