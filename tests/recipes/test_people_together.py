"""A recipe that people decide in two rounds, through the review that browsers and terminals write to."""

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.recipes.reviews import ReviewSettings, open_review
from eyetest.records import Asked, Response
from eyetest.studio.app.office import make_review_app
from eyetest.studio.project import ReviewProject
from tests.recipes.benches import by_item, counts, verdicts, write_yaml
from tests.runs.conftest import Eyetest
from tests.scoring.test_table import animals, make_bench, make_run, request
from tests.studio.app.conftest import served

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
    """q0 falls in the first round, q2 in the second, and another takes its place; q4 is B. Two stay undecided."""
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
        for name, done in (("bob", 6), ("eve", 7), ("bob", 1)):
            assert len(work(project, name, drop="q2", fix="q4", core=logic)) == done
        assert (
            project.progress().quota == "logic filled (3), math filled (3); 2 items undecided, which no quota needs"
        )
    with open_review(PLACES, ReviewSettings()).project as project:
        assert project.waiting() == []
    eyetest(*REFINE).fine()
    assert counts(here / "d")["second", ""] == (9, 5, 3, 1, 0)
    assert counts(here / "d")["select", ""][:2] == (6, 6)
    refined = {item.id: item for item in Benchmark(here / "d/benchmark")}
    assert {name: item.tags["core"] for name, item in refined.items()} == {
        name: logic.get(name, "math") for name in refined
    }
    assert sorted(item.tags["core"] for item in refined.values()) == ["logic"] * 3 + ["math"] * 3

    before = json.loads(eyetest("measure", "accuracy", "r", "--output", "json").out)["rows"][0]
    assert (before["accuracy"], before["n"]) == (5 / 10, 10)
    eyetest("score", "r", "--bench", "d/benchmark").fine()
    reported = json.loads(eyetest("measure", "accuracy", "r", "--output", "json").out)
    right = [name for name in refined if (int(name[1:]) % 2 == 0) != (name == "q4")]
    assert [(row["accuracy"], row["n"]) for row in reported["rows"]] == [(len(right) / 6, 6)]
    assert reported["notes"] == ["r: 4 answers to items that the benchmark does not have left out"]


def test_a_served_review_goes_on_until_each_group_is_filled(here: Path, eyetest: Eyetest) -> None:
    """Over HTTP: two people decide, every fourth item is dropped and replaced; most items are never asked for."""
    make_bench(here / "many", [animals(f"q{n}", 0, question=f"Is it {n}?") for n in range(200)])
    stages = [{"review": {"reviewers": 2, "form": "form.yaml"}}, {"select": {"per": "core", "count": 9}}]
    write_yaml(here / "recipe.yaml", {"stages": stages})
    plan = [(Asked(item=f"q{n}", model="m"), request(n)) for n in range(200)]
    said = [Response(request=request(n), outcome="answered", text="A") for n in range(200)]
    make_run(here / "asked", plan, said, Benchmark(here / "many"))
    refine = ("refine", "many", "--recipe", "recipe.yaml", "--answers", "asked", "--to", "d")
    assert "review: math 0 of 9, logic 0 of 9; 182 items undecided" in eyetest(*refine).fine()
    opened = open_review([Path("d")], ReviewSettings())
    with opened.project as project, served(make_review_app(opened.collection, project)) as home:
        reviewers = [build_opener(HTTPCookieProcessor()) for _ in range(2)]
        for name, reviewer in zip(("ann", "bob"), reviewers, strict=True):
            reviewer.addheaders = [("origin", home)]
            send(reviewer, f"{home}/enter/{project.people.invite(name)}", {"csrf": ""})
        for reviewer in reviewers * 10:
            page = send(reviewer, f"{home}/next", {"csrf": field(send(reviewer, f"{home}/"), "csrf")})
            while 'id="decide"' in page:
                form = {name: field(page, name) for name in ("csrf", "item", "round", "nonce")}
                number = int(form["item"][1:])
                answer = {"decision": "keep", "label_core": "logic" if number % 3 == 0 else "math"}
                answer = answer if number % 4 else {"decision": "drop", "reason_text": "blurred"}
                page = send(reviewer, f"{home}/decide", form | answer)
        assert "math filled (9), logic filled (9)" in page
        decided = len(project.outcomes())
    assert 24 <= decided < 100
    assert f"filled (9); {200 - decided} items undecided, which no quota needs" in eyetest(*refine).fine()
    assert Counter(item.tags["core"] for item in Benchmark(here / "d/benchmark")) == {"math": 9, "logic": 9}
    reviewed = verdicts(here / "d").filter(stage="review")
    assert reviewed.filter(reason="undecided: not needed for its quota").height == 200 - decided


def send(reviewer: OpenerDirector, url: str, form: dict[str, str] | None = None) -> str:
    with reviewer.open(url, urlencode(form).encode() if form else None, timeout=30) as answer:
        return str(answer.read().decode())


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found
    return found[1]
