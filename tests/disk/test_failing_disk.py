"""Whichever write, rename or flush fails: nothing acknowledged is lost, nothing is half-written, and it goes on."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.disk.jobs import JOBS, WITH_PAGES, Job
from tests.disk.machine import QUICKLY_LOADED, Failure, Machine, machine_with_failing_disk
from tests.endpoint import Endpoint
from tests.running.processes import Command

FAILURES = (Failure.NO_SPACE, Failure.INPUT_OUTPUT, Failure.KILL)
IN_FLIGHT = 2  # of a model that is asked one thing at a time: one answer is being stored, the next call is on its way


@pytest.fixture(scope="module")
def quick_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One for commands without pages."""
    with machine_with_failing_disk(tmp_path_factory.mktemp("machine"), QUICKLY_LOADED) as machine:
        yield machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One for all commands."""
    with machine_with_failing_disk(tmp_path_factory.mktemp("machine")) as machine:
        yield machine


class Trial:
    """One job, prepared once and carried out on copies of what it needs."""

    def __init__(self, machine: Machine, job: Job, home: Path, endpoint: Endpoint) -> None:
        self.machine, self.job, self.home, self.endpoint = machine, job, home, endpoint
        self.said = home / "said"
        self.said.mkdir()
        (home / "prepared").mkdir()
        job.prepare(home / "prepared", endpoint)
        self.before = job.read(home / "prepared")
        folder = self._copy()
        machine.disk.watch(folder)
        self._run(folder).fine()
        self.operations = machine.disk.operations
        machine.disk.forget()
        self.after = job.read(folder)
        assert self.after != self.before
        self.names = names_in(folder)

    def _copy(self) -> Path:
        folder = self.home / "disk"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.home / "prepared", folder)
        return folder

    def _run(self, folder: Path) -> Command:
        return self.machine.run(self.job.words, folder, self.said)

    def fail(self, failure: Failure, at: int) -> None:
        """Let one operation fail, and do it again on a sound disk."""
        folder, disk = self._copy(), self.machine.disk
        self.endpoint.forget()
        disk.watch(folder, failure, at)
        done = self._run(folder)
        has_failed, where = disk.has_failed, f"{failure.name} at {at}: {disk.failed_operation}"
        disk.forget()
        state = self.job.read(folder)
        if has_failed:
            self._check_end(done, failure, state, where)
        self._check_state(done, state, where)
        again = self._run(folder)
        is_complete = state == self.after and "is already there" in again.stderr
        assert again.code == (2 if is_complete else 0), (where, again.stderr)
        assert self.job.read(folder) == self.after, where
        hidden_names = {name for name in names_in(folder) if ".partial-" in name}
        assert names_in(folder) - hidden_names == self.names, where
        may_be_hidden = is_complete or "unlink" in where or "rmdir" in where
        assert may_be_hidden or not hidden_names, (where, "the next writer of the same target sweeps", hidden_names)
        self._check_calls(where)

    def _check_end(self, done: Command, failure: Failure, state: Any, where: str) -> None:
        assert "Traceback" not in done.stderr, (where, done.stderr)
        if failure == Failure.KILL:
            assert done.code == -9, (where, done.stderr)
        elif done.code == 0:
            assert state == self.after, (where, "what is not whole is no success")
        else:
            errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            assert (done.code, len(errors)) == (2, 1), (where, done.code, done.stderr)

    def _check_state(self, done: Command, state: Any, where: str) -> None:
        if not self.job.is_resumed:
            assert state in (self.before, self.after), where
            return
        for name, value in state.items():
            assert value in (self.before.get(name), self.after[name]), (where, name)
        assert self.before.keys() <= state.keys(), where
        if self.job.words[0] == "python":
            assert set(done.stdout.split()) <= state.keys(), (where, "an acknowledged decision is lost")

    def _check_calls(self, where: str) -> None:
        """What was answered before the failure was stored, but for what was in flight, so it is not asked again."""
        again = self.endpoint.sent.total() - len(self.endpoint.sent)
        assert again <= IN_FLIGHT, (where, f"{again} answers were lost")


def names_in(folder: Path) -> set[str]:
    """The files of a folder without the random parts of their names, and without those of SQLite."""
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    plain = {re.sub(r"\d{6}-[0-9a-f]{8}", "PART", name) for name in names}
    return {name for name in plain if not name.endswith(("-wal", "-shm"))}


def fail_sample(trial: Trial, points: int) -> None:
    """Let some of the operations fail, spread evenly, the last included, by each failure in turn."""
    for number in range(points):
        failure = FAILURES[number % len(FAILURES)]
        trial.fail(failure, max(trial.operations * (number + 1) // points, 1))


@pytest.mark.parametrize("job", [name for name in JOBS if name not in WITH_PAGES])
def test_a_disk_that_fails_now_and_then(quick_machine: Machine, tmp_path: Path, endpoint: Endpoint, job: str) -> None:
    fail_sample(Trial(quick_machine, JOBS[job], tmp_path, endpoint), len(FAILURES))


@pytest.mark.journey
@pytest.mark.parametrize("job", JOBS)
def test_a_disk_that_fails_often(machine: Machine, tmp_path: Path, endpoint: Endpoint, job: str) -> None:
    fail_sample(Trial(machine, JOBS[job], tmp_path, endpoint), 5 * len(FAILURES))


@pytest.mark.slow
@pytest.mark.parametrize("failure", [*FAILURES, Failure.READ_ONLY], ids=lambda failure: failure.name.lower())
@pytest.mark.parametrize("job", JOBS)
def test_a_disk_that_fails_at_every_operation(
    machine: Machine, tmp_path: Path, endpoint: Endpoint, job: str, failure: Failure
) -> None:
    trial = Trial(machine, JOBS[job], tmp_path, endpoint)
    for point in range(1, trial.operations + 1):
        trial.fail(failure, point)
