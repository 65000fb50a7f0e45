"""A review in other tools: assignments and decisions written as their files, and read back."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
import pybase64

from eyetest.errors import InputError, heading, short
from eyetest.pages.item_links import Query
from eyetest.records import Decision, Item
from eyetest.studio.app.browsing import ServedImages
from eyetest.studio.collection import Collection, ItemRow
from eyetest.studio.database import earlier
from eyetest.studio.exchange.files import Outgoing, ToolFormat, read_files
from eyetest.studio.exchange.tasks import Assignment, Expected, TaskKey
from eyetest.studio.forms import Form
from eyetest.studio.project import ReviewProject

_SERVED_FILES = "/data/local-files/?d="


def outgoing_of(
    project: ReviewProject, collection: Collection, tool: ToolFormat, round_number: int | None, *, with_images: bool
) -> Outgoing:
    """The open and the made decisions of a review, or of one round, for another tool."""
    plan, served = project.plan, ServedImages(collection.image)
    if round_number is not None and not 1 <= round_number <= len(plan.rounds):
        raise InputError(f"{heading('round')}: found {round_number}, expected 1 to {len(plan.rounds)}")

    def images(row: ItemRow, item: Item) -> Iterator[str]:
        """Paths or data of an item's images. Label Studio serves files of folders that it was given."""
        for image in item.images:
            path = collection.home(row).images.path(image).resolve()
            if with_images:
                if whole := served.whole(image.sha256):
                    yield f"data:image/{whole.kind};base64,{pybase64.b64encode_as_string(whole.data)}"
            elif tool == "label-studio":
                yield f"{_SERVED_FILES}{quote(path.as_posix().lstrip('/'))}"
            else:
                yield str(path)

    def evidence(row: ItemRow, form: Form, adjudicates: bool) -> Iterator[str]:
        """Why the item is reviewed; nothing where it would show the answer key to reviewers who answer first."""
        if "verdicts" in form.shows and not form.solve:
            for one in plan.blinded(collection.verdicts(row.position), adjudicates=adjudicates):
                yield f"{one.stage}: {one.verdict}. {one.reason} {one.evidence}".strip()
        if "findings" in form.shows and not form.solve:
            yield from (f"audit: {finding}" for finding in row.findings)

    def assignments(keys: Sequence[TaskKey], before: Mapping[TaskKey, Sequence[Decision]]) -> list[Assignment]:
        """Items to decide about, with everything that the form shows."""
        ids = list(dict.fromkeys(item for item, _, _ in keys))
        items, view = _items(collection, ids), collection.view(Query(ids=tuple(ids)))
        rows = {row.id: row for row in collection.rows(view, 0, len(ids))} if ids else {}
        return [
            Assignment(
                item=items[item],
                round=number,
                form=(form := plan.form(number, adjudicates=adjudicates)),
                adjudicates=adjudicates,
                fingerprint=plan.fingerprint,
                evidence="\n".join(evidence(rows[item], form, adjudicates)),
                images=tuple(images(rows[item], items[item])),
                earlier=tuple(before.get((item, number, adjudicates), ())),
            )
            for item, number, adjudicates in keys
        ]

    made: dict[TaskKey, list[Decision]] = {}
    by_item: dict[str, list[Decision]] = {}
    for one in project.decisions():
        made.setdefault((one.item, one.round, one.adjudicates), []).append(one)
        by_item.setdefault(one.item, []).append(one)
    waiting, decided = ([key for key in keys if round_number in (None, key[1])] for keys in (project.waiting(), made))
    disputed = {key: earlier(plan, by_item.get(key[0], ()), key[1]) for key in waiting if key[2]}
    return Outgoing(assignments(waiting, disputed), assignments(decided, made))


def read_review(
    project: ReviewProject, collection: Collection, file: Path, tool: ToolFormat | None, reviewers: Mapping[str, str]
) -> tuple[int, int]:
    """Add the decisions of another tool's file to a review, all or none; how many there are, and how many are new."""
    plan = project.plan
    expected = Expected(
        items=_items(collection, project.ids()),
        forms={one.number: plan.form(one.number, adjudicates=False) for one in plan.rounds},
        fingerprint=plan.fingerprint,
        reviewers=reviewers,
    )
    decisions = read_files(file, expected, tool)
    return len(decisions), project.add_decisions(decisions, file.name)


def _items(collection: Collection, ids: Sequence[str]) -> dict[str, Item]:
    """Items by their ids in the review, which differ from their own where benchmarks share ids."""
    items = {id_: msgspec.structs.replace(item, id=id_) for id_, item in collection.records(ids).items()}
    if missing := [id_ for id_ in ids if id_ not in items]:
        where = "is in no benchmark that the review knows; name the benchmark, too: eyetest review PLACE BENCH"
        raise InputError(f"item {short(missing[0])} {where}")
    return items
