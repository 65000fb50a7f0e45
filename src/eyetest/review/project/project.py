"""A review on disk: opened by pages, terminals and other commands at once."""

import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Lock

import msgspec

from eyetest.errors import InputError, damaged
from eyetest.records import Decision
from eyetest.review.decisions import read_decisions
from eyetest.review.project.database import FILE, SCHEMA, VERSION, ReviewDatabase, check_version
from eyetest.review.project.imports import ProjectImports
from eyetest.review.project.judged import JudgedItems
from eyetest.review.project.overview import ProjectOverview
from eyetest.review.project.people import ProjectPeople
from eyetest.review.project.plan import ReviewPlan
from eyetest.review.project.slots import change_seats, settle
from eyetest.review.project.work import ProjectWork
from eyetest.review.queue import DECISIONS
from eyetest.store import replacing_file
from eyetest.store.urls import refuse_remote
from eyetest.wording import counted


class ReviewProject(ProjectPeople, ProjectWork, ProjectImports, ProjectOverview):
    """A folder with ``review.db``: who was asked what, and what they decided. Made by `create` or `open`."""

    def __init__(self, folder: Path, plan: ReviewPlan, database: ReviewDatabase) -> None:
        self.folder, self.plan, self.database = folder, plan, database
        self.clock: Callable[[], float] = time.time
        self._judged_items, self._agreement_lock = JudgedItems(), Lock()

    @classmethod
    def create(cls, folder: Path, plan: ReviewPlan, items: Iterable[str] = ()) -> "ReviewProject":
        """Begin a review of some items, which people get in this order."""
        refuse_remote(folder, "a review")
        if is_review(folder):
            raise InputError(f"{folder} holds a review already")
        folder.mkdir(parents=True, exist_ok=True)
        with (
            replacing_file(folder / FILE, overwrite=False) as new,
            closing(ReviewDatabase(new)) as database,
            database.write() as connection,
        ):
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("INSERT INTO meta VALUES ('plan', ?)", (msgspec.json.encode(plan).decode(),))
            cls(folder, plan, database)._add(connection, items, None if plan.together else 1)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> "ReviewProject":
        """Open the review that lies in a folder."""
        refuse_remote(folder, "a review")
        if not is_review(folder):
            raise InputError(f"{folder} holds no review; begin one with eyetest review")
        with ExitStack() as opened:
            database = opened.enter_context(closing(ReviewDatabase(folder / FILE)))
            check_version(database)
            with database.read() as connection:
                (plan,) = connection.execute("SELECT value FROM meta WHERE key = 'plan'").fetchone()
            try:
                project = cls(folder, msgspec.json.decode(plan, type=ReviewPlan), database)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                raise damaged(database.path, error) from None
            opened.pop_all()  # a file that could be read stays open
        return project

    @property
    def address(self) -> str:
        """Where it was served last; empty if it never was."""
        with self.database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'address'").fetchone()
        return str(row[0]) if row else ""

    def keep_address(self, address: str) -> None:
        """Write down where it is served, so that links can be made from elsewhere."""
        with self.database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('address', ?)", (address,))

    def link(self, token: str) -> str:
        """The address that somebody comes in by."""
        return f"{self.address}/enter/{token}"

    def replan(self, plan: ReviewPlan) -> None:
        """Go on by another plan of a recipe: what was decided stays; rounds may have other reviewers and forms."""
        with self.database.write() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'plan'", (msgspec.json.encode(plan).decode(),))
            for one in plan.rounds:
                change_seats(connection, one)
            self.plan = plan
            for (item,) in connection.execute("SELECT DISTINCT item FROM decisions").fetchall():
                settle(connection, plan, item)

    def __enter__(self) -> "ReviewProject":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()


def is_review(folder: Path) -> bool:
    """Whether a review lies in a folder."""
    return (folder / FILE).is_file()


def decisions_in(
    folder: Path, known: Collection[str] | None = None, tell: Callable[[str], None] = lambda line: None
) -> dict[str, list[Decision]]:
    """What people decided, by item: in the table beside a queue, and in the review that lies there.

    ``known``: the items there are. A table can be mended and is refused where it names another; what was decided in a
    review stays, so that it is left out, of which ``tell`` hears.
    """
    decisions = read_decisions(folder / DECISIONS, known)
    if not is_review(folder):
        return decisions
    with ReviewProject.open(folder) as project:
        said = project.decisions()
    ours = [one for one in said if known is None or one.item in known]
    for one in ours:
        decisions.setdefault(one.item, []).append(one)
    if fewer := len(said) - len(ours):
        tell(f"{counted(fewer, 'decision')} in {folder / FILE}: about items that are not in this benchmark")
    return decisions
