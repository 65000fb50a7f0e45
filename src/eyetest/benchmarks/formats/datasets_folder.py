"""A folder saved by Hugging Face ``datasets`` (``save_to_disk``), read and written without that package."""

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.formats.support.arrow_export import ArrowExport, is_ours, with_note
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.errors import InputError, short
from eyetest.store.files import inside, open_regular, read_regular
from eyetest.tabular.arrow_messages import check_stream
from eyetest.tabular.arrow_table import ArrowPart, ArrowTable
from eyetest.tabular.bounded_parquet import Unfolder, refuse_damaged

_STATE = "state.json"
_INFO = "dataset_info.json"
_SPLITS = "dataset_dict.json"
_DATA = "data-00000-of-00001.arrow"
_SHARD = re.compile(r"-\d{5}-of-(?P<of>\d{5})\.arrow$")
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
_ROWS = 64
_Json = TypeVar("_Json")


class DatasetsFolder:
    """The format itself."""

    name = "datasets"
    summary = "a folder saved by Hugging Face datasets (save_to_disk), one split or several"
    is_folder = True
    endings = ()

    def recognises(self, folder: Path) -> bool:
        """A folder with the files that ``save_to_disk`` leaves."""
        return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        folders = {"": path}
        if (path / _SPLITS).is_file():
            folders = {name: _inside(path, name, path) for name in _read_json(path / _SPLITS, path, _Splits).splits}
        parts, schema = [], None
        for split, folder in folders.items():
            names = [entry.filename for entry in _read_json(folder / _STATE, path, _State).data_files]
            _refuse_missing_shards(folder, names)
            for name in names:
                file = _inside(folder, name, path)
                file_schema, rows = _inspect(file)
                if schema is not None and set(file_schema.names) != set(schema.names):
                    raise InputError(f"{file} has other columns than the first split")
                schema = schema or file_schema
                parts.append(ArrowPart(f"{folder.name}/{file.name}", split, rows, partial(_batches, file)))
        if schema is None:
            raise InputError(f"{path} holds no data files")
        table = ArrowTable(path / _DATA, schema, parts, name_splits=not is_ours(schema))
        return ItemReader(table, with_note(schema, options), store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder that ``datasets.load_from_disk`` opens."""
        to.mkdir(exist_ok=True)
        tables = ArrowExport(benchmark)
        with pa.OSFile(str(to / _DATA), "wb") as file, pa.ipc.new_stream(file, tables.schema) as stream:
            for table in tables:
                stream.write_table(table)
        manifest = benchmark.manifest
        info = {"citation": "", "description": manifest.source, "homepage": "", "license": manifest.licence}
        _write_json(to / _INFO, {**info, "features": tables.features})
        state: dict[str, Any] = {
            "_data_files": [{"filename": _DATA}],
            "_fingerprint": manifest.fingerprint[:16],
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": None,
        }
        _write_json(to / _STATE, state)
        return []


class _Splits(msgspec.Struct):
    splits: list[str]


class _File(msgspec.Struct):
    filename: str


class _State(msgspec.Struct):
    data_files: list[_File] = msgspec.field(name="_data_files")


def _read_json(path: Path, root: Path, kind: type[_Json]) -> _Json:
    try:
        return msgspec.json.decode(read_regular(path, root), type=kind)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or '').lower()}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{path} is not as datasets writes it: {error}") from None


def _inside(folder: Path, name: str, root: Path) -> Path:
    """A file or folder that metadata names, as long as it is inside."""
    path = folder / name
    if "\0" in name or ".." in Path(name).parts or Path(name).is_absolute():
        raise InputError(f"{folder}: {short(name)} leaves the folder")
    inside(path, root)
    return path


def _refuse_missing_shards(folder: Path, names: list[str]) -> None:
    """Names of shards say how many there are, so that a list that was cut is not taken for the whole."""
    shards = [shard for name in names if (shard := _SHARD.search(name))]
    if shards and len(shards) != int(shards[0]["of"]):
        raise InputError(f"{folder / _STATE} names {len(shards):,} of {int(shards[0]['of']):,} data files")


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _inspect(file: Path) -> tuple[pa.Schema, int]:
    check_stream(file)
    rows = 0
    schema: pa.Schema = None
    for batch in _batches(file):
        schema = batch.schema
        rows += batch.num_rows
    if schema is None:
        raise InputError(f"{file} holds no rows")
    return schema, rows


def _batches(file: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a stream, to its end. Not mapped into memory: a file that shrinks would end the process."""
    try:
        os.close(open_regular(file.resolve()))
        with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stream:
            _ = stream.schema.names  # which may not be UTF-8
            unfolder = Unfolder(file)
            for batch in stream:
                refuse_damaged(file, batch)
                yield from unfolder.pieces(batch, _ROWS)
            if source.tell() != source.size() or not _ends(source):
                raise InputError(f"{file} is cut or damaged: its stream does not end where the file does")
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        why = (str(error).splitlines() or ["more than memory holds"])[0]
        raise InputError(f"{file} is no Arrow file of datasets: {why}") from None


def _ends(source: pa.NativeFile) -> bool:
    """Whether a stream has its last mark. Without this, one that was cut between two batches looks whole."""
    source.seek(max(source.size() - len(_STREAM_END), 0))
    return bool(source.read() == _STREAM_END)


FORMAT = DatasetsFolder()
