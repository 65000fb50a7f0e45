"""ImageNetVC: CSV files of commonsense questions about ImageNet's classes, one file a kind of question."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, file_names, texts
from eyetest.tabular.files import read_rows

_CLASSES = ("category", "imagenet_category", "class", "object", "synset", "wnid")


class ImageNetVc(Reader):
    """One record a question; the file's name is its kind, and any picture of the class may be shown."""

    name = "imagenetvc"
    summary = "ImageNetVC's CSV files (color.csv, shape.csv …) with the columns question and answer"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions of all files, kind by kind."""
        tables = files.tables(lambda row: {"question", "answer"} <= {str(key).lower() for key in row})
        if not tables:
            raise files.unlike("ImageNetVC's CSV files with the columns question and answer")
        names = file_names(tables)
        return Annotations(lambda: (record for path in tables for record in _records(path, names[path])))


def _records(path: Path, name: str) -> Iterator[Annotation]:
    kind = path.name.split(".")[0]
    for number, values in read_rows(path):
        row: dict[str, Any] = {str(key).lower(): value for key, value in values.items()}
        shown = next((texts(row[key])[0] for key in _CLASSES if texts(row.get(key))), "")
        answers = texts(row["answer"])
        yield Annotation(
            id=f"{name.removesuffix('.csv')}:{number}",
            images=(shown or kind,),
            question=str(row["question"]).strip(),
            answers=answers,
            label=answers[0] if answers else "",
            tags={"question_type": kind} | ({"class": shown} if shown else {}),
        )


READER = ImageNetVc()
