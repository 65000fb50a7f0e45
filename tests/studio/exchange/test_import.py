"""Decisions that were made elsewhere become part of a review, once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.studio.project import ReviewProject
from tests.studio.exchange.material import DECISIONS, ITEMS, PLAN, decision

ONE, TWO = "2026-03-01T10:00:00+00:00", "2026-03-01T10:00:01+00:00"
KEEP: dict[str, Any] = {"labels": {"level": "<hard>"}}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ReviewProject]:
    project = ReviewProject.create(tmp_path / "review", PLAN, list(ITEMS))
    yield project
    project.close()


def test_all_decisions_are_kept_once(project: ReviewProject) -> None:
    assert project.waiting() == list(ITEMS)
    assert project.add_decisions(DECISIONS) == len(DECISIONS)
    assert project.decisions() == DECISIONS
    assert project.outcomes()["=1+1"].reason == "settled by eve"
    assert {row.name: row.role for row in project.people.rows()}["eve"] == "reviewer"
    assert project.add_decisions(DECISIONS) == 0
    assert project.add_decisions([*DECISIONS, decision("c", "drop", "ben")]) == 1
    assert len(project.decisions()) == len(DECISIONS) + 1


def test_what_was_decided_here_is_known_when_it_comes_back(project: ReviewProject) -> None:
    project.people.invite("ana")
    ana = project.people.named("ana")
    task = project.next_task(ana)
    assert task is not None
    given = project.decide(ana, task, decision(task.item, "drop", reason="why"), "x")
    assert project.add_decisions([given]) == 0
    assert project.add_decisions([msgspec.structs.replace(given, comment="more")]) == 1
    assert len(project.decisions(ana)) == 2


def test_decisions_without_a_time_are_new_only_after_a_change_of_mind(project: ReviewProject) -> None:
    keep, drop = (decision("c", kind, time="", **(KEEP if kind == "keep" else {})) for kind in ("keep", "drop"))
    assert project.add_decisions([keep]) == 1
    assert project.add_decisions([keep]) == 0
    assert project.add_decisions([drop]) == 1
    assert project.add_decisions([keep]) == 1
    assert [one.decision for one in project.decisions()] == ["keep", "drop", "keep"]
    assert all(one.time for one in project.decisions())


def test_one_more_than_the_review_takes_is_kept_too(project: ReviewProject) -> None:
    given = [decision("c", "keep", name, **KEEP) for name in ("ana", "ben", "cleo")]
    project.add_decisions(given[:1])
    assert "c" in project.waiting()
    project.add_decisions(given)
    assert "c" not in project.waiting()
    assert len(project.decisions()) == 3


def test_no_one_decides_twice_and_then_nothing_is_kept(project: ReviewProject) -> None:
    given = [decision("c", "drop", "ben"), decision("=1+1", "drop"), decision("=1+1", "drop", adjudicates=True)]
    with pytest.raises(InputError, match=r"'ana' decided about item '=1\+1' already; another person has to settle"):
        project.add_decisions(given)
    assert project.decisions() == []
    assert project.people.rows() == []
