"""Answers on their way in: on disk, because they may be many, but in no folder.

A file is read to its end and found sound before the run is touched, so bad input costs a run nothing, and a killed
import leaves nothing behind: the system takes a file without a name back when the process ends.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from eyetest.errors import InputError, name_file, system_words
from eyetest.records import Answer, columns
from eyetest.tabular.record_files import from_columns, schema

_values: Callable[[Answer], tuple[Any, ...]] = attrgetter(*columns(Answer))
SCHEMA = schema(Answer).append(pa.field("request", pa.string()))
_ROWS_AT_ONCE = 20_000
_CHARACTERS_AT_ONCE = 32 * 2**20


class Staging:
    """Takes answers one by one and gives them back as batches of rows."""

    def __init__(self, to: Path) -> None:
        self._to = to
        near = next((folder for folder in (to, *to.absolute().parents) if folder.is_dir()), Path.cwd())
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=near, prefix=".answers.partial-")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"cannot write {to}: {system_words(error)}") from None
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_stream(self._file, SCHEMA, options=options)
        self._answers: list[Answer] = []
        self._requests: list[str] = []
        self._characters = 0

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        name_file(error, self._to)
        with suppress(OSError):  # a full disk has been told of by then
            self._file.close()

    def add(self, answer: Answer, request: str) -> None:
        """Append an answer and the id under which it will be kept."""
        self._answers.append(answer)
        self._requests.append(request)
        self._characters += len(answer.text or "")
        if len(self._requests) >= _ROWS_AT_ONCE or self._characters >= _CHARACTERS_AT_ONCE:
            self._flush()

    def done(self) -> None:
        """Say that there is no more to come."""
        self._flush()
        self._writer.close()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, as often as asked for."""
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def _flush(self) -> None:
        if self._requests:
            columns_ = [*zip(*map(_values, self._answers), strict=True), self._requests]
            self._writer.write_table(from_columns(columns_, SCHEMA))
        self._answers, self._requests, self._characters = [], [], 0
