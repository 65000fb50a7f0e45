"""Real harnesses with a scripted model on the same real items; every point between their score and ours explained."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import eyetest as et
from eyetest.errors import MissingExtraError
from eyetest.integrations.recording import Recorder
from eyetest.integrations.vlmevalkit import EyetestVLM
from tests.integrations.harnesses import reply
from tests.support.refusals import refusal

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-harnesses/bin/python"
ITEMS = 36


@pytest.fixture(scope="module")
def bench(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of PuzzleVQA that have their images: 36 of all kinds."""
    source, folder = shared / "data/puzzlevqa", tmp_path_factory.mktemp("puzzles")
    rows = [json.loads(line) for line in (source / "items.jsonl").read_text("utf-8").splitlines()]
    there = [row for row in rows if row["image"] and (source / row["image"]).is_file()]
    kept = there[:: len(there) // ITEMS][:ITEMS]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    et.import_file(folder / "items.jsonl", to=folder / "bench", images=source)
    return folder / "bench"


def carried_out(harness: str, bench: Path, out: Path) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.skip("other harnesses are in an environment of their own: make harnesses")
    script = Path(__file__).with_name("harnesses.py")
    out.mkdir(exist_ok=True)
    done = subprocess.run([PYTHON, script, harness, bench, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((out / "scores.json").read_text())
    return found


def ours(bench: Path) -> float:
    """The share of items whose scripted reply names the right letter, by the rules of eyetest."""
    hits = []
    for number, item in enumerate(et.open(bench)):
        letters = "ABCDEFGH"[: len(item.choices)]
        read = et.read_choice(reply(number, letters[item.gold[0]], letters), [choice.text for choice in item.choices])
        hits.append(read.index == item.gold[0])
    return sum(hits) / len(hits)


def explained(found: Any, theirs: float, mine: float, causes: frozenset[str] = frozenset()) -> None:
    """The causes add up to the gap, and each is one of reading: the items and replies are the same."""
    assert found.gap == pytest.approx(100 * (mine - theirs))
    assert sum(found.frame["points"]) == pytest.approx(found.gap)
    assert {*found.frame["cause"]} <= {"reading", "unread", *causes}, found.frame
    assert found.items["item"].n_unique() > 3
    assert abs(found.gap) > 5  # a strict parser misses answers, a lax one finds letters in other words


@pytest.mark.slow
def test_inspect_ai(bench: Path, tmp_path: Path) -> None:
    scores = carried_out("inspect", bench, tmp_path / "logs")
    assert scores["status"] == "success"
    assert scores["extraction"] == pytest.approx(ours(bench))
    assert scores["unread"] == pytest.approx(8 / 36)
    et.import_file(scores["log"], to=tmp_path / "run", bench=bench, map="given=match")
    found = et.reconcile(tmp_path / "run", tmp_path / "run", rules_a="given")
    explained(found, scores["match"], scores["extraction"])


@pytest.mark.slow
def test_lmms_eval(bench: Path, tmp_path: Path) -> None:
    scores = carried_out("lmms", bench, tmp_path / "out")
    found = et.reconcile(tmp_path / "out/samples.jsonl", tmp_path / "out/recorded/mybench/run")
    explained(found, scores["exact_match"], ours(bench))


@pytest.mark.slow
def test_vlmevalkit(bench: Path, tmp_path: Path) -> None:
    scores = carried_out("vlmevalkit", bench, tmp_path / "out")
    assert len({*scores.values()}) == 1  # a local model and an API that reply alike
    for kind in scores:
        (judged,) = (tmp_path / "out" / kind).glob("*_result.xlsx")
        found = et.reconcile(judged, tmp_path / f"out/{kind}/recorded/mybench/run")
        if kind == "Local":
            explained(found, scores[kind], ours(bench))
        else:  # its base class turns an empty reply into the notice of a failed call, which counts as wrong there
            answered = ITEMS - ITEMS // 9
            explained(found, scores[kind], ours(bench) * ITEMS / answered, frozenset({"errors"}))
            assert found.items.filter(cause="errors")["item"].n_unique() == ITEMS // 9


LISTED = "Which one?\nA. a cat\n(B) a dog\nC) a bird\nAnswer with the letter."


def test_what_is_recorded_becomes_a_benchmark_and_a_run(tmp_path: Path) -> None:
    recorder, image = Recorder(tmp_path / "r", "m"), Image.new("RGB", (4, 4), "red")
    asked = {
        "10": (LISTED, "B", "It is the dog, (B)."),
        "2": (LISTED, "a bird", "C"),
        "3": ("How many?", 4, "4"),
        "4": ("Name it.", ["a car", "an automobile"], "automobile"),
        "5": (LISTED, "b", "A"),
    }
    for item, (text, target, said) in asked.items():
        recorder.add("t/1", recorder.request("t/1", item, text, [image, "film.mp4"], target), said)
    recorder.add("t/1", recorder.request("t/1", "6", "How likely?", [], None), [-1.5, True])  # no words: stored only
    recorder.run("t/1")
    run = recorder.run("t/1")  # made anew
    items = et.open(run.path.parent / "benchmark")
    assert [item.id for item in items] == ["2", "3", "4", "5", "10"]
    assert [len(item.choices) for item in items] == [3, 0, 0, 3, 3]
    assert {len(item.images) for item in items} == {1}
    scores = et.score(run).frame
    found = et.measure("accuracy", run).frame
    assert len(scores)
    assert found["accuracy"].to_list() == [pytest.approx(0.8)], found


def test_a_kill_loses_no_reply_and_failed_calls_are_asked_again(tmp_path: Path) -> None:
    def asked(recorder: Recorder) -> list[Any]:
        requests = [recorder.request("t", "1", "Why?", (), "x"), recorder.request("t", "1", "Why?", (), "x")]
        return [(request, recorder.known("t", request)) for request in requests]

    first = Recorder(tmp_path, "m")
    (one, _), (two, _) = asked(first)
    first.add("t", one, "because")
    first.add("t", two, "Failed to obtain answer via API.")
    file = tmp_path / "t/requests.jsonl"
    file.write_bytes(file.read_bytes() + b'{"model":"m","item":"2","repl')  # cut off by a kill
    again = Recorder(tmp_path, "m")
    assert [reply for _, reply in asked(again)] == ["because", None]
    again.add("t", two, "for a reason")
    assert [json.loads(line)["reply"] for line in file.read_text().splitlines()][-1] == "for a reason"
    assert [reply for _, reply in asked(Recorder(tmp_path, "other"))] == [None, None]


def test_prompts_that_a_dataset_insists_on_are_recorded_with_their_rows(tmp_path: Path) -> None:
    class Data:
        force_use_dataset_prompt = True

        def dump_image(self, line: Any) -> None: ...

        def build_prompt(self, line: Any) -> list[dict[str, str]]:
            return [{"type": "text", "value": line["question"]}]

    class Inner:
        def generate(self, message: Any, dataset: str) -> str:
            return "C"

    data, model = Data(), EyetestVLM(Inner, to=tmp_path)
    model.set_dump_image(data.dump_image)
    for index in (7, 8):  # the same prompt of two rows
        assert model.generate(data.build_prompt({"index": index, "question": LISTED, "answer": "C"}), "d") == "C"
    assert [item.id for item in et.open(model.recorder.run("d").path.parent / "benchmark")] == ["7", "8"]


def test_one_process_records_a_task(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "m")
    (tmp_path / "t").mkdir()
    (tmp_path / "t/requests.jsonl").write_bytes(b'{"model":"m","it')  # killed in its first line
    recorder.add("t", recorder.request("t", "1", "Why?", ["https://example.org/1.png"]), "because")
    other = (
        "import sys, eyetest; from eyetest.integrations.recording import Recorder\n"
        "recorder = Recorder(sys.argv[1], 'm')\n"
        "request = recorder.request('t', '1', 'Why?', ())\n"
        "try: recorder.known('t', request)\n"
        "except eyetest.EyetestError as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", other, tmp_path], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith(f"{tmp_path / 't'} is being written by process ")
    assert shown.stdout.count("\n") == 1
    assert [item.question for item in et.open(recorder.run("t").path.parent / "benchmark")] == ["Why?"]


@pytest.mark.parametrize("task", ["..", ".", "", "../t", "/t"])
def test_a_task_is_recorded_inside_the_folder(task: str, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r", "m")
    recorder.add(task, recorder.request(task, "1", "Why?", [Image.new("RGB", (4, 4))]), "because")
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    (folder,) = (tmp_path / "r").iterdir()
    assert {path.name for path in folder.iterdir()} == {"images", "lock", "requests.jsonl"}


@pytest.mark.parametrize(
    ("module", "library", "line"),
    [
        ("inspect_tasks", "inspect_ai", "tasks for inspect-ai need it: pip install 'eyetest[inspect]'"),
        ("lmms_eval_model", "lmms_eval", "pip install lmms_eval"),
    ],
)
def test_a_missing_harness_is_one_line(module: str, library: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"eyetest.integrations.{module}", raising=False)
    assert line in refusal(import_module, f"eyetest.integrations.{module}", error=MissingExtraError)
