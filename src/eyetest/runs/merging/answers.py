"""What several runs were answered, known by request: some tens of bytes an answer are in memory, texts never.

Runs are gone through twice, a part at a time: to see which answer counts, and to write those that do. A run that is
being written meanwhile counts as far as it was the first time.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eyetest.runs.merging.choosing import ANSWERED, FAILED, NOTHING, Claims, Preference, choose, heads
from eyetest.runs.parts import PartName, part_names
from eyetest.runs.stored import IdIndex, read_part, refuse_if_all_is_damaged, sortable, tell_damage
from eyetest.tabular.record_files import indices

_SAID = ("outcome", "text", "candidates", "given")
"""What makes two answers different; how long they took does not."""
_READ = ("request", *_SAID, "time")
_ROWS_A_PART = 20_000
_BYTES_A_PART = 64 * 2**20
_ID, _HEX = 16, 32
"""Bytes of a request's id, and letters."""


class _RunPart(NamedTuple):
    """As much of a part as was there when it was looked at."""

    run: int
    name: PartName
    start: int
    """The number of its first row among those of all runs."""
    rows: int


class AnswerStanding(NamedTuple):
    """What is known of some requests: how good the answer that counts is, what it says, when last, and whose."""

    rank: NDArray[np.int8]
    content: NDArray[np.uint64]
    time: NDArray[np.float64]
    run: NDArray[np.int16]
    differs: NDArray[np.bool_]
    """Whether runs answered it differently."""


class AnswersOfRuns:
    """The answers of several runs, and which of them count."""

    def __init__(self, folders: Sequence[Path], prefer: Preference | None) -> None:
        self._folders, self._pieces = folders, list[_RunPart]()
        self.torn = [0] * len(folders)
        ids, contents, times, failures, runs = [], [], [], [], []
        start = 0
        for run, folder in enumerate(folders):
            refuse_if_all_is_damaged(folder)
            for name in part_names(folder):
                part = read_part(folder, name, _READ)
                tell_damage(part)
                self.torn[run] += part.torn
                if part.table is None or not len(part.table):
                    continue
                frame = pl.DataFrame(pl.from_arrow(part.table))
                ids.append(packed(part.table.column("request")))
                contents.append(frame.select(_SAID).hash_rows().to_numpy())
                times.append(frame["time"].fill_null(0.0).to_numpy())
                failures.append((frame["outcome"] == "failed").to_numpy())
                runs.append(np.full(len(frame), run, np.int16))
                self._pieces.append(_RunPart(run, name, start, len(frame)))
                start += len(frame)
        every = np.concatenate(ids or [np.zeros(0, f"S{_ID}")])
        self._contents = np.concatenate(contents or [np.zeros(0, np.uint64)])
        when = np.concatenate(times or [np.zeros(0)])
        self._failed = np.concatenate(failures or [np.zeros(0, bool)])
        self._runs = np.concatenate(runs or [np.zeros(0, np.int16)])
        del ids, contents, times, failures, runs
        self._choose(every, when, prefer)

    def _choose(self, ids: NDArray[np.bytes_], times: NDArray[np.float64], prefer: Preference | None) -> None:
        """Of a request that one run asked again its last answer counts, as everywhere; then runs are compared."""
        order = np.argsort(ids, kind="stable")
        thing = np.zeros(len(order), np.int64)
        thing[heads(ids[order])[1:]] = 1
        np.cumsum(thing, out=thing)
        runs = self._runs[order]
        is_last = np.ones(len(order), bool)
        is_last[:-1] = (thing[1:] != thing[:-1]) | (runs[1:] != runs[:-1])
        rows, thing = order[is_last], thing[is_last]
        rank = np.where(self._failed[rows], FAILED, ANSWERED).astype(np.int8)
        choice = choose(Claims(thing, rank, self._contents[rows], times[rows]), prefer)
        self._claims, self._things = rows, thing
        self._rows, self._differs, self._latest = rows[choice.rows], choice.differs, choice.latest
        self._index = IdIndex(ids[self._rows])
        self.differing, self.gave_way = int(choice.differs.sum()), int(choice.gave_way.sum())
        self.shared = len(rows) - len(self._rows)
        """Answers that another run's stands for: all but one of each request."""

    def standing(self, requests: NDArray[np.bytes_]) -> AnswerStanding:
        """What is known of some requests."""
        found = self._index.rows(requests)
        is_there = found >= 0
        if not len(self._rows):
            none = np.zeros(len(requests))
            return AnswerStanding(none.astype(np.int8), none.astype(np.uint64), none, none.astype(np.int16), none > 0)
        rows = self._rows[found]
        rank = np.where(is_there, np.where(self._failed[rows], FAILED, ANSWERED), NOTHING).astype(np.int8)
        differs = is_there & self._differs[found]
        return AnswerStanding(rank, self._contents[rows], self._latest[found], self._runs[rows], differs)

    def brought(self, known: int) -> list[int]:
        """How many of the answers that count each run brings that is not among the first ``known``."""
        counts = np.bincount(self._runs[self._rows], minlength=len(self._folders))
        return [int(count) for count in counts[known:]]

    def tables(self, known: int) -> Iterator[pa.Table]:
        """Those answers, in tables of the size of a part."""
        wanted = np.zeros(len(self._contents), bool)
        wanted[self._rows] = True
        waiting: list[pa.Table] = []
        for piece in self._pieces:
            here = np.flatnonzero(wanted[piece.start : piece.start + piece.rows])
            if piece.run < known or not len(here):
                continue
            taken = self._take(piece, here)
            for start in range(0, len(taken), _ROWS_A_PART):
                waiting.append(taken.slice(start, _ROWS_A_PART))
                if sum(map(len, waiting)) >= _ROWS_A_PART or sum(t.nbytes for t in waiting) >= _BYTES_A_PART:
                    yield pa.concat_tables(waiting)
                    waiting = []
        if waiting:
            yield pa.concat_tables(waiting)

    def differing_rows(self, most: int) -> Iterator[list[tuple[int, dict[str, object]]]]:
        """The first requests that runs answered differently: by run, what it says."""
        for thing in np.flatnonzero(self._differs)[:most]:
            start, end = np.searchsorted(self._things, (thing, thing + 1))
            yield [self._row(int(row)) for row in self._claims[start:end]]

    def _row(self, row: int) -> tuple[int, dict[str, object]]:
        piece = next(piece for piece in reversed(self._pieces) if piece.start <= row)
        return piece.run, self._take(piece, np.array([row - piece.start])).to_pylist()[0]

    def _take(self, piece: _RunPart, rows: NDArray[np.int64]) -> pa.Table:
        part = read_part(self._folders[piece.run], piece.name)
        assert part.table is not None, "it was read before"
        return part.table.take(indices(rows)).replace_schema_metadata()


def packed(requests: pa.ChunkedArray) -> NDArray[np.bytes_]:
    """Request ids in sixteen bytes each; those of another length, which nobody writes any more, by their hash."""
    ids = sortable(requests)
    if ids.dtype.itemsize == _HEX:
        try:
            raw = bytes.fromhex(ids.tobytes().decode("ascii"))
        except ValueError:
            raw = b""
        if len(raw) == _ID * len(ids):
            return np.frombuffer(raw, f"S{_ID}")
    return np.array([_packed(id_) for id_ in ids.tolist()], f"S{_ID}")


def _packed(id_: bytes) -> bytes:
    try:
        raw = bytes.fromhex(id_.decode("ascii"))
    except ValueError:
        raw = b""
    return raw if len(raw) == _ID else blake2b(id_, digest_size=_ID).digest()
