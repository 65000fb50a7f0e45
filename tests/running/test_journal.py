"""The journal under those who read it, those who want to write it too, and a disk that is full."""

import errno
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eyetest.errors import EyetestError, InputError
from eyetest.models import parse_models
from eyetest.records import Response, RunStep
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Journal, Run, RunWriter, read_responses, responses_table, stored
from eyetest.runs.journal import JournalError, seal
from eyetest.runs.parts import PartName, part_names
from tests.endpoint import Attempt, Endpoint
from tests.running.benches import answers, make_bench
from tests.running.processes import Nursery, until


def response(number: int, text: str = "A") -> Response:
    return Response(request=f"{number:032x}", outcome="answered", text=text)


def empty_run(path: Path) -> Path:
    with RunWriter(path) as run:
        run.record(RunStep(what="ask"), {})
    return path


def test_a_reader_in_a_loop_never_fails_and_never_sees_fewer_rows(tmp_path: Path) -> None:
    """Segments of three rows are sealed all the time, so the reader meets every stage of it."""
    run = empty_run(tmp_path / "r")
    over = threading.Event()
    counts: list[int] = []
    problems: list[BaseException] = []

    def look() -> None:
        try:
            while not over.is_set():
                rows = [row.request for row in read_responses(run)]
                assert len(rows) == len(set(rows)), "a segment is read open or sealed, not twice"
                assert sorted(rows) == [f"{n:032x}" for n in range(len(rows))], "and none is skipped"
                counts.append(len(responses_table(run)))
        except BaseException as problem:
            problems.append(problem)

    reader = threading.Thread(target=look)
    reader.start()
    journal = Journal(run, rows_a_segment=3)
    for number in range(300):
        journal.append(response(number))
        if number % 30 == 0:
            looks = len(counts)
            until(lambda looks=looks: problems or len(counts) > looks, "the reader")  # type: ignore[misc]
    journal.close()
    over.set()
    reader.join()
    assert not problems, problems
    assert counts == sorted(counts)
    assert len(set(counts)) > 3, "the reader saw it grow"
    assert len(responses_table(run)) == 300
    assert not list((run / "journal").iterdir()), "all of it is sealed"
    assert len(list((run / "responses").glob("*.parquet"))) == 100


def test_status_in_a_loop_while_a_run_is_going(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 150)
    endpoint.latency = 0.01
    gate = threading.Event()

    def halt(attempt: Attempt) -> None:
        if len(endpoint.attempts) > 120:
            endpoint.gate = gate

    endpoint.rule = halt
    process = nursery.start("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r", "--concurrency", 4)
    until(lambda: endpoint.answered.total() > 3)
    seen: list[int] = []
    writers: set[int | None] = set()
    while not seen or seen[-1] < 116:
        told = nursery.run("status", "r", "--json")
        assert told.code == 0, told.stderr
        state = json.loads(told.stdout)
        (group,) = state["groups"]
        assert group["planned"] == state["planned"] == 150
        seen.append(group.get("answered", 0))
        writers.add(state["writer"])
    shown = nursery.run("status", "r")
    gate.set()
    assert process.wait().code == 0
    assert seen == sorted(seen)
    assert writers == {process.pid}
    assert f"being written by process {process.pid}" in shown.stdout
    after = json.loads(nursery.run("status", "r", "--json").stdout)
    assert after["writer"] is None
    assert after["groups"][0]["answered"] == 150
    assert "nobody is writing to it" in nursery.run("status", "r").stdout


def test_a_reader_survives_a_segment_that_is_sealed_into_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between beginning a segment and its first line leaves it empty; the next writer takes it away."""
    run = empty_run(tmp_path / "r")
    (run / "journal/000001.jsonl").touch()
    names = part_names

    def and_then_it_is_sealed(folder: Path) -> list[PartName]:
        found = names(folder)
        seal(folder, PartName(1))
        return found

    monkeypatch.setattr(stored, "part_names", and_then_it_is_sealed)
    assert list(read_responses(run)) == []


def test_a_segment_that_is_sealed_between_listing_and_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = empty_run(tmp_path / "r")
    (run / "journal/000001.jsonl").write_bytes(b'{"request":"%s","outcome":"answered","text":"A"}\n' % (b"0" * 32))
    names = part_names

    def and_then_it_is_sealed(folder: Path) -> list[PartName]:
        found = names(folder)
        seal(folder, PartName(1))
        return found

    monkeypatch.setattr(stored, "part_names", and_then_it_is_sealed)
    assert [row.text for row in read_responses(run)] == ["A"]


def test_a_kill_between_sealing_and_removing_counts_nothing_twice(tmp_path: Path) -> None:
    run = empty_run(tmp_path / "r")
    segment = run / "journal/000001.jsonl"
    segment.write_bytes(b'{"request":"%s","outcome":"answered","text":"A"}\n' % (b"0" * 32))
    line = segment.read_bytes()
    seal(run, PartName(1))
    segment.write_bytes(line)
    assert len(list(read_responses(run))) == 1
    journal = Journal(run)
    journal.append(response(5))
    journal.close()
    assert len(list(read_responses(run))) == 2
    assert not list((run / "journal").iterdir())


def test_the_last_answer_to_a_request_counts(tmp_path: Path) -> None:
    run = empty_run(tmp_path / "r")
    journal = Journal(run, rows_a_segment=2)
    for text in ("one", "two", "three", "four", "five"):
        journal.append(response(1, text))
    journal.append(response(2, "other"))
    journal.close()
    assert responses_table(run).column("text").to_pylist() == ["five", "other"]


def test_whatever_was_said_comes_back_from_both_forms(tmp_path: Path) -> None:
    run = empty_run(tmp_path / "r")
    odd = ["", "\n\r\x00\x1b\u2028", "ünïcödé 😀", '"quotes" \\ and {"json": 1}', "x" * 100_000]
    said = [response(number, text) for number, text in enumerate(odd)]
    said.append(
        Response(
            request="f" * 32,
            outcome="failed",
            text=None,
            error="server",
            detail="500: \ufffd",
            likelihoods=(("A", -0.5, (("B", -1.5),)),),  # type: ignore[arg-type]
            candidates=(-1.0, -2.5),
            tokens_in=3,
            given=0.5,
        )
    )
    journal = Journal(run)
    for one in said:
        journal.append(one)
    from_lines = list(read_responses(run))
    journal.close()
    assert not list((run / "journal").iterdir())
    from_parquet = list(read_responses(run))
    assert from_lines == from_parquet
    assert [one.text for one in from_parquet] == [*odd, None]
    assert from_parquet[-1].likelihoods[0].others == (("B", -1.5),)


# Two writers.


def test_a_second_writer_is_refused_and_told_who_the_first_is(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 6)
    endpoint.gate = threading.Event()
    command = ("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r")
    first = nursery.start(*command)
    until(lambda: endpoint.in_flight)
    second = nursery.run(*command)
    assert second.code == 2
    assert second.stderr == f"error: r is being written by process {first.pid}; wait for it, or stop it\n"
    assert second.stdout == ""
    endpoint.gate.set()
    assert first.wait().code == 0
    assert set(endpoint.sent.values()) == {1}
    assert len(answers(tmp_path / "r")) == 6


def test_the_lock_of_a_killed_writer_is_no_lock(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 6)
    endpoint.gate = threading.Event()
    command = ("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r")
    first = nursery.start(*command)
    until(lambda: endpoint.in_flight)
    first.kill()
    endpoint.gate.set()
    assert Run(tmp_path / "r").writer is None
    assert nursery.run(*command).code == 0


def test_whoever_asks_who_writes_does_not_keep_writers_out(tmp_path: Path) -> None:
    """``status`` in a loop must not make a run that starts meanwhile believe that somebody writes."""
    run = Run(empty_run(tmp_path / "r"))
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            assert run.writer in (None, 0, os.getpid())

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    refused = []
    try:
        for _ in range(150):
            try:
                with RunWriter(tmp_path / "r"):
                    pass
            except InputError as error:
                refused.append(str(error))
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not refused, f"{len(refused)} of 150 writers were refused: {refused[0]}"


def test_answers_to_another_benchmark_are_refused(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    make_bench(tmp_path / "c", 4)
    assert nursery.run("run", "b", "--model", "scripted:", "--to", "r").code == 0
    done = nursery.run("run", "c", "--model", "scripted:", "--to", "r")
    assert done.code == 2
    assert "r holds answers to another benchmark or another version of it" in done.stderr
    assert len(answers(tmp_path / "r")) == 3


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    (tmp_path / "r").mkdir()
    (tmp_path / "r/thesis.tex").write_text("mine")
    done = nursery.run("run", "b", "--model", "scripted:", "--to", "r")
    assert done.code == 2
    assert 'r holds "thesis.tex", which is not part of a run' in done.stderr
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["thesis.tex"]


# A full disk.


def test_a_file_size_limit_stops_the_run_with_one_line(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 200)
    plain = endpoint.answer
    endpoint.answer = lambda attempt: "word " * 200 + plain(attempt)
    endpoint.latency = 0.005
    command = ("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r", "--concurrency", 4)
    full = nursery.run(*command, most_bytes=40_000)
    assert full.code == 2, full.stderr
    errors = [line for line in full.stderr.splitlines() if line.startswith("error:")]
    (error,) = errors
    told = r"error: the journal cannot be written: file too large: r/journal/000001-[0-9a-f]{8}\.jsonl"
    assert re.fullmatch(told, error), full.stderr
    assert "Traceback" not in full.stderr
    assert "never awaited" not in full.stderr
    kept = answers(tmp_path / "r")
    assert 20 < len(kept) < 60
    assert Run(tmp_path / "r").health.torn == 0
    sent = endpoint.sent.total()
    assert sent - len(kept) <= 8, "what cannot be kept is not asked on and on"
    status = nursery.run("status", "r")
    assert status.code == 0, status.stderr

    assert nursery.run(*command).code == 0
    assert len(answers(tmp_path / "r")) == 200
    assert endpoint.sent.total() == 200 + sent - len(kept)
    assert kept.items() <= answers(tmp_path / "r").items()


def test_a_disk_that_has_no_room_even_for_sealing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make_bench(tmp_path / "b", 40)
    write, count = os.write, 0

    def full(file: int, data: bytes) -> int:
        nonlocal count
        if data.startswith(b'{"request"'):
            count += 1
            if count > 10:
                write(file, data[:7])  # part of it still fits
                raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    def no_room(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    monkeypatch.setattr(pq, "write_table", no_room)
    session = Session(bench, parse_models(["scripted:"]), Asking(limits=Limits(concurrency=3)))
    with pytest.raises((EyetestError, OSError), match=r"(?i)no space left on device"):
        session.run(tmp_path / "r")
    monkeypatch.undo()
    assert len(list(read_responses(tmp_path / "r"))) == 10
    assert Run(tmp_path / "r").health.torn == 0
    assert session.run(tmp_path / "r").done == 30
    assert len(list(read_responses(tmp_path / "r"))) == 40


def test_a_journal_that_failed_once_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = empty_run(tmp_path / "r")
    journal = Journal(run)
    journal.append(response(1))
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > 20:
            return write(file, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(JournalError, match="the journal cannot be written: no space left on device"):
            journal.append(Response(request="2" * 32, outcome="answered", text="B"))
    journal.append(response(3))
    journal.close()
    assert [int(row.request, 16) for row in read_responses(run)] == [1, 3]


def test_a_write_that_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = empty_run(tmp_path / "r")
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:9]))
    journal = Journal(run)
    for number in range(5):
        journal.append(response(number, "a longer answer"))
    assert [row.text for row in read_responses(run)] == ["a longer answer"] * 5
    journal.close()


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    (tmp_path / "file").write_text("x")
    for to, words in (
        ("file", "file is a file; a run is a folder"),
        ("file/r", "cannot write file/r: not a directory"),
    ):
        done = nursery.run("run", "b", "--model", "scripted:", "--to", to)
        assert done.code == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_damaged_manifest_says_so(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    assert nursery.run("run", "b", "--model", "scripted:", "--to", "r").code == 0
    whole = (tmp_path / "r/run.json").read_bytes()
    for bad in (whole[:50], b"\xff", b"[]", b'{"run_version": 1, "what": 2}'):
        (tmp_path / "r/run.json").write_bytes(bad)
        for command in (("run", "b", "--model", "scripted:", "--to", "r"), ("status", "r")):
            done = nursery.run(*command)
            assert done.code == 2
            assert done.stderr.startswith("error: r/run.json is damaged: "), done.stderr
            assert len(done.stderr.splitlines()) == 1


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    assert nursery.run("run", "b", "--model", "scripted:", "--to", "r").code == 0
    manifest = json.loads((tmp_path / "r/run.json").read_text())
    (tmp_path / "r/run.json").write_text(json.dumps(manifest | {"run_version": 99}))
    for command in (("run", "b", "--model", "scripted:", "--to", "r"), ("status", "r")):
        assert nursery.run(*command).code == 2, "what a later eyetest wrote may mean something else"


def test_the_real_command_line_runs_too(tmp_path: Path, endpoint: Endpoint) -> None:
    """All other tests fork a process that has loaded eyetest already; this one starts from nothing."""
    make_bench(tmp_path / "b", 3)
    command = [sys.executable, "-W", "error", "-c", "from eyetest.cli import main; main()"]
    command += ["run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "3 answered" in done.stdout
    assert len(answers(tmp_path / "r")) == 3
    with (tmp_path / "r/lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
