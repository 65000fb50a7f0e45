"""Items as Arrow tables with pictures inside, as Hugging Face's tools expect them.

Three shapes: ``plain`` (our own columns), ``mmmu`` (``image_1`` … ``image_7``, options as text that holds a list) and
``mmstar`` (one picture, options inside the question).
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import pyarrow as pa

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.rows import GoldStyle, ReadOptions
from eyetest.benchmarks.rows.layout import gold_letters, plain_row, unreserved
from eyetest.benchmarks.rows.options import join_options
from eyetest.errors import ExportError, short
from eyetest.records import ImageRef, Item

Shape = Literal["plain", "mmmu", "mmstar"]
_METADATA_KEY = b"eyetest"
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_MMMU_IMAGES = tuple(f"image_{number}" for number in range(1, 8))
_JSON_COLUMNS = ("history", "lineage", "option_provenance", "tags")
_BATCH_ROWS = 256
_BATCH_BYTES = 32 * 2**20
_INT64 = 2**63


class _Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What our own exports say about themselves in the schema, so that nothing has to be guessed on return."""

    answers: GoldStyle | None = None
    drop: tuple[str, ...] = ()
    """Columns that only serve another tool."""


def is_ours(schema: pa.Schema) -> bool:
    """Whether a file is an export of ours."""
    return _note(schema) is not None


def with_note(schema: pa.Schema, options: ReadOptions) -> ReadOptions:
    """The user's options, completed by what one of our exports noted."""
    note = _note(schema) or _Note()
    return msgspec.structs.replace(
        options, gold_style=options.gold_style or note.answers, drop=(*options.drop, *note.drop)
    )


def _note(schema: pa.Schema) -> _Note | None:
    text = (schema.metadata or {}).get(_METADATA_KEY)
    try:
        return msgspec.json.decode(text, type=_Note) if text is not None else None
    except (msgspec.DecodeError, UnicodeError):
        return None


class ArrowExport:
    """A benchmark as a schema and a stream of tables of bounded size."""

    def __init__(self, benchmark: Benchmark, shape: Shape = "plain") -> None:
        self._benchmark = benchmark
        self._shape = shape
        self._tag_types = _tag_types(benchmark)
        self.schema = self._find_schema()

    def __iter__(self) -> Iterator[pa.Table]:
        rows: list[dict[str, Any]] = []
        held = 0
        for item in self._benchmark:
            row = self._row(item)
            if self._answers_are_lists and isinstance(row.get("answer"), str):
                row["answer"] = [row["answer"]]
            rows.append(row | self._image_columns(item))
            held += sum(image.size for image in item.images)
            if len(rows) >= _BATCH_ROWS or held >= _BATCH_BYTES:
                yield pa.Table.from_pylist(rows, schema=self.schema)
                rows, held = [], 0
        if rows:
            yield pa.Table.from_pylist(rows, schema=self.schema)

    @property
    def features(self) -> dict[str, Any]:
        """The columns as ``datasets`` describes them."""
        return {field.name: _feature(field.type) for field in self.schema}

    def _row(self, item: Item) -> dict[str, Any]:
        row = plain_row(item, self._is_column)
        for name in _JSON_COLUMNS:
            if name in row:
                row[name] = msgspec.json.encode(row[name]).decode()
        if self._shape == "mmmu":
            row |= {"options": str(row.get("options", [])), "answer": _as_text(row, item)}
            row.setdefault("question_type", "multiple-choice" if item.choices else "open")
        elif self._shape == "mmstar":
            row = {
                "index": row.pop("id"),
                **row,
                "question": _question_with_options(item),
                "answer": gold_letters(item),
            }
            row.pop("options", None)
        if self._shape != "plain":
            row.pop("answer_letter", None)
        return row

    def _is_column(self, name: str, _value: Any) -> bool:
        return name in self._tag_types

    def _image_columns(self, item: Item) -> dict[str, Any]:
        images = [self._picture(image) for image in item.images]
        if self._shape == "plain":
            return {"images": images}
        columns = _MMMU_IMAGES if self._shape == "mmmu" else ("image",)
        if len(images) > len(columns):
            raise ExportError(
                f"item {short(item.id)} has {len(images)} pictures; the {self._shape} layout holds {len(columns)}"
            )
        return dict(zip(columns, images, strict=False))

    def _picture(self, image: ImageRef) -> dict[str, Any]:
        return {"bytes": self._benchmark.images.read(image), "path": image.filename}

    def _find_schema(self) -> pa.Schema:
        used: dict[str, pa.DataType] = {}
        lists = False
        for item in self._benchmark:
            row = self._row(item)
            lists = lists or isinstance(row.get("answer"), list)
            for name in row:
                used.setdefault(name, self._tag_types.get(name, pa.string()))
        if self._shape == "plain":
            used |= {"options": pa.list_(pa.string()), "answer": pa.list_(pa.string()) if lists else pa.string()}
        images = {
            "plain": {"images": pa.list_(_IMAGE)},
            "mmmu": dict.fromkeys(_MMMU_IMAGES, _IMAGE),
            "mmstar": {"image": _IMAGE},
        }[self._shape]
        ordered = {name: used.pop(name) for name in ("id", "index", "question") if name in used}
        schema = pa.schema([*ordered.items(), *images.items(), *used.items()])
        self._answers_are_lists = lists
        return schema.with_metadata(self._metadata(schema))

    def _metadata(self, schema: pa.Schema) -> dict[bytes, bytes]:
        extra = self._shape == "mmmu" and "question_type" not in self._tag_types
        note = _Note(answers=None if self._shape == "plain" else "letter", drop=("question_type",) if extra else ())
        features = {field.name: _feature(field.type) for field in schema}
        return {
            b"huggingface": json.dumps({"info": {"features": features}}).encode(),
            _METADATA_KEY: msgspec.json.encode(note),
        }


def _as_text(row: dict[str, Any], item: Item) -> str | None:
    if item.choices:
        return gold_letters(item)
    answer = row.get("answer")
    return answer if answer is None or isinstance(answer, str) else str(answer)


def _question_with_options(item: Item) -> str:
    joined = join_options(item.question, tuple(choice.text for choice in item.choices))
    if not item.choices:
        why = "it has no options"
    elif len(item.gold) > 1:
        why = "it has several right options"
    elif joined is None:
        why = "its options cannot be told apart inside the question"
    else:
        return joined
    raise ExportError(f"item {short(item.id)} does not fit the mmstar layout: {why}")


def _tag_types(benchmark: Benchmark) -> dict[str, pa.DataType]:
    """The tags that can be columns: those with one simple type throughout and a name that means nothing else."""
    types: dict[str, pa.DataType | None] = {}
    for item in benchmark:
        for name, value in item.tags.items():
            kind = _simple_type(value)
            types[name] = kind if types.get(name, kind) == kind else None
    return {name: kind for name, kind in types.items() if kind is not None and unreserved(name)}


def _simple_type(value: Any) -> pa.DataType | None:
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if -_INT64 <= value < _INT64 else None
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return pa.list_(pa.string())
    return None


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if kind == _IMAGE:
        return {"_type": "Image"}
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "Sequence"}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind)), "_type": "Value"}
