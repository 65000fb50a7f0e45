"""A review in other tools: what waits and what was decided, out as their files and in again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec
import pybase64

from eyetest.errors import InputError, param, short
from eyetest.jobs.opening import AnyPath, Observer, observing
from eyetest.jobs.review import ReviewWishes, find_review, open_review, reviewed_collection
from eyetest.pages.item_links import Query
from eyetest.records import Decision, Item
from eyetest.review.app.browsing import ServedPictures
from eyetest.review.collection import Collection, ItemRow
from eyetest.review.database import earlier
from eyetest.review.exchange.files import Outgoing, ToolFormat, check_target, check_tool, read_files, write_files
from eyetest.review.exchange.tasks import Assignment, Expected, TaskKey
from eyetest.review.forms import Form
from eyetest.review.plan import ReviewPlan
from eyetest.store.urls import local_path

_SERVED_FILES = "/data/local-files/?d="
_NO_WISHES = ReviewWishes()
_AS_THE_TOOL_SAYS: Mapping[str, str] = {}


class ExportedReview(NamedTuple):
    """What was written."""

    waiting: int
    decisions: int
    files: list[str]


class ImportedReview(NamedTuple):
    """How many decisions a file holds, and how many of them were new."""

    read: int
    added: int


def write_review_files(
    places: Sequence[Path],
    to: Path,
    *,
    wishes: ReviewWishes = _NO_WISHES,
    tool: str = "csv",
    round: int | None = None,  # noqa: A002 (what both doors call it)
    with_pictures: bool = False,
    overwrite: bool = False,
) -> ExportedReview:
    """Write what waits in a review, and what was decided, as files of another tool; begin one where there is none."""
    form = check_tool(tool)
    check_target(to, overwrite=overwrite)
    with observing(Observer()):
        project, collection = open_review(places, wishes)
    with project:
        plan, decisions, waiting = project.plan, project.decisions(), project.waiting()
    if round is not None and not 1 <= round <= len(plan.rounds):
        raise InputError(f"{param('round')}: found {round}, expected 1 to {len(plan.rounds)}")
    said: dict[TaskKey, list[Decision]] = {}
    by_item: dict[str, list[Decision]] = {}
    for one in decisions:
        said.setdefault((one.item, one.round, one.adjudicates), []).append(one)
        by_item.setdefault(one.item, []).append(one)
    making = _Making(collection, plan, form, with_pictures)
    open_ = [key for key in waiting if round in (None, key[1])]
    disputed = {
        (item, number, True): earlier(plan, by_item.get(item, ()), number)
        for item, number, settles in open_
        if settles
    }
    decided = [key for key in said if round in (None, key[1])]
    outgoing = Outgoing(making.assignments(open_, disputed), making.assignments(decided, said))
    files = write_files(outgoing, form, to, overwrite=overwrite)
    return ExportedReview(len(open_), sum(len(said[key]) for key in decided), files)


def read_review_files(
    file: Path, on: Path, *, tool: str | None = None, reviewers: Mapping[str, str] = _AS_THE_TOOL_SAYS
) -> ImportedReview:
    """Take the decisions of another tool's file into a review: all that are new, or none where one is wrong.

    ``reviewers``: what somebody is called here, by what the tool calls them; under ``""`` whoever it does not name.
    """
    form = None if tool is None else check_tool(tool)
    with find_review(on) as project:
        plan, ids = project.plan, project.ids()
        expected = Expected(
            items=_items(reviewed_collection(project), ids),
            forms={one.number: plan.form(one.number, adjudicates=False) for one in plan.rounds},
            fingerprint=plan.fingerprint,
            reviewers=reviewers,
        )
        decisions = read_files(file, expected, form)
        return ImportedReview(len(decisions), project.add_decisions(decisions, file.name))


def _items(collection: Collection, ids: Sequence[str]) -> dict[str, Item]:
    """Items under the names that they have in a review, where several benchmarks may have the same."""
    items = {id_: msgspec.structs.replace(item, id=id_) for id_, item in collection.records(ids).items()}
    if missing := [id_ for id_ in ids if id_ not in items]:
        told = "is in no benchmark that the review knows; name the benchmark, too, where it begins"
        raise InputError(f"item {short(missing[0])} {told}: eyetest review export PLACE BENCH")
    return items


class _Making:
    """Makes assignments of what a collection knows of items."""

    def __init__(self, collection: Collection, plan: ReviewPlan, tool: ToolFormat, embedded: bool) -> None:
        self._collection, self._plan, self._tool, self._embedded = collection, plan, tool, embedded
        self._served = ServedPictures(collection.picture)

    def assignments(self, keys: Sequence[TaskKey], before: Mapping[TaskKey, Sequence[Decision]]) -> list[Assignment]:
        """What somebody decides about, with all that the form shows of it."""
        ids = list(dict.fromkeys(item for item, _, _ in keys))
        items = _items(self._collection, ids)
        view = self._collection.view(Query(ids=tuple(ids)))
        rows = {row.id: row for row in self._collection.rows(view, 0, len(ids))} if ids else {}
        return [
            Assignment(
                item=items[item],
                round=number,
                form=(form := self._plan.form(number, adjudicates=adjudicates)),
                adjudicates=adjudicates,
                fingerprint=self._plan.fingerprint,
                evidence=self._evidence(rows[item], form, adjudicates=adjudicates),
                pictures=tuple(self._pictures(rows[item], items[item])),
                earlier=tuple(before.get((item, number, adjudicates), ())),
            )
            for item, number, adjudicates in keys
        ]

    def _pictures(self, row: ItemRow, item: Item) -> Iterator[str]:
        """Where the tool finds the pictures of an item. Label Studio serves files of folders that it was shown."""
        for image in item.images:
            path = self._collection.home(row).images.path(image).resolve()
            if not self._embedded:
                yield (
                    f"{_SERVED_FILES}{quote(path.as_posix().lstrip('/'))}"
                    if self._tool == "label-studio"
                    else str(path)
                )
            elif picture := self._served.whole(image.sha256):
                yield f"data:image/{picture.kind};base64,{pybase64.b64encode_as_string(picture.data)}"

    def _evidence(self, row: ItemRow, form: Form, *, adjudicates: bool) -> str:
        """Why the item is here; nothing where it would tell the gold to somebody who is to find it."""
        lines: list[str] = []
        if form.solve:
            return ""
        if "verdicts" in form.shows:
            said = self._plan.blinded(self._collection.verdicts(row.position), adjudicates=adjudicates)
            lines += [f"{one.stage}: {one.verdict}. {one.reason} {one.evidence}".strip() for one in said]
        if "findings" in form.shows:
            lines += [f"audit: {finding}" for finding in row.findings]
        return "\n".join(lines)


def export_review(
    place: AnyPath,
    to: AnyPath,
    *,
    tool: str = "csv",
    round: int | None = None,  # noqa: A002 (as the option is called)
    with_pictures: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """What waits in a review and what was decided, as files of another tool: csv or label-studio.

    >>> et.export_review("bench-review", to="studio", tool="label-studio")  # doctest: +SKIP
    """
    exported = write_review_files(
        [local_path(place)],
        local_path(to),
        tool=tool,
        round=round,
        with_pictures=with_pictures,
        overwrite=overwrite,
    )
    return [local_path(to) / name for name in exported.files]


def import_review(
    file: AnyPath,
    on: AnyPath,
    *,
    tool: str | None = None,
    reviewer: str | Mapping[str, str] = "",
) -> int:
    """Take decisions into a review that were made in another tool; gives how many of them were new.

    ``reviewer`` is who decided where the file does not say, or a name for each user of the tool.

    >>> et.import_review("export.json", on="bench-review", reviewer={"3": "Ann"})  # doctest: +SKIP
    """
    named = reviewer if isinstance(reviewer, Mapping) else {"": reviewer}
    names = {str(user): name for user, name in named.items() if name}
    return read_review_files(local_path(file), local_path(on), tool=tool, reviewers=names).added
