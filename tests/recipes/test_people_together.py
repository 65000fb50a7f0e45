"""A recipe that people decide in two rounds, through the review that browsers and terminals write to."""

import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.recipes.reviews import ReviewSettings, open_review
from eyetest.records import Asked, Response
from eyetest.studio.project import ReviewProject
from tests.recipes.benches import by_item, counts, write_yaml
from tests.runs.conftest import Eyetest
from tests.scoring.test_table import animals, make_bench, make_run, request

pytestmark = pytest.mark.journey

FORM = """
about: Which capability is it?
fields:
  - {name: core, ask: "Which?", values: [math, logic], tag: core, when: [keep, fix]}
"""
REFINE = ("refine", "b", "--recipe", "recipe.yaml", "--answers", "r", "--to", "d")
PLACES = [Path("d"), Path("b")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten items with the gold A, none of which has a capability yet; a model that says A to the even ones, else B."""
    monkeypatch.chdir(tmp_path)
    bench = make_bench(tmp_path / "b", [animals(f"q{n}", 0, question=f"Which is {n}?") for n in range(10)])
    (tmp_path / "form.yaml").write_text(FORM)
    rounds = [{"review": {"reviewers": number, "form": "form.yaml"}, "name": name} for number, name in _ROUNDS]
    write_yaml(tmp_path / "recipe.yaml", {"stages": [*rounds, {"select": {"per": "core", "count": 3}}]})
    plan = [(Asked(item=f"q{n}", model="m"), request(n)) for n in range(10)]
    said = [Response(request=request(n), outcome="answered", text="B" if n % 2 else "A") for n in range(10)]
    make_run(tmp_path / "r", plan, said, bench)
    return tmp_path


_ROUNDS = ((1, "first"), (2, "second"))


def work(project: ReviewProject, name: str, *, drop: str = "", fix: str = "", core: dict[str, str]) -> list[str]:
    """Somebody decides about all they get: one item is dropped, of one the gold is B, others are kept."""
    project.people.invite(name)
    person, done = project.people.named(name), []
    while (task := project.next_task(person)) is not None:
        nonce, labels = f"{name} {task.item} {task.round}", {"core": core.get(task.item, "math")}
        if task.item == drop:
            project.decide(person, task, "drop", nonce=nonce, reason="blurred")
        elif task.item == fix:
            project.decide(person, task, "fix", nonce=nonce, edits={"answer": "B"}, labels=labels)
        else:
            project.decide(person, task, "keep", nonce=nonce, labels=labels)
        done.append(task.item)
    return done


def test_two_rounds_by_four_people(here: Path, eyetest: Eyetest) -> None:
    """q0 falls in the first round, q1 in the second; q3 is B. Of eight that are left four are math, four logic."""
    assert "first" in eyetest(*REFINE).fine()
    logic = {f"q{n}": "logic" for n in (6, 7, 8, 9)}

    opened = open_review(PLACES, ReviewSettings())
    with opened.project as project:
        assert sorted(work(project, "ann", drop="q0", core=logic)) == [f"q{n}" for n in range(10)]
    eyetest(*REFINE).fine()
    assert by_item(here / "d", "first") == {f"q{n}": "drop" if n == 0 else "keep" for n in range(10)}

    opened = open_review(PLACES, ReviewSettings())
    with opened.project as project:
        assert work(project, "ann", core={}) == [], "who decided about an item is not asked again"
        for name in ("bob", "eve"):
            assert len(work(project, name, drop="q1", fix="q3", core=logic)) == 9
    eyetest(*REFINE).fine()
    assert counts(here / "d")["second", ""] == (9, 7, 1, 1, 0)
    assert counts(here / "d")["select", ""][:2] == (8, 6)
    refined = {item.id: item for item in Benchmark(here / "d/benchmark")}
    assert {name: item.tags["core"] for name, item in refined.items()} == {
        name: logic.get(name, "math") for name in refined
    }
    assert sorted(item.tags["core"] for item in refined.values()) == ["logic"] * 3 + ["math"] * 3

    before = json.loads(eyetest("measure", "accuracy", "r", "--output", "json").out)["rows"][0]
    assert (before["accuracy"], before["n"]) == (5 / 10, 10)
    eyetest("score", "r", "--bench", "d/benchmark").fine()
    reported = json.loads(eyetest("measure", "accuracy", "r", "--output", "json").out)
    right = [name for name in refined if (int(name[1:]) % 2 == 0) != (name == "q3")]
    assert [(row["accuracy"], row["n"]) for row in reported["rows"]] == [(len(right) / 6, 6)]
    assert reported["notes"] == ["r: 4 answers to items that the benchmark does not have left out"]


def test_what_people_cannot_agree_on_waits_until_a_third_person_settles_it(here: Path, eyetest: Eyetest) -> None:
    write_yaml(here / "recipe.yaml", {"stages": [{"review": {"reviewers": 2, "form": "form.yaml"}, "name": "only"}]})
    eyetest(*REFINE).fine()
    with open_review(PLACES, ReviewSettings()).project as project:
        work(project, "ann", drop="q0", core={})
        work(project, "bob", core={})
        eyetest(*REFINE).fine()
        assert not (here / "d/benchmark").exists()
        project.people.invite("eve", "admin")
        eve = project.people.named("eve")
        task = project.next_task(eve)
        assert task is not None
        assert (task.item, {one.decision for one in task.earlier}) == ("q0", {"keep", "drop"})
        project.decide(eve, task, "fix", nonce="settled", edits={"question": "Which?"}, labels={"core": "logic"})
    eyetest(*REFINE).fine()
    refined = Benchmark(here / "d/benchmark")
    assert (refined["q0"].question, refined["q0"].tags["core"], refined["q1"].tags["core"]) == (
        "Which?",
        "logic",
        "math",
    )
    eyetest("score", "r", "--bench", "d/benchmark").fine()
    reported = json.loads(eyetest("measure", "accuracy", "r", "--output", "json").out)
    assert [(row["accuracy"], row["n"]) for row in reported["rows"]] == [(4 / 9, 9)], "q0 was never asked so"
    assert reported["notes"] == ["r: 1 answer to a wording that people have changed since left out"]
