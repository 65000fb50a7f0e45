"""Whose turn it is, and what becomes of what they say: rounds, undo, disputes, claims, all counted by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eyetest.errors import Forbidden, InputError
from eyetest.records import Choice, Item
from eyetest.studio.decisions import ReviewPlan, Task
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import CLAIM, ReviewProject
from tests.studio.project.reviews import PEOPLE, begin, people, plan_of, say, take, take_back, work_off


def verdicts(project: ReviewProject) -> dict[str, str]:
    return {item: one.verdict for item, one in project.outcomes().items()}


def test_one_then_two_others(tmp_path: Path) -> None:
    """Ann keeps all, bob drops q2, eve drops q2 and fixes q3: q1 agreed, q2 and q3 not."""
    project, _ = begin(tmp_path, plan_of(1, 2))
    ann, bob, eve = people(project, *PEOPLE)
    assert work_off(project, ann, {}) == ["q1", "q2", "q3"]
    assert verdicts(project) == dict.fromkeys(("q1", "q2", "q3"), "review")
    assert work_off(project, bob, {"q2": "drop"}) == ["q1", "q2", "q3"]
    assert work_off(project, eve, {"q2": "drop", "q3": "fix"}) == ["q1", "q2", "q3"]
    assert [(one.round, one.reviewer) for one in project.decisions()] == [
        *[(1, "ann")] * 3,
        *[(2, "bob")] * 3,
        *[(2, "eve")] * 3,
    ]
    assert verdicts(project) == {"q1": "keep", "q2": "review", "q3": "review"}
    assert project.outcomes()["q2"].reason == "reviewers disagree, 2 to 1"
    assert [project.next_task(person) for person in (ann, bob, eve)] == [None] * 3
    stated = project.progress()
    assert (stated.items, stated.settled, stated.disputed) == (3, 1, 2)
    assert [(one.round, one.decided, one.open) for one in stated.rounds] == [(1, 3, 0), (2, 6, 0), (0, 0, 2)]


def test_what_is_disputed_goes_to_an_admin_who_did_not_decide(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2), 1)
    (ann,) = people(project, "ann", role="admin")
    (bob,) = people(project, "bob")
    say(project, ann, take(project, ann), "keep")
    say(project, bob, take(project, bob), "drop", reason="blurred")
    assert project.next_task(ann) is None
    assert project.progress().stuck == (
        "1 decision cannot be made by ann: who decided about an item does not get it again; invite another admin",
    )
    (cleo,) = people(project, "cleo", role="admin")
    task = take(project, cleo)
    assert (task.item, task.round, task.adjudicates) == ("q1", 1, True)
    assert [(one.reviewer, one.decision) for one in task.earlier] == [("ann", "keep"), ("bob", "drop")]
    assert project.task(cleo, "q1", 1) == task
    say(project, cleo, task, "drop", reason="it is")
    given = project.outcomes()["q1"]
    assert (given.verdict, given.reason, given.n, given.agree) == ("drop", "it is", 3, 2)
    assert project.progress().stuck == ()
    say(project, cleo, project.task(cleo, "q1", 1), "unsure")
    assert project.outcomes()["q1"].verdict == "review"


def test_reviewers_never_see_what_others_said(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1, 1), 1)
    ann, bob = people(project, "ann", "bob")
    say(project, ann, take(project, ann), "drop", reason="blurred")
    task = take(project, bob)
    assert (task.round, task.earlier, task.mine) == (2, (), None)
    for person, number in ((bob, 1), (ann, 2)):
        with pytest.raises(Forbidden):
            project.task(person, "q1", number)
    with pytest.raises(Forbidden):
        say(project, ann, task)
    with pytest.raises(InputError, match="no item 'q9'"):
        project.task(ann, "q9", 1)


def test_a_round_of_a_recipe_decides_by_itself(tmp_path: Path) -> None:
    """Of three, two decide; one against one is a tie and is settled, in its own round."""
    project, _ = begin(tmp_path, plan_of(3, 2, together=False), [])
    ann, bob, eve = people(project, *PEOPLE)
    assert project.add_items(["q1", "q2"], round=1) == 6
    for person, kinds in ((ann, {}), (bob, {"q1": "drop", "q2": "drop"}), (eve, {"q1": "drop", "q2": "unsure"})):
        work_off(project, person, kinds)  # type: ignore[arg-type]
    assert verdicts(project) == {"q1": "drop", "q2": "review"}
    (cleo,) = people(project, "cleo", role="admin")
    say(project, cleo, take(project, cleo), "keep")
    assert verdicts(project) == {"q1": "drop", "q2": "keep"}

    assert project.progress().settled == 2
    assert project.await_only({2: ["q2"]}) == 2
    assert project.progress().settled == 1, "what the next round asks again is open again"
    dora, finn = people(project, "dora", "finn")
    assert [project.next_task(person) for person in (ann, bob, eve, cleo)] == [None] * 4
    for person in (dora, finn):
        task = take(project, person)
        assert (task.item, task.round) == ("q2", 2)
        say(project, person, task, "drop")
    assert project.outcomes()["q2"].verdict == "drop"


def test_a_queue_that_changed(tmp_path: Path) -> None:
    """What waits no more is closed, unless a person decided it; what waits again opens, with what was given."""
    project, _ = begin(tmp_path, plan_of(2, together=False), ["q1", "q2"])
    ann, bob = people(project, "ann", "bob")
    say(project, ann, take(project, ann))
    assert take(project, ann).item == "q2"
    assert project.await_only({1: ["q3"]}) == 2
    with pytest.raises(Forbidden):
        project.task(ann, "q2", 1)
    assert take(project, bob).item == "q3"
    assert project.progress().items == 2, "q1, which was decided about, and q3"
    assert project.task(ann, "q1", 1).mine is not None
    assert project.await_only({1: ["q1", "q2", "q3"]}) == 3
    say(project, bob, project.task(bob, "q3", 1))
    assert work_off(project, bob, {}) == ["q1", "q2"]
    assert project.outcomes()["q1"].verdict == "keep"
    say(project, bob, project.task(bob, "q1", 1), "drop")
    for waiting, disputed in (({1: ["q2"]}, []), ({1: ["q1"]}, [("q1", 1, True)])):
        project.await_only(waiting)
        assert [row for row in project.waiting() if row[0] == "q1"] == disputed


def test_a_reviewer_alone(tmp_path: Path) -> None:
    """No one else can take the second round: they are stated so, and get nothing."""
    project, _ = begin(tmp_path, plan_of(1, 2))
    (ann,) = people(project, "ann")
    assert project.progress().stuck == ()
    work_off(project, ann, {})
    assert project.next_task(ann) is None
    (line,) = project.progress().stuck
    assert line == (
        "6 decisions cannot be made by ann: who decided about an item does not get it again; invite another reviewer"
    )
    people(project, "bob")
    assert project.progress().stuck == ()


def test_nothing_to_do(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1), [])
    (ann,) = people(project, "ann")
    assert project.next_task(ann) is None
    assert project.outcomes() == {}
    stated = project.overview()
    assert (stated.progress.items, stated.progress.rounds, stated.agreement) == (0, (), [])
    assert project.add_items(["q1", "q1"]) == 1
    assert take(project, ann).item == "q1"


def test_undo_restores_the_decision_before_it(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1))
    (ann,) = people(project, "ann")
    task = take(project, ann)
    say(project, ann, task, "keep")
    say(project, ann, project.task(ann, "q1", 1), "drop", reason="blurred")
    assert project.outcomes()["q1"].verdict == "drop"
    take_back(project, ann, "q1")
    assert project.outcomes()["q1"].verdict == "keep"
    assert take(project, ann).item == "q2"
    take_back(project, ann, "q1")
    assert project.outcomes()["q1"].reason == "waits for a person"
    with pytest.raises(InputError, match="nothing of yours to withdraw"):
        take_back(project, ann, "q1")
    assert [one.decision for one in project.decisions()] == ["keep", "drop", "undo", "undo"]
    assert take(project, ann).mine is None


def test_after_a_change_of_mind_nothing_is_disputed(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2), 1)
    ann, bob = people(project, "ann", "bob")
    (cleo,) = people(project, "cleo", role="admin")
    say(project, ann, take(project, ann), "keep")
    say(project, bob, take(project, bob), "drop")
    task = take(project, cleo)
    assert task.adjudicates
    take_back(project, bob, "q1")
    with pytest.raises(Forbidden, match="not any more"):
        say(project, cleo, task)
    assert project.next_task(cleo) is None
    say(project, bob, take(project, bob), "keep")
    assert project.outcomes()["q1"].verdict == "keep"
    assert project.progress().disputed == 0


def test_the_same_nonce_is_one_decision(tmp_path: Path) -> None:
    project, clock = begin(tmp_path, plan_of(1))
    ann, bob = people(project, "ann", "bob")
    task = take(project, ann)
    first = project.decide(ann, task, "keep", nonce="n", comment="once")
    clock.now += 60
    assert project.decide(ann, task, "drop", nonce="n") == first
    assert project.undo(ann, "q1", 1, "n") == first
    assert project.decisions() == [first]
    assert project.decide(bob, take(project, bob), "keep", nonce="n").reviewer == "bob"
    for nonce in ("", "x" * 201):
        with pytest.raises(InputError, match="nonce"):
            project.decide(ann, task, "keep", nonce=nonce)


def test_a_claim_ends_unless_its_holder_decides_before_another_gets_it(tmp_path: Path) -> None:
    project, clock = begin(tmp_path, plan_of(1), 2)
    ann, bob = people(project, "ann", "bob")
    task = take(project, ann)
    assert take(project, bob).item == "q2"
    clock.now += 2 * CLAIM
    assert take(project, ann) == task == take(project, ann), "what was begun comes again"
    clock.now += 2 * CLAIM
    assert say(project, ann, task).item == "q1", "late, and no one else has it"
    task = take(project, ann)
    assert task.item == "q2"
    assert project.next_task(bob) is None
    clock.now += CLAIM
    assert project.next_task(bob) is None
    clock.now += 1
    assert take(project, bob).item == "q2"
    with pytest.raises(Forbidden, match="not any more"):
        say(project, ann, task)
    assert project.next_task(ann) is None


def test_a_person_who_has_seen_the_gold_does_not_come_back(tmp_path: Path) -> None:
    project, clock = begin(tmp_path, plan_of(1, 1, solve=True), 1)
    ann, bob = people(project, "ann", "bob")
    project.solve(ann, take(project, ann), "A")
    clock.now += CLAIM + 1
    project.solve(bob, take(project, bob), "A")
    say(project, bob, project.task(bob, "q1", 1))
    assert project.next_task(ann) is None


def test_the_gold_is_shown_after_an_answer(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2, solve=True), 1)
    ann, bob = people(project, "ann", "bob")
    (cleo,) = people(project, "cleo", role="admin")
    task = take(project, ann)
    assert (task.form.solve, task.solved) == (True, None)
    with pytest.raises(Forbidden, match="answer the item first"):
        say(project, ann, task)
    assert project.solve(ann, task, "B").solved == "B"
    assert project.solve(ann, task, "C").solved == "B"
    assert say(project, ann, task, "keep").solved == "B"
    assert project.solve(bob, take(project, bob), "").solved == ""
    say(project, bob, project.task(bob, "q1", 1), "drop")
    settling = take(project, cleo)
    assert (settling.adjudicates, settling.form.solve) == (True, False)
    with pytest.raises(Forbidden):
        project.solve(cleo, Task(item="q1", round=2, form=Form()), "A")


def test_an_adjudicator_does_not_come_back_as_a_reviewer(tmp_path: Path) -> None:
    project, clock = begin(tmp_path, plan_of(2), 1)
    ann, bob = people(project, "ann", "bob")
    (cleo,) = people(project, "cleo", role="admin")
    say(project, ann, take(project, ann), "keep")
    say(project, bob, take(project, bob), "drop")
    assert take(project, cleo).adjudicates
    say(project, bob, project.task(bob, "q1", 1), "keep")
    project.add_items(["q1"])
    clock.now += CLAIM + 1
    assert project.next_task(cleo) is None


FORM = Form(
    name="short",
    fields=(FormField(name="core", ask="Which?", values=("math", "logic"), tag="core", when=("keep", "fix")),),
    edits=("question", "answer"),
)


def test_labels_and_edits_are_checked_before_they_are_kept(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1, form=FORM), 1)
    (ann,) = people(project, "ann")
    task = take(project, ann)
    item = Item(id="q1", question="?", choices=(Choice("a", True), Choice("b")))
    project.item_of = {"q1": item}.get
    for kind, given, message in (
        ("keep", {}, "core: Which\\?"),
        ("keep", {"labels": {"core": "maths"}}, 'did you mean "math"'),
        ("drop", {"labels": {"core": "math"}}, "core"),
        ("drop", {"edits": {"answer": "B"}}, "edits: only a fix changes an item, and this is drop"),
        ("fix", {"edits": {"tags": {"x": "y"}}, "labels": {"core": "math"}}, "may be changed"),
        ("fix", {"edits": {"answer": "Z"}, "labels": {"core": "math"}}, "an answer is one of A, B"),
        ("drop", {"reason": "x" * 10_001}, "reason: 10,001 characters"),
        ("drop", {"comment": "x\ud800"}, "UTF-8 cannot encode"),
        ("fix", {"edits": {"question": "x" * 200_000}, "labels": {"core": "math"}}, "edits: 200,0.. characters"),
        ("undo", {}, "decision"),
        ("maybe", {}, "decision: found 'maybe'"),
    ):
        with pytest.raises(InputError, match=message):
            say(project, ann, task, kind, **given)  # type: ignore[arg-type]
    assert project.decisions() == []
    kept = say(project, ann, task, "fix", edits={"answer": "B"}, labels={"core": " math "})
    assert (kept.edits, kept.labels) == ({"answer": "B"}, {"core": "math"})
    assert dict(project.outcomes()["q1"].labels) == {"core": "math"}


def test_a_review_is_there_again_and_whole_or_not_at_all(tmp_path: Path) -> None:
    plan = plan_of(1, 2, form=FORM, seed=3)
    project, _ = begin(tmp_path, plan)
    project.close()
    with ReviewProject.open(tmp_path) as again:
        assert (again.plan, list(again.outcomes())) == (plan, ["q1", "q2", "q3"])
    with pytest.raises(InputError, match="holds a review already"):
        ReviewProject.create(tmp_path, plan, [])
    with pytest.raises(ValueError, match="numbered from 1"):
        ReviewPlan(name="x", rounds=(plan.rounds[1],))

    def items() -> Iterator[str]:
        yield "q1"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ReviewProject.create(tmp_path / "r", plan_of(1), items())
    assert list((tmp_path / "r").iterdir()) == []
    for content, message in ((b"not a database, but long" * 100, "file is not a database"), (b"", "no such table")):
        (tmp_path / "r/review.db").write_bytes(content)
        with pytest.raises(InputError, match=message):
            ReviewProject.open(tmp_path / "r")
    with pytest.raises(InputError, match="holds no review"):
        ReviewProject.open(tmp_path / "nothing")
