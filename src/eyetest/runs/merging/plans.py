"""The plans of several runs as one: a row for whoever was asked something, under the request that has the answer.

Who was asked what is compared by a hash of sixteen bytes, so that of a plan only numbers are in memory.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eyetest.records import Asked, columns
from eyetest.runs.merging.answers import AnswersOfRuns, packed
from eyetest.runs.merging.choosing import ANSWERED, Claims, Preference, choose, heads
from eyetest.runs.plan import chosen_tables, plan_tables

_KEY = columns(Asked)
_SEEDS = (1, 2)
"""Each gives half of a key's hash."""


class PlansOfRuns:
    """The rows of several plans, and which of them count."""

    def __init__(self, folders: Sequence[Path], answers: AnswersOfRuns, prefer: Preference | None) -> None:
        self._folders = folders
        keys, requests, self._ends = [np.zeros(0, "S16")], [np.zeros(0, "S16")], [0]
        for folder in folders:
            rows = 0
            for table in plan_tables(folder):
                keys.append(_hashed(table))
                requests.append(packed(table.column("request")))
                rows += len(table)
            self._ends.append(self._ends[-1] + rows)
        known = answers.standing(np.concatenate(requests))
        every = np.concatenate(keys)
        del keys, requests
        whose = np.where(known.rank == ANSWERED, known.run, 0)  # the first who said it, not who planned it
        order = np.argsort(whose, kind="stable")
        order = order[np.argsort(every[order], kind="stable")]
        thing = np.zeros(len(order), np.int64)
        thing[heads(every[order])[1:]] = 1
        np.cumsum(thing, out=thing)
        choice = choose(Claims(thing, known.rank[order], known.content[order], known.time[order]), prefer)
        self._is_chosen = np.zeros(len(order), bool)
        self._is_chosen[order[choice.rows]] = True
        self._differing = order[choice.rows[choice.differs]]
        self.rows, self.differing = len(choice.rows), len(self._differing)

    def tables(self, known: int) -> Iterator[pa.Table]:
        """The rows that count and are not of the first ``known`` runs."""
        for run in range(known, len(self._folders)):
            yield from self._taken(run, self._is_chosen)

    def brought(self, known: int) -> int:
        """How many these are."""
        return int(self._is_chosen[self._ends[known] :].sum())

    def differing_rows(self, most: int) -> Iterator[dict[str, object]]:
        """The first rows that several runs planned under other requests, and were answered differently."""
        wanted = np.zeros(len(self._is_chosen), bool)
        wanted[np.sort(self._differing)[:most]] = True
        for run in range(len(self._folders)):
            for table in self._taken(run, wanted):
                yield from table.to_pylist()

    def _taken(self, run: int, wanted: NDArray[np.bool_]) -> Iterator[pa.Table]:
        mine = wanted[self._ends[run] : self._ends[run + 1]]
        return chosen_tables(self._folders[run], mine) if mine.any() else iter(())


def _hashed(table: pa.Table) -> NDArray[np.bytes_]:
    frame = pl.DataFrame(pl.from_arrow(table.select(_KEY)))
    halves = np.stack([frame.hash_rows(seed).to_numpy() for seed in _SEEDS], axis=1)
    return np.frombuffer(halves.tobytes(), "S16")
