"""What becomes a collection: a benchmark alone, runs, two benchmarks, refinements, audits; and what is damaged."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.pages.item_links import Query
from eyetest.probes.audit import Audit
from eyetest.records import Asked, Finding, Response, Verdict
from eyetest.records.recipe import ABOUT, BENCHMARK, VERDICTS
from eyetest.studio.collection import Collection
from eyetest.tabular.record_files import write_records
from tests.scoring.test_table import make_answers, make_run
from tests.studio.collection.conftest import SAID, make_bench
from tests.studio.collection.test_collection import shown
from tests.support.refusals import refusal

FINDING = Finding(
    probe="duplicates",
    kind="same-image",
    severity="suspect",
    title="2 items share an image",
    items=("q0", "q1"),
    evidence={"q0": "as q1"},
)


def write_audit(path: Path, bench: Benchmark, *findings: Finding) -> Path:
    """An audit as ``eyetest audit --json`` prints it."""
    manifest = bench.manifest
    audit = Audit(
        benchmark=manifest.name,
        fingerprint=manifest.fingerprint,
        items=len(bench),
        level=0.05,
        seed=0,
        probes=("duplicates",),
        findings=findings,
    )
    path.write_bytes(msgspec.json.encode(audit))
    return path


def write_refinement(folder: Path, bench: Benchmark, *verdicts: Verdict) -> Path:
    """The records of a refinement, without its run."""
    folder.mkdir()
    about = {"benchmark": {"name": bench.manifest.name, "fingerprint": bench.manifest.fingerprint}}
    (folder / ABOUT).write_bytes(msgspec.json.encode(about))
    write_records(verdicts, Verdict, folder / VERDICTS, overwrite=False)
    return folder


def verdict(item: str, stage: str, kind: Any, reason: str = "") -> Verdict:
    return Verdict(item=item, stage=stage, verdict=kind, reason=reason)


def test_a_benchmark_without_answers(zoo: Path) -> None:
    collection = Collection([zoo / "bench"])
    view = collection.view(Query())
    assert (len(view), view.accuracy, collection.answers.models, collection.notes) == (6, [], [], [])
    assert view.counts["tag.task"] == {"beasts": 4, "birds": 2}
    assert collection.rows(view)[0].difficulty is None
    assert collection.item("q0").cases == []
    assert shown(collection, "text=whale+number+4") == "4"
    with pytest.raises(InputError, match="no model 'a'"):
        shown(collection, "answer=right:a")


def test_runs_of_one_benchmark_complete_each_other(zoo: Path, tmp_path: Path) -> None:
    bench = Benchmark(zoo / "bench")
    make_answers(tmp_path / "c", [(Asked(item=f"q{number}", model="c"), "A") for number in range(6)], bench)
    collection = Collection([zoo / "run", tmp_path / "c"])
    assert (len(collection), list(collection.answers.models)) == (6, ["a", "b", "c"])
    assert shown(collection, "answer=right:c@image&answer=wrong:a@image") == "2"
    assert {case.asked.model for case in collection.item("q0").cases} == {"a", "b", "c"}
    assert shown(collection, "text=mysterious") == "3"


def test_two_benchmarks_that_call_items_the_same(zoo: Path, tmp_path: Path) -> None:
    make_bench(tmp_path / "park", "park", 5)
    collection = Collection([zoo / "run", tmp_path / "park"])
    ids = [row.id for row in collection.rows(collection.view(Query(benchmark="park")))]
    assert [row.id for row in collection.rows(collection.view(Query(benchmark="zoo")))][-1] == "q5"
    assert ids == [f"park/q{number}" for number in range(5)]
    assert len(collection) == 11
    assert len(collection.item("zoo/q0").cases) == 4
    assert collection.item("park/q0").cases == []
    assert [one.n for one in collection.view(Query()).accuracy] == [6, 5, 6, 6]


def test_a_finding_leads_to_its_items(zoo: Path, tmp_path: Path) -> None:
    audit = write_audit(tmp_path / "audit.json", Benchmark(zoo / "bench"), FINDING)
    collection = Collection([zoo / "bench", audit])
    assert collection.everything.counts["finding"] == {"same-image": 2}
    assert shown(collection, "finding=same-image") == "0 1"
    assert shown(collection, "finding=other") == ""
    (stated,) = collection.item("q0").findings
    assert (stated["kind"], stated["evidence"], stated["severity"]) == ("same-image", "as q1", "suspect")
    assert collection.item("q2").findings == []


def test_verdicts_are_those_of_a_stage_and_without_a_stage_the_last(zoo: Path, tmp_path: Path) -> None:
    rows = [("q0", "blind", "keep"), ("q1", "blind", "drop", "2 of 2 blind"), ("q2", "blind", "keep")]
    rows += [("q0", "people", "keep"), ("q2", "people", "drop", "wrong gold")]
    folder = write_refinement(tmp_path / "refined", Benchmark(zoo / "bench"), *(verdict(*row) for row in rows))
    collection = Collection([zoo / "bench", folder])
    expected = {"verdict=drop": "1 2", "verdict=drop&stage=blind": "1", "stage=people": "0 2"}
    expected |= {"verdict=keep&stage=blind": "0 2", "verdict=keep": "0", "verdict=review": ""}
    assert {query: shown(collection, query) for query in expected} == expected
    assert collection.stages == ["blind", "people"]
    assert [one.reason for one in collection.item("q2").verdicts] == ["", "wrong gold"]


def test_verdicts_on_items_that_no_benchmark_has_are_left_out_with_a_note(zoo: Path, tmp_path: Path) -> None:
    bench = Benchmark(zoo / "bench")
    folder = write_refinement(
        tmp_path / "refined", bench, verdict("gone", "blind", "drop"), verdict("q0", "blind", "keep")
    )
    shutil.copytree(make_bench(tmp_path / "kept", "zoo-refined", 5).path, folder / BENCHMARK)
    collection = Collection([folder])
    assert (shown(collection, "verdict=drop"), shown(collection, "verdict=keep"), len(collection)) == ("", "0", 5)
    [note] = collection.notes
    assert note.startswith("1 item with verdicts or findings in no benchmark")


def test_a_run_with_replies_that_names_no_benchmark_needs_one_beside_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name the benchmark"):
        Collection([make_answers(tmp_path / "run", [(Asked(item="q0", model="m"), "A")]).path])


def test_a_run_whose_benchmark_went_is_told_by_its_own_copy_of_the_items(zoo: Path, tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    run = make_answers(tmp_path / "run", SAID, bench)
    shutil.rmtree(bench.path)
    with pytest.raises(InputError, match="is not at"):
        Collection([run.path])
    moved = Collection([run.path, zoo / "bench"])
    assert (len(moved), list(moved.benchmarks)) == (6, ["zoo"])


def test_of_an_answer_that_was_asked_for_again_only_the_last_is_searched(zoo: Path, tmp_path: Path) -> None:
    asked = [(Asked(item="q0", model="m"), f"{7:032x}")]
    given = [
        Response(request=f"{7:032x}", outcome="answered", text=text) for text in ("first words", "A, later words")
    ]
    collection = Collection([make_run(tmp_path / "r", asked, given, Benchmark(zoo / "bench")).path])
    assert shown(collection, "text=first") == ""
    assert shown(collection, "text=later") == "0"
    assert [case.response.text for case in collection.item("q0").cases] == ["A, later words"]


def _spoil(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40] + b"x" * 40)


@pytest.mark.parametrize("file", ["plan.parquet", "run.json", "gone"])
def test_a_damaged_run_is_one_line(zoo: Path, tmp_path: Path, file: str) -> None:
    copy = tmp_path / "run"
    shutil.copytree(zoo / "run", copy)
    if file == "gone":
        (copy / "plan.parquet").unlink()
    else:
        _spoil(copy / file)
    assert str(copy) in refusal(Collection, [copy])


def test_what_is_no_place_is_told_in_one_line(zoo: Path, tmp_path: Path) -> None:
    damaged = write_refinement(tmp_path / "refined", Benchmark(zoo / "bench"), verdict("q0", "blind", "keep"))
    _spoil(damaged / VERDICTS)
    (tmp_path / "items").mkdir()
    for places, words in (
        ([], "nothing to open"),
        ([tmp_path / "nowhere"], "does not exist"),
        ([tmp_path / "items"], "no benchmark that eyetest recognises"),
        ([damaged], "verdicts.parquet"),
    ):
        with pytest.raises(InputError, match=words):
            Collection(places)
    for text in ("{", '{"benchmark": "x"}'):
        (damaged / ABOUT).write_text(text)
        with pytest.raises(InputError, match="run eyetest refine again"):
            Collection([damaged])
    (damaged / VERDICTS).unlink()
    with pytest.raises(InputError):
        Collection([damaged])


def test_a_run_is_shown_as_it_was_last_scored(zoo: Path, tmp_path: Path) -> None:
    run = shutil.copytree(zoo / "run", tmp_path / "run")
    for rules in ("eyetest", "mmstar"):
        et.score(run, rules=rules)
        used = {str(case.scored.rule).split("/")[0] for case in Collection([run]).item("q1").cases}
        assert used == {rules}


def test_opening_scores_what_was_not_scored_and_changes_nothing_else(tmp_path: Path) -> None:
    run = make_answers(tmp_path / "run", SAID, make_bench(tmp_path / "bench"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    Collection([run.path])
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.name for path in after.keys() - before.keys()} == {"eyetest.parquet"}
    assert {path: after[path] for path in before} == before
