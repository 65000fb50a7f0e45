import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from eyetest import __version__
from eyetest.benchmarks import Benchmark, BenchmarkWriter, export_benchmark
from eyetest.records import Item, Manifest
from tests.support.command import run
from tests.support.drawn import draw_benchmark


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    drawn = draw_benchmark(tmp_path / "demo/drawn", items=48)
    for name, place in (("vlmevalkit", "drawn-vlmevalkit.tsv"), ("jsonl", "drawn-jsonl")):
        export_benchmark(drawn, name, tmp_path / "demo/exports" / place)
    return tmp_path


def test_show_a_benchmark_and_an_item(demo: Path) -> None:
    done = run("show", "demo/drawn", cwd=demo)
    assert "48 items (42 choice, 6 text), 71 pictures" in done.stdout
    item = run("show", "demo/exports/drawn-vlmevalkit.tsv", "0", cwd=demo).stdout
    assert "How many" in item
    assert item.count("✔") == 1
    as_json = json.loads(run("show", "demo/drawn", "4", "--json", cwd=demo).stdout)
    assert as_json["question"] == "What does the sign say?"
    assert json.loads(run("show", "demo/drawn", "--json", cwd=demo).stdout)["counts"]["items"] == 48


def test_import_and_export_by_hand(demo: Path) -> None:
    done = run("import", "demo/exports/drawn-jsonl", "--to", "mine", "--name", "mine", "--licence", "CC0", cwd=demo)
    assert done.stdout == "mine: 48 items (42 choice, 6 text), 71 pictures → mine\n"
    assert Benchmark(demo / "mine").manifest.licence == "CC0"
    done = run("export", "mine", "--format", "vlmevalkit", "--to", "new/mine.tsv", cwd=demo)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "48 items as vlmevalkit → new/mine.tsv\n"
    assert (demo / "new/mine.tsv").read_bytes().startswith(b'"index"\t"image"\t"question"')


def test_a_dataset_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b\x1b]0;title\x07")) as writer:
        writer.add(
            Item(
                id="1\x1b[2J",
                question="\x1b[31mred\x9b5m\u202egnp",
                references=("[red]x[/red]",),
                tags={"\x1b[2J": "\x1b"},
            )
        )
    for arguments in (["show", "b"], ["show", "b", "1\x1b[2J"], ["show", "b", "nope"]):
        done = run(*arguments, cwd=tmp_path)
        assert not set("\x1b\x9b\x07\u202e") & set(done.stdout + done.stderr)
    assert "[red]x[/red]" in run("show", "b", "1\x1b[2J", cwd=tmp_path).stdout


def test_pictures_are_drawn_where_somebody_watches(demo: Path) -> None:
    command = [sys.executable, "-c", "from eyetest.cli import main; main()", "show", "demo/drawn", "1"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, cwd=demo, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(ours)
    assert process.wait() == 0
    assert seen.decode().count("▀") > 500


def test_help_and_version(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).stdout == f"eyetest {__version__}\n"
    assert {"import", "export", "show", "demo"} <= set(run("--help", cwd=tmp_path).stdout.split())
    for command in ("import", "export", "show", "demo"):
        assert run(command, "--help", cwd=tmp_path).returncode == 0
