"""Damage in what a run holds is found by checksums, named and left out; only what is lost is asked again."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eyetest.errors import DamagedWarning, InputError
from eyetest.models import parse_models
from eyetest.records import Response
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Journal, Run, read_responses
from eyetest.runs.journal import PartName, part_names, read_segment, sealed, segment
from eyetest.runs.stored import responses_frame, stored_health
from tests.running.benches import make_bench
from tests.runs.written import journal_of
from tests.support.command import call


def numbered(number: int) -> Response:
    return Response(request=f"{number:032x}", outcome="answered", text=f"It is {'ABCD'[number % 4]}. " * 5)


def written(folder: Path, parts: int = 3, rows: int = 4) -> list[Response]:
    responses = [numbered(number) for number in range(parts * rows)]
    journal_of(folder, *responses, rows_a_segment=rows).close()
    return responses


def flip(path: Path, place: int) -> bytes:
    whole = path.read_bytes()
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
    return whole


def test_a_flipped_bit_in_a_sealed_part_is_found_wherever_it_is(tmp_path: Path) -> None:
    responses = written(tmp_path)
    path = sealed(tmp_path, PartName(2))
    size = path.stat().st_size
    for place in range(0, size - 60, max(1, size // 50)):
        whole = flip(path, place)
        with pytest.warns(DamagedWarning, match=r"000002\.parquet is damaged: .*the next run asks it again"):
            assert list(read_responses(tmp_path)) == responses[:4] + responses[8:]
        with pytest.warns(DamagedWarning, match=r"000002\.parquet"):
            assert responses_frame(tmp_path).collect().height == 8
        (told,) = stored_health(tmp_path).damaged
        assert str(path) in told
        path.write_bytes(whole)
    assert list(read_responses(tmp_path)) == responses


def test_a_damaged_line_costs_no_more_than_itself(tmp_path: Path) -> None:
    responses = [numbered(number) for number in range(5)]
    journal = journal_of(tmp_path, *responses)
    path = segment(tmp_path, PartName(1))
    line = len(path.read_bytes()) // 5
    for place in range(line + 1, 2 * line - 30, 7):
        whole = flip(path, place)
        with pytest.warns(DamagedWarning, match=r"000001\.jsonl is damaged: line 2 is not what was written"):
            assert list(read_responses(tmp_path)) == [responses[0], *responses[2:]]
        path.write_bytes(whole)
    journal.close()


def test_damaged_lines_are_kept_beside_what_is_sealed(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, *map(numbered, range(3)))
    path = segment(tmp_path, PartName(1))
    flip(path, len(path.read_bytes()) // 2)
    damaged = path.read_bytes()
    journal.close()
    assert path.with_suffix(".damaged").read_bytes() == damaged
    assert list(read_responses(tmp_path)) == [numbered(0), numbered(2)]
    assert stored_health(tmp_path).torn == 1
    Journal(tmp_path).close()
    assert path.with_suffix(".damaged").exists()


def test_a_line_whose_checksum_went_missing_is_not_taken_for_an_old_one(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, *map(numbered, range(3)))
    path = segment(tmp_path, PartName(1))
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first[:-19].replace(b"It is A", b"It is B") + b"}\n" + b"".join(rest))
    found = read_segment(path)
    assert (found.responses, found.torn, found.damaged) == ([numbered(1), numbered(2)], 0, [1])
    journal.close()


def test_a_damaged_part_whose_lines_are_still_there_is_made_again(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, *map(numbered, range(4)))
    lines = segment(tmp_path, PartName(1)).read_bytes()
    journal.close()
    segment(tmp_path, PartName(1)).write_bytes(lines)
    flip(sealed(tmp_path, PartName(1)), 40)
    assert list(read_responses(tmp_path)) == [numbered(number) for number in range(4)]
    Journal(tmp_path).close()
    assert not segment(tmp_path, PartName(1)).exists()
    assert stored_health(tmp_path).damaged == []
    assert list(read_responses(tmp_path)) == [numbered(number) for number in range(4)]


@pytest.mark.parametrize("what", ["a pipe", "a link out", "a folder", "nothing"])
def test_a_part_that_is_no_file_of_the_run_is_named_and_left_out(tmp_path: Path, what: str) -> None:
    run = tmp_path / "r"
    run.mkdir()
    responses = written(run)
    path = sealed(run, PartName(2))
    path.rename(tmp_path / "outside.parquet")
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a link out":
        path.symlink_to(tmp_path / "outside.parquet")
    elif what == "a folder":
        path.mkdir()
    if what == "nothing":
        assert list(read_responses(run)) == responses[:4] + responses[8:]
        return
    with pytest.warns(DamagedWarning, match=r"000002\.parquet is a"):
        assert list(read_responses(run)) == responses[:4] + responses[8:]


def test_a_run_asks_again_only_what_is_lost(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", 12)
    models = parse_models(["m=scripted:right=1"])
    asking = Asking(limits=Limits(calls=5))
    session = Session(bench, models, asking)
    session.run(tmp_path / "r")
    Session(bench, models, Asking()).run(tmp_path / "r")
    assert len(list(read_responses(tmp_path / "r"))) == 12
    oldest = sealed(tmp_path / "r", part_names(tmp_path / "r")[0])
    first = pq.read_metadata(oldest).num_rows
    assert 0 < first < 12
    flip(oldest, 30)
    state = json.loads(call("show", tmp_path / "r", "--output", "json").out)
    assert [told for told in state["damaged"] if f"{oldest.name} is damaged" in told]
    told = call("show", tmp_path / "r").fine()
    assert told.count(f"{oldest.name} is damaged") == 1
    assert f"{first}" in told
    with pytest.warns(DamagedWarning):
        progress = Session(bench, models, Asking()).run(tmp_path / "r")
    assert progress.to_ask == first
    with pytest.warns(DamagedWarning):
        assert len({row.request for row in read_responses(tmp_path / "r")}) == 12


def test_a_damaged_plan_is_made_again_and_costs_no_answer(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", 6)
    models = parse_models(["m=scripted:right=1"])
    Session(bench, models, Asking()).run(tmp_path / "r")
    plan = tmp_path / "r/plan.parquet"
    for place in range(0, plan.stat().st_size - 60, 97):
        whole = flip(plan, place)
        with pytest.raises(InputError, match=r"plan\.parquet is damaged: .*answers are kept"):
            Run(tmp_path / "r").plan()
        with pytest.raises(InputError, match=r"plan\.parquet is damaged"):
            Session(bench, models, Asking()).run(tmp_path / "r")
        plan.write_bytes(whole)
    flip(plan, 40)
    plan.rename(tmp_path / "aside")
    assert Session(bench, models, Asking()).run(tmp_path / "r").to_ask == 0
    assert len(Run(tmp_path / "r").plan()) == 6
