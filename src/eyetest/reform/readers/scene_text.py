"""Words in pictures: ICDAR's text files with or without boxes, MMOCR's label files, IIIT5K's MATLAB files, tables.

One record a word. It has a region where the file says where in the picture the word stands; otherwise the picture
shows nothing but the word.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, Box, Region
from eyetest.reform.readers.base import AnnotationFiles, Entries, NoSettings, Reader, file_names, picture, texts
from eyetest.reform.readers.binaries import read_mat

UNREADABLE = "###"
"""What ICDAR writes for a word that nobody could read."""
_CORNERS = 8
_QUADRILATERAL = re.compile(rf"(?:\s*-?\d+(?:\.\d+)?\s*,){{{_CORNERS}}}")
_LABELLED = re.compile(r"(\S+?\.(?:png|jpe?g|gif|bmp|tiff?|webp))(\s*,\s*|\s+)(.*)", re.IGNORECASE)
_REPEATED = re.compile(r"(\S+)\s+\d+\s+\1")
"""CUTE80's lines say the word twice: ``timage/001.jpg WORD 1 WORD``."""
_COLUMNS = (
    ("img_path", "instances"),
    ("ImgName", "GroundTruth"),
    ("filename", "text"),
    ("file_name", "text"),
    ("image", "text"),
    ("image", "label"),
)


class SceneText(Reader):
    """One record a word, as the file transcribes it."""

    name = "scene-text"
    summary = "words in pictures: ICDAR's or MMOCR's text files, IIIT5K's .mat, or a table of pictures and texts"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The words of all files of the first of these kinds that is there."""
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
        entries, columns = _table(files)
        return Annotations(lambda: (_row(entry, columns, number) for number, entry in enumerate(entries, 1)))


def _boxed(files: AnnotationFiles, path: Path, name: str) -> Iterator[Annotation]:
    """The words of a file that lists four corners and a transcription a line: ``x1,y1,…,x4,y4,text``."""
    image = path.stem.removeprefix("gt_")
    for number, line in enumerate(files.lines(path), 1):
        *corners, text = line.split(",", _CORNERS)
        if len(corners) < _CORNERS:
            raise InputError(f"{path} line {number}: expected x1,y1,x2,y2,x3,y3,x4,y4,text")
        box = around([float(corner) for corner in corners])
        yield Annotation(
            id=f"{name.removeprefix('gt_')}:{number}",
            images=(f"{image}.jpg",),
            answers=_readable(text),
            regions=(Region(box=box, text=text.strip()),),
        )


def around(points: list[float]) -> Box:
    """The upright box around points given as x, y, x, y …."""
    left, top = min(points[::2]), min(points[1::2])
    return left, top, max(points[::2]) - left, max(points[1::2]) - top


def _labelled(line: str) -> tuple[str, str] | None:
    """The picture and the text of a line; None where it has no such two, as in ICDAR's lists of corners."""
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
            raise InputError(f"{path} line {number}: expected a picture's name and what is written on it")
        yield _word(*labelled, prefix=f"{name}:" if name else "")


def _matlab(path: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of IIIT5K's structures; its files of characters and of words say the same."""
    for value in read_mat(path).values():
        entries = [value] if isinstance(value, dict) else value
        for entry in entries if hasattr(entries, "__iter__") and not isinstance(entries, str | bytes) else ():
            if isinstance(entry, dict) and "ImgName" in entry:
                yield str(entry["ImgName"]), str(entry["GroundTruth"] if "GroundTruth" in entry else entry["chars"])


def _table(files: AnnotationFiles) -> tuple[Entries, tuple[str, str]]:
    expected = (
        "words in pictures: lines of corners and a text, lines of a picture and a text, a .mat file, or a table"
    )
    for columns in _COLUMNS[:-1]:
        with suppress(InputError):
            return files.entries(columns, expected, beside=False), columns
    return files.entries(_COLUMNS[-1], expected, beside=False), _COLUMNS[-1]


def _row(entry: dict[str, Any], columns: tuple[str, str], number: int) -> Annotation:
    image, text = picture(entry[columns[0]]), entry[columns[1]]
    if isinstance(text, list):
        text = " ".join(str(instance["text"]) for instance in text)
    name = entry[columns[0]]["path"] if isinstance(entry[columns[0]], dict) else entry[columns[0]]
    return _word(name if isinstance(name, str) and name else str(number), text, image=image)


def _word(name: str, text: Any, *, image: str | bytes = b"", prefix: str = "") -> Annotation:
    name = str(PurePosixPath(name.replace("\\", "/")))
    return Annotation(id=f"{prefix}{name}", images=(image or name,), answers=_readable(text))


def _readable(text: Any) -> tuple[str, ...]:
    return tuple(word for word in texts(text) if word != UNREADABLE)


READER = SceneText()
