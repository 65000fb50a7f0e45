"""MOCHEG: claims with evidence in words (``Corpus2.csv``) and in pictures (``img_evidence_qrels.csv``)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.tabular.files import read_rows

_CLAIM, _LABEL = "Claim", "cleaned_truthfulness"
_RELEVANT = {"TOPIC", "RELEVANCY"}
_PICTURES = ("DOCUMENT#", "evidence_id")


class MochegSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much evidence goes with a claim."""

    paragraphs: Annotated[int, msgspec.Meta(ge=0)] = 3
    """Of the evidence in words, from the first on."""
    pictures: Annotated[int, msgspec.Meta(ge=1)] = 1


class Mocheg(Reader):
    """One record a claim; the file has a row for each paragraph of its evidence."""

    name = "mocheg"
    summary = "MOCHEG's Corpus2.csv (claim_id, Claim, Evidence, cleaned_truthfulness) and img_evidence_qrels.csv"
    settings = MochegSettings

    def read(self, files: AnnotationFiles, settings: MochegSettings) -> Annotations:
        """The claims of all splits that are there, with the pictures that belong to them."""
        tables = files.tables(lambda row: {"claim_id", _CLAIM, _LABEL} <= set(row))
        if not tables:
            raise files.unlike(f"MOCHEG's Corpus2.csv with columns claim_id, {_CLAIM}, {_LABEL}")
        claims: dict[str, list[dict[str, Any]]] = {}
        for path in tables:
            for _, row in read_rows(path):
                claims.setdefault(str(row["claim_id"]), []).append(row)
        relevant = _pictures(_lists(files, tables))

        def records() -> Iterator[Annotation]:
            for key, rows in claims.items():
                evidence = dict.fromkeys(str(row.get("Evidence") or "").strip() for row in rows)
                told = [paragraph for paragraph in evidence if paragraph][: settings.paragraphs]
                yield Annotation(
                    id=key,
                    images=tuple(relevant.get(key, [f"{key}-proof"])[: settings.pictures]),
                    question=str(rows[0][_CLAIM]).strip(),
                    hint="\n".join(told),
                    label=str(rows[0][_LABEL] or ""),
                )

        return Annotations(records)


def _lists(files: AnnotationFiles, tables: list[Path]) -> list[Path]:
    """Which pictures belong to which claim is said in a file among the named ones, or beside the claims."""
    lists = files.tables(lambda row: set(row) >= _RELEVANT and any(key in row for key in _PICTURES))
    return [path for path in lists if path not in tables and not _is_about_text(path)]


def _is_about_text(path: Path) -> bool:
    """The lists of relevant text look alike; their documents are no picture files."""
    for _, row in read_rows(path):
        return not any(Path(str(row.get(key) or "")).suffix for key in _PICTURES)
    return True


def _pictures(lists: list[Path]) -> dict[str, list[str]]:
    pictures: dict[str, list[str]] = {}
    for path in lists:
        for _, row in read_rows(path):
            name = next((str(row[key]) for key in _PICTURES if Path(str(row.get(key) or "")).suffix), "")
            if str(row["RELEVANCY"]) == "1" and name and name not in pictures.setdefault(str(row["TOPIC"]), []):
                pictures[str(row["TOPIC"])].append(name)
    return pictures


READER = Mocheg()
