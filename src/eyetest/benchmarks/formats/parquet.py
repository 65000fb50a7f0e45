"""Parquet as on the Hugging Face hub: one file, or a folder of shards whose names tell the split."""

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.formats.support.arrow_tables import ArrowTables, Shape
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ReadOptions, RowReader
from eyetest.benchmarks.rows.arrow import ArrowRows, Part
from eyetest.errors import InputError
from eyetest.store.regular_files import inside, open_regular
from eyetest.tabular.bounded_parquet import open_bounded

_SHARD = re.compile(r"(?P<split>[A-Za-z][\w.]*?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet")
_ROWS = 64


class Parquet:
    """The format itself."""

    name = "parquet"
    summary = "Hugging Face Parquet: images as structs, options as a list; also reads MMMU's and MMStar's layouts"
    is_folder = False

    def recognises(self, path: Path) -> bool:
        """A .parquet file, or a folder that holds some."""
        return path.suffix.lower() == ".parquet" if path.is_file() else bool(parquet_files(path))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> RowReader:
        """Start reading; all shards must have the same columns."""
        return RowReader(*open_parquet(path, options), store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one Parquet file."""
        write_parquet(benchmark, to, "plain")
        return []


def write_parquet(benchmark: Benchmark, to: Path, shape: Shape) -> None:
    """Write one Parquet file in a shape, never holding more than a few pictures."""
    tables = ArrowTables(benchmark, shape)
    with pq.ParquetWriter(to, tables.schema, compression="zstd", write_page_checksum=True) as writer:
        for table in tables:
            writer.write_table(table)


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files that a path stands for, in order. Those of a folder may not be links that leave it."""
    if not path.is_dir():
        return [path]
    files = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
    for file in files:
        os.close(open_regular(inside(file, path)))
    return files


def open_parquet(path: Path, options: ReadOptions) -> tuple[ArrowRows, ReadOptions]:
    """Rows of one or several Parquet files, and the options with what the files say of themselves."""
    files = parquet_files(path)
    if not files:
        raise InputError(f"{path} holds no Parquet file")
    parts, first = [], None
    for file in files:
        schema, rows = _inspect(file)
        first = first or schema
        if set(schema.names) != set(first.names):
            odd = sorted(set(schema.names) ^ set(first.names))
            raise InputError(f"{file} has other columns than {files[0].name} ({', '.join(odd[:5])})")
        shard = _SHARD.fullmatch(file.name)
        wanted = [name for name in schema.names if name not in options.drop]
        parts.append(Part(file.name, shard["split"] if shard else "", rows, partial(_batches, file, wanted)))
    rows_ = ArrowRows(path if path.is_file() else path / files[0].relative_to(path), first, parts)
    return rows_, with_note(rows_, options)


def with_note(rows: ArrowRows, options: ReadOptions) -> ReadOptions:
    """The user's options, completed by what one of our exports noted."""
    if rows.note is None:
        return options
    return msgspec.structs.replace(
        options, answers=options.answers or rows.note.answers, drop=(*options.drop, *rows.note.drop)
    )


def _inspect(file: Path) -> tuple[pa.Schema, int]:
    try:
        with open_bounded(file) as opened:
            return opened.schema, opened.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(f"{file} is not a Parquet file: {(str(error).splitlines() or ['too large'])[0]}") from None


def _batches(file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        with open_bounded(file) as opened:
            yield from opened.batches(_ROWS, columns)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        why = str(error).splitlines()[0] if str(error) else "more than memory holds"
        raise InputError(f"{file} is damaged: {why}") from None


FORMAT = Parquet()
