"""Whose turn it is, and what becomes of what they say: disputes, claims, all counted by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eyetest.errors import Forbidden, InputError
from eyetest.studio.decisions import Task
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import CLAIM, ReviewProject
from tests.studio.project.reviews import begin, people, plan_of, say, take, work_off


def test_what_is_disputed_goes_to_an_admin_who_did_not_decide(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2), 1)
    (ann,) = people(project, "ann", role="admin")
    (bob,) = people(project, "bob")
    say(project, ann, take(project, ann), "keep")
    say(project, bob, take(project, bob), "drop", reason="blurred")
    assert project.next_task(ann) is None
    assert project.progress().stuck == (
        "1 decision cannot be made by the people who were invited: who decided about an item does not get it again; "
        "invite another reviewer or admin"
    )
    (cleo,) = people(project, "cleo", role="admin")
    task = take(project, cleo)
    assert (task.item, task.adjudicates) == ("q1", True)
    assert [(one.reviewer, one.decision) for one in task.earlier] == [("ann", "keep"), ("bob", "drop")]
    assert project.task(cleo, "q1") == task
    say(project, cleo, task, "drop", reason="it is")
    given = project.outcomes()["q1"]
    assert (given.verdict, given.reason, given.n, given.agree) == ("drop", "it is", 3, 2)
    assert project.progress().stuck == ""
    say(project, cleo, project.task(cleo, "q1"), "unsure")
    assert project.outcomes()["q1"].verdict == "review"


def test_a_queue_that_changed(tmp_path: Path) -> None:
    """What waits no more is closed, unless a person decided it; what waits again opens, with what was given."""
    project, _ = begin(tmp_path, plan_of(2), ["q1", "q2"])
    ann, bob = people(project, "ann", "bob")
    say(project, ann, take(project, ann))
    assert take(project, ann).item == "q2"
    assert project.await_only(["q3"]) == 2
    with pytest.raises(Forbidden):
        project.task(ann, "q2")
    assert take(project, bob).item == "q3"
    assert project.progress().items == 2, "q1, which was decided about, and q3"
    assert project.task(ann, "q1").mine is not None
    assert project.await_only(["q1", "q2", "q3"]) == 3
    say(project, bob, project.task(bob, "q3"))
    assert work_off(project, bob) == ["q1", "q2"]
    assert project.outcomes()["q1"].verdict == "keep"
    say(project, bob, project.task(bob, "q1"), "drop")
    project.await_only(["q2"])
    assert project.progress().disputes.open == 1, "a dispute stays"
    assert project.add_items(["q4", "q4"]) == 2, "one for each reviewer"


def test_after_a_change_of_mind_nothing_is_disputed(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2), 1)
    ann, bob = people(project, "ann", "bob")
    (cleo,) = people(project, "cleo", role="admin")
    say(project, ann, take(project, ann), "keep")
    say(project, bob, take(project, bob), "drop")
    task = take(project, cleo)
    assert task.adjudicates
    say(project, bob, project.task(bob, "q1"), "keep")
    with pytest.raises(Forbidden, match="not any more"):
        say(project, cleo, task)
    assert project.next_task(cleo) is None
    assert project.outcomes()["q1"].verdict == "keep"
    assert project.progress().disputes.open == 0


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


def test_the_gold_is_shown_after_an_answer(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2, form=Form(solve=True)), 1)
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
    say(project, bob, project.task(bob, "q1"), "drop")
    settling = take(project, cleo)
    assert (settling.adjudicates, settling.form.solve) == (True, False)
    (dora,) = people(project, "dora")
    with pytest.raises(Forbidden):
        project.solve(dora, Task(item="q1", form=Form()), "A")


FORM = Form(
    name="short",
    fields=(FormField(name="core", ask="Which?", values=("math", "logic"), tag="core", when=("keep", "fix")),),
    edits=("question", "answer"),
)


def test_a_review_is_there_again_and_whole_or_not_at_all(tmp_path: Path) -> None:
    plan = plan_of(2, form=FORM, seed=3)
    project, _ = begin(tmp_path, plan)
    project.close()
    with ReviewProject.open(tmp_path) as again:
        assert (again.plan, list(again.outcomes())) == (plan, ["q1", "q2", "q3"])
    with pytest.raises(InputError, match="holds a review already"):
        ReviewProject.create(tmp_path, plan, [])

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
