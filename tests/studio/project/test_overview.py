"""What can be stated of a review at a look, against figures worked out by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.recipes.reviews import by_suspicion, drawn
from eyetest.records import DecisionKind
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import ReviewProject
from tests.studio.project.reviews import begin, people, plan_of, say, take

SAID: dict[str, tuple[DecisionKind, DecisionKind]] = {
    **dict.fromkeys(("q1", "q2", "q3", "q4"), ("keep", "keep")),
    **{"q5": ("drop", "drop"), "q6": ("drop", "drop"), "q7": ("keep", "drop"), "q8": ("drop", "keep")},
}


def coefficient(project: ReviewProject, name: str, number: int = 1, about: str = "decision") -> dict[str, Any]:
    """The row of a coefficient."""
    rows = project.overview().agreement
    (row,) = [row for row in rows if (row["about"], row["round"], row["coefficient"]) == (about, number, name)]
    return dict(row)


def reviewed(folder: Path, form: Form | None = None, items: int = 8) -> ReviewProject:
    """A review of eight items, or of more that repeat the same decisions."""
    project, _ = begin(folder, plan_of(2, form=form), items)
    for column, person in enumerate(people(project, "ann", "bob")):
        while (task := project.next_task(person)) is not None:
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
    form = Form(fields=(FormField(name="hard", ask="Hard?", values=("yes", "no")),))
    project = reviewed(tmp_path, form, items=16)
    values = {"observed": 6 / 8, "fleiss": 14 / 30, "krippendorff": 29 / 60, "cohen": 14 / 30}
    for name, value in values.items():
        assert coefficient(project, name)["agreement"] == pytest.approx(value)
    cohen = coefficient(project, "cohen")
    assert (cohen["a"], cohen["b"], cohen["n"], cohen["raters"]) == ("ann", "bob", 16, 2)
    assert cohen["agreement_low"] < 14 / 30 < cohen["agreement_high"]
    assert coefficient(project, "cohen", about="hard")["agreement"] == 1
    overview = project.overview()
    assert overview.counts["person"] == {"ann": 16, "bob": 16}


def test_an_adjudicator_is_no_vote_and_only_last_decisions_count(tmp_path: Path) -> None:
    project = reviewed(tmp_path)
    before = project.overview()
    assert before.progress.disputed == 2
    (cleo,) = people(project, "cleo", role="admin")
    say(project, cleo, take(project, cleo), "drop", reason="no image")
    after = project.overview()
    assert after.agreement == before.agreement
    assert (after.progress.disputed, after.progress.settled) == (1, 7)
    assert after.counts["reason"] == {"blurred": 4, "no image": 1}
    assert after.counts["decision"] == {"keep": 6, "drop": 4}
    bob = project.people.named("bob")
    say(project, bob, project.task(bob, "q8", 1), "drop", reason="blurred")
    assert coefficient(project, "observed")["agreement"] == pytest.approx(7 / 8)


def test_what_others_decide_and_add_meanwhile_is_seen(tmp_path: Path) -> None:
    project = reviewed(tmp_path)
    assert project.overview().counts["state"] == {"agreed": 6, "disputed": 2}
    with ReviewProject.open(tmp_path) as other:
        other.add_items(["q9"])
        bob = other.people.named("bob")
        say(other, bob, other.task(bob, "q1", 1), "drop")
        assert project.overview().counts["state"] == {"agreed": 5, "disputed": 3, "untouched": 1}


def test_rounds_that_count_together_are_told_together(tmp_path: Path) -> None:
    """One reviewer a round agrees with no one; over both rounds there are pairs."""
    project, _ = begin(tmp_path, plan_of(1, 1), 4)
    ann, bob = people(project, "ann", "bob")
    for person, dropped in ((ann, ()), (bob, ("q4",))):
        while (task := project.next_task(person)) is not None:
            say(project, person, task, "drop" if task.item in dropped else "keep")
    assert {row["round"] for row in project.overview().agreement} == {0}
    assert coefficient(project, "observed", 0)["agreement"] == pytest.approx(3 / 4)


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
    assert by_suspicion(ITEMS, set("abcdef"), per="core") == ["d", "b", "f", "c", "e", "a"]
    with pytest.raises(InputError, match="no tag 'cure'; did you mean \"core\""):
        by_suspicion(ITEMS, {"a"}, per="cure")


def test_the_rest_is_drawn_at_random() -> None:
    alike = ITEMS.with_columns(
        verdict=pl.lit(None), findings=pl.lit(None, pl.List(pl.String)), difficulty=pl.lit(0.5)
    )
    orders = {"".join(by_suspicion(alike, set("abcdef"), seed=seed)) for seed in range(20)}
    assert len(orders) > 10
    assert by_suspicion(alike, set("abcdef"), seed=1) == by_suspicion(alike[::-1], set("fedcba"), seed=1)
    assert sorted(drawn("abcdef", 4, 1)) == sorted(drawn("fedcba", 4, 1)) != sorted(drawn("abcdef", 4, 2))
    assert len(drawn("abc", 9)) == 3
