"""Answers as one table: model, item, condition and reply."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.errors import InputError, nearest
from eyetest.records import Answer, Asked, columns
from eyetest.runs.folder import is_run
from eyetest.runs.importing.values import convert
from eyetest.runs.journal import SCHEMA
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
    """The answers of a run in the order of its plan; without calls that were not made yet."""
    for table in _answer_tables(folder):
        for row in table.to_pylist():
            yield Answer(**row)


def open_answers(path: Path) -> Iterator[Answer]:
    """The answers of a run folder, or of a table with our columns."""
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
    """Write the answers of a run as a table, by the file's suffix; returns how many there are and are missing."""
    if to.suffix not in SUFFIXES:
        raise InputError(f"{to}: answers are written as {', '.join(SUFFIXES)}, by the ending of its name")
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    with replacing_file(to, overwrite=overwrite) as temporary:
        if to.suffix == ".parquet":
            with pq.ParquetWriter(temporary, _SCHEMA, compression="zstd") as file:
                written = _each(folder, file.write_table)
        elif to.suffix == ".jsonl":
            encode = msgspec.json.Encoder().encode_lines
            with temporary.open("wb") as lines:
                written = _each(folder, lambda table: lines.write(encode(table.to_pylist())))
        else:
            written = _write_csv(temporary, folder)
    return written, len(plan_table(folder)) - written


def _each(folder: Path, write: Callable[[pa.Table], object]) -> int:
    """Pass every table of answers to a writer; returns the number of answers."""
    written = 0
    for table in _answer_tables(folder):
        write(table)
        written += len(table)
    return written


def _write_csv(path: Path, folder: Path, *, mark: bool = False) -> int:
    """A table for spreadsheets; one with guarded cells is rewritten with a column that letters them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = SheetWriter(file, _SCHEMA.names, mark=mark)
        written = _each(folder, lambda t: rows.write(zip(*(c.to_pylist() for c in t.columns), strict=True)))
    return _write_csv(path, folder, mark=True) if rows.guarded and not mark else written


def _answer_tables(folder: Path) -> Iterator[pa.Table]:
    """The plan's answered rows with their replies, a batch at a time: a join that never makes a record."""
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
    """The stored responses backwards, so that the first response to a request is the one that counts."""
    refuse_if_all_is_damaged(folder)
    tables = [table.select(["request", *_SAID]).replace_schema_metadata() for table, _ in stored_tables(folder)]
    if not tables:
        return SCHEMA.empty_table().select(["request", *_SAID])
    return pa.concat_tables(table.take(indices(np.arange(len(table))[::-1])) for table in reversed(tables))
