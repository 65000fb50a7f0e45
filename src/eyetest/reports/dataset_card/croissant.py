"""``croissant.json``: what is in the folder, in the words that dataset search engines and loaders read.

It names the Parquet file with its hash, the pictures by their pattern, and every field, so that ``mlcroissant`` opens
the folder as it lies.
"""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from eyetest.benchmarks.folder import ITEMS
from eyetest.benchmarks.itemtable import SCHEMA
from eyetest.reports.dataset_card.known import Known

PICTURES = "pictures"
_VERSION = "http://mlcommons.org/croissant/1.0"
_OURS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet"),
    *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
    *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
"""Words of Croissant's own vocabulary; the rest are schema.org's."""
_FIELDS = {
    "id": "unique within the benchmark",
    "question": "may hold <image n>, which stands for the item's n-th picture",
    "images": "the item's pictures in order, each by the SHA-256 of its bytes",
    "choices": "the options in order, and whether each is right; none for a text item",
    "references": "the accepted answers of a text item",
    "hint": "shown with the question, or empty",
    "history": "earlier turns of a dialogue",
    "description": "words that can stand in for the pictures, or empty",
    "group": "the item whose question this one varies, or empty",
    "tags": "JSON text: whatever else the source says of the item",
    "lineage": "what was done to make this item out of another one",
    "spellings": "JSON text: how a source file wrote what is written differently here",
}


def croissant(known: Known, items: Path) -> dict[str, Any]:
    """The whole description of a benchmark folder."""
    manifest, said = known.manifest, known.said
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
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": _VERSION,
        "name": known.name,
        **{name: value for name, value in told.items() if value},
        "identifier": manifest.fingerprint,
        "distribution": _files(known, items),
        "recordSet": [_items(), *([_pictures()] if known.picture_formats else [])],
    }


def _context() -> dict[str, Any]:
    return {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        **{word: f"cr:{word}" for word in _OURS},
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
    field = {
        "@type": "cr:Field",
        "@id": f"items/{column.name}",
        "name": column.name,
        "description": _FIELDS[column.name],
    }
    if not pa.types.is_list(column.type):
        return {**field, "dataType": _kind(column.type), "source": _source(column.name)}
    inside = column.type.value_type
    if not pa.types.is_struct(inside):
        return {**field, "dataType": _kind(inside), "repeated": True, "source": _source(column.name)}
    parts = [
        {
            "@type": "cr:Field",
            "@id": f"items/{column.name}/{part.name}",
            "name": part.name,
            "dataType": _kind(part.type),
            "source": {**_source(column.name), "transform": {"jsonPath": part.name}},
        }
        for part in inside
    ]
    return {**field, "repeated": True, "subField": parts}


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
            "@type": "cr:Field",
            "@id": f"pictures-by-hash/{name}",
            "name": name,
            "dataType": kind,
            "source": {"fileSet": {"@id": PICTURES}, "extract": {"fileProperty": extract}},
        }
        for name, kind, extract in parts
    ]
    return {"@type": "cr:RecordSet", "@id": "pictures-by-hash", "name": "pictures-by-hash", "field": fields}
