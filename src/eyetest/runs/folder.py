"""A run on disk: ``run.json``, ``plan.parquet``, ``journal/``, ``responses/``, later ``scores/``.

One process plans and asks at a time, and says so with a lock that the system takes back when the process ends,
however it ends. Anybody may read meanwhile.
"""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eyetest.errors import EyetestError, InputError, as_said, name_file, system_words
from eyetest.records import RUN_VERSION, ModelEntry, RunBenchmark, RunManifest, RunStep
from eyetest.runs.journal import Journal, wait_for_writers
from eyetest.runs.parts import JOURNAL, RESPONSES, count_rows
from eyetest.runs.plan import PLAN, PlanWriter, chosen_rows, plan_requests, plan_table
from eyetest.runs.stored import (
    IdIndex,
    StoredErrors,
    StoredHealth,
    encode,
    key_bytes,
    responses_table,
    stored_errors,
    stored_health,
)
from eyetest.store import replacing_file, store_of
from eyetest.store.files import read_regular
from eyetest.store.local import BusyError
from eyetest.store.mirror import LEASE
from eyetest.tabular.record_files import indices, numbers
from eyetest.version import __version__

MANIFEST = "run.json"
SCORES = "scores"
BENCHMARK = "benchmark"
"""The items that were asked about, without their pictures."""
MENDED = "mended.json"
"""What people have changed of the items since they were asked."""
SENTENCES = "sentences.parquet"
"""What a judge said of the sentences of replies."""
RECORDED = "recorded"
"""How a response ends that was not asked for here but brought in."""
LEDGER = "ledger.parquet"
"""What going through a large plan came to; it can be had again."""
_LOCK = "lock"
_INSIDE = "run"
"""Where a refinement keeps the answers that it asked for."""
_OURS = {MANIFEST, PLAN, JOURNAL, RESPONSES, SCORES, BENCHMARK, MENDED, SENTENCES, LEDGER, _LOCK}


class Run:
    """A run folder, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not is_run(path):
            inside = f"; {path / _INSIDE} is one" if is_run(path / _INSIDE) else ""
            raise InputError(f"{path} is no run folder (it has no {MANIFEST}){inside}")
        self.manifest = _read_manifest(path)

    def plan(self) -> pa.Table:
        """Who was to be asked what."""
        return plan_table(self.path)

    def responses(self) -> pa.Table:
        """What came of it, one row a request."""
        return responses_table(self.path)

    def errors(self) -> StoredErrors:
        """What came of everything that is stored."""
        return stored_errors(self.path)

    def check_benchmark(self, benchmark: RunBenchmark) -> None:
        """Refuse to mix answers to different benchmarks in one folder."""
        mine = self.manifest.benchmark
        if mine and mine.fingerprint and mine.fingerprint != benchmark.fingerprint:
            raise InputError(
                f'{self.path} holds answers to another benchmark or another version of it ("{mine.name}", '
                f"{mine.items:,} items); choose another place for this one"
            )

    def recorded(self) -> "RecordedRequests":
        """Answers that were brought in from elsewhere, by who was asked what."""
        if all(step.what == "ask" for step in self.manifest.steps):
            return RecordedRequests()
        table = responses_table(self.path, ("request", "finish"))
        codes, finishes = encode(table.column("finish"))
        is_brought = np.array([finish == RECORDED for finish in finishes.to_pylist()], bool)[codes]
        brought = table.column("request").combine_chunks().take(indices(np.flatnonzero(is_brought)))
        requests = plan_requests(self.path)
        wanted = numbers(pc.is_in(requests, value_set=brought).combine_chunks()).astype(bool)
        keys = key_bytes(row.key for row in chosen_rows(self.path, wanted))
        return RecordedRequests(keys, requests.take(indices(np.flatnonzero(wanted))).combine_chunks())

    @cached_property
    def health(self) -> StoredHealth:
        """What of its answers was cut off by a kill, or is damaged and left out."""
        return stored_health(self.path)

    @property
    def writer(self) -> int | str | None:
        """The process that is writing to the run now, if there is one; with its machine where it may be another."""
        return store_of(self.path).holder(self.path / _LOCK)

    def __repr__(self) -> str:
        about = self.manifest.benchmark.name if self.manifest.benchmark else "answers"
        return f"<Run {about!r}: {', '.join(self.manifest.models) or 'no models'} in {as_said(str(self.path))}>"


class RecordedRequests:
    """The requests under which answers were brought in, by who was asked what: a few bytes each."""

    def __init__(self, keys: NDArray[np.bytes_] | None = None, requests: pa.Array | None = None) -> None:
        self._index, self._requests = IdIndex(key_bytes(()) if keys is None else keys), requests

    def __len__(self) -> int:
        return len(self._index)

    def get(self, key: bytes) -> str | None:
        """The id under which the answer is stored, if it was brought in."""
        row = self._index.row(key)
        return None if row is None or self._requests is None else str(self._requests[row])


class RunWriter(Run):
    """A run folder, opened for writing, made where there is none. Use it in a ``with`` block.

    A second writer is refused and told who the first one is.
    """

    def __init__(self, path: Path) -> None:
        _refuse_foreign(path)
        self.path, self._store = path, store_of(path)
        self.manifest = _read_manifest(path) if is_run(path) else RunManifest()

    def __enter__(self) -> "RunWriter":
        with ExitStack() as stack:
            try:
                self._store.make_folder(self.path)
                stack.enter_context(self._store.lock(self.path / _LOCK))
                wait_for_writers(self.path)
                if is_run(self.path):
                    self.manifest = _read_manifest(self.path)
                self.journal = Journal(self.path, token_hex(4))
            except OSError as error:
                raise InputError(f"cannot write {self.path}: {system_words(error)}") from None
            except BusyError as error:
                raise InputError(f"{self.path} {error}") from None
            self._lock = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        name_file(error, self.path)
        with self._lock:
            try:
                self.journal.close()
            finally:
                if is_run(self.path):
                    with suppress(EyetestError, OSError):  # a full disk has been told of by then
                        self._note_parts()
                else:
                    self._vanish()

    def _note_parts(self) -> None:
        """Write down where answers lie now, so that a part that goes is missed."""
        parts = count_rows(self.path, self.manifest.parts)
        if parts != self.manifest.parts:
            self._write(msgspec.structs.replace(self.manifest, parts=parts, run_version=RUN_VERSION))

    def _vanish(self) -> None:
        """Leave nothing behind of a run that never began."""
        with suppress(OSError):
            for part in (JOURNAL, RESPONSES):
                (self.path / part).rmdir()
            (self.path / _LOCK).unlink()
            self.path.rmdir()

    def planning(self) -> PlanWriter:
        """A writer for the plan."""
        return PlanWriter(self.path)

    def record(self, step: RunStep, models: dict[str, ModelEntry], benchmark: RunBenchmark | None = None) -> None:
        """Write down what is about to be done, before it is done."""
        known = self.manifest.models | {name: entry.written_down() for name, entry in models.items()}
        self.restate(step, known, benchmark)

    def restate(
        self,
        step: RunStep,
        models: dict[str, ModelEntry],
        benchmark: RunBenchmark | None = None,
        earlier: Sequence[RunStep] = (),
    ) -> None:
        """Write down what is done, and that these and no others are the run's models.

        ``earlier``: steps of other runs whose answers come in.
        """
        step = msgspec.structs.replace(
            step, eyetest=__version__, time=datetime.now(UTC).isoformat(timespec="seconds")
        )
        manifest = RunManifest(
            benchmark=benchmark or self.manifest.benchmark,
            models=models,
            steps=(*self.manifest.steps, *earlier, step),
            parts=self.manifest.parts,
        )
        self._write(manifest)

    def amend(self, **known: Any) -> None:
        """Add to the last step what was only known at its end."""
        *earlier, last = self.manifest.steps
        step = msgspec.structs.replace(last, **known)
        self._write(msgspec.structs.replace(self.manifest, steps=(*earlier, step)))

    def _write(self, manifest: RunManifest) -> None:
        self.manifest = manifest
        with replacing_file(self.path / MANIFEST) as temporary:
            temporary.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def is_run(path: Path) -> bool:
    """Whether a path is a run folder of ours."""
    return (path / MANIFEST).is_file()


def _read_manifest(path: Path) -> RunManifest:
    try:
        manifest = msgspec.json.decode(read_regular(path / MANIFEST, path), type=RunManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path / MANIFEST} is damaged: {error}") from None
    if manifest.run_version > RUN_VERSION:
        raise InputError(f"{path} was written by a newer eyetest (folder version {manifest.run_version})")
    return manifest


def _refuse_foreign(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; a run is a folder")
    if is_run(path) or not path.is_dir():
        return
    if foreign := [entry.name for entry in path.iterdir() if not _is_ours(entry.name)]:
        raise InputError(f'{path} holds "{foreign[0]}", which is not part of a run; choose another place')


def _is_ours(name: str) -> bool:
    return name in _OURS or name.endswith(LEASE) or (name.startswith(".") and ".partial-" in name)
