"""Several writers append to one run at once, each to parts of its own name; who reads finds all of it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eyetest.records import RunStep
from eyetest.runs import Journal, Run, RunWriter, read_responses
from eyetest.runs.journal import PartName, part_names, seal, segment
from eyetest.store import files
from eyetest.store.files import LocalStore
from tests.runs.written import journal_of, numbered

WRITER = """
import sys
from pathlib import Path
from eyetest.records import Response
from eyetest.runs import Journal

journal = Journal(Path(sys.argv[1]), sys.argv[2], rows_a_segment=7)
for number in range(int(sys.argv[3])):
    journal.append(Response(request=sys.argv[2] * 4 + f"{number:016x}", outcome="answered", text=sys.argv[2]))
    print(number, flush=True)
journal.close()
"""


def start(folder: Path, name: str, rows: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", WRITER, str(folder), name, str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def write_at_once(folder: Path, rows: int) -> None:
    """Two processes write so many rows each."""
    writers = [start(folder, name, rows) for name in ("aaaa", "bbbb")]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0


def check_both(folder: Path, rows: int) -> None:
    """All rows of both are there."""
    texts = [response.text for response in read_responses(folder)]
    assert (texts.count("aaaa"), texts.count("bbbb")) == (rows, rows)
    assert {part.writer for part in part_names(folder)} == {"aaaa", "bbbb"}


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    write_at_once(tmp_path, 60)
    check_both(tmp_path, 60)
    assert not list((tmp_path / "journal").iterdir()), "all of it is sealed"


def test_one_of_two_is_killed_and_the_other_goes_on(tmp_path: Path) -> None:
    living = journal_of(tmp_path, numbered(1), writer="bbbb")
    dying = start(tmp_path, "aaaa", 10**6)
    assert dying.stdout is not None
    told = [dying.stdout.readline() for _ in range(40)]
    living.append(numbered(2))
    dying.send_signal(signal.SIGKILL)
    dying.wait()
    told += dying.stdout.readlines()
    dying.stdout.close()
    whole = [line for line in told if line.endswith(b"\n")]
    texts = [response.text for response in read_responses(tmp_path)]
    assert texts.count("aaaa") in (len(whole), len(whole) + 1), "what was told is there"
    Journal(tmp_path, "cccc").close()
    open_parts = [part.writer for part in part_names(tmp_path) if segment(tmp_path, part).exists()]
    assert open_parts == ["bbbb"], "what the dead left is sealed, what the living write is not touched"
    living.append(numbered(3))
    living.close()
    assert [response.text for response in read_responses(tmp_path)].count("A") == 3


def test_what_a_living_writer_has_just_begun_is_not_taken_for_an_empty_part(tmp_path: Path) -> None:
    living = journal_of(tmp_path, numbered(1), writer="aaaa")
    path = segment(tmp_path, PartName(1, "aaaa"))
    line = path.read_bytes()
    path.write_bytes(b"")
    Journal(tmp_path, "bbbb").close()
    assert path.exists()
    path.write_bytes(line)
    living.close()
    assert len(list(read_responses(tmp_path))) == 1


def test_a_run_names_its_parts_and_goes_on_from_numbered_ones(tmp_path: Path) -> None:
    journal_of(tmp_path / "r", numbered(1)).close()
    with RunWriter(tmp_path / "r") as run:
        run.record(RunStep(what="ask"), {})
        run.journal.append(numbered(2))
    first, second = part_names(tmp_path / "r")
    assert first == PartName(1)
    assert second.number == 2
    assert len(second.writer) == 8
    assert PartName.parse(second.key) == PartName.parse(second.stem) == second
    assert Run(tmp_path / "r").manifest.parts == {"1": 1, second.key: 1}


@pytest.mark.parametrize("when", ["before its lock", "at its removal"])
def test_a_part_that_is_sealed_while_it_is_made_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Another process takes the new file for a dead writer's; removed, it is made again."""
    lock, remove, part = files._lock, LocalStore.remove, PartName(1, "aaaa")

    def late(file: int, *, wait: bool = False, **how: bool) -> bool:
        if wait and when == "before its lock":
            monkeypatch.setattr(files, "_lock", lock)
            seal(tmp_path, part)
        return lock(file, wait=wait, **how)

    def checked(store: LocalStore, path: Path) -> None:
        with path.open("rb") as file:  # Windows removes no open file
            assert files.fcntl is None or not lock(file.fileno()), "no writer can lock what is being removed"
        remove(store, path)

    monkeypatch.setattr(files, "_lock", late)
    monkeypatch.setattr(LocalStore, "remove", checked)
    journal = journal_of(tmp_path, numbered(1), writer="aaaa")
    assert len(list(read_responses(tmp_path))) == 1
    journal.close()
    assert len(list(read_responses(tmp_path))) == 1
