"""SROIE: one small JSON object a receipt, ``{company, date, address, total}``, in a file named after its picture."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of, picture, texts
from eyetest.tabular.json_table import decode
from eyetest.tabular.table import Values

FIELDS = ("company", "date", "address", "total")
_BOUNDS = "{}"


class Sroie(Reader):
    """One record a field of a receipt. Files of boxes and transcriptions beside them are not needed."""

    name = "sroie"
    summary = "SROIE's text or JSON files, one a receipt: {company, date, address, total}; or a table of receipts"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The fields of all receipts."""
        receipts = [(path.stem, fields) for path in files.ending(".txt", ".json") if (fields := _fields(files, path))]
        if receipts:
            return Annotations(lambda: (record for name, fields in receipts for record in _annotations(name, fields)))
        entries = files.entries(
            {"entities"},
            "SROIE's files, one a receipt: {company: …, date: …, address: …, total: …}",
            otherwise=[{"company"}],
        )
        return Annotations(lambda: (record for number, entry in entries.numbered() for record in _row(entry, number)))


def _fields(files: AnnotationFiles, path: Path) -> Values:
    """The key information that a file holds, none where it is a file of another kind."""
    lines = list(files.lines(path))
    if not lines or lines[0][0] + lines[-1][-1] != _BOUNDS:
        return {}
    try:
        content = decode("\n".join(lines).encode(), str(path))
    except InputError:
        return {}
    return content if isinstance(content, dict) and not content.keys().isdisjoint(FIELDS) else {}


def _annotations(name: str, fields: Values, image: Any = None) -> Iterator[Annotation]:
    for field in FIELDS:
        yield Annotation(
            id=f"{name}:{field}",
            images=(picture(image or f"{name}.jpg"),),
            question=field,
            answers=texts(fields.get(field)),
            tags={"field": field},
        )


def _row(entry: Values, number: str) -> Iterator[Annotation]:
    name = name_of(entry, ("key", "file_name", "id", "image_id"), number)
    return _annotations(
        PurePosixPath(name).stem, entry.get("entities", entry), entry.get("image") or entry.get("file_name")
    )


READER = Sroie()
