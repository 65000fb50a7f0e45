"""Twenty people at random, who crash, come late and decide again: what must hold, holds after every step."""

from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest

from eyetest.errors import EyetestError, Forbidden, InputError
from eyetest.records import Decision, DecisionKind
from eyetest.studio.decisions import Person, Task
from eyetest.studio.project import CLAIM, ReviewProject
from tests.studio.project.reviews import OPENED, HandClock, begin, people, plan_of

KINDS: tuple[DecisionKind, ...] = ("keep", "keep", "keep", "drop", "fix", "unsure")
STEPS = 500


class RandomPeople:
    """People who do something at random, and a record of what was promised to them."""

    def __init__(self, project: ReviewProject, clock: HandClock, seed: int) -> None:
        self.project, self.clock, self.chance = project, clock, Random(seed)
        self.everyone = people(project, *(f"p{number}" for number in range(16)))
        self.everyone += people(project, *(f"a{number}" for number in range(4)), role="admin")
        self.held: dict[Person, tuple[Task, float]] = {}
        self.acknowledged: list[Decision] = []
        self.nonces: list[tuple[Person, Task, DecisionKind, str, Decision]] = []

    def step(self) -> None:
        """One person does one thing."""
        person = self.chance.choice(self.everyone)
        act = self.chance.choices((self.work, self.change, self.resend, self.wait, self.crash), (80, 7, 6, 5, 2))[0]
        act(person)

    def work(self, person: Person) -> None:
        task = self.project.next_task(person)
        if task is None:
            return
        self.check_alone(person, task)
        self.held[person] = (task, self.clock.now)
        if self.chance.random() < 0.8:
            kind = self.chance.choice(KINDS)
            nonce = f"{self.chance.random()}"
            given = self.project.decide(person, task, decision(task, kind), nonce)
            self.acknowledged.append(given)
            self.nonces.append((person, task, kind, nonce, given))
            del self.held[person]

    def check_alone(self, person: Person, task: Task) -> None:
        """Who settles an item has not reviewed it, and there is a seat for a person beside the others."""
        before = [one for one in self.acknowledged if one.item == task.item]
        mine = {one.adjudicates for one in before if one.reviewer == person.name}
        assert mine <= {task.adjudicates}
        seats = 1 if task.adjudicates else self.project.plan.reviewers
        same = [one for one in before if one.adjudicates == task.adjudicates]
        taken = {one.reviewer for one in naive_last(same).values()}
        holders = {
            other.name
            for other, (held, since) in self.held.items()
            if (held.item, held.adjudicates) == (task.item, task.adjudicates) and self.clock.now <= since + CLAIM
        }
        assert len((taken | holders) - {person.name}) < seats

    def change(self, person: Person) -> None:
        mine = [one for one in naive_last(self.acknowledged).values() if one.reviewer == person.name]
        if not mine:
            return
        last = self.chance.choice(mine)
        task = self.project.task(person, last.item)
        kind = self.chance.choice(KINDS)
        self.acknowledged.append(self.project.decide(person, task, decision(task, kind), f"{self.chance.random()}"))

    def resend(self, person: Person) -> None:
        """A browser that did not hear the answer sends the same again."""
        if self.nonces:
            who, task, kind, nonce, given = self.chance.choice(self.nonces)
            assert self.project.decide(who, task, decision(task, kind), nonce) == given

    def wait(self, person: Person) -> None:
        self.clock.now += self.chance.choice((60, CLAIM / 2, CLAIM + 1))

    def crash(self, person: Person) -> None:
        """The server is gone in the midst of a decision, which leaves no trace, and is started again."""
        with pytest.raises(EyetestError):
            self.break_off()
        folder = self.project.folder
        self.project.close()
        self.project = ReviewProject.open(folder)
        self.project.clock = self.clock
        OPENED.append(self.project)

    def break_off(self) -> None:
        with self.project.database.write() as connection:
            connection.execute("UPDATE slots SET state = 3")
            raise EyetestError

    def late(self) -> None:
        """A person who sends a decision after another has taken the item is stated so, and nothing is kept."""
        for person, (task, _) in self.held.items():
            try:
                keep, nonce = decision(task, "keep"), f"{self.chance.random()}"
                self.acknowledged.append(self.project.decide(person, task, keep, nonce))
            except Forbidden:
                continue


def decision(task: Task, kind: DecisionKind) -> Decision:
    return Decision(item=task.item, reviewer="", time="", decision=kind)


def naive_last(given: list[Decision]) -> dict[tuple[str, str, bool], Decision]:
    """The last decision of each person."""
    return {(one.item, one.reviewer, one.adjudicates): one for one in given}


def naive_verdict(given: list[Decision], needed: int) -> str:
    """What people came to, worked out from the log alone."""
    last = list(naive_last(given).values())
    settling = [one.decision for one in last if one.adjudicates]
    votes = Counter(one.decision for one in last if not one.adjudicates)
    counts = [*votes.most_common(), ("keep", 0), ("keep", 0)]
    top = settling[-1] if settling else counts[0][0]
    if not settling and (votes.total() < needed or counts[0][1] == counts[1][1]):
        return "review"
    return "review" if top == "unsure" else top


@pytest.mark.parametrize(("reviewers", "seed"), [(2, 1), (3, 2)])
def test_invariants_hold_after_random_acts(tmp_path: Path, reviewers: int, seed: int) -> None:
    project, clock = begin(tmp_path, plan_of(reviewers), 12)
    group = RandomPeople(project, clock, seed)
    for _ in range(STEPS):
        group.step()
    group.late()
    project = group.project
    kept = project.decisions()
    assert sorted(map(repr, kept)) == sorted(map(repr, group.acknowledged))
    assert len(kept) > 50
    for item, given in project.outcomes().items():
        mine = [one for one in kept if one.item == item]
        assert given.verdict == naive_verdict(mine, reviewers), item
        by_person = defaultdict(set)
        for one in mine:
            by_person[one.reviewer].add(one.adjudicates)
        assert all(len(where) == 1 for where in by_person.values())
        assert len([one for one in naive_last(mine).values() if not one.adjudicates]) <= reviewers
    settled = sum(one.verdict != "review" for one in project.outcomes().values())
    assert project.progress().settled == settled > 0


def test_decisions_cannot_be_changed_or_deleted(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1))
    (ann,) = people(project, "ann")
    task = project.next_task(ann)
    assert task is not None
    for nonce in ("", "x" * 201):
        with pytest.raises(InputError, match="nonce"):
            project.decide(ann, task, decision(task, "keep"), nonce)
    project.decide(ann, task, decision(task, "keep"), "n")
    for statement in ("UPDATE decisions SET record = ''", "DELETE FROM decisions"):
        with pytest.raises(EyetestError, match="decisions stay"), project.database.write() as connection:
            connection.execute(statement)
    assert len(project.decisions()) == 1
