"""A review on disk: opened by pages, terminals and other commands at once."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from eyetest.errors import InputError, damaged
from eyetest.review.project.database import FILE, SCHEMA, VERSION, ReviewDatabase, check_version
from eyetest.review.project.overview import ProjectOverview
from eyetest.review.project.people import ProjectPeople
from eyetest.review.project.plan import ReviewPlan
from eyetest.review.project.work import ProjectWork


class ReviewProject(ProjectPeople, ProjectWork, ProjectOverview):
    """A folder with ``review.db``: who was asked what, and what they decided. Made by `create` or `open`."""

    def __init__(self, folder: Path, plan: ReviewPlan, database: ReviewDatabase) -> None:
        self.folder, self.plan, self.database = folder, plan, database
        self.clock: Callable[[], float] = time.time

    @classmethod
    def create(cls, folder: Path, plan: ReviewPlan, items: Iterable[str] = ()) -> "ReviewProject":
        """Begin a review of some items, which people get in this order."""
        folder.mkdir(parents=True, exist_ok=True)
        database = ReviewDatabase(folder / FILE)
        project = cls(folder, plan, database)
        with database.write() as connection:
            if connection.execute("PRAGMA user_version").fetchone() != (0,):
                raise InputError(f"{folder} holds a review already")
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("INSERT INTO meta VALUES ('plan', ?)", (msgspec.json.encode(plan).decode(),))
            project._add(connection, items, None if plan.together else 1)
        return project

    @classmethod
    def open(cls, folder: Path) -> "ReviewProject":
        """Open the review that lies in a folder."""
        if not is_review(folder):
            raise InputError(f"{folder} holds no review; begin one with eyetest review")
        database = ReviewDatabase(folder / FILE)
        check_version(database)
        with database.read() as connection:
            (plan,) = connection.execute("SELECT value FROM meta WHERE key = 'plan'").fetchone()
        try:
            return cls(folder, msgspec.json.decode(plan, type=ReviewPlan), database)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise damaged(database.path, error) from None

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()


def is_review(folder: Path) -> bool:
    """Whether a review lies in a folder."""
    return (folder / FILE).is_file()
