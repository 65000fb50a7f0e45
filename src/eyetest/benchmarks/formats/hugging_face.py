"""Hugging Face: Parquet as on the hub, lmms-eval tasks, and folders that ``datasets`` saves (``save_to_disk``)."""

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from eyetest.benchmarks.folder import Benchmark, refuse_gold_list
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.opening import Format
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row, unreserved
from eyetest.errors import InputError, short
from eyetest.records import Item
from eyetest.store.files import inside, open_regular, read_regular
from eyetest.tabular.record_files import ArrowPart, ArrowTable, count_rows, parquet_part, stream_batches

_SHARD = re.compile(r"(?P<split>[A-Za-z][\w.]*?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet")
_ROWS = 64
_NOTE = b"eyetest"
_TEXT = pa.string()
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", _TEXT)])
_JSON_COLUMNS = ("history", "lineage", "option_provenance", "tags")
_BATCH_ROWS = 256
_BATCH_BYTES = 32 * 2**20
_TASK, _DATA = "eyetest_task.yaml", "data/test-00000-of-00001.parquet"
_FUNCTIONS = ("doc_to_visual", "doc_to_text", "doc_to_target", "process_results")
_STATE = "state.json"
_INFO = "dataset_info.json"
_SPLITS = "dataset_dict.json"
_STREAM = "data-00000-of-00001.arrow"
_STREAM_SHARD = re.compile(r"-\d{5}-of-(?P<of>\d{5})\.arrow$")
_Part = TypeVar("_Part")


class Parquet(Format):
    """Parquet files as on the hub, those of MMMU and MMStar among them."""

    name = "parquet"
    summary = "Hugging Face Parquet: images as structs, options as a list; also reads MMMU's and MMStar's layouts"
    endings: tuple[str, ...] = (".parquet",)

    def recognises(self, folder: Path) -> bool:
        """A folder that holds Parquet files."""
        return bool(_parquet_files(folder))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading; all shards must have the same columns."""
        found = _parquet_files(path)
        if not found:
            raise InputError(f"{path} holds no Parquet file")
        splits = (shard["split"] if (shard := _SHARD.fullmatch(file.name)) else "" for file in found)
        parts = [parquet_part(file, _ROWS, split, options.drop) for file, split in zip(found, splits, strict=True)]
        return _reader(found[0], parts, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one Parquet file, never holding more than a few images."""
        tables = ArrowExport(benchmark)
        with pq.ParquetWriter(to, tables.schema, compression="zstd", write_page_checksum=True) as writer:
            for table in tables:
                writer.write_table(table)
        return []


class LmmsEval(Parquet):
    """A task folder that lmms-eval loads: Parquet, the task's YAML, the functions that it names."""

    name = "lmms-eval"
    summary = "a task folder for lmms-eval: Parquet, task YAML and utils.py, loaded with --include_path"
    is_folder = True
    endings = ()

    def recognises(self, folder: Path) -> bool:
        """A folder with a task file of eyetest; other Parquet folders are left to ``parquet``."""
        return (folder / _TASK).is_file()

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write the task folder."""
        refuse_gold_list(benchmark, f"write for {self.name}")
        (to / "data").mkdir(parents=True)
        super().write(benchmark, to / _DATA, final)
        (to / "utils.py").write_bytes(files(__package__).joinpath("lmms_eval_task.py").read_bytes())
        task = _task(benchmark, final.resolve() / _DATA)
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        text += "".join(f"{name}: !function utils.{name}\n" for name in _FUNCTIONS)
        (to / _TASK).write_text("# data_files is an absolute path: change it if you move this folder.\n" + text)
        return [f"run it with: lmms-eval --include_path {final} --tasks {task['task']} --model …"]


def _task(benchmark: Benchmark, data: Path) -> dict[str, Any]:
    manifest = benchmark.manifest
    return {
        "task": re.sub(r"\W+", "_", manifest.name).strip("_").lower() or "benchmark",
        "dataset_path": "parquet",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "generation_kwargs": {"max_new_tokens": 1024, "temperature": 0, "do_sample": False},
        "metric_list": [{"metric": "accuracy", "aggregation": "mean", "higher_is_better": True}],
        "metadata": [{"version": manifest.version, "fingerprint": manifest.fingerprint}],
    }


def _parquet_files(path: Path) -> list[Path]:
    """The Parquet files of a path, in order. Those of a folder may not be links that leave it."""
    if not path.is_dir():
        return [path]
    found = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
    for file in found:
        os.close(open_regular(inside(file, path)))
    return found


def _reader(path: Path, parts: list[ArrowPart], options: ReadOptions, store: ImageStore) -> ItemReader:
    """Start reading files of the same columns; only others' files are named after splits."""
    first = parts[0].schema
    for part in parts:
        if odd := sorted(set(part.schema.names) ^ set(first.names)):
            raise InputError(f"{part.name} has other columns than {parts[0].name} ({', '.join(odd[:5])})")
    return ItemReader(ArrowTable(path, parts, name_splits=_NOTE not in (first.metadata or {})), options, store)


class ArrowExport:
    """A benchmark as a schema and a stream of Arrow tables of bounded size, with images inside."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._tag_types = _tag_types(benchmark)
        used: dict[str, pa.DataType] = {}
        self._lists = False
        for row in map(self._row, benchmark):
            self._lists |= isinstance(row.get("answer"), list)
            used |= {name: self._tag_types.get(name, _TEXT) for name in row}
        texts = pa.list_(_TEXT)
        first = {name: _TEXT for name in ("id", "question") if name in used} | {"images": pa.list_(_IMAGE)}
        used = {**first, **used, "options": texts, "answer": texts if self._lists else _TEXT}
        self.features = {name: _feature(kind) for name, kind in used.items()}
        features = json.dumps({"info": {"features": self.features}}).encode()
        self.schema = pa.schema(used, {b"huggingface": features, _NOTE: b"{}"})

    def __iter__(self) -> Iterator[pa.Table]:
        rows: list[dict[str, Any]] = []
        held = 0
        for item in self._benchmark:
            row = self._row(item)
            if self._lists and isinstance(row.get("answer"), str):
                row["answer"] = [row["answer"]]
            images = ({"bytes": self._benchmark.images.read(image), "path": image.filename} for image in item.images)
            rows.append(row | {"images": list(images)})
            held += sum(image.size for image in item.images)
            if len(rows) >= _BATCH_ROWS or held >= _BATCH_BYTES:
                yield pa.Table.from_pylist(rows, schema=self.schema)
                rows, held = [], 0
        if rows:
            yield pa.Table.from_pylist(rows, schema=self.schema)

    def _row(self, item: Item) -> dict[str, Any]:
        row = plain_row(item, lambda name, _: name in self._tag_types)
        for name in _JSON_COLUMNS:
            if name in row:
                row[name] = msgspec.json.encode(row[name]).decode()
        return row


def _tag_types(benchmark: Benchmark) -> dict[str, pa.DataType]:
    types: dict[str, pa.DataType | None] = {}
    for item in benchmark:
        for name, value in item.tags.items():
            kind = _simple_type(value)
            types[name] = kind if types.get(name, kind) == kind else None
    return {name: kind for name, kind in types.items() if kind is not None and unreserved(name)}


def _simple_type(value: Any) -> pa.DataType | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.int64() if -(2**63) <= value < 2**63 else None
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return pa.list_(pa.string())
    return {bool: pa.bool_(), float: pa.float64(), str: pa.string()}.get(type(value))


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if kind == _IMAGE:
        return {"_type": "Image"}
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "Sequence"}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind)), "_type": "Value"}


class _File(msgspec.Struct):
    filename: str


class DatasetsFolder(Format):
    """The format itself."""

    name = "datasets"
    summary = "a folder saved by Hugging Face datasets (save_to_disk), one split or several"
    is_folder = True

    def recognises(self, folder: Path) -> bool:
        """A folder with the files that ``save_to_disk`` leaves."""
        return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        folders = {"": path}
        if (path / _SPLITS).is_file():
            folders = {name: _inside(path, name, path) for name in _read_list(path / _SPLITS, path, "splits", str)}
        files = [(split, file) for split, folder in folders.items() for file in _data_files(folder, path)]
        if not files:
            raise InputError(f"{path} holds no data files")
        parts = []
        for (split, file), rows in zip(files, count_rows("stream", [file for _, file in files]), strict=True):
            if not rows:
                raise InputError(f"{file} holds no rows")
            with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stream:
                name, batches = f"{file.parent.name}/{file.name}", partial(stream_batches, file, _ROWS)
                parts.append(ArrowPart(name, stream.schema, rows, batches, split))
        return _reader(path / _STREAM, parts, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder that ``datasets.load_from_disk`` opens."""
        to.mkdir(exist_ok=True)
        tables = ArrowExport(benchmark)
        with pa.OSFile(str(to / _STREAM), "wb") as file, pa.ipc.new_stream(file, tables.schema) as stream:
            for table in tables:
                stream.write_table(table)
        manifest = benchmark.manifest
        info = {"citation": "", "description": manifest.source, "homepage": "", "license": manifest.licence}
        (to / _INFO).write_bytes(msgspec.json.encode({**info, "features": tables.features}))
        state = {"_data_files": [{"filename": _STREAM}], "_fingerprint": manifest.fingerprint[:16]}
        unset = dict.fromkeys(("_format_columns", "_format_type", "_split"))
        fixed = {"_format_kwargs": {}, "_output_all_columns": False}
        (to / _STATE).write_bytes(msgspec.json.encode({**state, **unset, **fixed}))
        return []


def _read_list(path: Path, root: Path, key: str, kind: type[_Part]) -> list[_Part]:
    """The list under a key of a JSON file that ``datasets`` wrote."""
    try:
        content = msgspec.json.decode(read_regular(path, root), type=dict[str, Any])
        return msgspec.convert(content.get(key), list[kind])  # type: ignore[valid-type]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or '').lower()}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{path} is not as datasets writes it: {error}") from None


def _inside(folder: Path, name: str, root: Path) -> Path:
    if "\0" in name or ".." in Path(name).parts or Path(name).is_absolute():
        raise InputError(f"{folder}: {short(name)} leaves the folder")
    inside(folder / name, root)
    return folder / name


def _data_files(folder: Path, root: Path) -> list[Path]:
    """The files of a split. Names of shards contain their number, so that a truncated list is found."""
    names = [entry.filename for entry in _read_list(folder / _STATE, root, "_data_files", _File)]
    shards = [shard for name in names if (shard := _STREAM_SHARD.search(name))]
    if shards and len(shards) != int(shards[0]["of"]):
        raise InputError(f"{folder / _STATE} names {len(shards):,} of {int(shards[0]['of']):,} data files")
    files = [_inside(folder, name, root) for name in names]
    if missing := next((file for file in files if not file.is_file()), None):
        raise InputError(f"{missing} is no file")
    return files


FORMAT = (Parquet(), LmmsEval(), DatasetsFolder())
