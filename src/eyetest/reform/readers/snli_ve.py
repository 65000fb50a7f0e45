"""SNLI-VE: a statement about a Flickr30K picture and whether it follows; also SNLI's lines and e-SNLI-VE's tables."""

from collections.abc import Iterator
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture
from eyetest.tabular.files import read_rows

_STATEMENTS = ("sentence2", "hypothesis")
_LABELS = ("gold_label", "label")
_NUMBERED = ("entailment", "neutral", "contradiction")
"""What the hub's numbers mean."""
_PICTURES = ("Flickr30K_ID", "Flickr30kID", "Flikr30kID", "flickr30k_id", "image", "filename", "image_id")
_IDS = ("pairID", "pair_id", "id")


class SnliVe(Reader):
    """One record a statement."""

    name = "snli-ve"
    summary = "SNLI-VE's JSON Lines: Flickr30K_ID, pairID, sentence2, gold_label"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The statements of all files that are there."""
        tables = files.tables(
            lambda row: any(key in row for key in _STATEMENTS) and any(key in row for key in _LABELS)
        )
        if not tables:
            raise files.unlike("SNLI-VE's JSON Lines with Flickr30K_ID, pairID, sentence2 and gold_label")

        def records() -> Iterator[Annotation]:
            for path in tables:
                for number, row in read_rows(path):
                    yield _statement(row, f"{path.stem}-{number}")

        return Annotations(records)


def _statement(row: dict[str, Any], number: str) -> Annotation:
    key = str(_first(row, _IDS) if _first(row, _IDS) is not None else number)
    image = _first(row, _PICTURES)
    name = picture(image) if image is not None else key.partition("#")[0]
    if isinstance(name, str) and "." not in name:
        name = f"{name}.jpg"
    return Annotation(
        id=key, images=(name,), question=str(_first(row, _STATEMENTS)).strip(), label=_label(_first(row, _LABELS))
    )


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _label(value: Any) -> str:
    """The label in words; nothing where people did not agree, which SNLI writes as a dash."""
    if str(value).isdigit() and int(value) < len(_NUMBERED):
        return _NUMBERED[int(value)]
    return "" if value in (None, -1, "-1", "-") else str(value)


READER = SnliVe()
