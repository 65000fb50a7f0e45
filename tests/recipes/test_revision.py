"""A revision is what people decided, carried out; runs on what it was before count by it, as far as they can."""

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import CHANGES, LAYOUT
from eyetest.errors import InputError
from eyetest.prompts.building import SCREENSHOT_STEP
from eyetest.recipes.revision import ReviewedItems, RevisedBenchmark, next_version, revise_benchmark
from eyetest.records import Asked, Decision, Lineage, Manifest, Response
from eyetest.results.gather import results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.studio.decisions import decide
from eyetest.studio.forms import Form, FormField
from tests.results.test_scores import bench as bench
from tests.runs.written import content
from tests.scoring.test_table import animals, make_answers, make_run, request
from tests.support.tables import read_csv

FORM = Form(
    fields=(
        FormField(name="core", ask="Which?", values=("math", "logic"), tag="core"),
        FormField(name="needed", ask="Needed?", values=("yes", "no")),
    )
)
SHOWN = {"core": "math", "needed": "yes"}


def decision(item: str, kind: Any, reviewer: str = "ann", **more: Any) -> Decision:
    return Decision(item=item, reviewer=reviewer, time="2025-01-02T03:04:05+00:00", decision=kind, **more)


def reviewed(*decisions: Decision, items: tuple[str, ...] = (), reviewers: int = 1) -> ReviewedItems:
    """What these decisions come to, about their own items or these."""
    names = items or tuple(dict.fromkeys(one.item for one in decisions))
    outcomes = {name: decide([one for one in decisions if one.item == name], reviewers) for name in names}
    return ReviewedItems(outcomes, decisions, FORM)


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Run:
    """A model that says A to everything."""
    return make_answers(tmp_path / "r", [(Asked(item=f"q{n}", model="m"), "A") for n in range(12)], bench)


@pytest.fixture
def revised(bench: Benchmark, tmp_path: Path) -> RevisedBenchmark:
    """q0 dropped, q1 has the gold A now, q2 is worded otherwise, q3 is kept, q4 disputed; no one saw the others."""
    given = reviewed(
        decision("q0", "drop", reason="unclear"),
        decision("q0", "drop", "bob"),
        decision("q1", "fix", edits={"answer": "A"}, labels=SHOWN),
        decision("q1", "fix", "bob", edits={"answer": "A"}, labels={**SHOWN, "core": "logic"}),
        decision("q2", "fix", edits={"question": "Which one?", "B": "an ox", "tags": {"era": "old"}}),
        decision("q2", "fix", "bob", edits={"question": "Which one?", "B": "an ox", "tags": {"era": "old"}}),
        decision("q3", "keep", labels=SHOWN),
        decision("q3", "keep", "bob", labels=SHOWN),
        decision("q4", "keep"),
        decision("q4", "drop", "bob"),
        reviewers=2,
    )
    return revise_benchmark(bench, given, tmp_path / "new")


def rows(benchmark: Benchmark) -> list[dict[str, str]]:
    return read_csv(benchmark.path / CHANGES)


def test_what_people_decided_is_carried_out(bench: Benchmark, revised: RevisedBenchmark) -> None:
    old, new = {item.id: item for item in bench}, {item.id: item for item in revised.benchmark}
    assert list(new) == [f"q{n}" for n in range(1, 12)]
    assert revised.counts == {"keep": 1, "fix": 2, "drop": 1, "open": 1, "not asked": 7}
    assert new["q1"].gold == (0,)
    assert "core" not in new["q1"].tags, "one given math, the other logic"
    assert new["q2"].question == "Which one?"
    assert (new["q2"].choices[1].text, new["q2"].tags["era"]) == ("an ox", "old")
    assert new["q2"].gold == old["q2"].gold
    assert new["q3"].tags["core"] == "math"
    assert "needed" not in new["q3"].tags, "the form does not make a tag of it"
    assert [new[f"q{n}"] for n in range(4, 12)] == [old[f"q{n}"] for n in range(4, 12)]
    assert [step.note for step in new["q1"].lineage] == ["answer"]


def test_every_change_is_a_row_with_who_and_why(revised: RevisedBenchmark) -> None:
    stated = [tuple(row.values()) for row in rows(revised.benchmark)]
    both = "ann, bob"
    assert stated == [
        ("q0", "drop", "", "", "", both, "unclear"),
        ("q1", "fix", "answer", "B", "A", both, "2 of 2 reviewers"),
        ("q2", "fix", "question", "Which is 2?", "Which one?", both, "2 of 2 reviewers"),
        ("q2", "fix", "B", "dog", "an ox", both, "2 of 2 reviewers"),
        ("q2", "fix", "tags.era", "", "old", both, "2 of 2 reviewers"),
        ("q3", "keep", "tags.core", "", "math", both, "2 of 2 reviewers"),
        ("q4", "open", "", "", "", both, "reviewers disagree, 1 to 1"),
    ]


def test_its_manifest_says_what_it_was_and_how_it_came_about(bench: Benchmark, revised: RevisedBenchmark) -> None:
    old, new = bench.manifest, revised.benchmark.manifest
    assert (new.name, new.version, new.counts.items) == ("b", "2", 11)
    assert new.fingerprint not in ("", old.fingerprint)
    (step,) = new.lineage
    counts = "1 kept, 2 fixed, 1 dropped, 1 open, 7 not reviewed"
    assert (step.step, step.source) == ("revise", "b 1")
    assert step.note == f"{counts}; by 2 reviewers; of {old.fingerprint[:16]}"
    (before,) = new.revisions
    assert (before.fingerprint, before.version, before.time) == (old.fingerprint, "1", "2025-01-02T03:04:05+00:00")
    assert new.is_repaired(old.fingerprint)
    assert not new.is_repaired(new.fingerprint)


def test_the_same_decisions_give_the_same_bytes(bench: Benchmark, tmp_path: Path) -> None:
    given = reviewed(decision("q0", "drop"), decision("q1", "fix", edits={"answer": "D"}))
    one, two = (revise_benchmark(bench, given, tmp_path / name).benchmark.path for name in ("one", "two"))
    assert content(one) == content(two)
    revise_benchmark(bench, given, one, overwrite=True)
    assert content(one) == content(two)


def test_what_cannot_be_revised(bench: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is the benchmark itself"):
        revise_benchmark(bench, reviewed(decision("q1", "keep")), bench.path)
    with pytest.raises(InputError, match="1 item of the review, 'other/q1' among them, not in b"):
        revise_benchmark(bench, reviewed(decision("other/q1", "keep")), tmp_path / "new")
    with pytest.raises(InputError, match="people dropped all 12 items"):
        revise_benchmark(bench, reviewed(*(decision(f"q{n}", "drop") for n in range(12))), tmp_path / "new")
    with pytest.raises(InputError, match="item 'q1': an answer is one of A, B, C, D, not 'E'"):
        revise_benchmark(bench, reviewed(decision("q1", "fix", edits={"answer": "E"})), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_screenshots_keep_their_tables_and_what_stands_in_them(tmp_path: Path) -> None:
    step = Lineage(step=SCREENSHOT_STEP, source="b", item="q0")
    with BenchmarkWriter(tmp_path / "shots", Manifest(name="b")) as writer:
        for number in range(3):
            writer.add(msgspec.structs.replace(animals(f"q{number}", 0), lineage=(step,)))
        pl.DataFrame({"item": ["q0", "q1", "q1", "q2"], "x": [1, 2, 3, 4]}).write_parquet(writer.folder / LAYOUT)
    shots = Benchmark(tmp_path / "shots")
    given = reviewed(decision("q0", "drop"), decision("q1", "fix", edits={"answer": "B"}))
    new = revise_benchmark(shots, given, tmp_path / "new").benchmark
    assert pl.read_parquet(new.path / LAYOUT).rows() == [("q1", 2), ("q1", 3), ("q2", 4)]
    assert [one.step for one in new["q1"].lineage] == [SCREENSHOT_STEP, "revise"]
    assert new["q1"].gold == (1,)
    with pytest.raises(InputError, match="item 'q2' is an image of its question and options: repair the benchmark"):
        revise_benchmark(shots, reviewed(decision("q2", "fix", edits={"B": "x"})), tmp_path / "other")


@pytest.mark.parametrize(
    ("version", "after"),
    [("1", "2"), ("1.0", "1.1"), ("2.9", "2.10"), ("3-beta", "4-beta"), ("", "2"), ("first", "first-2")],
)
def test_versions(version: str, after: str) -> None:
    assert next_version(version) == after


# What is measured afterwards.


def accuracy(run: Run, bench: Benchmark | None = None) -> tuple[float, int, tuple[str, ...]]:
    results = results_of([run], Scorer(), bench=bench)
    scores = results.scores.collect().get_column("score")
    return scores.mean(), len(scores), results.notes  # type: ignore[return-value]


def test_a_revision_of_a_revision(run: Run, revised: RevisedBenchmark, tmp_path: Path) -> None:
    """Of the ten, q5 has the gold A as well, and q1 is worded otherwise: A is right of q4, q5 and q8, of nine."""
    given = reviewed(
        decision("q5", "fix", edits={"answer": "A"}),
        decision("q1", "fix", edits={"C": "a hen"}),
        decision("q3", "keep"),
    )
    newest = revise_benchmark(revised.benchmark, given, tmp_path / "newest").benchmark
    assert newest.manifest.version == "3"
    assert accuracy(run, newest)[:2] == (3 / 9, 9)


def test_scores_that_others_gave_by_an_old_gold_do_not_count(bench: Benchmark, tmp_path: Path) -> None:
    """Of q1, whose gold is A now, one answer is read anew, one has no words; of q3 both stay as they were given."""
    plan = [
        (Asked(item=name, model=model), request(n))
        for n, (name, model) in enumerate([("q1", "m"), ("q1", "silent"), ("q3", "m"), ("q3", "silent")])
    ]
    texts = ("A", None, "A", None)
    given = [Response(request=request(n), outcome="answered", text=text, given=0.5) for n, text in enumerate(texts)]
    run = make_run(tmp_path / "given", plan, given, bench)
    assert accuracy(run)[:2] == (0.5, 4)
    new = revise_benchmark(bench, reviewed(decision("q1", "fix", edits={"answer": "A"})), tmp_path / "new").benchmark
    assert accuracy(run, new)[:2] == ((1 + 0.5 + 0.5) / 3, 3)
