"""The answers and plans of several runs, and which of their rows count when the runs are merged.

Some tens of bytes per answer are in memory, never texts. Runs are read twice, a shard at a time: to select answers,
and to write them. Plan rows are compared by a hash of `Asked`.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eyetest.records import Asked, columns
from eyetest.records.notices import failure_notice
from eyetest.runs.journal import PartName, part_names
from eyetest.runs.plan import chosen_tables, plan_tables
from eyetest.runs.stored import IdIndex, read_part, refuse_if_all_is_damaged, sortable, tell_damage
from eyetest.tabular.record_files import indices

Preference = Literal["first", "newest"]  # ``first``: of the run named first, or there before; ``newest``: the last
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
NOTHING, FAILED, ANSWERED = 0, 1, 2  # the quality of a row; a better one replaces the others

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Claims(NamedTuple):
    """Rows about keys, those about one key adjacent, in the order of runs."""

    thing: Numbers
    rank: NDArray[np.int8]
    content: NDArray[np.uint64]
    time: NDArray[np.float64]


class ChosenRows(NamedTuple):
    """The selected rows, one per key."""

    rows: Numbers
    differs: Mask  # keys whose best rows differ
    latest: NDArray[np.float64]  # the time of the last of the best rows
    gave_way: Mask  # keys where a failure was replaced by an answer


def choose(claims: Claims, prefer: Preference | None) -> ChosenRows:
    """The row that counts for each key; the first of equal rows."""
    thing, rank = claims.thing, claims.rank
    if not len(thing):
        return ChosenRows(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0), np.zeros(0, bool))
    starts = heads(thing)
    best, worst = np.maximum.reduceat(rank, starts), np.minimum.reduceat(rank, starts)
    rows = np.flatnonzero(rank == np.repeat(best, np.diff(np.append(starts, len(thing)))))
    starts = heads(thing[rows])
    content = claims.content[rows]
    differs = np.minimum.reduceat(content, starts) != np.maximum.reduceat(content, starts)
    differs &= best == ANSWERED
    chosen = rows[starts]
    if prefer == "newest" and differs.any():
        by_time = rows[np.lexsort((-claims.time[rows], thing[rows]))]
        chosen = np.where(differs, by_time[starts], chosen)
    latest = np.maximum.reduceat(claims.time[rows], starts)
    return ChosenRows(chosen, differs, latest, (best == ANSWERED) & (worst < best) & (worst > NOTHING))


def heads(values: NDArray[np.generic]) -> Numbers:
    """Where runs of equal values begin."""
    is_new = np.ones(len(values), bool)
    is_new[1:] = values[1:] != values[:-1]
    return np.flatnonzero(is_new)


def _numbered(values: NDArray[np.generic]) -> Numbers:
    """Sorted values as group numbers."""
    things = np.zeros(len(values), np.int64)
    things[heads(values)[1:]] = 1
    return np.cumsum(things, out=things)


_SAID = ("outcome", "text", "candidates", "given")  # what makes two answers different; their duration does not
_READ = ("request", *_SAID, "time")
_ROWS_A_PART = 20_000
_BYTES_A_PART = 64 * 2**20
_ID, _HEX = 16, 32


class _RunPart(NamedTuple):
    """A part, as far as it existed when it was read."""

    run: int
    name: PartName
    start: int  # the number of its first row among those of all runs
    rows: int


class AnswerStanding(NamedTuple):
    """The state of some requests: quality, content, time and run of the answer that counts."""

    rank: NDArray[np.int8]
    content: NDArray[np.uint64]
    time: NDArray[np.float64]
    run: NDArray[np.int16]
    differs: NDArray[np.bool_]  # whether runs answered it differently


class AnswersOfRuns:
    """The answers of several runs, and which of them count."""

    def __init__(self, folders: Sequence[Path], prefer: Preference | None) -> None:
        self._folders, self._pieces = folders, list[_RunPart]()
        self.torn, self.notices = [0] * len(folders), 0
        ids, contents, times = [np.zeros(0, f"S{_ID}")], [np.zeros(0, np.uint64)], [np.zeros(0)]
        failures, runs, start = [np.zeros(0, bool)], [np.zeros(0, np.int16)], 0
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
                notices = np.array([bool(kind) for kind in _notices(part.table)], bool)
                self.notices += int(notices.sum())
                failures.append((frame["outcome"] == "failed").to_numpy() | notices)
                runs.append(np.full(len(frame), run, np.int16))
                self._pieces.append(_RunPart(run, name, start, len(frame)))
                start += len(frame)
        self._contents, self._failed, self._runs = map(np.concatenate, (contents, failures, runs))
        every, when = np.concatenate(ids), np.concatenate(times)
        del ids, contents, times, failures, runs
        self._choose(every, when, prefer)

    def _choose(self, ids: NDArray[np.bytes_], times: NDArray[np.float64], prefer: Preference | None) -> None:
        """Take a run's last answer to a request, as everywhere; then compare runs."""
        order = np.argsort(ids, kind="stable")
        thing = _numbered(ids[order])
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
        self.shared = len(rows) - len(self._rows)  # answers that another run's replaces: all but one of each request

    def standing(self, requests: NDArray[np.bytes_]) -> AnswerStanding:
        """The state of some requests."""
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
        """How many of the counting answers each run beyond the first ``known`` contributes."""
        return [*map(int, np.bincount(self._runs[self._rows], minlength=len(self._folders))[known:])]

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
        """The first requests with different answers: each run's answer."""
        for thing in np.flatnonzero(self._differs)[:most]:
            start, end = np.searchsorted(self._things, (thing, thing + 1))
            yield [self._row(int(row)) for row in self._claims[start:end]]

    def _row(self, row: int) -> tuple[int, dict[str, object]]:
        piece = next(piece for piece in reversed(self._pieces) if piece.start <= row)
        return piece.run, self._take(piece, np.array([row - piece.start])).to_pylist()[0]

    def _take(self, piece: _RunPart, rows: NDArray[np.int64]) -> pa.Table:
        part = read_part(self._folders[piece.run], piece.name)
        assert part.table is not None, "it was read before"
        return _as_failures(part.table.take(indices(rows)).replace_schema_metadata())


def _notices(table: pa.Table) -> list[str]:
    """Why each call failed whose stored answer is only a notice."""
    said = zip(table.column("outcome").to_pylist(), table.column("text").to_pylist(), strict=True)
    return [failure_notice(text or "") if outcome == "answered" else "" for outcome, text in said]


def _as_failures(table: pa.Table) -> pa.Table:
    """The answers, with notices as failed calls."""
    kinds = _notices(table)
    if not any(kinds):
        return table
    is_notice = pa.array([bool(kind) for kind in kinds])
    failed = {"outcome": ["failed"] * len(kinds), "error": kinds, "detail": table.column("text").to_pylist()}
    failed |= {"text": [None] * len(kinds), "given": [None] * len(kinds)}
    for name, values in failed.items():
        place, column = table.schema.get_field_index(name), table.column(name)
        changed = pc.if_else(is_notice, pa.array(values, column.type), column)
        table = table.set_column(place, table.schema.field(place), changed)
    return table


def packed(requests: pa.ChunkedArray) -> NDArray[np.bytes_]:
    """Request ids in sixteen bytes each; those of another length by their hash."""
    ids = sortable(requests)
    if ids.dtype.itemsize == _HEX:
        raw = _unhexed(ids.tobytes())
        if len(raw) == _ID * len(ids):
            return np.frombuffer(raw, f"S{_ID}")
    found = ((id_, _unhexed(id_)) for id_ in ids.tolist())
    each = [raw if len(raw) == _ID else blake2b(id_, digest_size=_ID).digest() for id_, raw in found]
    return np.array(each, f"S{_ID}")


def _unhexed(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return b""


_KEY = columns(Asked)
_SEEDS = (1, 2)  # each gives half of a key's hash


class PlansOfRuns:
    """The rows of several plans, and which of them count."""

    def __init__(self, folders: Sequence[Path], answers: AnswersOfRuns, prefer: Preference | None) -> None:
        self._folders = folders
        keys, requests, self._ends = [np.zeros(0, "S16")], [np.zeros(0, "S16")], [0]
        for folder in folders:
            rows = 0
            for table in plan_tables(folder):
                frame = pl.DataFrame(pl.from_arrow(table.select(_KEY)))
                halves = np.stack([frame.hash_rows(seed).to_numpy() for seed in _SEEDS], axis=1)
                keys.append(np.frombuffer(halves.tobytes(), "S16"))
                requests.append(packed(table.column("request")))
                rows += len(table)
            self._ends.append(self._ends[-1] + rows)
        known = answers.standing(np.concatenate(requests))
        every = np.concatenate(keys)
        del keys, requests
        whose = np.where(known.rank == ANSWERED, known.run, 0)  # the first run that answered it, not that planned it
        order = np.argsort(whose, kind="stable")
        order = order[np.argsort(every[order], kind="stable")]
        claims = Claims(_numbered(every[order]), known.rank[order], known.content[order], known.time[order])
        choice = choose(claims, prefer)
        self._is_chosen = np.zeros(len(order), bool)
        self._is_chosen[order[choice.rows]] = True
        self._differing = order[choice.rows[choice.differs]]
        self.rows, self.differing = len(choice.rows), len(self._differing)

    def tables(self, known: int) -> Iterator[pa.Table]:
        """The counting rows of runs beyond the first ``known``."""
        for run in range(known, len(self._folders)):
            yield from self._taken(run, self._is_chosen)

    def brought(self, known: int) -> int:
        """The number of those rows."""
        return int(self._is_chosen[self._ends[known] :].sum())

    def differing_rows(self, most: int) -> Iterator[dict[str, object]]:
        """The first rows that runs planned under different requests with different answers."""
        wanted = np.zeros(len(self._is_chosen), bool)
        wanted[np.sort(self._differing)[:most]] = True
        for run in range(len(self._folders)):
            for table in self._taken(run, wanted):
                yield from table.to_pylist()

    def _taken(self, run: int, wanted: NDArray[np.bool_]) -> Iterator[pa.Table]:
        mine = wanted[self._ends[run] : self._ends[run + 1]]
        return chosen_tables(self._folders[run], mine) if mine.any() else iter(())
