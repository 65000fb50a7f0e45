"""Reviews for tests: a clock that is set by hand, people by their names, and what becomes of what they say."""

from itertools import count
from pathlib import Path
from typing import Any

from eyetest.records import Decision, DecisionKind
from eyetest.studio.decisions import Person, ReviewPlan, Role, Round, Task
from eyetest.studio.forms import Form
from eyetest.studio.project import ReviewProject

PEOPLE = ("ann", "bob", "eve")
OPENED: list[ReviewProject] = []
"""Those that a test has begun, to be closed after it."""
_NONCES = count()


class HandClock:
    """A clock that stands still until a person moves it."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def plan_of(*reviewers: int, form: Form | None = None, **more: Any) -> ReviewPlan:
    rounds = tuple(
        Round(number=number, reviewers=some, form=form or Form()) for number, some in enumerate(reviewers, 1)
    )
    return ReviewPlan(name="shapes", rounds=rounds, **more)


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
    return project.decide(person, task, kind, nonce=f"n{next(_NONCES)}", **given)


def take(project: ReviewProject, person: Person) -> Task:
    task = project.next_task(person)
    assert task is not None
    return task


def take_back(project: ReviewProject, person: Person, item: str, number: int = 1) -> Decision:
    return project.undo(person, item, number, f"n{next(_NONCES)}")


def work_off(project: ReviewProject, person: Person, kinds: dict[str, DecisionKind]) -> list[str]:
    """A person decides about everything they get; the items in their order."""
    seen = []
    while (task := project.next_task(person)) is not None:
        seen.append(task.item)
        say(project, person, task, kinds.get(task.item, "keep"))
    return seen
