"""Answers as one table: who was asked what, how, and what they said."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.errors import InputError, nearest
from eyetest.records import Answer, Asked, columns
from eyetest.runs.folder import is_run
from eyetest.runs.importing.values import convert
from eyetest.runs.plan import plan_table
from eyetest.runs.stored import refuse_if_all_is_damaged, stored_tables
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.tabular.files import is_sheet, read_rows
from eyetest.tabular.record_files import indices, schema
from eyetest.tabular.sheets import SheetWriter

SUFFIXES = (".parquet", ".jsonl", ".csv")
_SCHEMA = schema(Answer).with_metadata({"version": str(Answer.table_version)})
_KEY = columns(Asked)
_SAID = tuple(name for name in columns(Answer) if name not in _KEY)
_ROWS_AT_ONCE = 20_000


def read_answers(folder: Path) -> Iterator[Answer]:
    """The answers of a run in the order of its plan; what has not been asked yet is not there."""
    for table in _answer_tables(folder):
        for row in table.to_pylist():
            yield Answer(**row)


def open_answers(path: Path) -> Iterator[Answer]:
    """The answers of a run folder, or of a table with the columns of ours."""
    if is_run(path):
        yield from read_answers(path)
        return
    known = set(columns(Answer))
    sheet = is_sheet(path)
    for number, row in read_rows(path):
        for name in row.keys() - known:
            raise InputError(f'{path}: "{name}" is no column of an answers table; {nearest(name, known)}')
        try:
            yield convert(row, sheet=sheet)
        except InputError as error:
            raise InputError(f"{path} row {number}: {error}") from None


def write_answers(folder: Path, to: Path, *, overwrite: bool = False) -> tuple[int, int]:
    """Write the answers of a run as one table, by the ending of its name.

    Gives the number of answers, and of calls that are planned and not answered. The table grows batch by batch, so
    that its length does not matter, and takes its place when it is whole.
    """
    if to.suffix not in SUFFIXES:
        raise InputError(f"{to}: answers are written as {', '.join(SUFFIXES)}, by the ending of its name")
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    with replacing_file(to, overwrite=overwrite) as temporary:
        writer = _WRITERS[to.suffix](temporary)
        written = _fill(writer, folder)
        if isinstance(writer, _CsvWriter) and writer.rows.guarded:
            written = _fill(_CsvWriter(temporary, mark=True), folder)
    return written, len(plan_table(folder)) - written


def _fill(writer: Any, folder: Path) -> int:
    written = 0
    with writer:
        for table in _answer_tables(folder):
            writer.add(table)
            written += len(table)
    return written


class _Writer:
    """Takes tables, one after the other, into a file that it closes."""

    _file: Any

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class _ParquetWriter(_Writer):
    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetWriter(path, _SCHEMA, compression="zstd")

    def add(self, table: pa.Table) -> None:
        self._file.write_table(table)


class _LinesWriter(_Writer):
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._encode = msgspec.json.Encoder().encode_lines

    def add(self, table: pa.Table) -> None:
        self._file.write(self._encode(table.to_pylist()))


class _CsvWriter(_Writer):
    """A table for spreadsheets; one with guarded cells is written again, with a column that says which they are."""

    def __init__(self, path: Path, *, mark: bool = False) -> None:
        self._file = path.open("w", newline="", encoding="utf-8")
        self.rows = SheetWriter(self._file, _SCHEMA.names, mark=mark)

    def add(self, table: pa.Table) -> None:
        self.rows.write(zip(*(column.to_pylist() for column in table.columns), strict=True))


_WRITERS: dict[str, Any] = {".parquet": _ParquetWriter, ".jsonl": _LinesWriter, ".csv": _CsvWriter}


def _answer_tables(folder: Path) -> Iterator[pa.Table]:
    """The plan's answered rows, a batch at a time, with what was said: a join that never makes a record."""
    try:
        plan = plan_table(folder)
        said = _newest_first(folder)
        matches = pc.index_in(plan.column("request"), value_set=said.column("request").combine_chunks())
        for start in range(0, len(plan), _ROWS_AT_ONCE):
            part = plan.slice(start, _ROWS_AT_ONCE)
            rows = matches.slice(start, _ROWS_AT_ONCE)
            answered = pc.is_valid(rows)
            part, rows = part.filter(answered), rows.filter(answered)
            responses = said.take(rows)
            table = pa.Table.from_arrays(
                [*(part.column(n) for n in _KEY), *(responses.column(n) for n in _SAID)], _KEY + _SAID
            )
            yield table.cast(_SCHEMA)
    except pa.ArrowException as error:
        raise InputError(f"{folder} is damaged: {str(error).splitlines()[0]}") from None


def _newest_first(folder: Path) -> pa.Table:
    """What is stored, backwards, so that the first response to a request is the one that counts."""
    refuse_if_all_is_damaged(folder)
    tables = [table.select(["request", *_SAID]).replace_schema_metadata() for table, _ in stored_tables(folder)]
    if not tables:
        return pa.schema(
            [("request", pa.string()), *((name, _SCHEMA.field(name).type) for name in _SAID)]
        ).empty_table()
    return pa.concat_tables(table.take(indices(np.arange(len(table))[::-1])) for table in reversed(tables))
