"""Progress of a review against figures worked out by hand, and the order in which items are reviewed."""

from pathlib import Path

import polars as pl

from eyetest.recipes.reviews import by_suspicion, drawn
from eyetest.records import DecisionKind
from eyetest.studio.project import ReviewProject
from tests.studio.project.reviews import begin, people, plan_of, say, take, work_off

SAID: dict[str, tuple[DecisionKind, DecisionKind]] = {
    **dict.fromkeys(("q1", "q2", "q3", "q4"), ("keep", "keep")),
    **{"q5": ("drop", "drop"), "q6": ("drop", "drop"), "q7": ("keep", "drop"), "q8": ("drop", "keep")},
}


def test_outcomes_are_counted_and_an_adjudicator_prevails(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(2), 8)
    for column, person in enumerate(people(project, "ann", "bob")):
        work_off(project, person, {item: kinds[column] for item, kinds in SAID.items()})
    before = project.progress()
    assert (before.disputes.open, before.settled, before.outcomes) == (2, 6, {"keep": 4, "drop": 2, "review": 2})
    assert before.reasons == {"blurred": 2}
    (cleo,) = people(project, "cleo", role="admin")
    say(project, cleo, take(project, cleo), "drop", reason="no image")
    after = project.progress()
    assert (after.disputes.open, after.settled, after.reasons) == (1, 7, {"blurred": 2, "no image": 1})
    with ReviewProject.open(tmp_path) as other:  # what another program adds and decides is seen
        other.add_items(["q9"])
        bob = other.people.named("bob")
        say(other, bob, other.task(bob, "q1"), "drop")
        assert project.progress().outcomes == {"keep": 3, "drop": 3, "review": 3}


ITEMS = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "verdict": ["keep", "review", None, "review", "keep", None],
        "findings": [None, None, ["twice"], ["twice", "no-gold"], [], ["twice"]],
        "difficulty": [0.9, 0.1, None, 0.2, 0.3, 0.5],
    },
    schema_overrides={"findings": pl.List(pl.String)},
)


def test_the_most_suspicious_first_and_equals_at_random() -> None:
    """Those for people, more findings first; then those with findings, the harder first; then the rest."""
    assert by_suspicion(ITEMS, set("abcdef")) == ["d", "b", "f", "c", "a", "e"]
    assert by_suspicion(ITEMS, {"a", "c", "zz"}) == ["c", "a"]
    alike = ITEMS.with_columns(
        verdict=pl.lit(None), findings=pl.lit(None, pl.List(pl.String)), difficulty=pl.lit(0.5)
    )
    orders = {"".join(by_suspicion(alike, set("abcdef"), seed=seed)) for seed in range(20)}
    assert len(orders) > 10
    assert by_suspicion(alike, set("abcdef"), seed=1) == by_suspicion(alike[::-1], set("fedcba"), seed=1)
    assert sorted(drawn("abcdef", 4, 1)) == sorted(drawn("fedcba", 4, 1)) != sorted(drawn("abcdef", 4, 2))
    assert len(drawn("abc", 9)) == 3
