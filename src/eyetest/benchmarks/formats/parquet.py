"""Parquet as on the Hugging Face hub: one file, or a folder of shards whose names tell the split."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks.folder import Benchmark, refuse_gold_list
from eyetest.benchmarks.formats.support.arrow_export import ArrowExport, Shape, is_ours, with_note
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.errors import InputError
from eyetest.store.files import inside, open_regular
from eyetest.tabular.arrow_table import ArrowPart, ArrowTable, parquet_part

_SHARD = re.compile(r"(?P<split>[A-Za-z][\w.]*?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet")
_ROWS = 64


class Parquet:
    """The format itself, in one of the shapes in which benchmarks are published; ``plain`` reads all of them."""

    is_folder = False

    def __init__(self, name: str, summary: str, shape: Shape) -> None:
        self.name, self.summary, self._shape = name, summary, shape
        self.endings: tuple[str, ...] = (".parquet",) if name == "parquet" else ()

    def recognises(self, folder: Path) -> bool:
        """A folder that holds Parquet files."""
        return self._shape == "plain" and bool(_parquet_files(folder))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading; all shards must have the same columns."""
        files = _parquet_files(path)
        if not files:
            raise InputError(f"{path} holds no Parquet file")
        parts, first = [], None
        for file in files:
            split = shard["split"] if (shard := _SHARD.fullmatch(file.name)) else ""
            with _told(f"{file} is not a Parquet file"):
                schema, part = parquet_part(file, _ROWS, split, options.drop)
            first = first or schema
            if set(schema.names) != set(first.names):
                odd = sorted(set(schema.names) ^ set(first.names))
                raise InputError(f"{file} has other columns than {files[0].name} ({', '.join(odd[:5])})")
            parts.append(part._replace(batches=partial(_batches, file, part)))
        where = path if path.is_file() else path / files[0].relative_to(path)
        table = ArrowTable(where, first, parts, name_splits=not is_ours(first))
        return ItemReader(table, with_note(first, options), store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one Parquet file."""
        if self._shape != "plain":
            refuse_gold_list(benchmark, f"write for {self.name}")
        write_parquet(benchmark, to, self._shape)
        return []


def write_parquet(benchmark: Benchmark, to: Path, shape: Shape) -> None:
    """Write one Parquet file in a shape, never holding more than a few pictures."""
    tables = ArrowExport(benchmark, shape)
    with pq.ParquetWriter(to, tables.schema, compression="zstd", write_page_checksum=True) as writer:
        for table in tables:
            writer.write_table(table)


def _parquet_files(path: Path) -> list[Path]:
    """The Parquet files that a path stands for, in order. Those of a folder may not be links that leave it."""
    if not path.is_dir():
        return [path]
    files = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
    for file in files:
        os.close(open_regular(inside(file, path)))
    return files


def _batches(file: Path, part: ArrowPart) -> Iterator[pa.RecordBatch]:
    with _told(f"{file} is damaged"):
        yield from part.batches()


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        why = (str(error).splitlines() or ["more than memory holds"])[0]
        raise InputError(f"{what}: {why}") from None


FORMAT = (
    Parquet(
        "parquet",
        "Hugging Face Parquet: images as structs, options as a list; also reads MMMU's and MMStar's layouts",
        "plain",
    ),
    Parquet("mmmu", "MMMU's Parquet: image_1 … image_7, options as a string that holds a list", "mmmu"),
    Parquet("mmstar", "MMStar's Parquet: one image, options inside the question text", "mmstar"),
)
