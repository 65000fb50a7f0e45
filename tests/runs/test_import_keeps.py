"""What a run has stays: through a second import, another model's import, a refused one and a killed one."""

import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from eyetest.errors import DamagedWarning
from eyetest.records import Asked, Response, RunStep
from eyetest.runs import Run, RunWriter, read_responses
from tests.runs.written import API_FAILURE, answers, content, jsonl, texts
from tests.support.command import MAIN, call

FIRST = [{"item": str(n), "model": "cat", "text": f"cat {n}"} for n in range(5)]
SECOND = [{"item": str(n), "model": "dog", "text": f"dog {n}"} for n in range(3)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that holds five answers of one model."""
    call("import", jsonl(tmp_path / "first.jsonl", *FIRST), "--to", tmp_path / "run").fine()
    return tmp_path / "run"


def said(run: Path) -> dict[tuple[str, str], str | None]:
    return {(answer.model, answer.item): answer.text for answer in answers(run)}


def test_another_models_answers_stay(tmp_path: Path, run: Path) -> None:
    before = said(run)
    call("import", jsonl(tmp_path / "second.jsonl", *SECOND), "--to", run).fine()
    assert said(run) == before | {("dog", str(n)): f"dog {n}" for n in range(3)}
    assert list(Run(run).manifest.models) == ["cat", "dog"]
    assert [step.planned for step in Run(run).manifest.steps] == [5, 3]
    middle = content(run)
    call("import", tmp_path / "first.jsonl", "--to", run).fine()
    assert content(run) == middle


def test_a_different_answer_is_refused_until_told(tmp_path: Path, run: Path) -> None:
    before = content(run)
    changed = jsonl(tmp_path / "c.jsonl", FIRST[0], FIRST[1], *({**row, "text": "new"} for row in FIRST[2:4]))
    line = call("import", changed, "--to", run).refused()
    assert "c.jsonl line 3:" in line
    assert "holds another answer to this already (2 such rows); add --overwrite" in line
    assert content(run) == before
    told = call("import", changed, "--to", run, "--overwrite").fine()
    assert "2 of them replaced other answers" in told
    assert texts(run) == {"0": "cat 0", "1": "cat 1", "2": "new", "3": "new", "4": "cat 4"}
    assert len(list(read_responses(run))) == 7, "the older answers are still stored"


def test_a_failure_gives_way_and_takes_nothing(tmp_path: Path, run: Path) -> None:
    failed = jsonl(tmp_path / "f.jsonl", {"item": "9", "model": "cat", "text": API_FAILURE})
    call("import", failed, "--to", run).fine()
    better = jsonl(tmp_path / "b.jsonl", {"item": "9", "model": "cat", "text": "at last"})
    call("import", better, "--to", run).fine()
    assert texts(run)["9"] == "at last"
    before = content(run)
    assert "holds another answer" in call("import", failed, "--to", run).refused()
    assert content(run) == before


def test_what_a_run_asked_itself_is_compared_by_its_key(tmp_path: Path) -> None:
    """A call of our own has another id than an import of the same answer; it is the same answer all the same."""
    with RunWriter(tmp_path / "run") as writer:
        with writer.planning() as plan:
            plan.add(Asked(item="0", model="cat"), "aa")
            plan.add(Asked(item="1", model="cat"), "bb")
            plan.add(Asked(item="2", model="cat"), "aa")
            plan.add(Asked(item="3", model="cat"), "cc")
        for request in ("aa", "bb"):
            writer.journal.append(Response(request=request, outcome="answered", text="mine"))
        writer.record(_step(), {})
    mine = jsonl(tmp_path / "m.jsonl", *({"item": n, "model": "cat", "text": "mine"} for n in (0, 2)))
    before = content(tmp_path / "run")
    assert "2 of them were there already" in call("import", mine, "--to", tmp_path / "run").fine()
    assert content(tmp_path / "run") == before
    rest = jsonl(tmp_path / "r.jsonl", *({"item": n, "model": "cat", "text": "theirs"} for n in (3, 1)))
    assert "r.jsonl line 2: " in call("import", rest, "--to", tmp_path / "run").refused()
    call("import", rest, "--to", tmp_path / "run", "--overwrite").fine()
    assert texts(tmp_path / "run") == {"0": "mine", "2": "mine", "3": "theirs", "1": "theirs"}


def _step() -> RunStep:
    return RunStep(what="run")


def test_a_late_mistake_costs_a_run_nothing(tmp_path: Path, run: Path) -> None:
    """More rows than any batch before the bad one, and answers that would replace older ones."""
    rows = [{"item": str(n), "model": "cat", "text": "other"} for n in range(45_000)]
    bad = jsonl(tmp_path / "bad.jsonl", *rows, rows[7])
    before = content(run)
    line = call("import", bad, "--to", run, "--overwrite").refused()
    assert (
        "bad.jsonl line 45001: item '7' was answered by 'cat' under the same condition in bad.jsonl line 8 already"
        in line
    )
    assert content(run) == before
    assert [answer.text for answer in answers(run)] == [row["text"] for row in FIRST]


def test_answers_to_another_benchmark_stay_apart(tmp_path: Path) -> None:
    def bench(name: str, question: str) -> Path:
        item = {"id": "0", "question": question, "options": ["a", "b"], "answer": "A"}
        return jsonl(tmp_path / f"{name}.jsonl", item)

    path, run = jsonl(tmp_path / "first.jsonl", FIRST[0]), tmp_path / "run"
    call("import", path, "--to", run, "--bench", bench("one", "What?")).fine()
    before = content(run)
    done = call("import", path, "--to", run, "--bench", bench("two", "Who?"))
    assert "holds answers to another benchmark" in done.refused()
    assert content(run) == before
    call("import", path, "--to", run, "--bench", bench("one", "What?")).fine()
    assert content(run) == before


def test_answers_that_were_damaged_come_back_with_their_file(tmp_path: Path, run: Path) -> None:
    before = answers(run)
    part = run / "responses/000001.parquet"
    part.write_bytes(part.read_bytes()[:-30])
    refused = call("export", run, "--to", tmp_path / "out.csv")
    assert refused.code == 2
    assert "000001.parquet is damaged" in refused.err.splitlines()[-1]
    assert not (tmp_path / "out.csv").exists()
    told = call("import", jsonl(tmp_path / "again.jsonl", *FIRST), "--to", run).fine()
    assert "000001.parquet is damaged" in told
    with pytest.warns(DamagedWarning, match=r"000001\.parquet is damaged"):
        assert answers(run) == before


MANY = 25_000


def start(source: Path, run: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([*MAIN, "import", source, "--to", run], stdout=subprocess.DEVNULL)


def wait_until_it_reads(process: "subprocess.Popen[bytes]", source: Path) -> None:
    """Wait until the file is open, which it is for longer than anything else takes."""
    deadline = time.perf_counter() + 60
    while process.poll() is None and time.perf_counter() < deadline:
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(OSError):
                if link.readlink() == source:
                    return
        time.sleep(0.002)


@pytest.mark.parametrize("moment", ["reading", "responses", "plan", "manifest"])
def test_kill_9_in_the_middle(tmp_path: Path, run: Path, moment: str) -> None:
    """Whenever it comes: what the run had is there, and importing again gives the whole."""
    source = tmp_path / "many.jsonl"
    source.write_text("".join(f'{{"item": "{n}", "model": "dog", "text": "dog {n}"}}\n' for n in range(MANY)))
    before = answers(run)
    process = start(source, run)
    pattern = {
        "responses": "responses/.*.partial-*",
        "plan": ".plan.parquet.partial-*/*",
        "manifest": "responses/000002.parquet",
    }
    deadline = time.perf_counter() + 60
    if moment == "reading":
        wait_until_it_reads(process, source)
    else:
        while not list(run.glob(pattern[moment])) and process.poll() is None and time.perf_counter() < deadline:
            time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it was killed, and not done before"
    assert [answer for answer in answers(run) if answer.model == "cat"] == before
    assert len(answers(run)) in (5, 5 + MANY)
    assert start(source, run).wait() == 0
    found = answers(run)
    assert len(found) == 5 + MANY
    assert [answer for answer in found if answer.model == "cat"] == before
    assert {answer.text for answer in found if answer.model == "dog"} == {f"dog {n}" for n in range(MANY)}
    left = [path for path in run.rglob(".*.partial-*/*") if path.name != "lock"]  # of a part that is there already
    assert not left, "what the killed writer left is swept"


def test_a_first_import_is_not_seen_before_it_is_whole(tmp_path: Path) -> None:
    """Reading takes longest; killed there, it leaves no folder and no file."""
    source = tmp_path / "many.jsonl"
    source.write_text("".join(f'{{"item": "{n}", "model": "dog", "text": "dog {n}"}}\n' for n in range(MANY)))
    process = start(source, tmp_path / "run")
    wait_until_it_reads(process, source)
    time.sleep(0.05)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["many.jsonl"]
    assert start(source, tmp_path / "run").wait() == 0
    assert len(answers(tmp_path / "run")) == MANY


def test_two_imports_at_once_lose_nothing(tmp_path: Path) -> None:
    """One of them may be told to wait; what it was told to be in is in."""
    run = tmp_path / "run"
    codes: dict[str, int] = {}

    def bring(name: str) -> None:
        path = jsonl(tmp_path / f"{name}.jsonl", *({"item": n, "model": name, "text": "A"} for n in range(400)))
        codes[name] = start(path, run).wait()

    threads = [threading.Thread(target=bring, args=(name,)) for name in ("cat", "dog")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes.values()) <= {0, 2}
    assert 0 in codes.values()
    found = [answer.model for answer in answers(run)]
    assert {name: found.count(name) for name, code in codes.items() if code == 0} == {
        name: 400 for name, code in codes.items() if code == 0
    }
