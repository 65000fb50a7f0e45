"""Several processes on one folder: one writes, the others say so in one line, and nothing is lost or doubled."""

import threading
from collections import Counter
from pathlib import Path

from eyetest.benchmarks import export_benchmark
from eyetest.studio.project import ReviewProject
from tests.endpoint import Endpoint
from tests.running.benches import answers, keys_in, make_bench, read_scores, stored
from tests.running.processes import Command, Nursery, until
from tests.runs.written import content

ITEMS, AT_ONCE = 40, 4


def endings(commands: list[Command]) -> list[str]:
    """How each command ended: in nothing, or in its one line."""
    lines = []
    for command in commands:
        command.wait()
        errors = [line for line in command.stderr.splitlines() if line.startswith("error: ")]
        assert (command.code, len(errors)) in ((0, 0), (2, 1)), command.stderr
        lines.append("".join(errors))
    return lines


def test_a_second_run_says_who_is_writing(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", ITEMS)
    endpoint.gate = threading.Event()
    command = ("run", "b", "--models", endpoint.models(), "--to", "r")
    first = nursery.start(*command)
    until(lambda: endpoint.in_flight, "a call")
    for words in (command, ("import", "answers.csv", "--to", "r", "--bench", "b")):
        (tmp_path / "answers.csv").write_text("item,model,text\nq1,other,A\n")
        second = nursery.run(*words)
        assert second.code == 2
        expected = f"is being written by process {first.pid}; wait for it, or stop it"
        assert [expected in line for line in second.stderr.splitlines() if "error: " in line] == [True]
    endpoint.gate.set()
    first.fine()
    assert len(answers(tmp_path / "r")) == ITEMS
    assert set(endpoint.sent.values()) == {1}


def test_runs_that_start_together_ask_everything_once(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", ITEMS)
    endpoint.latency = 0.01
    command = ("run", "b", "--models", endpoint.models(), "--to", "r")
    lines = endings([nursery.start(*command) for _ in range(AT_ONCE)])
    assert "" in lines
    assert all("is being written by process" in line for line in lines if line)
    rows = stored(tmp_path / "r")
    assert len(rows) == len({row.request for row in rows}) == ITEMS
    assert set(Counter(keys_in(rows)).values()) == set(endpoint.sent.values()) == {1}


def test_scores_are_whole_however_many_score(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", ITEMS)
    nursery.run("run", "b", "--model", "m=scripted:right=0.5", "--to", "r").fine()
    for command in [nursery.start("score", "r") for _ in range(AT_ONCE)]:
        command.fine()
    assert len(read_scores(tmp_path / "r")) == ITEMS
    assert sorted(path.name for path in (tmp_path / "r/scores").iterdir()) == ["chosen.json", "eyetest.parquet"]


def test_one_of_several_imports_and_merges_gets_the_name(tmp_path: Path, nursery: Nursery) -> None:
    export_benchmark(make_bench(tmp_path / "b", ITEMS), "vlmevalkit", tmp_path / "table.tsv")
    for name in ("one", "two"):
        nursery.run("run", "b", "--model", f"{name}=scripted:right=0.5", "--to", name).fine()
    for target, words in (("imported", ("import", "table.tsv")), ("merged", ("merge", "one", "two"))):
        nursery.run(*words, "--to", f"alone-{target}").fine()
        lines = endings([nursery.start(*words, "--to", target) for _ in range(AT_ONCE)])
        assert lines.count("") == 1
        assert all("already there" in line or "by another process" in line for line in lines if line), lines
        assert len(content(tmp_path / target)) == len(content(tmp_path / f"alone-{target}"))
    assert not list(tmp_path.glob(".*.partial-*"))


def test_a_review_that_two_begin_is_one_review(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", ITEMS)
    words = ("review", "b", "--items", "all", "--address", "none", "--to", "review")
    lines = endings([nursery.start(*words) for _ in range(2)])
    assert "" in lines
    assert all("by another process" in line or "holds a review already" in line for line in lines if line), lines
    with ReviewProject.open(tmp_path / "review") as project:
        assert len(project.ids()) == ITEMS
