"""What the commands around a review say: links, who is out, how far everybody is, and what is wrong in one line."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import eyetest as et
from eyetest.recipes.reviews import ReviewSettings, find_review, open_review
from eyetest.records import DecisionKind
from tests.recipes.benches import make_bench
from tests.studio.project.reviews import people, work_off
from tests.support.command import call, call_narrowly


@pytest.fixture
def here(workdir: Path) -> Path:
    make_bench(workdir / "b", 4)
    project, _ = open_review([workdir / "b"], ReviewSettings(reviewers=2))
    project.keep_address("http://127.0.0.1:8765")
    project.close()
    return workdir


def decide_all(folder: Path, **kinds: DecisionKind) -> None:
    """Each of some people says one thing of every item that they get."""
    with find_review(folder) as project:
        for name, kind in kinds.items():
            work_off(project, people(project, name)[0], usual=kind)


def test_an_invitation(here: Path) -> None:
    reported = call("review", "invite", "Ann", "--on", "b")
    assert (reported.code, "the link of Ann, valid for 30 days" in reported.err) == (0, True)
    link = reported.out.strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:8765/enter/[\w-]{43}", link)
    with find_review(here / "b") as project:
        assert project.people.enter(link.rpartition("/")[2], None).person.name == "Ann"
    assert "the link of Ann is withdrawn" in call("review", "invite", "Ann", "--on", "b-review", "--revoke").fine()
    with find_review(here / "b") as project:
        assert project.people.rows()[0].revoked


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("invite", "ann", "--on", "nothing"), "nothing does not exist"),
        (
            ("invite", "ann", "--on", "b", "--role", "judge"),
            "--role: no role 'judge'; known: admin, reader, reviewer",
        ),
        (("invite", "ann", "--on", "b", "--revoke"), "no reviewer is called 'ann'; no reviewer was invited yet"),
        (("nothing",), "nothing"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(here: Path, words: tuple[str, ...], line: str) -> None:
    assert line in call("review", *words).refused()


def test_the_status_of_a_review_that_is_stuck_and_of_one_that_is_done(here: Path) -> None:
    """Ann alone cannot make the second decision of an item."""
    status = ("review", "b", "--address", "none")
    decide_all(here / "b", ann="keep")
    done = call(*status)
    assert re.search(r"reviewers +4 +4", done.fine())
    assert re.search(r"ann +reviewer +4 +0", done.fine())
    assert "4 decisions cannot be made by the people who were invited" in done.err
    assert "invite another reviewer" in done.err
    decide_all(here / "b", bob="drop")
    reported = call_narrowly(*status).fine()
    assert "4 items, 0 settled, 4 for an admin" in reported
    assert "items by outcome: review 4" in reported
    found = json.loads(call(*status, "--output", "json").fine())
    assert (found["progress"]["disputes"]["open"], found["plan"]["reviewers"]) == (4, 2)
    assert [row["name"] for row in found["people"]] == ["ann", "bob"]


def test_what_was_decided_as_tables(here: Path) -> None:
    empty = et.review_decisions("b")
    decide_all(here / "b", ann="keep", bob="keep")
    table = et.review_decisions("b-review")
    assert table.schema == empty.schema
    assert table.group_by("reviewer", "decision", "edits").len().sort("reviewer").rows() == [
        ("ann", "keep", "{}", 4),
        ("bob", "keep", "{}", 4),
    ]
    outcomes = et.review_outcomes(here / "b")
    assert outcomes.get_column("verdict").to_list() == ["keep"] * 4
    assert outcomes.filter(pl.col("item") == "q1").row(0) == ("q1", "keep", "2 of 2 reviewers", 2, 2)
