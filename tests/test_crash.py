"""Killed at any moment, an import leaves the old folder or the new one, whole."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, export_benchmark, import_benchmark
from eyetest.store import replacing_folder
from tests.runs.written import content
from tests.strategies import write
from tests.support.command import MAIN
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.journey


def large_tsv(path: Path, items: int) -> Path:
    export_benchmark(draw_benchmark(path.parent / "drawn", items=items), "vlmevalkit", path)
    return path


def start(source: Path, to: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*MAIN, "import", str(source), "--to", str(to), "--overwrite"])


def is_whole(folder: Path, items: int) -> bool:
    benchmark = Benchmark(folder)
    found = list(benchmark)
    for item in found:
        for image in item.images:
            benchmark.images.read(image)
    return len(found) == len(benchmark) == items


@pytest.mark.parametrize("before", [False, True], ids=["nothing there", "an older one there"])
def test_kill_9_during_import(tmp_path: Path, before: bool) -> None:
    source = large_tsv(tmp_path / "source.tsv", 120)
    target = tmp_path / "out" / "b"
    if before:
        write(target, [("old", {"question": "a", "references": ("b",)}, [0])])
    started = time.perf_counter()
    assert start(source, tmp_path / "whole").wait() == 0
    whole = time.perf_counter() - started
    seen = set()
    for part in range(1, 13):  # the earliest first, as the measured time may be too long
        process = start(source, target)
        time.sleep(part / 12 * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not target.exists():
            assert not before
            seen.add("absent")
        elif is_whole(target, 120):
            seen.add("new")
        else:
            assert is_whole(target, 1)
            seen.add("old")
        if "new" in seen:
            break
    assert seen & {"absent", "old"}
    assert start(source, target).wait() == 0
    assert is_whole(target, 120)
    assert [p.name for p in target.parent.iterdir()] == ["b"], "what killed writers left is swept"


def test_a_living_writer_is_not_swept(tmp_path: Path) -> None:
    with replacing_folder(tmp_path / "b") as first:
        (first / "file").write_text("first")
        with replacing_folder(tmp_path / "b") as second:
            (second / "file").write_text("second")
        assert (first / "file").read_text() == "first"
        assert (tmp_path / "b/file").read_text() == "second"
    assert (tmp_path / "b/file").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_reader_never_finds_nothing_while_a_folder_is_replaced(tmp_path: Path) -> None:
    one = [("1", {"question": "a", "references": ("b",)}, [0])]
    write(tmp_path / "b", one)
    stop = threading.Event()
    missing = []

    def look() -> None:
        while not stop.is_set():
            if not (tmp_path / "b/benchmark.json").exists():
                missing.append(1)

    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(20):
        with replacing_folder(tmp_path / "b") as new:
            (new / "benchmark.json").write_text(str(number))
    stop.set()
    watcher.join()
    assert not missing
    assert (tmp_path / "b/benchmark.json").read_text() == "19"


def test_interrupting_leaves_nothing(tmp_path: Path) -> None:
    source = large_tsv(tmp_path / "source.tsv", 240)
    process = start(source, tmp_path / "out" / "b")
    deadline = time.perf_counter() + 30
    while not list(tmp_path.glob("out/.b.partial-*/content")) and time.perf_counter() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait() in (1, 130)
    assert not (tmp_path / "out").exists()


def test_importing_twice_gives_the_same_folder(tmp_path: Path) -> None:
    source = large_tsv(tmp_path / "source.tsv", 16)
    for name in ("first", "second"):
        import_benchmark(source, tmp_path / name)
    assert content(tmp_path / "first") == content(tmp_path / "second") != {}
