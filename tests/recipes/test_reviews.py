"""A review begun, gone on with and read by refine; what a recipe left to people, round after round."""

import csv
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.commands.harden_options import harden_options
from eyetest.commands.review_tools import export_review
from eyetest.errors import Forbidden, InputError
from eyetest.recipes.refining import Refined
from eyetest.recipes.reviews import OpenReview, ReviewSettings, open_review
from eyetest.records import DecisionKind, Recipe
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import QUEUE, by_suspicion
from tests.harden.options.items import bench as bench_of
from tests.harden.options.items import choice_item
from tests.recipes.benches import by_item, decide, make_bench, verdicts
from tests.studio.project.reviews import people, say, take

NO_WISHES = ReviewSettings()
TWICE: dict[str, Any] = {
    "panels": {"inspectors": {"size": 1, "modality": "no-image"}},
    "stages": [
        {"filter": "blind-hits", "panel": "inspectors", "keep": {"hits": {"op": "<", "value": 1}}},
        {"review": {"reviewers": 1, "form": "mmmu-pro"}, "name": "first"},
        {"review": {"reviewers": 2, "form": "Still right?"}, "name": "second"},
    ],
}


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    make_bench(tmp_path / "b", 12)
    return tmp_path / "b"


def refine(folder: Path, recipe: dict[str, Any] = TWICE) -> Refined:
    chosen, models = msgspec.convert(recipe, Recipe), {"a": "scripted:blind=0.5"}
    return et.refine(folder / "b", recipe=chosen, to=folder / "d", models=models).outcome


def ids(opened: OpenReview) -> list[str]:
    return list(opened.project.outcomes())


def begin(*places: Path, to: Path | None = None, **wishes: Any) -> OpenReview:
    return open_review(places, ReviewSettings(**wishes), to)


def test_a_benchmark_is_reviewed_beside_itself(bench: Path) -> None:
    opened = begin(bench, rounds="1,2", per="core", form="Is it right?", solve=True)
    project = opened.project
    assert project.folder == bench.parent / "b-review"
    assert sorted(ids(opened)) == sorted(f"q{number}" for number in range(12))
    cores = [int(name[1:]) % 2 for name in ids(opened)]
    assert all(sum(cores[at : at + 2]) == 1 for at in range(0, 12, 2)), "both cores in turn"
    assert [one.reviewers for one in project.plan.rounds] == [1, 2]
    assert {one.form.about for one in project.plan.rounds} == {"Is it right?"}
    assert (project.plan.agree, project.plan.together, project.plan.solve) == ("all", True, True)
    assert project.plan.fingerprint == Benchmark(bench).manifest.fingerprint
    project.close()


def test_it_goes_on_and_its_rules_stay(bench: Path) -> None:
    first = begin(bench, items="3", rounds="2")
    drawn = ids(first)
    (ann,) = people(first.project, "ann")
    say(first.project, ann, take(first.project, ann), "drop", reason="blurred")
    first.project.close()
    for places in ([bench], [bench.parent / "b-review"]):
        again = begin(*places, rounds="2")
        assert len(again.project.decisions()) == 1
        assert len(ids(again)) == 3
        again.project.close()
    more = begin(bench, items="tag.core=p")
    assert len(ids(more)) == len({*drawn, *(f"q{number}" for number in range(0, 12, 2))})
    more.project.close()
    wishes: dict[str, Any] = {
        "rounds": "1",
        "form": "mmstar",
        "solve": True,
        "agree": "most",
        "per": "core",
        "seed": 1,
    }
    for name, wish in wishes.items():
        with pytest.raises(InputError, match=f"--{name}.* was begun otherwise; leave it out .eyetest review"):
            begin(bench, **{name: wish})
    other = begin(bench, to=bench.parent / "other", rounds="1")
    assert len(ids(other)) == 12
    other.project.close()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"rounds": "1,x"}, "--rounds: found '1,x', expected reviewers of each round: 1,2"),
        ({"rounds": "0"}, "--rounds"),
        ({"items": "some"}, "--items: found 'some', expected review, all, a number"),
        ({"items": "review"}, "no item to review: --items review means none"),
        ({"items": "tag.core=zz"}, "means none"),
        ({"items": "tag.cure=p"}, 'did you mean "core"'),
        ({"per": "cure"}, "--per: no tag 'cure'"),
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


def test_a_recipe_round_after_round(bench: Path) -> None:
    """One looks at everything; refine goes on; two others look at what is left; refine ends."""
    folder = bench.parent / "d"
    waiting = [verdict.item for verdict in refine(bench.parent).waiting]
    opened = begin(folder)
    assert sorted(ids(opened)) == sorted(waiting)
    assert [one.form.name for one in opened.project.plan.rounds] == ["mmmu-pro", "plain"]
    assert opened.project.plan.rounds[1].form.about == "Still right?"
    gone, repaired, *rest = waiting
    work(opened, "ann", {gone: "drop"})
    opened.project.close()

    assert refine(bench.parent).paused == "second"
    assert by_item(folder, "first") == {gone: "drop", repaired: "keep", **dict.fromkeys(rest, "keep")}
    opened = begin(folder / "review")
    assert opened.project.next_task(opened.project.person("ann")) is None
    assert [row.waiting for row in opened.project.people()] == [0]
    with pytest.raises(Forbidden):
        opened.project.task(opened.project.person("ann"), repaired, 2)
    work(opened, "bob", {repaired: "drop"})
    work(opened, "eve", {})
    assert opened.project.progress().disputed == 1
    opened.project.close()

    assert [verdict.item for verdict in refine(bench.parent).waiting] == [repaired]
    again = begin(folder)
    (cleo,) = people(again.project, "cleo", role="adjudicator")
    say(again.project, cleo, take(again.project, cleo), "fix", edits={"question": "Which one now?"})
    again.project.close()
    refined = refine(bench.parent)
    assert (refined.paused, refined.waiting) == ("", [])
    assert by_item(folder, "second") == {repaired: "fix", **dict.fromkeys(rest, "keep")}
    assert Benchmark(folder / "benchmark")[repaired].question == "Which one now?"


def test_other_tools_do_not_tell_what_people_said_in_earlier_rounds(bench: Path) -> None:
    folder = bench.parent / "d"
    refine(bench.parent)
    opened = begin(folder)
    work(opened, "ann", comment="secretly I doubt it")
    opened.project.close()
    refine(bench.parent)
    assert "secretly I doubt it" in verdicts(folder).filter(stage="first").get_column("reason")
    assert export_review(folder, to=bench.parent / "out").facts["open"]
    for row in csv.DictReader((bench.parent / "out" / QUEUE).read_text().splitlines()):
        assert row["evidence"].startswith("blind-hits: keep.")
        assert "doubt" not in row["evidence"]


def test_a_recipe_with_fewer_rounds_now_still_hands_out_what_was_decided(bench: Path) -> None:
    folder = bench.parent / "d"
    refine(bench.parent)
    opened = begin(folder)
    work(opened, "ann")
    opened.project.close()
    refine(bench.parent)
    opened = begin(folder)
    work(opened, "bob")
    made = len(opened.project.decisions())
    opened.project.close()
    refine(bench.parent, {**TWICE, "stages": TWICE["stages"][:2]})
    assert export_review(folder, to=bench.parent / "out").facts["decisions"] == made


def test_decisions_in_a_table_and_in_a_review_count_together(bench: Path) -> None:
    once = {**TWICE, "stages": [TWICE["stages"][0], {"review": {"reviewers": 2}}]}
    first, *rest = [verdict.item for verdict in refine(bench.parent, once).waiting]
    opened = begin(bench.parent / "d")
    work(opened, "ann")
    take_first = {"item": first, "reviewer": "bob", "decision": "keep"}
    decide(bench.parent / "d", take_first)
    refined = refine(bench.parent, once)
    assert [verdict.item for verdict in refined.waiting] == rest
    opened.project.close()
    again = begin(bench.parent / "d")
    assert again.project.await_only({1: rest}) == 0, "it was taken up when it was opened"
    with pytest.raises(Forbidden):
        again.project.task(people(again.project, "bob")[0], first, 1)
    work(again, "bob")
    again.project.close()
    assert refine(bench.parent, once).waiting == []


def test_a_recipe_that_asks_others_now(bench: Path) -> None:
    """More reviewers get slots, fewer lose those that nobody has decided in, and the form is the new one."""

    def once(reviewers: int, form: str) -> OpenReview:
        review = {"reviewers": reviewers, "form": form}
        refine(bench.parent, {**TWICE, "stages": [TWICE["stages"][0], {"review": review}]})
        return begin(bench.parent / "d")

    opened = once(1, "Is it right?")
    (ann,) = people(opened.project, "ann")
    first = take(opened.project, ann).item
    say(opened.project, ann, take(opened.project, ann))
    opened.project.close()
    opened = once(3, "Is it really right?")
    (all_,) = opened.project.progress().rounds
    assert (all_.all, all_.decided) == (3 * len(ids(opened)), 1)
    assert opened.project.progress().settled == 0
    (bob,) = people(opened.project, "bob")
    task = take(opened.project, bob)
    assert (task.item, task.form.about) == (first, "Is it really right?")
    opened.project.close()
    opened = once(1, "Is it right?")
    assert opened.project.outcomes()[first].verdict == "keep"
    assert opened.project.progress().settled == 1
    with pytest.raises(Forbidden):
        say(opened.project, bob, task)
    assert opened.project.progress().rounds[0].all == len(ids(opened))
    opened.project.close()


def test_options_that_people_have_to_look_at(tmp_path: Path) -> None:
    """One looks at all of them, then two others at what is left, as the command that made them asks for."""
    counts = {name: [str(first + 2 * place) for place in range(4)] for first, name in enumerate("abcd", 3)}
    bench_of(tmp_path / "given", [choice_item(name, options) for name, options in counts.items()])

    def grow() -> list[str]:
        done = harden_options(tmp_path / "given", to=tmp_path / "out", option_count=6, skip_probes=True)
        return sorted(done.facts["waiting"])

    waiting = grow()
    opened = begin(tmp_path / "out")
    assert sorted(ids(opened)) == waiting
    assert [(one.reviewers, one.form.name) for one in opened.project.plan.rounds] == [
        (1, "mmmu-pro"),
        (2, "mmmu-pro"),
    ]
    assert {len(item.choices) for item in opened.collection.records(waiting).values()} == {6}
    work(opened, "ann", {waiting[0]: "drop"})
    opened.project.close()
    assert grow() == waiting[1:]
    again = begin(tmp_path / "out")
    work(again, "bob eve")
    assert again.project.next_task(again.project.person("ann")) is None
    again.project.close()
    assert grow() == []


def test_a_recipe_says_what_is_asked(bench: Path) -> None:
    refine(bench.parent)
    for name, word in {"form": "plain", "rounds": "1", "items": "all", "agree": "all", "seed": 0}.items():
        wish: dict[str, Any] = {name: word}
        with pytest.raises(InputError, match=f"--{name}: the recipe of .* sets it"):
            begin(bench.parent / "d", **wish)
    with pytest.raises(InputError, match="--to: the review of"):
        begin(bench.parent / "d", to=bench.parent / "elsewhere")


def test_what_waits_later_is_spread_as_the_review_was_begun(bench: Path) -> None:
    few = {"stages": [{"select": {"total": 2}}, {"review": {"reviewers": 1}}]}
    refine(bench.parent, few)
    begin(bench.parent / "d", per="core").project.close()
    refine(bench.parent, {"stages": few["stages"][1:]})
    opened = begin(bench.parent / "d")
    first, table, seed = ids(opened)[:2], opened.collection.table, opened.project.plan.seed
    spread, plain = (by_suspicion(table, ids(opened), per, seed) for per in ("core", ""))
    assert spread != plain
    assert ids(opened)[2:] == [item for item in spread if item not in first]
    opened.project.close()


def test_what_was_decided_of_items_that_are_gone_is_told(bench: Path) -> None:
    refine(bench.parent)
    opened = begin(bench.parent / "d")
    opened.project.add_items(["gone"], round=1)
    work(opened, "ann")
    opened.project.close()
    told = [line for line in refine(bench.parent).notes if "not in this benchmark" in line]
    assert len(told) == 1
    assert told[0].startswith("1 decision in ")


def test_a_refinement_that_asked_nobody_still_knows_its_items(bench: Path) -> None:
    refine(bench.parent)
    shutil.rmtree(bench.parent / "d" / "run", ignore_errors=True)
    opened = begin(bench.parent / "d")
    names = ids(opened)
    assert names
    assert all(story.item for story in opened.collection.stories(names))
    opened.project.close()
    bench.rename(bench.parent / "elsewhere")
    assert not any(story.item for story in Collection.open([bench.parent / "d"]).stories(names))
