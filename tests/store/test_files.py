"""Files of this disk: without the calls of POSIX, flushed on macOS, and texts of ours told from edited ones."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.records import Item, Manifest
from eyetest.store import files, read_json, write_json
from eyetest.store.files import is_as_written, signed
from tests.conftest import ROOT

ONLY_POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "posix", "syslog"}
STORAGE = ("runs/test_writers.py", "runs/test_journal.py", "runs/test_run_folder.py", "running/test_killing.py")


def test_no_module_imports_what_only_posix_has() -> None:
    found = set()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
                found |= {(path.name, name) for name in names if name in ONLY_POSIX}
    assert found == {("files.py", "fcntl")}


@pytest.mark.journey
def test_writing_killing_and_resuming_without_the_calls_of_posix() -> None:
    stand_in = str(ROOT / "tests" / "support" / "no_posix")
    without = ("-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow and not science")
    command = [sys.executable, "-m", "pytest", *without, *(f"tests/{name}" for name in STORAGE)]
    environment = {**os.environ, "PYTHONPATH": stand_in}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, " passed" in done.stdout) == (0, True), done.stdout[-3000:]


def test_macos_flushes_the_memory_of_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Mock(F_FULLFSYNC=51)
    monkeypatch.setattr(files, "fcntl", calls)
    monkeypatch.setattr(sys, "platform", "darwin")
    files._sync(7)
    calls.fcntl.assert_called_once_with(7, 51)


TEXT = "# A card\n\nwith ümlauts\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("card", "Card"),
        lambda text: text + "more\n",
        lambda text: "more\n" + text,
        lambda text: text.rpartition("<!--")[0],
        lambda text: text.replace("\n", "\r\n"),
    ],
)
def test_any_change_shows(tmp_path: Path, change: object) -> None:
    path = tmp_path / "README.md"
    assert not is_as_written(path), "there is none"
    path.write_bytes(signed(TEXT).encode())
    assert is_as_written(path)
    path.write_bytes(change(signed(TEXT)).encode())  # type: ignore[operator]
    assert not is_as_written(path)
    path.write_bytes(b"\xff")
    assert not is_as_written(path)


def test_a_benchmark_is_replaced_with_our_card_but_not_with_theirs(tmp_path: Path) -> None:
    def write(name: str) -> None:
        with BenchmarkWriter(tmp_path / "b", Manifest(name=name), overwrite=True) as writer:
            writer.add(Item(id="1", question="?", references=("1",)))

    write("first")
    readme = tmp_path / "b/README.md"
    readme.write_text(signed(TEXT))
    (tmp_path / "b/croissant.json").write_text("{}")
    write("second")
    assert not readme.exists()
    readme.write_text(TEXT)
    with pytest.raises(InputError, match=r"README\.md"):
        write("third")
    assert Benchmark(tmp_path / "b").manifest.name == "second"
    assert readme.read_text() == TEXT


class Manifested(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record, as a folder has one."""

    name: str
    items: int = 0


def test_a_record_is_read_as_it_was_written_in_whatever_layout(tmp_path: Path) -> None:
    path, record = tmp_path / "record.json", Manifested("ünit", 3)
    write_json(path, record)
    assert read_json(path, Manifested) == record
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7, sort_keys=True))
    assert read_json(path, Manifested) == record, "another program may have formatted it"
    path.write_text('{"name": "by hand"}')
    assert read_json(path, Manifested) == Manifested("by hand")


def test_every_flipped_bit_of_a_record_is_found_or_changes_nothing(tmp_path: Path) -> None:
    path, record = tmp_path / "record.json", Manifested("shapes", 1_000)
    write_json(path, record)
    whole = path.read_bytes()
    messages = []
    for place in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            value = read_json(path, Manifested)
        except InputError as error:
            messages.append(str(error))
            continue
        assert value == record, bytes(flipped)
    assert len(messages) > 4 * len(whole)
    assert all(message.startswith(f"{path} is damaged: ") for message in messages)
