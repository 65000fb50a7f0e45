"""Deciding, item by item: what a reviewer sees, what is kept, and what comes next."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.records import Verdict
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import Decided, with_people
from eyetest.studio.forms import Form
from tests.studio.app.reviewing.conftest import IDS, Enter, MakeProject, Visitor
from tests.studio.collection.test_opening import write_refinement


@pytest.fixture
def ann(make_project: MakeProject, enter: Enter) -> Visitor:
    """A reviewer at the first of six items."""
    ann = enter(make_project(), "Ann")
    assert "6 to go" in ann.get("/").text
    assert ann.next() == "q0"
    return ann


def test_one_item_comes_after_the_other_until_nothing_waits(ann: Visitor) -> None:
    project = ann.project
    for number, item in enumerate(IDS[1:], 2):
        ann.decide("unsure")
        assert ann.hidden("item") == item
        assert f"item {number} of 6 for you" in ann.page
    assert "Nothing waits for you" in ann.decide("drop", reason="unclear", comment="hm").text
    given = project.decisions()
    assert [(one.item, one.decision) for one in given] == [*((id_, "unsure") for id_ in IDS[:5]), ("q5", "drop")]
    assert (given[-1].reason, given[-1].comment, given[-1].reviewer) == ("unclear", "hm", "Ann")


def test_a_form_is_kept_with_its_fields(ann: Visitor) -> None:
    project = ann.project
    ann.decide("keep", **{"label_image": "yes", "label_faults": ["c", "a"], "label_note": " so\r\nso "})
    (given,) = project.decisions()
    assert given.labels == {"image": "yes", "faults": ["a", "c"], "note": "so\nso"}
    ann.decide("unsure")
    assert project.decisions()[1].labels == {}


def test_a_fix_keeps_what_was_changed_and_nothing_else(ann: Visitor) -> None:
    project = ann.project
    assert '<textarea id="edit_a" name="edit_a"' in ann.page
    same = {"edit_question": "Which animal is number 0?", "edit_b": "Blue whale", "edit_c": "Green frog"}
    same |= {"edit_tags": "year=2020\ntask=birds"}
    ann.decide("fix", **same, **{"edit_a": "Black kite", "edit_answer": "A", "label_image": "yes"})
    assert project.decisions()[-1].edits == {"A": "Black kite"}
    changed = {"edit_tags": "task=fowl", "edit_answer": ["A", "C"], "label_image": "no"}
    ann.decide("fix", **changed)
    assert project.decisions()[-1].edits == {"answer": ["A", "C"], "tags": {"task": "fowl"}}


def test_what_is_refused_comes_back_as_it_was_typed(ann: Visitor) -> None:
    project = ann.project
    nonce = ann.hidden("nonce")
    answer = ann.decide(
        "fix", **{"edit_question": "<b>Where?", "edit_answer": "A", "label_note": "a & b", "comment": "c < d"}
    )
    assert answer.status_code == 400
    assert "Does it need the image? This has to be answered" in answer.text
    assert "&lt;b&gt;Where?</textarea>" in answer.text
    assert "\na &amp; b</textarea>" in answer.text
    assert "\nc &lt; d</textarea>" in answer.text
    assert 'value="fix" data-key="f" checked' in answer.text
    assert ann.hidden("nonce") == nonce
    for wrong, stated in (
        ({"decision": ""}, "choose a decision"),
        ({"decision": "kep"}, "did you mean"),
        ({"decision": "drop"}, "say why"),
        ({"decision": "fix", "label_image": "yes"}, "a fix changes something"),
        ({"decision": "fix", "label_image": "yes", "edit_question": "x"}, "choose at least one option"),
        ({"decision": "keep", "label_image": "maybe"}, "no value"),
    ):
        answer = ann.decide(wrong.pop("decision"), **wrong)
        assert (answer.status_code, stated in answer.text) == (400, True), stated
    assert project.decisions() == []


def test_sent_twice_it_counts_once(ann: Visitor) -> None:
    project = ann.project
    form = {name: ann.hidden(name) for name in ("item", "nonce")} | {"decision": "unsure"}
    for _ in range(3):
        ann.post("/decide", form)
        assert ann.hidden("item") == "q1"
    assert len(project.decisions()) == 1
    changed = form | {"decision": "drop", "reason_text": "on second thoughts"}  # after going back
    for _ in range(2):
        assert ann.post("/decide", changed).status_code == 200
    assert [(one.item, one.decision) for one in project.decisions()] == [("q0", "unsure"), ("q0", "drop")]
    assert project.outcomes()["q0"].verdict == "drop"


def test_a_reviewer_does_not_see_what_people_said_before(
    make_project: MakeProject, enter: Enter, zoo: Path, tmp_path: Path
) -> None:
    given = Decided("drop", "the gold is B", 1, 1)
    verdicts = [
        Verdict(item="q0", stage="first-review", verdict="fix", reason="the gold is B"),
        Verdict(item="q0", stage="screen", verdict="drop", reason=with_people("3 hits", given)),
    ]
    refined = write_refinement(tmp_path / "refined", Benchmark(zoo / "bench"), *verdicts)
    judged = Collection([zoo / "run", refined])
    project = make_project(("q0",), reviewers=2, stage="first-review", form=Form())
    for name, role, kind in (("Ann", "reviewer", "keep"), ("Bob", "reviewer", "unsure"), ("Eve", "admin", "")):
        visitor = enter(project, name, role, collection=judged)
        visitor.next()
        assert "3 hits" in visitor.page
        assert ("the gold is B" in visitor.page) is (role == "admin")
        if kind:
            visitor.decide(kind)


def test_what_was_decided_can_be_decided_anew(ann: Visitor) -> None:
    project = ann.project
    ann.decide("drop", reason_text="my own words")
    assert "my own words" in ann.get("/").text
    ann.get("/task?item=q0")
    assert "Decide anew" in ann.page
    assert "\nmy own words</textarea>" in ann.page
    ann.decide("unsure")
    assert [one.decision for one in project.decisions()] == ["drop", "unsure"]
    assert "my own words" not in ann.get("/").text
    assert project.outcomes()["q0"].n == 1


def test_an_adjudicator_sees_what_others_decided(make_project: MakeProject, enter: Enter) -> None:
    project = make_project(("q0",), reviewers=2)
    ann, ben = enter(project, "Ann"), enter(project, "Ben")
    for one in (ann, ben):
        one.next()
    ann.decide(
        "fix",
        **{"edit_question": "What bird is it?", "edit_answer": "A", "label_image": "no", "comment": "better so"},
    )
    assert "Ann" not in ben.get("/task?item=q0").text
    ben.decide("drop", reason_text="all wrong")
    eve = enter(project, "Eve", "admin")
    assert eve.next() == "q0"
    for words in ("Ann", "Ben", "What bird is it?", "better so", "all wrong", "image: no", "Settle it"):
        assert words in eve.page, words
    eve.decide("fix", **{"edit_question": "What bird is it?", "edit_answer": "A", "label_image": "no"})
    outcome = project.outcomes()["q0"]
    assert (outcome.verdict, outcome.edits) == ("fix", {"question": "What bird is it?"})


def test_an_item_that_is_to_be_solved_reveals_nothing_before(make_project: MakeProject, enter: Enter) -> None:
    project = make_project(form=Form(solve=True))
    ann = enter(project, "Ann")
    ann.next()
    revealing = (
        "gold</span>",
        'class="gold"',
        "birds",
        "2020",
        "tone-",
        "No model was asked",
        "Verdicts",
        "difficulty",
    )
    for words in revealing:
        assert words not in ann.page, words
    assert "Red kite" in ann.page
    sent = {"item": "q0"}
    assert ann.post("/decide", sent | {"decision": "keep", "nonce": "n"}).status_code == 403
    assert ann.post("/decide", sent | {"decision": "", "nonce": "n"}).status_code == 403
    fixes = [{"decision": "fix", "nonce": "n", "label_image": "yes", "edit_answer": letter} for letter in "AB"]
    assert len({ann.post("/decide", sent | one).text for one in fixes}) == 1, "it shows whether an answer is the gold"
    assert 'class="gold"' not in ann.page
    assert ann.post("/solve", sent | {"how": "answered"}).status_code == 400
    assert 'class="gold"' not in ann.page
    ann.post("/solve", sent | {"how": "answered", "answer": ["B"]})
    for words in ("You answered B, the gold is A.", 'class="gold"', "birds", "tone-right"):
        assert words in ann.page, words
    ann.post("/solve", sent | {"how": "answered", "answer": ["A"]})
    assert "You answered B" in ann.page
    ann.decide("keep")
    assert [(one.decision, one.solved) for one in project.decisions()] == [("keep", "B")]
    ann.post("/solve", {"item": "q1", "how": "cannot", "answer": ["A"]})
    assert "You could not answer it" in ann.page


def test_a_form_decides_what_is_shown(make_project: MakeProject, enter: Enter) -> None:
    ann = enter(make_project(form=Form(shows=())), "Ann")
    ann.next()
    assert 'class="gold"' in ann.page
    for words in ("tone-", "difficulty", "models chose", "No model was asked"):
        assert words not in ann.page
