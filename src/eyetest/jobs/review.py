"""People decide about items: a review begun, gone on with, served, and told of."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks.folder import refuse_gold_list
from eyetest.errors import EyetestError, InputError, param, short
from eyetest.jobs.open import listen_near
from eyetest.jobs.opening import SILENT, Observer
from eyetest.jobs.review_queue import LeftToPeople, left_to_people, recipe_place
from eyetest.pages.item_links import Query, parse_query
from eyetest.records.recipe import REVIEW
from eyetest.review import Agreed
from eyetest.review.app import make_review_app, serve
from eyetest.review.collection import Collection, DraftedCollection
from eyetest.review.collection.sources import open_places
from eyetest.review.forms import load_form
from eyetest.review.project import ReviewPlan, ReviewProject, Role, Round, is_review
from eyetest.review.project.order import by_suspicion, drawn, refuse_unknown_tag
from eyetest.store.urls import local_path
from eyetest.wording import counted

SUFFIX = "-review"
_WAITING = "review"
_ALL = "all"
_MOST_REVIEWERS = 50


class ReviewWishes(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of a review that is to begin; nothing of it can be changed once it has."""

    form: str = ""
    rounds: str = ""
    """Reviewers of each round: ``1,2``."""
    items: str = ""
    """``review``, ``all``, how many by lot, or a query."""
    solve: bool = False
    agree: Agreed | None = None
    per: str = ""
    seed: int | None = None
    """0 where nobody says."""


class OpenReview(NamedTuple):
    """A review, and the items that it is about."""

    project: ReviewProject
    collection: Collection


def open_review(
    places: Sequence[Path], wishes: ReviewWishes, to: Path | None = None, observer: Observer = SILENT
) -> OpenReview:
    """Begin a review of some places, or go on with the one that was begun."""
    if asking := next((path for place in places if (path := recipe_place(place))), None):
        left = left_to_people(asking)
        others = [place for place in places if recipe_place(place) is None]
        return _of_recipe(left, [left.shown, *others], wishes, to, observer)
    folder = to or (places[0] if is_review(places[0]) else _beside(places[0]))
    if is_review(folder):
        return _go_on(folder, wishes, observer)
    collection = Collection.open(places, observer.busy)
    for benchmark in collection.benchmarks.values():
        refuse_gold_list(benchmark, "look at")
    plan = _plain(collection, places, wishes)
    ids = _chosen(collection, wishes.items, plan.seed)
    if not ids:
        raise InputError(f"no item to review: {param('items', wishes.items or _WAITING)} means none of them")
    project = ReviewProject.create(folder, plan, by_suspicion(collection.table, ids, plan.per, plan.seed))
    return _told(OpenReview(project, collection), observer)


def find_review(place: Path) -> ReviewProject:
    """The review of a place: the folder itself, or that of a refinement or a benchmark."""
    for folder in (place, place / REVIEW, _beside(place)):
        if is_review(folder):
            return ReviewProject.open(folder)
    if not place.exists():
        raise InputError(f"{place} does not exist")
    raise InputError(f"no review of {place} was begun yet; begin one with eyetest review {place}")


def reviewed_collection(project: ReviewProject, observer: Observer = SILENT) -> Collection:
    """The items of a review that was begun, with all that is known of them; a recipe's as it has made them so far."""
    places = [local_path(path) for path in project.plan.places]
    asking = recipe_place(project.folder)
    if asking is None:
        return Collection.open(places, observer.busy)
    return DraftedCollection(open_places(places, observer.busy), left_to_people(asking).drafts, observer.busy)


def serve_review(
    opened: OpenReview,
    name: str,
    *,
    host: str,
    port: int | None = None,
    ready: Callable[[str], None] = lambda link: None,
) -> None:
    """Serve a review until somebody ends it; ``ready`` hears the link by which ``name`` comes in as its admin."""
    taken, address = listen_near(host, port)
    Thread(target=_read_ahead, args=(opened.collection,), daemon=True).start()
    opened.project.keep_address(address)
    ready(opened.project.link(opened.project.invite(name, "admin")))
    serve(make_review_app(opened.collection, opened.project, host), taken)


def _read_ahead(collection: Collection) -> None:
    """So that nobody waits at the first search or item, who will be told if replies cannot be read."""
    with suppress(EyetestError):
        collection.read_replies()


def invite(place: Path, name: str, role: Role = "reviewer", days: float = 30) -> str:
    """A personal link for somebody; one that they had before is dead."""
    with find_review(place) as project:
        return project.link(project.invite(name, role, days))


def revoke(place: Path, name: str) -> None:
    """End somebody's link and sessions; what they decided stays."""
    with find_review(place) as project:
        project.revoke(name)


def _beside(place: Path) -> Path:
    """Where the review of a place lies unless somebody says otherwise."""
    resolved = place.resolve()
    return resolved.parent / f"{resolved.name}{SUFFIX}"


def _go_on(folder: Path, wishes: ReviewWishes, observer: Observer) -> OpenReview:
    """A review that was begun: its plan stays, items may be added."""
    project = _begun(folder, wishes)
    plan, collection = project.plan, reviewed_collection(project, observer)
    if wishes.items:
        ids = _chosen(collection, wishes.items, plan.seed)
        project.add_items(by_suspicion(collection.table, ids, plan.per, plan.seed))
    return _told(OpenReview(project, collection), observer)


def _told(opened: OpenReview, observer: Observer) -> OpenReview:
    """A review whose edits are checked against its items; whatever is odd is said."""
    opened.project.item_of = opened.collection.record
    for line in opened.collection.notes:
        observer.note(line)
    return opened


def _begun(folder: Path, wishes: ReviewWishes) -> ReviewProject:
    """A review that people have begun; refused where somebody wants other rules."""
    project = ReviewProject.open(folder)
    try:
        _refuse_other_wishes(wishes, project)
    except InputError:
        project.close()
        raise
    return project


def _refuse_other_wishes(wishes: ReviewWishes, project: ReviewProject) -> None:
    plan, folder = project.plan, project.folder
    said = {
        "form": wishes.form and load_form(wishes.form) != plan.rounds[0].form,
        "rounds": wishes.rounds and _reviewers(wishes.rounds) != [one.reviewers for one in plan.rounds],
        "solve": wishes.solve and not plan.solve,
        "agree": wishes.agree is not None and wishes.agree != plan.agree,
        "per": wishes.per and wishes.per != plan.per,
        "seed": wishes.seed is not None and wishes.seed != plan.seed,
    }
    if changed := next((name for name, differs in said.items() if differs), None):
        another = "eyetest review PLACE --to DIR begins another"
        raise InputError(f"{param(changed)}: the review in {folder} was begun otherwise; leave it out ({another})")


def _plain(collection: Collection, places: Sequence[Path], wishes: ReviewWishes) -> ReviewPlan:
    form = load_form(wishes.form)
    if wishes.per:
        refuse_unknown_tag(collection.items, wishes.per)
    benchmarks = list(collection.benchmarks.values())
    return ReviewPlan(
        name=collection.name,
        benchmark=collection.name,
        fingerprint=benchmarks[0].manifest.fingerprint if len(benchmarks) == 1 else "",
        places=tuple(str(place.resolve()) for place in places),
        rounds=tuple(
            Round(number=number, reviewers=count, form=form)
            for number, count in enumerate(_reviewers(wishes.rounds or "1"), 1)
        ),
        agree=wishes.agree or "all",
        solve=wishes.solve,
        seed=wishes.seed or 0,
        per=wishes.per,
    )


def _reviewers(text: str) -> list[int]:
    """The reviewers of each round, as they are written: ``1,2``."""
    counts = [int(word) if word.strip().isdecimal() else 0 for word in text.split(",")]
    if not all(1 <= count <= _MOST_REVIEWERS for count in counts):
        raise InputError(f"{param('rounds')}: found {short(text)}, expected reviewers of each round: 1,2")
    return counts


def _chosen(collection: Collection, which: str, seed: int) -> list[str]:
    """The items that somebody wants reviewed: those that wait for people, where there are any, or all."""
    words = which.strip()
    every: list[str] = collection.items.filter(pl.col("question").is_not_null()).get_column("id").to_list()
    if words.isdecimal():
        return drawn(every, int(words), seed)
    if words in ("", _WAITING):
        waiting = _ids(collection, Query(verdict="review"))
        return waiting if waiting or words else every
    if words == _ALL:
        return every
    if "=" not in words:
        raise InputError(
            f"{param('items')}: found {short(words)}, expected review, all, a number or a query: tag.x=y"
        )
    return _ids(collection, parse_query(words))


def _ids(collection: Collection, query: Query) -> list[str]:
    ids: list[str] = collection.items[collection.view(query).positions].get_column("id").to_list()
    return ids


def _of_recipe(
    left: LeftToPeople, places: Sequence[Path], wishes: ReviewWishes, to: Path | None, observer: Observer
) -> OpenReview:
    """The review of what a recipe left to people: rounds, forms and items are the recipe's."""
    folder = left.place / REVIEW
    if to is not None and to.resolve() != folder.resolve():
        raise InputError(f"{param('to')}: what people decide about {left.place} lies in {folder}")
    for name in ("form", "rounds", "items", "agree", "seed"):
        if getattr(wishes, name) not in ("", None):
            raise InputError(f"{param(name)}: the recipe of {left.place} says that; leave it out")
    begun = _begun(folder, wishes) if is_review(folder) else None
    sources = open_places(places, observer.busy)
    collection = DraftedCollection(sources, left.drafts, observer.busy)
    if wishes.per:
        refuse_unknown_tag(collection.items, wishes.per)
    plan = _recipe_plan(left, places, wishes)
    project = begun or ReviewProject.create(folder, plan)
    every = tuple(dict.fromkeys((*project.plan.places, *plan.places)))
    if (project.plan.rounds, project.plan.places) != (plan.rounds, every):
        project.replan(msgspec.structs.replace(project.plan, rounds=plan.rounds, places=every))
    plan, table = project.plan, collection.table
    waiting = {number: by_suspicion(table, ids, plan.per, plan.seed) for number, ids in left.waiting.items()}
    if new := project.await_only(waiting):
        observer.note(f"{counted(new, 'decision')} more to make")
    return _told(OpenReview(project, collection), observer)


def _recipe_plan(left: LeftToPeople, places: Sequence[Path], wishes: ReviewWishes) -> ReviewPlan:
    stages = [stage.title for stage in left.recipe.stages if stage.review] or [""]
    return ReviewPlan(
        name=left.name,
        benchmark=left.name,
        fingerprint=left.fingerprint,
        places=tuple(str(place.resolve()) for place in places),
        rounds=tuple(
            Round(number=number, reviewers=one.reviewers, form=load_form(one.form), stage=stage)
            for number, (one, stage) in enumerate(zip(left.recipe.rounds, stages, strict=True), 1)
        ),
        agree="most",
        together=False,
        solve=wishes.solve,
        seed=left.recipe.seed,
        per=wishes.per,
    )
