"""What can be told of a review at a look, against figures worked out by hand."""

from pathlib import Path

import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.records import DecisionKind
from eyetest.studio.decisions import by_suspicion, drawn
from eyetest.studio.forms import Form, FormField
from eyetest.studio.overview import AgreementRow
from eyetest.studio.project import ReviewProject
from tests.studio.project.reviews import begin, people, plan_of, say, take, take_back

SAID: dict[str, tuple[DecisionKind, DecisionKind]] = {
    **dict.fromkeys(("q1", "q2", "q3", "q4"), ("keep", "keep")),
    **{"q5": ("drop", "drop"), "q6": ("drop", "drop"), "q7": ("keep", "drop"), "q8": ("drop", "keep")},
}


def coefficient(rows: tuple[AgreementRow, ...], name: str, number: int = 1, about: str = "decision") -> AgreementRow:
    (row,) = [row for row in rows if (row.about, row.round, row.coefficient) == (about, number, name)]
    return row


def reviewed(folder: Path, form: Form | None = None, items: int = 8) -> ReviewProject:
    """A review of eight items, or of more that repeat the same decisions."""
    project, clock = begin(folder, plan_of(2, form=form), items)
    for column, person in enumerate(people(project, "ann", "bob")):
        while (task := project.next_task(person)) is not None:
            clock.now += 10 * (column + 1)
            number = (int(task.item[1:]) - 1) % 8 + 1
            kind = SAID[f"q{number}"][column]
            labels = {"hard": "yes" if number < 3 else "no"} if form else {}
            say(project, person, task, kind, reason="blurred" if kind == "drop" else "", labels=labels)
    return project


def test_agreement_by_hand(tmp_path: Path) -> None:
    """Six of eight alike. Each says keep 5 times and drop 3: chance agrees in 25/64 + 9/64 = 34/64.

    Cohen: (6/8 - 34/64) / (1 - 34/64) = 14/30. Fleiss has the same shares here, and so the same value. For α the 32
    values give 20·19 + 12·11 = 512 of 32·31 = 992 ordered pairs alike: 1 - (2/8) / (480/992) = 29/60.
    """
    rows = reviewed(tmp_path, items=16).overview().agreement
    assert coefficient(rows, "observed").agreement == pytest.approx(6 / 8)
    assert coefficient(rows, "fleiss").agreement == pytest.approx(14 / 30)
    assert coefficient(rows, "krippendorff").agreement == pytest.approx(29 / 60)
    cohen = coefficient(rows, "cohen")
    assert cohen.agreement == pytest.approx(14 / 30)
    assert (cohen.a, cohen.b, cohen.n, cohen.raters) == ("ann", "bob", 16, 2)
    assert cohen.agreement_low is not None
    assert cohen.agreement_high is not None
    assert cohen.agreement_low < 14 / 30 < cohen.agreement_high


def test_who_settles_is_no_vote_and_what_is_withdrawn_does_not_count(tmp_path: Path) -> None:
    project = reviewed(tmp_path)
    before = project.overview()
    assert before.progress.disputed == 2
    (cleo,) = people(project, "cleo", role="adjudicator")
    say(project, cleo, take(project, cleo), "drop", reason="no image")
    after = project.overview()
    assert after.agreement == before.agreement
    assert (after.progress.disputed, after.progress.settled) == (1, 7)
    assert after.reasons == {"blurred": 4, "no image": 1}
    assert after.decisions == {"keep": 6, "drop": 4}
    take_back(project, project.person("bob"), "q8")
    told = project.overview()
    assert coefficient(told.agreement, "observed").agreement == pytest.approx(6 / 7)
    assert told.decisions == {"keep": 5, "drop": 4}


def test_what_others_decide_and_add_meanwhile_is_seen(tmp_path: Path) -> None:
    project = reviewed(tmp_path)
    assert project.overview().states == {"agreed": 6, "disputed": 2}
    with ReviewProject.open(tmp_path) as other:
        other.add_items(["q9"])
        take_back(other, other.person("bob"), "q1")
        assert project.overview().states == {"agreed": 5, "disputed": 2, "begun": 1, "untouched": 1}
    project.replan(plan_of(1))
    assert project.overview().states == {"agreed": 6, "disputed": 2, "untouched": 1}


def test_time_and_people(tmp_path: Path) -> None:
    told = reviewed(tmp_path).overview()
    assert [(one.name, one.items, one.seconds) for one in told.progress.people] == [("ann", 8, 10), ("bob", 8, 20)]
    assert told.seconds == 15


def test_labels_have_their_own_agreement(tmp_path: Path) -> None:
    form = Form(fields=(FormField(name="hard", ask="Hard?", values=("yes", "no")),))
    rows = reviewed(tmp_path, form, items=16).overview().agreement
    assert coefficient(rows, "observed", about="hard").agreement == 1
    assert coefficient(rows, "cohen", about="hard").agreement == 1
    assert coefficient(rows, "cohen").agreement == pytest.approx(14 / 30)


def test_rounds_that_count_together_are_told_together(tmp_path: Path) -> None:
    """One reviewer a round agrees with nobody; over both rounds there are pairs."""
    project, _ = begin(tmp_path, plan_of(1, 1), 4)
    ann, bob = people(project, "ann", "bob")
    for person, dropped in ((ann, ()), (bob, ("q4",))):
        while (task := project.next_task(person)) is not None:
            say(project, person, task, "drop" if task.item in dropped else "keep")
    rows = project.overview().agreement
    assert {row.round for row in rows} == {0}
    assert coefficient(rows, "observed", 0).agreement == pytest.approx(3 / 4)


ITEMS = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "verdict": ["keep", "review", None, "review", "keep", None],
        "findings": [None, None, ["twice"], ["twice", "no-gold"], [], ["twice"]],
        "difficulty": [0.9, 0.1, None, 0.2, 0.3, 0.5],
        "tag.core": ["x", "x", "x", "y", "y", None],
    },
    schema_overrides={"findings": pl.List(pl.String)},
)


def test_the_most_suspicious_first() -> None:
    """Those for people, more findings first; then those with findings, the harder first; then the rest."""
    assert by_suspicion(ITEMS, set("abcdef")) == ["d", "b", "f", "c", "a", "e"]
    assert by_suspicion(ITEMS, {"a", "c", "zz"}) == ["c", "a"]


def test_values_of_a_tag_take_turns() -> None:
    assert by_suspicion(ITEMS, set("abcdef"), "core") == ["d", "b", "f", "c", "e", "a"]
    with pytest.raises(InputError, match="no tag 'cure'; did you mean \"core\""):
        by_suspicion(ITEMS, {"a"}, "cure")


def test_the_rest_is_drawn_by_lot() -> None:
    alike = ITEMS.with_columns(
        verdict=pl.lit(None), findings=pl.lit(None, pl.List(pl.String)), difficulty=pl.lit(0.5)
    )
    orders = {"".join(by_suspicion(alike, set("abcdef"), seed=seed)) for seed in range(20)}
    assert len(orders) > 10
    assert by_suspicion(alike, set("abcdef"), seed=1) == by_suspicion(alike[::-1], set("fedcba"), seed=1)
    assert sorted(drawn("abcdef", 4, 1)) == sorted(drawn("fedcba", 4, 1)) != sorted(drawn("abcdef", 4, 2))
    assert len(drawn("abc", 9)) == 3
