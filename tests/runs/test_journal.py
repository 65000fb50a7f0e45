"""The journal: a line on disk before anybody hears of it, sealed into Parquet, read at any time."""

import errno
import math
import os
import time
import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.records import Response
from eyetest.runs import Journal, StoredResponses, read_responses, responses_table
from eyetest.runs.journal import JournalError, PartName, part_names, read_segment, seal, sealed, segment
from eyetest.runs.stored import stored_errors, stored_health
from tests.runs.written import journal_of, numbered

SPARE = Response(request="cd" * 16, outcome="answered", text=None)


def lines(*responses: Response) -> bytes:
    """A segment: each line ends with the CRC-32 of what it was without it."""
    texts = [msgspec.json.encode(response) for response in responses]
    return b"".join(text[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(text) for text in texts)


def test_the_impossible_can_be_stored(tmp_path: Path) -> None:
    """JSON has no minus infinity: a line with one would count as damaged."""
    journal = journal_of(tmp_path, msgspec.structs.replace(SPARE, candidates=(-math.inf, -1.0)))
    (back,) = read_responses(tmp_path)
    journal.close()
    assert list(read_responses(tmp_path)) == [back]
    assert back.candidates == (None, -1.0)


def test_a_line_is_on_disk_before_the_next_line_of_the_caller(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, SPARE)
    assert segment(tmp_path, PartName(1)).read_bytes() == lines(SPARE)
    journal.close()
    assert not segment(tmp_path, PartName(1)).exists()
    assert sealed(tmp_path, PartName(1)).exists()


_text = st.text(max_size=20)
_number = st.floats(allow_nan=False, allow_infinity=False)
_response = st.builds(
    Response,
    request=st.binary(min_size=16, max_size=16).map(bytes.hex),
    outcome=st.sampled_from(["answered", "truncated", "blocked", "failed"]),
    text=st.none() | _text,
    thinking=_text,
    error=_text,
    detail=_text,
    finish=_text,
    tokens_in=st.none() | st.integers(0, 2**40),
    tokens_out=st.none() | st.integers(0, 2**40),
    seconds=_number,
    attempts=st.integers(0, 99),
    time=_number,
    candidates=st.just((-0.25, -7.5, 0.0)) | st.just(()),
    given=st.none() | st.floats(0, 1),
)


def weighed(response: Response) -> Response:
    """With the tokens and bytes of its candidates, where it has some."""
    sizes = tuple(range(len(response.candidates)))
    return msgspec.structs.replace(response, candidate_tokens=sizes, candidate_bytes=sizes)


@given(found=st.lists(_response.map(weighed), min_size=1, max_size=4))
def test_sealing_changes_nothing(tmp_path_factory: pytest.TempPathFactory, found: list[Response]) -> None:
    folder = tmp_path_factory.mktemp("run")
    for part in ("journal", "responses"):
        (folder / part).mkdir()
    segment(folder, PartName(1)).write_bytes(lines(*found))
    assert read_segment(segment(folder, PartName(1))) == (found, 0, [])
    seal(folder, PartName(1))
    assert list(read_responses(folder)) == found


def test_full_segments_are_sealed_while_writing_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:9]))  # a line in pieces
    journal = Journal(tmp_path, rows_a_segment=3)
    for number in range(10):
        journal.append(numbered(number))
        assert len(list(read_responses(tmp_path))) == number + 1
    journal.close()
    assert [part.number for part in part_names(tmp_path)] == [1, 2, 3, 4]
    assert list((tmp_path / "journal").iterdir()) == []
    assert list(read_responses(tmp_path)) == [numbered(number) for number in range(10)]


def test_what_a_dead_writer_left_is_sealed_and_never_appended_to(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    segment(tmp_path, PartName(4)).write_bytes(lines(numbered(1), numbered(2)) + b'{"request": "to')
    assert [response.request for response in read_responses(tmp_path)] == [f"{n:032x}" for n in (1, 2)]
    assert stored_health(tmp_path).torn == 1
    journal_of(tmp_path, numbered(3)).close()
    assert [part.number for part in part_names(tmp_path)] == [4, 5]
    assert not segment(tmp_path, PartName(4)).exists()
    assert list(read_responses(tmp_path)) == [numbered(number) for number in (1, 2, 3)]
    assert stored_health(tmp_path).torn == 1, "it is remembered that something was lost"


def test_a_segment_that_holds_only_a_torn_line_is_kept(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    segment(tmp_path, PartName(1)).write_bytes(b'{"reque')
    Journal(tmp_path).close()
    assert segment(tmp_path, PartName(1)).read_bytes() == b'{"reque'
    assert stored_health(tmp_path).torn == 1
    assert list(read_responses(tmp_path)) == []


def test_a_death_between_sealing_and_removing(tmp_path: Path) -> None:
    """Both are there; the sealed one counts, and the next writer removes the other."""
    journal_of(tmp_path, numbered(1)).close()
    segment(tmp_path, PartName(1)).write_bytes(lines(numbered(1)))
    assert list(read_responses(tmp_path)) == [numbered(1)]
    Journal(tmp_path).close()
    assert not segment(tmp_path, PartName(1)).exists()
    assert list(read_responses(tmp_path)) == [numbered(1)]


def test_the_last_response_to_a_request_counts(tmp_path: Path) -> None:
    again = [
        Response(request="aa" * 16, outcome="failed", error="timeout"),
        Response(request="aa" * 16, outcome="failed", error="server"),
        Response(request="bb" * 16, outcome="failed", error=""),
        Response(request="aa" * 16, outcome="answered", text="B"),
    ]
    journal_of(tmp_path, *again, rows_a_segment=2).close()
    assert dict(stored_errors(tmp_path).iter_rows()) == {"aa" * 16: "", "bb" * 16: "failed"}
    table = responses_table(tmp_path)
    assert dict(zip(*(table.column(n).to_pylist() for n in ("request", "outcome")), strict=True)) == {
        "aa" * 16: "answered",
        "bb" * 16: "failed",
    }
    stored = StoredResponses(tmp_path, retry_failed=True)
    assert stored.get("aa" * 16) == again[3]
    assert stored.get("bb" * 16) is None
    assert stored.get("cc" * 16) is None


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_of(tmp_path, numbered(1))
    real = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) > 20:
            return real(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(JournalError, match="the journal cannot be written: no space left on device"):
            journal.append(numbered(2))
    assert segment(tmp_path, PartName(1)).read_bytes() == lines(numbered(1))
    journal.append(numbered(3))
    journal.close()
    assert list(read_responses(tmp_path)) == [numbered(1), numbered(3)]


def append_for_seconds(journal: Journal) -> None:
    """Append long enough that the journal is flushed, as it is every second."""
    for number in range(200):
        journal.append(numbered(number))
        time.sleep(0.05)


def test_a_flush_that_fails_stops_the_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written since may be lost with the power, so nothing more is taken as stored."""

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    journal = Journal(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync" if hasattr(os, "fdatasync") else "fsync", fail)
        with pytest.raises(JournalError, match="the journal cannot be written: input/output error"):
            append_for_seconds(journal)
    journal.close()
    assert stored_health(tmp_path).damaged == []
