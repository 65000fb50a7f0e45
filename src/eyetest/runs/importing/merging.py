"""Staged answers become part of a run, and what the run had stays.

An answer that the run holds already, word for word, is not written again. One that differs is refused, unless the
user says that it is to be replaced; only a failure gives way to an answer without being asked.

Until then answers wait on disk, because they may be many, but in no folder: a file is read to its end and found
sound before the run is touched, so bad input costs a run nothing, and a killed import leaves nothing behind: the
system takes a file without a name back when the process ends.
"""

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.errors import InputError, name_file, system_words
from eyetest.records import Answer, Asked, Response, columns
from eyetest.records.tables import key_values
from eyetest.runs.folder import RECORDED
from eyetest.runs.parts import SCHEMA, next_part, sealed, to_table
from eyetest.runs.plan import PlanWriter, plan_table
from eyetest.runs.stored import stored_tables
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum
from eyetest.tabular.record_files import from_columns, schema

_KEY = columns(Asked)
_SAID = ("outcome", "text", "given")
_ROWS_AT_ONCE = 20_000
_encode = msgspec.msgpack.Encoder().encode
Mask = npt.NDArray[np.bool_]
_values: Callable[[Answer], tuple[Any, ...]] = attrgetter(*columns(Answer))
STAGED = schema(Answer).append(pa.field("request", pa.string()))
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
        self._writer = pa.ipc.new_stream(self._file, STAGED, options=options)
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
            self._writer.write_table(from_columns(columns_, STAGED))
        self._answers, self._requests, self._characters = [], [], 0


class Held(NamedTuple):
    """What a run holds under one key."""

    failed: bool
    content: bytes


class Merge(NamedTuple):
    """Which of the staged rows are to be written, batch by batch, and what becomes of the others."""

    masks: list[Mask]
    there: int
    replaced: int
    first_replaced: str
    """The id of the first row that differs from what the run holds."""

    @property
    def new(self) -> int:
        """How many rows are to be written."""
        return sum(int(mask.sum()) for mask in self.masks)


def answer_id(key: Sequence[object]) -> str:
    """An id made of who was asked what and how, the fields of ``Asked`` in order."""
    return blake2b(b"eyetest answer 2\n" + _encode(key_values(key)), digest_size=16).hexdigest()


def compare(folder: Path, staging: Staging, ids: Collection[bytes], models: Collection[str]) -> Merge:
    """Look at what the run holds already. ``ids`` are those of all staged rows."""
    try:
        held = _held(folder, ids, models)
    except pa.ArrowException as error:
        raise InputError(f"{folder} is damaged: {str(error).splitlines()[0]}") from None
    masks: list[Mask] = []
    there = replaced = 0
    first = ""
    for batch in staging.batches():
        mask = np.ones(len(batch), bool)
        if held:
            for index, (request, *said) in enumerate(_rows(batch, "request", *_SAID)):
                known = held.get(bytes.fromhex(request))
                if known is None:
                    continue
                if known.content == _content(said):
                    mask[index] = False
                    there += 1
                elif not known.failed:
                    replaced += 1
                    first = first or request
        masks.append(mask)
    return Merge(masks, there, replaced, first)


def write(folder: Path, staging: Staging, merge: Merge) -> None:
    """Put the rows in place: all responses in one step, then the plan in one step. The run is locked."""
    with replacing_file(sealed(folder, next_part(folder))) as temporary:
        with pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as file:
            for batch in _chosen(staging, merge):
                file.write_batch(_responses(batch))
        add_checksum(temporary)
    with PlanWriter(folder) as plan:
        for batch in _chosen(staging, merge):
            plan.add_batch(batch)


def _chosen(staging: Staging, merge: Merge) -> Iterator[pa.RecordBatch]:
    for batch, mask in zip(staging.batches(), merge.masks, strict=True):
        if mask.all():
            yield batch
        elif mask.any():
            yield batch.take(
                pa.Array.from_buffers(pa.int64(), int(mask.sum()), [None, _buffer(np.flatnonzero(mask))])
            )


def _buffer(rows: npt.NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(rows.astype(np.int64).tobytes())


def _responses(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of ``responses/``: what an answer does not know is as in a response that says nothing about it."""
    plain = to_table([Response(request="", outcome="answered", finish=RECORDED)])
    failed = pc.equal(batch.column("outcome"), "failed")
    known = {name: batch.column(name) for name in ("request", *_SAID)} | {"error": pc.if_else(failed, "recorded", "")}
    arrays = [known[name] if name in known else pa.repeat(plain.column(name)[0], len(batch)) for name in SCHEMA.names]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _held(folder: Path, ids: Collection[bytes], models: Collection[str]) -> Mapping[bytes, Held]:
    """What the run holds under the keys that are about to come in."""
    asked: dict[str, list[bytes]] = {}
    plan = plan_table(folder)
    names = plan.column("model").unique().to_pylist()
    for model in [name for name in names if name in models]:
        part = plan.filter(pc.equal(plan.column("model"), model))
        for *key, request in _all_rows(part, *_KEY, "request"):
            id_ = bytes.fromhex(answer_id(tuple(key)))
            if id_ in ids:
                asked.setdefault(request, []).append(id_)
    held: dict[bytes, Held] = {}
    if not asked:
        return held
    for table, _ in stored_tables(folder):
        for request, *said in _all_rows(table, "request", *_SAID):
            for id_ in asked.get(request, ()):
                held[id_] = Held(said[0] == "failed", _content(said))
    return held


def _all_rows(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    for batch in table.select(names).to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from _rows(batch, *names)


def _rows(batch: pa.RecordBatch, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _content(said: list[object]) -> bytes:
    return blake2b(_encode(said), digest_size=16).digest()
