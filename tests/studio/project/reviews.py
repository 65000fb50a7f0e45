"""Reviews for tests: a clock that is set by hand, people by their names, and what becomes of what they say."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from eyetest.records import Decision, DecisionKind
from eyetest.studio.decisions import Person, ReviewPlan, Role, Task
from eyetest.studio.project import ReviewProject

OPENED: list[ReviewProject] = []
"""Those that a test has begun, to be closed after it."""
_NONCES = count()


class HandClock:
    """A clock that stands still until a person moves it."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def plan_of(reviewers: int, **more: Any) -> ReviewPlan:
    return ReviewPlan(name="shapes", reviewers=reviewers, **more)


def begin(folder: Path, plan: ReviewPlan, items: int | list[str] = 3) -> tuple[ReviewProject, HandClock]:
    ids = [f"q{number}" for number in range(1, items + 1)] if isinstance(items, int) else items
    project, clock = ReviewProject.create(folder, plan, ids), HandClock()
    project.clock = clock
    OPENED.append(project)
    return project, clock


def people(project: ReviewProject, *names: str, role: Role = "reviewer") -> list[Person]:
    for name in names:
        project.people.invite(name, role)
    return [project.people.named(name) for name in names]


def say(project: ReviewProject, person: Person, task: Task, kind: DecisionKind = "keep", **given: Any) -> Decision:
    decided = Decision(item=task.item, reviewer="", time="", decision=kind, **given)
    return project.decide(person, task, decided, f"n{next(_NONCES)}")


def take(project: ReviewProject, person: Person) -> Task:
    task = project.next_task(person)
    assert task is not None
    return task


def work_off(
    project: ReviewProject,
    person: Person,
    kinds: Mapping[str, DecisionKind] | None = None,
    usual: DecisionKind = "keep",
) -> list[str]:
    """A person decides about everything they get, the usual where nothing else is said; the items in their order."""
    seen = []
    while (task := project.next_task(person)) is not None:
        seen.append(task.item)
        kind = (kinds or {}).get(task.item, usual)
        say(project, person, task, kind, reason="blurred" if kind == "drop" else "")
    return seen
