"""A review begun, gone on with and read by refine; what a recipe left to people."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.commands.review import export_review
from eyetest.errors import InputError
from eyetest.recipes.refining import Refined
from eyetest.recipes.reviews import OpenReview, ReviewSettings, open_review
from eyetest.records import DecisionKind, Recipe
from eyetest.studio.exchange import QUEUE
from tests.recipes.benches import by_item, make_bench
from tests.studio.project.reviews import people, say, take
from tests.support.tables import read_csv

pytestmark = pytest.mark.journey

REVIEWED: dict[str, Any] = {
    "panels": {"inspectors": {"size": 1, "modality": "no-image"}},
    "stages": [
        {"filter": "blind-hits", "panel": "inspectors", "keep": {"hits": {"op": "<", "value": 1}}},
        {"review": {"reviewers": 2, "form": "Still right?"}},
    ],
}


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    make_bench(tmp_path / "b", 12)
    return tmp_path / "b"


def refine(folder: Path, recipe: dict[str, Any] = REVIEWED) -> Refined:
    chosen, models = msgspec.convert(recipe, Recipe), {"a": "scripted:blind=0.5"}
    return et.refine(folder / "b", recipe=chosen, to=folder / "d", models=models).outcome


def ids(opened: OpenReview) -> list[str]:
    return list(opened.project.outcomes())


def begin(*places: Path, to: Path | None = None, **wishes: Any) -> OpenReview:
    return open_review(places, ReviewSettings(**wishes), to)


def test_a_benchmark_is_reviewed_beside_itself(bench: Path) -> None:
    opened = begin(bench, reviewers=3, form="Is it right?", solve=True)
    project = opened.project
    assert project.folder == bench.parent / "b-review"
    assert sorted(ids(opened)) == sorted(f"q{number}" for number in range(12))
    assert (project.plan.reviewers, project.plan.form.about) == (3, "Is it right?")
    assert project.plan.form.solve
    assert project.plan.fingerprint == Benchmark(bench).manifest.fingerprint
    project.close()


def test_it_goes_on_and_its_rules_stay(bench: Path) -> None:
    first = begin(bench, items="3", reviewers=2)
    drawn = ids(first)
    (ann,) = people(first.project, "ann")
    say(first.project, ann, take(first.project, ann), "drop", reason="blurred")
    first.project.close()
    for places in ([bench], [bench.parent / "b-review"]):
        again = begin(*places, reviewers=2)
        assert len(again.project.decisions()) == 1
        assert len(ids(again)) == 3
        again.project.close()
    more = begin(bench, items="tag.core=p")
    assert len(ids(more)) == len({*drawn, *(f"q{number}" for number in range(0, 12, 2))})
    more.project.close()
    wishes: dict[str, Any] = {"reviewers": 1, "form": "mmstar", "solve": True}
    for name, wish in wishes.items():
        with pytest.raises(InputError, match=f"--{name}.* was begun otherwise; leave it out .eyetest review"):
            begin(bench, **{name: wish})
    samples: list[list[str]] = []
    for n in (2, 4):
        sample = begin(bench, to=bench.parent / "s", items=f"{n} of tag.core=p")
        samples.append(ids(sample))
        sample.project.close()
    assert ([len(some) for some in samples], samples[1][:2]) == ([2, 4], samples[0]), "a larger one begins alike"
    assert {int(name[1:]) % 2 for name in samples[1]} == {0}
    assert sample.project.plan.items == tuple(f"{n} of 6 at random, seed 0: tag.core=p" for n in (2, 4))
    assert "items: 2 of 6 at random, seed 0" in et.review_status(bench.parent / "s").notes[1]
    other = begin(bench, to=bench.parent / "other", reviewers=1)
    assert len(ids(other)) == 12
    other.project.close()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"reviewers": 0}, "--reviewers: found 0, expected 1 to 50"),
        ({"items": "some"}, "--items: found 'some', expected review, all, a number"),
        ({"items": "9 of some"}, "--items: found 'some', expected review, all, a number"),
        ({"items": "9 of tag.core=zz"}, "no item has 'tag.core=zz'"),
        ({"items": "review"}, "no item to review: --items review means none"),
        ({"items": "tag.core=zz"}, "no item has 'tag.core=zz'"),
        ({"items": "tag.cure=p"}, 'did you mean "core"'),
        ({"form": "mmstarr"}, 'did you mean "mmstar"'),
    ],
)
def test_what_makes_no_sense_leaves_nothing(bench: Path, wish: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        begin(bench, **wish)
    assert not (bench.parent / "b-review").exists()


def work(opened: OpenReview, names: str, kinds: dict[str, DecisionKind] | None = None, comment: str = "") -> None:
    """Each of some people decides about everything that they get."""
    labels = {"distractors": "yes", "one-right": "yes"}
    for person in people(opened.project, *names.split()):
        while (task := opened.project.next_task(person)) is not None:
            kind = (kinds or {}).get(task.item, "keep")
            asked = {field.name: labels.get(field.name, field.values[0]) for field in task.form.asked(kind)}
            say(opened.project, person, task, kind, labels=asked, comment=comment)


def test_what_a_recipe_left_to_people(bench: Path) -> None:
    """Two people decide; an admin settles what they disagree on; refine carries it out."""
    folder = bench.parent / "d"
    waiting = [verdict.item for verdict in refine(bench.parent).waiting]
    opened = begin(folder)
    assert sorted(ids(opened)) == sorted(waiting)
    assert opened.project.plan.form.about == "Still right?"
    gone, repaired, *rest = waiting
    work(opened, "ann", {gone: "drop"}, comment="secretly I doubt it")
    opened.project.close()
    assert export_review(folder, to=bench.parent / "out").facts["open"]
    for row in read_csv(bench.parent / "out" / QUEUE):
        assert row["evidence"].startswith("blind-hits: keep.")
        assert "doubt" not in row["evidence"], "what one person wrote is not shown to the next"

    assert refine(bench.parent).paused == "review"
    opened = begin(folder / "review")
    assert opened.project.next_task(opened.project.people.named("ann")) is None
    work(opened, "bob", {gone: "drop", repaired: "drop"})
    assert opened.project.progress().disputes.open == 1
    opened.project.close()

    assert [verdict.item for verdict in refine(bench.parent).waiting] == [repaired]
    again = begin(folder)
    (cleo,) = people(again.project, "cleo", role="admin")
    say(again.project, cleo, take(again.project, cleo), "fix", edits={"question": "Which one now?"})
    again.project.close()
    refined = refine(bench.parent)
    assert (refined.paused, refined.waiting) == ("", [])
    assert by_item(folder, "review") == {gone: "drop", repaired: "fix", **dict.fromkeys(rest, "keep")}
    assert Benchmark(folder / "benchmark")[repaired].question == "Which one now?"
