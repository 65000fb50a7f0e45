"""Runs of several people become one: nothing lost, nothing doubled, and differences are refused or decided."""

import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.records import Asked, Item, ModelEntry, Response, RunBenchmark, RunStep
from eyetest.records.tables import OutcomeKind
from eyetest.results.merging import united_entries
from eyetest.results.scores import ItemRepair, read_repairs, write_repairs
from eyetest.runs import Run, RunWriter
from eyetest.runs.journal import part_names, sealed
from tests.runs.written import answers, content, jsonl, texts
from tests.support.command import call

ABOUT = RunBenchmark(name="b", fingerprint="f" * 64, items=9)
SEER = {"seer": ModelEntry(spec="openai:seer@http://one/v1")}


def request_of(item: str, setting: str = "") -> str:
    return (item + setting).encode().hex().ljust(32, "0")


def written(
    folder: Path,
    said: Mapping[str, str | None],
    *,
    models: Mapping[str, ModelEntry] = SEER,
    about: RunBenchmark | None = ABOUT,
    setting: str = "",
    time: float = 1.0,
) -> Path:
    """A run in which items were answered so; None is a failure, and "-" was not asked yet."""
    name = next(iter(models))
    with RunWriter(folder) as run:
        with run.planning() as plan:
            for item in said:
                plan.add(Asked(item=item, model=name), request_of(item, setting))
        run.record(RunStep(what="ask", planned=len(said), options={"who": folder.name}), dict(models), about)
        for item, text in said.items():
            if text != "-":
                outcome: OutcomeKind = "failed" if text is None else "answered"
                response = Response(request=request_of(item, setting), outcome=outcome, text=text or "", time=time)
                run.journal.append(response)
    return folder


def test_parts_of_the_work_become_one_run(workdir: Path) -> None:
    a = written(workdir / "a", {"1": "A", "2": "B", "5": "-"})
    b = written(workdir / "b", {"3": "C", "5": "E"}, models={"other": ModelEntry(spec="scripted:")})
    c = written(workdir / "c", {"2": "B", "4": "D"})
    before = {run: content(run) for run in (a, b, c)}
    told = call("merge", "a", "b", "c", "--to", "all").fine()
    told = " ".join(told.split())
    assert "a 2 b 2 c 1 6 planned calls of 2 models → all" in told, "what two runs say alike is stored once"
    assert {(one.model, one.item): one.text for one in answers(workdir / "all")} == {
        ("seer", "1"): "A",
        ("seer", "2"): "B",
        ("other", "3"): "C",
        ("other", "5"): "E",
        ("seer", "4"): "D",
        ("seer", "5"): "E",
    }
    merged = Run(workdir / "all").manifest
    assert merged.benchmark == ABOUT
    assert [step.options.get("from") for step in merged.steps] == ["a", "b", "c", None]
    assert merged.steps[-1].what == "merge"
    assert {run: content(run) for run in (a, b, c)} == before, "runs that are merged stay as they are"


def test_a_run_that_has_lost_its_plan_is_refused(workdir: Path) -> None:
    written(workdir / "a", {"1": "A"})
    written(workdir / "b", {"1": "B"}, models={"other": ModelEntry(spec="openai:o@http://one/v1")})
    (workdir / "b/plan.parquet").unlink()
    assert "other" in call("merge", "a", "b", "--to", "both").refused()


def test_different_answers_are_refused_or_decided(workdir: Path) -> None:
    written(workdir / "a", {"1": "A", "2": "same", "3": None})
    written(workdir / "b", {"1": "B", "2": "same", "3": "C"})
    line = call("merge", "a", "b", "--to", "deep/all").refused()
    assert "the runs answer 1 question differently, the first about item '1' by 'seer' (image)" in line
    assert "--prefer-first takes what the first run says" in line
    assert not (workdir / "deep").exists()
    decided = call("merge", "a", "b", "--to", "all", "--prefer-first").fine()
    assert "1 answer differed; the first was taken" in decided
    assert texts(workdir / "all") == {"1": "A", "2": "same", "3": "C"}
    assert Run(workdir / "all").manifest.steps[-1].options["decided"] == "1"


def test_other_settings_are_a_difference(workdir: Path) -> None:
    """A question under two requests has one row in a plan: the one that was answered, if one was."""
    written(workdir / "a", {"1": "A", "2": "-", "3": "C"})
    written(workdir / "b", {"1": "B", "2": "B", "3": "C"}, setting="hot")
    assert "the runs answer 1 question differently" in call("merge", "a", "b", "--to", "all").refused()
    call("merge", "a", "b", "--to", "all", "--prefer-first").fine()
    assert texts(workdir / "all") == {"1": "A", "2": "B", "3": "C"}


def test_only_one_benchmark(workdir: Path) -> None:
    written(workdir / "a", {"1": "A"})
    written(workdir / "b", {"1": "A"}, about=RunBenchmark(name="other", fingerprint="0" * 64, items=2))
    line = call("merge", "a", "b", "--to", "all").refused()
    assert "a ('b', 9 items) and b ('other', 2 items) are about different benchmarks" in line
    written(workdir / "c", {"2": "A"}, about=None)
    assert "c does not say what benchmark it is about" in call("merge", "a", "c", "--to", "all").fine()


def test_one_name_for_two_models(workdir: Path) -> None:
    written(workdir / "a", {"1": "A"})
    written(workdir / "b", {"2": "A"}, models={"seer": ModelEntry(spec="openai:other@http://one/v1")})
    line = call("merge", "a", "b", "--to", "all").refused()
    assert "model 'seer': spec differs in b" in line
    assert "what the first run says was taken" in call("merge", "a", "b", "--to", "all", "--prefer-first").fine()


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (ModelEntry(spec="openai:seer@http://two/v1", key_env="KEY", concurrency=3), ""),
        (ModelEntry(spec="replay:old.csv#seer"), ""),
        (ModelEntry(spec="openai:seer@http://one/v1", sampling={"temperature": 1}), "sampling"),
        (ModelEntry(spec="checkpoint:seer"), "spec"),
    ],
)
def test_where_a_model_is_reached_may_differ(workdir: Path, other: ModelEntry, differs: str) -> None:
    runs = [Run(written(workdir / "b", {"1": "A"}, models={"seer": other})), Run(written(workdir / "a", {"2": "A"}))]
    entries, differing = united_entries(runs)
    assert [why.partition(" ")[0] for why in differing.values()] == ([differs] if differs else [])
    if other.spec.startswith("replay"):
        assert entries["seer"] == SEER["seer"]


def test_a_merge_that_is_cut_off_leaves_no_run(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(workdir / "a", {"1": "A"})
    written(workdir / "b", {"1": "A", "2": "B"}, time=2.0)

    def full(*_: object) -> None:
        raise InputError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "planning", full)
        call("merge", "a", "b", "--to", "all").refused()
    assert [path.name for path in sorted(workdir.iterdir())] == ["a", "b"]
    call("merge", "a", "b", "--to", "all").fine()
    assert texts(workdir / "all") == {"1": "A", "2": "B"}


def test_damage_is_told(workdir: Path) -> None:
    written(workdir / "b", {"2": "B"})
    written(workdir / "a", {"1": "A"})
    call("merge", "a", "b", "--to", "ab").fine()
    path = sealed(workdir / "ab", part_names(workdir / "ab")[0])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    written(workdir / "c", {"3": "C"})
    assert "is damaged" in call("merge", "ab", "c", "--to", "all").fine()
    assert texts(workdir / "all") == {"2": "B", "3": "C"}
    path.unlink()
    assert "has lost" in call("merge", "ab", "c", "--to", "more").refused()


BENCH = [{"id": str(n), "question": f"Which is {n}?", "options": ["cat", "dog"], "answer": "A"} for n in range(6)]


def test_a_merged_run_goes_on_with_what_is_left(workdir: Path) -> None:
    """Answers that were brought in keep their ids, so that nobody is asked for them again."""
    jsonl(workdir / "bench.jsonl", *BENCH)
    call("import", "bench.jsonl", "--to", "bench").fine()
    asked = ("run", "bench", "--model", "m=scripted:right=1")
    call(*asked, "--item", "0", "--item", "1", "--to", "one").fine()
    call(*asked, "--item", "1", "--item", "2", "--to", "two").fine()
    rows = jsonl(workdir / "rows.jsonl", {"item": "4", "model": "m", "text": "A"})
    call("import", rows, "--bench", "bench", "--fill", "modality=no-image", "--to", "three").fine()
    call("score", "one").fine()
    call("merge", "one", "two", "three", "--to", "all").fine()
    assert not (workdir / "all" / "scores").exists(), "scores are made anew"
    shutil.rmtree(workdir / "one")
    assert "2 calls" in call(*asked, "--to", "all", "--dry-run").fine().replace("\n", " ")
    call(*asked, "--to", "all").fine()
    assert set(texts(workdir / "all")) == set("012345")
    assert len(Run(workdir / "all").responses()) == 6
    assert call("measure", "accuracy", "all", "--output", "csv").fine().splitlines()[1].startswith("m,no-image,1.0")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("a", "b", "--to", "a"), "a is already there; name it among the runs, and write a new one"),
        (("a", "--to", "new"), "only a was named"),
        (("a", "nowhere", "--to", "new"), "nowhere is no run folder"),
    ],
)
def test_bad_words(workdir: Path, words: tuple[str, ...], problem: str) -> None:
    written(workdir / "a", {"1": "A"})
    written(workdir / "b", {"2": "A"})
    assert problem in call("merge", *words).refused()
    assert not (workdir / "new").exists()


@pytest.mark.parametrize("seed", range(3))
def test_against_a_merge_by_hand(workdir: Path, seed: int) -> None:
    """Runs drawn at random, with failures, differing answers and questions that some asked otherwise."""
    rng = random.Random(seed)
    said: dict[str, list[tuple[int, str]]] = {}
    for number in range(4):
        answers_ = {str(n): rng.choice(["A", "A", "B", None, "-"]) for n in rng.sample(range(40), 25)}
        written(workdir / f"r{number}", answers_, setting=rng.choice(["", "", "hot"]))
        for item, text in answers_.items():
            if text is not None and text != "-":
                said.setdefault(item, []).append((number, text))
    call("merge", *(f"r{number}" for number in range(4)), "--to", "all", "--prefer-first").fine()
    merged = {one.item: one.text for one in answers(workdir / "all") if one.outcome == "answered"}
    expected = {item: min(them)[1] for item, them in said.items()}
    assert merged == expected
    planned = [row["item"] for number in range(4) for row in Run(workdir / f"r{number}").plan().to_pylist()]
    assert sorted(Run(workdir / "all").plan().column("item").to_pylist()) == sorted(set(planned))


def test_repairs_are_united_or_refused(workdir: Path) -> None:
    repaired = Item(id="1", question="What?", references=("x",))
    for name in "ab":
        write_repairs(written(workdir / name, {"1": "A"}), [ItemRepair(item=repaired, requests=(name,))])
    call("merge", "a", "b", "--to", "all").fine()
    assert read_repairs(workdir / "all")["1"].requests == ("a", "b")
    write_repairs(workdir / "b", [ItemRepair(item=msgspec.structs.replace(repaired, question="Which?"))])
    assert "item '1' was repaired differently" in call("merge", "a", "b", "--to", "more").refused()
