"""``eyetest open``: what it takes, what it refuses, and that Ctrl-C ends it."""

import re
import signal
import subprocess
import urllib.request
from contextlib import chdir
from pathlib import Path

import pytest

from tests.studio.collection.conftest import make_bench
from tests.support.command import MAIN, call


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bench(tmp_path_factory.mktemp("open") / "bench").path


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("nowhere",), "nowhere"),
        (("BENCH", "--no-golds"), "--bundle"),
        (("BENCH", "--bundle", "copy", "--address", "80"), "--bundle copy serves nothing"),
        (("BENCH", "--address", "no such host"), "--address: this machine has no name or address 'no such host'"),
        (("BENCH", "--address", "localhost:65536"), "expected HOST:PORT"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(bench: Path, tmp_path: Path, words: tuple[str, ...], reported: str) -> None:
    with chdir(tmp_path):
        assert reported in call("open", *(bench if word == "BENCH" else word for word in words)).refused()
    assert not list(tmp_path.iterdir())


def test_it_serves_until_it_is_interrupted(bench: Path) -> None:
    command = [*MAIN, "open", str(bench), "--address", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            served = re.fullmatch(
                r"note: serving (http://127\.0\.0\.1:\d+/) until Ctrl-C\n", process.stderr.readline()
            )
            assert served
            address = served[1]
            with urllib.request.urlopen(f"{address}?gold=B", timeout=30) as answer:
                assert "2 of 6 items" in answer.read().decode()
            process.send_signal(signal.SIGINT)
            _, reported = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in reported
