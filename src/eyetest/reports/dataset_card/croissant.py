"""``croissant.json``: what is in the folder, in the words that dataset search engines and loaders read.

It names the Parquet file with its hash, the pictures by their pattern, and every field, so that ``mlcroissant`` opens
the folder as it lies.
"""

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from eyetest.benchmarks.folder import ITEMS
from eyetest.benchmarks.itemtable import SCHEMA
from eyetest.reports.dataset_card.known import Known

PICTURES, _PICTURES_BY_HASH = "pictures", "pictures-by-hash"
_VERSION = "http://mlcommons.org/croissant/1.0"


@cache
def _vocabulary() -> dict[str, Any]:
    """The words of the description, and what is said of every column."""
    text = resources.files(__package__).joinpath("croissant.yaml").read_text(encoding="utf-8")
    vocabulary: dict[str, Any] = yaml.safe_load(text)
    return vocabulary


def croissant(known: Known, items: Path) -> dict[str, Any]:
    """The whole description of a benchmark folder."""
    manifest, said, words = known.manifest, known.said, _vocabulary()
    told = {
        "description": said.about or manifest.source or f"{known.name}: nobody has described it yet.",
        "license": known.licence.address,
        "url": said.homepage,
        "citeAs": said.citation,
        "datePublished": said.published.isoformat() if said.published else "",
        "creator": [{"@type": "sc:Person", "name": name} for name in said.creators],
        "inLanguage": list(said.language),
        "version": manifest.version,
        "keywords": ["benchmark", "vision-language", "eyetest"],
    }
    return {
        "@context": words["context"] | {word: f"cr:{word}" for word in words["words"]},
        "@type": "sc:Dataset",
        "conformsTo": _VERSION,
        "name": known.name,
        **{name: value for name, value in told.items() if value},
        "identifier": manifest.fingerprint,
        "distribution": _files(known, items),
        "recordSet": [_items(), *([_pictures()] if known.picture_formats else [])],
    }


def _files(known: Known, items: Path) -> list[dict[str, Any]]:
    with items.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    table = {
        "@type": "cr:FileObject",
        "@id": ITEMS,
        "name": ITEMS,
        "description": "one row an item",
        "contentUrl": ITEMS,
        "contentSize": f"{items.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }
    if not known.picture_formats:
        return [table]
    pictures = {
        "@type": "cr:FileSet",
        "@id": PICTURES,
        "name": PICTURES,
        "description": "every picture once, named by the SHA-256 of its bytes",
        "encodingFormat": [f"image/{kind}" for kind in known.picture_formats],
        "includes": "images/*/*",
    }
    return [table, pictures]


def _items() -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "items",
        "name": "items",
        "key": {"@id": "items/id"},
        "field": [_field(column) for column in SCHEMA],
    }


def _field(column: pa.Field) -> dict[str, Any]:
    """A column as a field: a list is a repeated one, a list of structs one with fields inside."""
    about = {**_named(column.name), "description": _vocabulary()["fields"][column.name]}
    if not pa.types.is_list(column.type):
        return {**about, "dataType": _kind(column.type), "source": _source(column.name)}
    inside = column.type.value_type
    if not pa.types.is_struct(inside):
        return {**about, "dataType": _kind(inside), "repeated": True, "source": _source(column.name)}
    parts = [
        {
            **_named(f"{column.name}/{part.name}"),
            "dataType": _kind(part.type),
            "source": {**_source(column.name), "transform": {"jsonPath": part.name}},
        }
        for part in inside
    ]
    return {**about, "repeated": True, "subField": parts}


def _named(path: str, within: str = "items") -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": f"{within}/{path}", "name": path.rpartition("/")[2]}


def _source(column: str) -> dict[str, Any]:
    return {"fileObject": {"@id": ITEMS}, "extract": {"column": column}}


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    return "sc:Integer" if pa.types.is_integer(kind) else "sc:Text"


def _pictures() -> dict[str, Any]:
    parts = (("file", "sc:Text", "filename"), ("content", "sc:ImageObject", "content"))
    fields = [
        {
            **_named(name, _PICTURES_BY_HASH),
            "dataType": kind,
            "source": {"fileSet": {"@id": PICTURES}, "extract": {"fileProperty": extract}},
        }
        for name, kind, extract in parts
    ]
    return {"@type": "cr:RecordSet", "@id": _PICTURES_BY_HASH, "name": _PICTURES_BY_HASH, "field": fields}
