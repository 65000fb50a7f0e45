"""Several threads, several processes, one that is killed, and a disk without space: nothing twice, nothing lost."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from eyetest.errors import DiskFull
from eyetest.studio.project import ReviewProject
from tests.studio.project.reviews import begin, people, plan_of, say, take, work_off

WORKER = """
import sys
from pathlib import Path
from eyetest.records import Decision
from eyetest.studio.project import ReviewProject

folder, *names = sys.argv[1:]
with ReviewProject.open(Path(folder)) as project:
    staff = [project.people.named(name) for name in names]
    print("ready", flush=True)
    while staff:
        for person in list(staff):
            task = project.next_task(person)
            if task is None:
                staff.remove(person)
                continue
            keep = Decision(item=task.item, reviewer="", time="", decision="keep")
            given = project.decide(person, task, keep, task.item)
            print(given.item, given.reviewer, flush=True)
"""


def worker(folder: Path, *names: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WORKER, folder, *names], stdout=subprocess.PIPE, text=True)


def check_whole(project: ReviewProject, items: int, seats: int) -> None:
    """Every item was decided by as many people as there are seats, each of them once."""
    given = project.decisions()
    assert Counter(one.item for one in given) == dict.fromkeys((f"q{n}" for n in range(1, items + 1)), seats)
    assert max(Counter((one.item, one.reviewer) for one in given).values()) == 1
    assert project.progress().settled == items


def test_threads(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(3), 25)
    staff = people(project, *(f"p{number}" for number in range(8)))
    with ThreadPoolExecutor(len(staff)) as pool:
        assert sum(len(items) for items in pool.map(partial(work_off, project), staff)) == 75
    check_whole(project, 25, 3)


def test_processes_one_of_which_is_killed(tmp_path: Path) -> None:
    """What was acknowledged before the kill is there, once; what was held goes to others."""
    project, clock = begin(tmp_path, plan_of(3), 60)
    people(project, "ann", "bob", "eve", "finn")
    with worker(tmp_path, "ann", "bob") as one, worker(tmp_path, "eve", "finn") as other:
        assert one.stdout is not None
        acknowledged = [one.stdout.readline() for _ in range(12)][1:]
        os.kill(one.pid, signal.SIGKILL)
        acknowledged += one.stdout.readlines()
        stated, _ = other.communicate()
    kept = [f"{given.item} {given.reviewer}\n" for given in project.decisions()]
    received = [*acknowledged, *stated.splitlines(keepends=True)[1:]]
    assert len(set(kept)) == len(kept)
    assert set(received) <= set(kept)
    assert len(set(kept) - set(received)) <= 1  # kept, and killed before it could say so
    assert 11 <= len(acknowledged) < 60

    clock.now = time.time() + 3_600
    for person in people(project, "dora", "gus"):
        work_off(project, person)
    check_whole(project, 60, 3)


def test_no_room(tmp_path: Path) -> None:
    """A decision that cannot be kept is given to be so; all before are there; with space again it goes on."""
    project, _ = begin(tmp_path, plan_of(1), 400)
    (ann,) = people(project, "ann")
    cookie = project.people.enter(project.people.invite("ann"), None).cookie
    with project.database.write() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 10}")
    acknowledged = []

    def decide_all() -> None:
        for _ in range(400):
            acknowledged.append(say(project, ann, take(project, ann), "drop", reason="x" * 5_000))

    with pytest.raises(DiskFull, match="no space on the disk; this was not stored"):
        decide_all()
    given = len(acknowledged)
    assert acknowledged == project.decisions() != []
    assert project.people.session(cookie) is not None
    assert project.progress().reviewing.made == given
    with project.database.write() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    say(project, ann, take(project, ann), "drop", reason="x" * 900)
    assert len(project.decisions()) == given + 1
