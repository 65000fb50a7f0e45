"""``review revise``: from what several people decided to figures of runs that were made before."""

import json
from pathlib import Path

import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.recipes.reviews import ReviewSettings, open_review
from eyetest.records import Asked
from eyetest.studio.decisions import Role
from tests.scoring.test_table import animals, make_answers, make_bench
from tests.studio.project.reviews import say
from tests.support.command import call
from tests.support.tables import read_csv


@pytest.fixture
def here(workdir: Path) -> Path:
    """Eight items, all with the gold A; ``m`` says A to the first four and B to the others, ``n`` the other way."""
    bench = make_bench(workdir / "b", [animals(f"q{n}", 0, question=f"Which is {n}?") for n in range(8)])
    said = zip("mmmmmmmmnnnnnnnn", "AAAABBBBBBBBAAAA", strict=True)
    rows = [(Asked(item=f"q{n % 8}", model=model), letter) for n, (model, letter) in enumerate(said)]
    make_answers(workdir / "r", rows, bench)
    return workdir


@pytest.fixture
def decided(here: Path) -> Path:
    """Two people and one who settles: q0 drop, q4 gold B, q5 reworded after a dispute, q6 disputed, others kept."""
    project, _ = open_review([Path("b")], ReviewSettings(form="mmstar", reviewers=2, items="all"))
    labels = {"image": "yes", "core": "math", "axis": "geometry", "level": "easy"}
    with project:
        people: dict[str, Role] = {"ann": "reviewer", "bob": "reviewer", "eve": "admin"}
        for name, role in people.items():
            project.people.invite(name, role)
        for name in ("ann", "bob"):
            person = project.people.named(name)
            while (task := project.next_task(person)) is not None:
                if task.item == "q0":
                    say(project, person, task, "drop", reason="no image", labels={"image": "no"})
                elif task.item == "q4":
                    say(project, person, task, "fix", edits={"answer": "B"}, labels=labels)
                elif task.item in ("q5", "q6") and name == "bob":
                    say(project, person, task, "unsure")
                else:
                    say(project, person, task, "keep", labels=labels)
        eve = project.people.named("eve")
        task = project.next_task(eve)
        assert task is not None
        assert (task.item, task.adjudicates) == ("q5", True)
        edits = {"question": "Which one is it?"}
        say(project, eve, task, "fix", edits=edits, labels={**labels, "core": "logical reasoning"})
    return here


def accuracies(*words: str) -> dict[str, tuple[float, int]]:
    rows = json.loads(call("measure", "accuracy", "r", *words, "--output", "json").out)["rows"]
    return {row["model"]: (row["accuracy"], row["n"]) for row in rows}


def test_from_decisions_to_figures(decided: Path) -> None:
    """``m`` was right of q0 to q3. Now q0 is gone, q5 was never asked so, and B is right of q4: q1 to q4 of six.

    ``n`` was right of q4 to q7; now of q6 and q7 alone.
    """
    assert accuracies() == {"m": (4 / 8, 8), "n": (4 / 8, 8)}
    done = call("review", "revise", "b", "--to", "b2")
    assert done.code == 0, done.err
    assert done.out == "b 2 · keep 4, fix 2, drop 1, open 1, not asked 0\n"
    assert "note: 1 item not decided yet: unchanged" in done.err
    score = call("score", "r", "--bench", "b2")
    reported = call("measure", "accuracy", "r", "--output", "json")
    assert accuracies() == {"m": (4 / 6, 6), "n": (2 / 6, 6)}
    assert json.loads(reported.out)["notes"] == [
        "r: 2 answers to items that the benchmark does not have left out",
        "r: 2 answers to a wording that people have changed since left out",
    ]
    assert "2 answers are about items that b does not have" in score.err
    assert "2 answers are to a wording that people have changed since" in score.err
    by_core = accuracies("--where", "core=math")
    assert by_core == {"m": (4 / 5, 5), "n": (1 / 5, 5)}, "q6 is open, and has no tag yet"
    pairs = json.loads(call("compare", "r", "--output", "json").out)
    assert {row["model"]: row["score"] for row in pairs["ranking"]} == {
        "m": pytest.approx(4 / 6),
        "n": pytest.approx(2 / 6),
    }


def test_what_lies_beside_it(decided: Path) -> None:
    new = et.revise("b-review", to="b2").benchmark
    assert new.manifest.version == "2"
    assert new["q5"].tags["core"] == "logical reasoning", "the adjudicator has the last word"
    assert new["q4"].tags == {"core": "math", "axis": "geometry", "level": "easy"}
    assert "revise" in (new.path / "README.md").read_text("utf-8")
    rows = [row for row in read_csv(new.path / "changes.csv") if not row["field"].startswith("tags.")]
    assert [(row["item"], row["decision"], row["field"], row["after"], row["reviewers"]) for row in rows] == [
        ("q0", "drop", "", "", "ann, bob"),
        ("q4", "fix", "answer", "B", "ann, bob"),
        ("q5", "fix", "question", "Which one is it?", "eve"),
        ("q6", "open", "", "", "ann, bob"),
    ]
    before = {path.name: path.read_bytes() for path in new.path.iterdir() if path.is_file()}
    assert "b2 is already there" in call("review", "revise", "b", "--to", "b2").refused()
    assert call("review", "revise", "b", "--to", "b2", "--overwrite", "--output", "json").code == 0
    assert {path.name: path.read_bytes() for path in new.path.iterdir() if path.is_file()} == before


def test_what_is_refused(decided: Path, tmp_path: Path) -> None:
    assert "there is no review of r" in call("review", "revise", "r", "--to", "x").refused()
    (tmp_path / "b").rename(tmp_path / "old")
    make_bench(tmp_path / "b", [animals("q0", 1)])
    assert "b is not as it was when the review began" in call("review", "revise", "b", "--to", "x").refused()
    assert not Path("x").exists()
    assert Benchmark(tmp_path / "old").manifest.version == "1"
