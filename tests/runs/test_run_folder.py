"""The run folder: one writer, any number of readers, a plan of which rows are replaced, damage in one line."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.records import Asked, ModelEntry, Planned, Response, RunBenchmark, RunStep, columns
from eyetest.runs import Run, RunWriter
from eyetest.runs.stored import PLAN, plan_table, planning
from eyetest.store import write_json
from tests.running.benches import make_bench
from tests.runs.written import jsonl
from tests.support.command import call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with RunWriter(tmp_path / "run") as run:
        with run.planning() as plan:
            plan.add(Asked(item="1", model="m"), "aa")
            plan.add(Asked(item="2", model="m"), "bb")
        run.record(RunStep(what="run", seed=7), {"m": ModelEntry(spec="scripted:x")}, RunBenchmark(name="b", items=2))
        run.journal.append(Response(request="aa", outcome="answered", text="B"))
    return tmp_path / "run"


def test_what_was_written_is_read(folder: Path) -> None:
    run = Run(folder)
    assert (run.manifest.steps[0].seed, run.manifest.steps[0].what) == (7, "run")
    assert run.manifest.steps[0].time
    assert run.manifest.models["m"].spec == "scripted:x"
    assert len(run.plan()) == 2
    assert run.responses().column("text").to_pylist() == ["B"]
    assert dict(run.errors().iter_rows()) == {"aa": ""}
    assert run.writer is None
    assert run.health.torn == 0


def test_steps_and_models_are_added_to(folder: Path) -> None:
    with RunWriter(folder) as run:
        run.record(RunStep(what="more"), {"n": ModelEntry(spec="scripted:y")})
        run.amend(saved=3)
    manifest = Run(folder).manifest
    assert [step.what for step in manifest.steps] == ["run", "more"]
    assert [step.saved for step in manifest.steps] == [0, 3]
    assert list(manifest.models) == ["m", "n"]
    assert manifest.benchmark == RunBenchmark(name="b", items=2)


DAMAGE: dict[str, bytes] = {
    "empty": b"",
    "cut": b'{"benchmark": {"name": "b"',
    "not UTF-8": b'{"benchmark": {"name": "\xff"}}',
    "no object": b"[]",
    "of another version": b'{"run_version": 1, "colour": "red"}',
    "wrong type": b'{"steps": [{"what": 7}]}',
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("command", ["run", "show", "export", "import"])
def test_a_damaged_manifest_is_one_line(folder: Path, kind: str, command: str) -> None:
    (folder / "run.json").write_bytes(DAMAGE[kind])
    table = jsonl(folder.parent / "a.jsonl", {"item": "1", "model": "m", "text": "A"})
    arguments: dict[str, tuple[object, ...]] = {
        "run": (make_bench(folder.parent / "b", 2).path, "--model", "scripted:", "--to", folder),
        "show": (folder,),
        "export": (folder, "--to", folder.parent / "out.csv"),
        "import": (table, "--to", folder),
    }
    assert "run.json is damaged: " in call(command, *arguments[command]).refused()
    assert (folder / "run.json").read_bytes() == DAMAGE[kind]


def test_a_run_of_a_newer_version_is_refused(folder: Path) -> None:
    """What a later eyetest wrote may mean something else."""
    write_json(folder / "run.json", msgspec.structs.replace(Run(folder).manifest, run_version=99))
    for kind in (Run, RunWriter):
        with pytest.raises(InputError, match="was written by a newer eyetest"):
            kind(folder)


def test_a_second_writer_is_refused_and_told_who_writes(folder: Path) -> None:
    with RunWriter(folder):
        with (
            pytest.raises(InputError, match=f"is being written by process {os.getpid()}; wait for it, or stop"),
            RunWriter(folder),
        ):
            pytest.fail("two writers")
        assert Run(folder).writer == os.getpid()
    assert Run(folder).writer is None
    with RunWriter(folder):
        pass


def test_a_killed_writer_holds_no_lock_and_loses_no_line(folder: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from eyetest.records import Response\n"
        "from eyetest.runs import RunWriter\n"
        "with RunWriter(Path(sys.argv[1])) as run:\n"
        "    run.journal.append(Response(request='bb', outcome='answered', text='C'))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], check=False, timeout=60)
    assert done.returncode == -9
    assert Run(folder).writer is None
    assert sorted(Run(folder).responses().column("text").to_pylist()) == ["B", "C"]
    with RunWriter(folder):
        pass
    assert list((folder / "journal").iterdir()) == []
    assert sorted(Run(folder).responses().column("text").to_pylist()) == ["B", "C"]


def write(folder: Path, *rows: tuple[Asked, str]) -> None:
    with planning(folder) as plan:
        for asked, request in rows:
            plan.add(asked, request)


def asked(item: str, **values: object) -> Asked:
    return Asked(item=item, model="m", **values)  # type: ignore[arg-type]


def planned(folder: Path) -> list[Planned]:
    return [Planned(**row) for row in plan_table(folder).to_pylist()]


def requests(folder: Path) -> dict[tuple[str, str, int], str]:
    return {(row.item, row.modality, row.sample): row.request for row in planned(folder)}


def fail(folder: Path) -> None:
    with planning(folder) as plan:
        plan.add(asked("2"), "bb")
        raise KeyError


def test_rows_come_back_whole_and_in_order(tmp_path: Path) -> None:
    first = Asked(
        item="1\n\u2028é𝜋",
        model="m",
        modality="caption",
        ask="cot",
        shots="two",
        template=3,
        order=2**62,
        letters="digit",
    )
    second = Asked(item="1", model="", method="likelihood", sample=9)
    write(tmp_path, (first, "aa"), (second, "bb"))
    rows = planned(tmp_path)
    names = columns(Asked)
    assert [[getattr(row, name) for name in names] for row in rows] == [
        [getattr(row, name) for name in names] for row in (first, second)
    ]
    assert [row.request for row in rows] == ["aa", "bb"]


def test_a_row_is_replaced_by_its_whole_key(tmp_path: Path) -> None:
    rows = [
        (asked("1"), "aa"),
        (asked("1", modality="no-image"), "bb"),
        (asked("1", sample=1), "cc"),
        (asked("2"), "dd"),
    ]
    write(tmp_path, *rows)
    write(tmp_path, (asked("1", modality="no-image"), "new"), (asked("3"), "ee"))
    assert requests(tmp_path) == {
        ("1", "image", 0): "aa",
        ("1", "no-image", 0): "new",
        ("1", "image", 1): "cc",
        ("2", "image", 0): "dd",
        ("3", "image", 0): "ee",
    }
    assert len(plan_table(tmp_path)) == 5


def test_a_failed_writer_leaves_the_old_plan(tmp_path: Path) -> None:
    write(tmp_path, (asked("1"), "aa"))
    before = (tmp_path / PLAN).read_bytes()
    with pytest.raises(KeyError):
        fail(tmp_path)
    assert (tmp_path / PLAN).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [PLAN]
