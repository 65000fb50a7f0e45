"""MEDIC: a TSV of pictures with labels of four tasks; and the tables of its forerunner, one a task."""

from collections.abc import Iterator

import msgspec

from eyetest.benchmarks.picture_folders import spoken
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.reform.readers.labelled import listed
from eyetest.tabular.files import read_rows

_PICTURE, _ONLY_LABEL = "image_path", "class_label"


class MedicSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of the tasks, and what its classes are."""

    column: str = "disaster_types"
    """``disaster_types``, ``damage_severity``, ``humanitarian`` or ``informative``."""
    classes: tuple[str, ...] = ()


class Medic(Reader):
    """One record a picture."""

    name = "medic"
    summary = "MEDIC's TSV: image_id, event_name, image_path and a column of labels for each task"
    settings = MedicSettings

    def read(self, files: AnnotationFiles, settings: MedicSettings) -> Annotations:
        """The pictures of all splits that are there."""
        columns = (settings.column, _ONLY_LABEL)
        tables = files.tables(lambda row: _PICTURE in row and any(column in row for column in columns))
        if not tables:
            raise files.unlike(f"MEDIC's TSV with columns {_PICTURE} and {settings.column}")

        def records() -> Iterator[Annotation]:
            for path in tables:
                for _, row in read_rows(path):
                    label = row.get(settings.column) or row.get(_ONLY_LABEL) or ""
                    event = row.get("event_name") or row.get("event") or row.get("source")
                    yield Annotation(
                        id=row[_PICTURE],
                        images=(row[_PICTURE],),
                        label=spoken(label),
                        tags={"event": event} if event else {},
                    )

        return Annotations(records, listed(settings.classes) or listed(record.label for record in records()))


READER = Medic()
