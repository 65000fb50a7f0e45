"""The journal under those who read it, those who want to write it too, and a disk that is full."""

import errno
import os
import re
import threading
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eyetest.errors import EyetestError, InputError
from eyetest.models import parse_models
from eyetest.records import RunStep
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Journal, Run, RunWriter, read_responses, responses_table, stored
from eyetest.runs.journal import PartName, part_names, seal
from tests.endpoint import Endpoint
from tests.running.benches import answers, make_bench
from tests.running.processes import Nursery, until
from tests.runs.written import numbered

_TEXT = b'{"request":"%s","outcome":"answered","text":"A"}' % (b"0" * 32)
LINE = _TEXT[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(_TEXT)


def empty_run(path: Path) -> Path:
    with RunWriter(path) as run:
        run.record(RunStep(what="ask"), {})
    return path


@pytest.mark.journey
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
        journal.append(numbered(number))
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


@pytest.mark.parametrize(("line", "texts"), [(b"", []), (LINE, ["A"])], ids=["empty after a kill", "one line"])
def test_a_segment_that_is_sealed_between_listing_and_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, texts: list[str]
) -> None:
    run = empty_run(tmp_path / "r")
    (run / "journal/000001.jsonl").write_bytes(line)
    names = part_names

    def and_then_it_is_sealed(folder: Path) -> list[PartName]:
        found = names(folder)
        seal(folder, PartName(1))
        return found

    monkeypatch.setattr(stored, "part_names", and_then_it_is_sealed)
    assert [row.text for row in read_responses(run)] == texts


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
    nursery.run("show", "r").fine()

    nursery.run(*command).fine()
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


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").write_text("x")
    for to, words in (
        ("file", "file is a file; a run is a folder"),
        ("file/r", "cannot write file/r: not a directory"),
        ("other", 'other holds "thesis.tex", which is not part of a run'),
    ):
        assert words in nursery.run("run", "b", "--model", "scripted:", "--to", to).refused()
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.tex"]
