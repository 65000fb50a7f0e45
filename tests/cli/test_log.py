"""The log: what was done and what went wrong, where it was asked for, and never a key."""

import re
from pathlib import Path

import pytest

from eyetest.benchmarks import opening
from eyetest.version import __version__
from tests.endpoint import Endpoint, failure
from tests.running.benches import make_bench
from tests.support.command import call

KEY = "sk-proj-4f9d8c7b6a5e4d3c2b1a"


@pytest.fixture
def here(workdir: Path) -> Path:
    (workdir / "b.jsonl").write_text('{"id": 1, "question": "Which?", "options": ["a", "b"], "answer": "A"}\n')
    return workdir


def test_a_log_says_what_was_read_as_what_and_how_long_it_took(here: Path) -> None:
    logged = call("--log", "log.txt", "show", "b.jsonl")
    assert logged == call("show", "b.jsonl"), "a log changes nothing that is shown"
    assert call("--log", "log.txt", "show", "b.jsonl", "--limit", "x").code == 2
    log = (here / "log.txt").read_text()
    assert "b.jsonl' was read as jsonl, columns as {'id': 'id'" in log
    assert re.search(r"over after \d+\.\d\d s .*: eyetest show with what\n", log)
    assert log.count(f"eyetest {__version__}") == 2, "it grows"


def test_every_failure_is_in_the_log_with_its_reason_and_no_key(
    here: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYETEST_API_KEY", KEY)
    monkeypatch.setenv("EYETEST_LOG", "log.txt")
    make_bench(here / "b", 2)
    endpoint.rule = lambda attempt: failure(500, f"no room for {KEY}") if attempt.number == 1 else None
    call("run", "b", "--models", endpoint.models(backoff=0.01), "--to", "r").fine()
    log = (here / "log.txt").read_text()
    assert len(re.findall(r"m, item \S+, attempt 1: server: 500: no room for \[key\]", log)) == 2
    assert "plan: 2 calls to make, 0 answered before" in log
    assert KEY not in log


def test_a_fault_of_ours_has_its_traceback_above_or_in_the_log(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError(f"odd {KEY}")

    monkeypatch.setattr(opening, "_import", fail)
    monkeypatch.setenv("EYETEST_API_KEY", KEY)
    for words, place in (((), "above"), (("--log", "log.txt"), "in the log")):
        done = call(*words, "show", "b.jsonl")
        assert (done.code, done.out) == (1, "")
        reported = r"error: a fault in eyetest, not in your files: ValueError: odd \[key\] \(test_log\.py:\d+\); "
        assert re.search(rf"{reported}the traceback is {place}; please report it\n$", done.err)
        trace = (here / "log.txt").read_text() if words else done.err
        assert "Traceback (most recent call last)" in trace
        assert KEY not in trace + done.err
    assert "begins: reading b.jsonl" in trace
    assert done.err.count("\n") == 1
