"""A run on disk: ``run.json``, ``plan.parquet``, ``journal/``, ``responses/``, later ``scores/``.

One process plans and asks at a time, under a lock that ends with the process. The run can be read meanwhile.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from eyetest.errors import EyetestError, InputError, as_named, name_file, nearest, system_words
from eyetest.records import RUN_VERSION, Answer, ModelEntry, Planned, RunBenchmark, RunManifest, RunStep, columns
from eyetest.records.finishes import RECORDED
from eyetest.runs.answer_values import assemble, typed, without_guards
from eyetest.runs.journal import JOURNAL, RESPONSES, Journal, count_rows, wait_for_writers
from eyetest.runs.stored import (
    MANIFEST,
    PLAN,
    PlanWriter,
    StoredHealth,
    answers_frame,
    counting_responses,
    one_line_if_damaged,
    plan_frame,
    plan_table,
    planning,
    responses_table,
    scan_plan,
    stored_errors,
    stored_health,
)
from eyetest.store import read_json, store_of, write_json
from eyetest.store.files import BusyError
from eyetest.tabular.files import known_table
from eyetest.tabular.record_files import write_table
from eyetest.tabular.table import Grid
from eyetest.version import __version__

SCORES = "scores"
BENCHMARK = "benchmark"  # the items that were asked about, without their images
REPAIRED = "repaired.json"  # people's changes of the items since they were asked
SENTENCES = "sentences.parquet"  # a judge's labels of the sentences of replies
_LOCK = "lock"
_INSIDE = "run"  # where a refinement keeps its answers
_OURS = {MANIFEST, PLAN, JOURNAL, RESPONSES, SCORES, BENCHMARK, REPAIRED, SENTENCES, _LOCK}


class Run:
    """A run folder, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not is_run(path):
            inside = f"; {path / _INSIDE} is one" if is_run(path / _INSIDE) else ""
            raise InputError(f"{path} is no run folder (it has no {MANIFEST}){inside}")
        self.manifest = _read_manifest(path)

    def plan(self) -> pa.Table:
        """The plan."""
        return plan_table(self.path)

    def responses(self) -> pa.Table:
        """The responses, one row per request."""
        return responses_table(self.path)

    def errors(self) -> pl.DataFrame:
        """The outcome of every stored request."""
        return stored_errors(self.path)

    def _repr_html_(self) -> str:
        return str(import_module("eyetest.commands.show").StatusResult(self)._repr_html_())

    def check_benchmark(self, benchmark: RunBenchmark) -> None:
        """Refuse to mix answers to different benchmarks in one folder."""
        mine = self.manifest.benchmark
        if mine and mine.fingerprint and mine.fingerprint != benchmark.fingerprint:
            raise InputError(
                f'{self.path} holds answers to another benchmark or another version of it ("{mine.name}", '
                f'{mine.items:,} items) than "{benchmark.name}" ({benchmark.items:,} items); '
                "choose another place for this one"
            )

    def recorded(self) -> dict[bytes, str]:
        """The requests of imported answers, by the key of their `Asked`."""
        if all(step.what == "ask" for step in self.manifest.steps):
            return {}
        stored = counting_responses(self.path, ("request", "finish"))
        brought = stored.filter(pl.col("finish") == RECORDED).select("request")
        plan = scan_plan(self.path).join(brought, on="request", how="semi").collect(engine="streaming")
        return {Planned(**row).key: row["request"] for row in plan.iter_rows(named=True)}

    @cached_property
    def health(self) -> StoredHealth:
        """Which answers were cut off by a kill, or are damaged and left out."""
        return stored_health(self.path)

    @property
    def writer(self) -> int | None:
        """The process that writes to the run now, if any."""
        return store_of(self.path).holder(self.path / _LOCK)

    def __repr__(self) -> str:
        about = self.manifest.benchmark.name if self.manifest.benchmark else "answers"
        return f"<Run {about!r}: {', '.join(self.manifest.models) or 'no models'} in {as_named(str(self.path))}>"


class RunWriter(Run):
    """A run folder, opened for writing in a ``with`` block, created if missing. A second writer is refused."""

    def __init__(self, path: Path) -> None:
        _refuse_foreign(path)
        self.path, self._store = path, store_of(path)
        self.manifest = _read_manifest(path) if is_run(path) else RunManifest()

    def __enter__(self) -> "RunWriter":
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        name_file(error, self.path)
        with self._lock:
            try:
                self.journal.close()
            finally:
                if is_run(self.path):
                    with suppress(EyetestError, OSError):  # a full disk is reported by then
                        self._note_parts()
                else:
                    self._vanish()

    def _note_parts(self) -> None:
        """Record the parts with answers, so that a missing one is noticed."""
        parts = count_rows(self.path, self.manifest.parts)
        if parts != self.manifest.parts:
            self._write(msgspec.structs.replace(self.manifest, parts=parts, run_version=RUN_VERSION))

    def _vanish(self) -> None:
        """Remove the folder of a run that never began."""
        with suppress(OSError):
            for part in (JOURNAL, RESPONSES):
                (self.path / part).rmdir()
            (self.path / _LOCK).unlink()
            self.path.rmdir()

    def planning(self) -> AbstractContextManager[PlanWriter]:
        """A writer for the plan."""
        return planning(self.path)

    def record(
        self,
        step: RunStep,
        models: dict[str, ModelEntry],
        benchmark: RunBenchmark | None = None,
        earlier: Sequence[RunStep] = (),
    ) -> None:
        """Record an operation before it begins, and ``earlier`` ones of other runs whose answers are added."""
        known = self.manifest.models | {name: entry.written_down() for name, entry in models.items()}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        step = msgspec.structs.replace(step, eyetest=__version__, time=now)
        steps = (*self.manifest.steps, *earlier, step)
        benchmark = benchmark or self.manifest.benchmark
        self._write(RunManifest(benchmark=benchmark, models=known, steps=steps, parts=self.manifest.parts))

    def amend(self, **known: Any) -> None:
        """Add to the last step what is only known at its end."""
        *earlier, last = self.manifest.steps
        step = msgspec.structs.replace(last, **known)
        self._write(msgspec.structs.replace(self.manifest, steps=(*earlier, step)))

    def _write(self, manifest: RunManifest) -> None:
        self.manifest = manifest
        write_json(self.path / MANIFEST, manifest)


def is_run(path: Path) -> bool:
    """Whether a path is a run folder."""
    return (path / MANIFEST).is_file()


def _read_manifest(path: Path) -> RunManifest:
    manifest = read_json(path / MANIFEST, RunManifest)
    if manifest.run_version > RUN_VERSION:
        raise InputError(f"{path} was written by a newer eyetest (folder version {manifest.run_version})")
    return manifest


def _refuse_foreign(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; a run is a folder")
    if is_run(path) or not path.is_dir():
        return
    names = (entry.name for entry in path.iterdir() if entry.name not in _OURS)
    if foreign := [name for name in names if not (name.startswith(".") and ".partial-" in name)]:
        raise InputError(f'{path} holds "{foreign[0]}", which is not part of a run; choose another place')


def read_answers(folder: Path) -> Iterator[Answer]:
    """The answers of a run in the order of its plan; without calls that were not made yet."""
    for row in _answers(folder).iter_rows(named=True):
        yield Answer(**row)


def _answers(folder: Path) -> pl.DataFrame:
    with one_line_if_damaged(folder):
        frame = answers_frame(folder).select(columns(Answer))
        return frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).collect()


def open_answers(path: Path) -> Iterator[Answer]:
    """The answers of a run folder, or of a table with our columns."""
    if is_run(path):
        yield from read_answers(path)
        return
    known = set(columns(Answer))
    table = known_table(path)
    for row in table:
        for name in row.values.keys() - known:
            raise InputError(f'{path}: "{name}" is no column of an answers table; {nearest(name, known)}')
        try:
            sheet = isinstance(table, Grid)
            yield assemble(typed(without_guards(row.values) if sheet else row.values), sheet=sheet, excel=False)
        except InputError as error:
            raise InputError(f"{row.where}: {error}") from None


def write_answers(folder: Path, to: Path, *, overwrite: bool = False) -> tuple[int, int]:
    """Write the answers of a run as a table, by the file's suffix; returns how many there are and are missing."""
    answers = _answers(folder)
    write_table(answers.to_arrow(compat_level=pl.CompatLevel.oldest()), Answer, to, overwrite=overwrite)
    return len(answers), plan_frame(folder).select(pl.len()).collect().item() - len(answers)
