"""POIE: one line of JSON a food label, ``{file_name, width, height, entity_dict: {"CE-PS": "…"}}``."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, texts

_NUTRIENTS = {
    "SS": "serving size",
    "CE": "energy (calories)",
    "TF": "total fat",
    "SF": "saturated fat",
    "SO": "sodium",
    "CAR": "total carbohydrate",
    "PRO": "protein",
}
_AMOUNTS = {
    "PS": "per serving",
    "P1": "per 100 g or 100 ml",
    "D": "as a share of the daily value",
    "PP": "as a percentage per 100 g or 100 ml",
}


class Poie(Reader):
    """One record a piece of information on a label."""

    name = "poie"
    summary = "POIE's test.txt: one line of JSON a label, {file_name, entity_dict: {SS: …, CE-PS: …}}"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """All that is marked on all labels."""
        entries = files.entries({"file_name", "entity_dict"}, "POIE's lines of JSON, {file_name: …, entity_dict: …}")
        return Annotations(lambda: (record for entry in entries for record in _annotations(entry)))


def _annotations(entry: dict[str, Any]) -> Iterator[Annotation]:
    name = str(entry["file_name"])
    width, height = entry.get("width"), entry.get("height")
    for code, value in (entry["entity_dict"] or {}).items():
        yield Annotation(
            id=f"{PurePosixPath(name).stem}:{code}",
            images=(name,),
            size=(int(width), int(height)) if width and height else None,
            question=in_words(code),
            answers=texts(value),
            tags={"field": code},
        )


def in_words(code: str) -> str:
    """What a code stands for: ``TF-PS`` is the total fat per serving."""
    nutrient, _, amount = code.partition("-")
    known = nutrient in _NUTRIENTS and (not amount or amount in _AMOUNTS)
    return " ".join(filter(None, (_NUTRIENTS[nutrient], _AMOUNTS.get(amount)))) if known else code


READER = Poie()
