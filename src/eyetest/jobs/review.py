"""People decide about items: a review is begun, continued, served, and carried out as a new benchmark version."""

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import NamedTuple, cast, get_args

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CHANGES, SAID, refuse_gold_list
from eyetest.errors import EyetestError, InputError, damaged, nearest, param, short
from eyetest.jobs.harden_options import RECORD, ROUNDS
from eyetest.jobs.open import listen_near
from eyetest.jobs.opening import AnyPath, observer
from eyetest.pages.item_links import Query, parse_query
from eyetest.recipes.hardening import DRAFTS
from eyetest.records import Decision, Recipe, columns
from eyetest.records.recipe import ABOUT, BENCHMARK, REVIEW, VERDICTS
from eyetest.reports.dataset_card import card_of, read_said, write_card, write_said
from eyetest.reports.refinements import RefinementRecord
from eyetest.review import QUEUE, Agreed, Rounds
from eyetest.review.app.office import make_review_app
from eyetest.review.app.server import serve
from eyetest.review.collection import Collection, DraftedCollection
from eyetest.review.collection.sources import open_places, read_verdict_table
from eyetest.review.decisions import OBJECTS
from eyetest.review.forms import load_form
from eyetest.review.plan import ReviewPlan, Role, Round
from eyetest.review.project import ReviewProject, is_review
from eyetest.review.queue import by_suspicion, drawn, refuse_unknown_tag
from eyetest.review.revision import ReviewedItems, RevisedBenchmark, revise_benchmark
from eyetest.store.files import read_regular
from eyetest.store.urls import local_path
from eyetest.tabular.sheets import restored
from eyetest.wording import counted

SUFFIX = "-review"
_WAITING = "review"
_ALL = "all"
_MOST_REVIEWERS = 50


@dataclass(frozen=True)
class ReviewWishes:
    """How a review is to begin; nothing of it can be changed once it has. What is empty is as usual."""

    items: str = ""
    """``review``, ``all``, how many at random, or a query."""
    rounds: str = ""
    """Reviewers of each round: ``1,2``."""
    form: str = ""
    solve: bool = False
    agree: str = ""
    per: str = ""
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.agree and self.agree not in get_args(Agreed):
            raise InputError(f"{param('agree')}: found {short(self.agree)}; {nearest(self.agree, get_args(Agreed))}")


class OpenReview(NamedTuple):
    """A review, and the items that it is about."""

    project: ReviewProject
    collection: Collection


class LeftToPeople(NamedTuple):
    """Which items wait in which round, and of which recipe these are the rounds."""

    place: Path
    shown: Path
    """What holds the items."""
    drafts: Sequence[Benchmark]
    """What holds them as they are by now, where a recipe has made more of them."""
    recipe: Recipe
    name: str
    fingerprint: str
    waiting: Mapping[int, Sequence[str]]


def recipe_place(place: Path) -> Path | None:
    """The folder of a command that leaves items to people: itself, or the one whose review it is."""
    parent = place.resolve().parent
    if is_review(place) and _leaves_items(parent) and (parent / REVIEW).resolve() == place.resolve():
        return parent
    return place if _leaves_items(place) else None


def left_to_people(place: Path) -> LeftToPeople:
    """What waits in the folder of such a command."""
    return _by_refinement(place) if (place / ABOUT).is_file() else _by_options(place)


def _leaves_items(place: Path) -> bool:
    return (place / ABOUT).is_file() or ((place / RECORD).is_file() and is_benchmark(place / BENCHMARK))


def _by_refinement(place: Path) -> LeftToPeople:
    try:
        record = msgspec.json.decode(read_regular(place / ABOUT, place), type=RefinementRecord)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{place / ABOUT} is damaged: {error}; run eyetest refine again") from None
    recipe, about = record.recipe, record.benchmark
    asked = Rounds(recipe, {}).asked
    waiting: dict[int, list[str]] = {}
    rows = read_verdict_table(place / VERDICTS).filter(pl.col("verdict") == "review").select("item", "stage")
    for item, stage in rows.iter_rows():
        waiting.setdefault(asked[stage][0], []).append(item)
    paths = [place / DRAFTS / stage.title for stage in recipe.stages if stage.harden is not None]
    drafts = [Benchmark(path) for path in paths if is_benchmark(path)]
    return LeftToPeople(place, place, drafts, recipe, about.name, about.fingerprint, waiting)


def _by_options(place: Path) -> LeftToPeople:
    manifest = Benchmark(place / BENCHMARK).manifest
    waiting: dict[int, list[str]] = {}
    path = place / REVIEW / QUEUE
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for row in csv.DictReader(file):
                waiting.setdefault(int(row["round"]), []).append(restored(row["item"]))
    except (OSError, KeyError, ValueError, csv.Error) as error:
        raise damaged(path, error) from None
    return LeftToPeople(place, place / BENCHMARK, (), ROUNDS, manifest.name, manifest.fingerprint, waiting)


def open_review(places: Sequence[Path], wishes: ReviewWishes, to: Path | None = None) -> OpenReview:
    """Begin a review of some places, or go on with the one that was begun."""
    if asking := next((path for place in places if (path := recipe_place(place))), None):
        left = left_to_people(asking)
        others = [place for place in places if recipe_place(place) is None]
        return _of_recipe(left, [left.shown, *others], wishes, to)
    folder = to or (places[0] if is_review(places[0]) else _beside(places[0]))
    if is_review(folder):
        return _go_on(folder, wishes)
    collection = Collection.open(places, observer().busy)
    for benchmark in collection.benchmarks.values():
        refuse_gold_list(benchmark, "look at")
    plan = _plain(collection, places, wishes)
    ids = _chosen(collection, wishes.items, plan.seed)
    if not ids:
        raise InputError(f"no item to review: {param('items', wishes.items or _WAITING)} means none of them")
    project = ReviewProject.create(folder, plan, by_suspicion(collection.table, ids, plan.per, plan.seed))
    return _told(OpenReview(project, collection))


def find_review(place: Path) -> ReviewProject:
    """The review of a place: the folder itself, or that of a refinement or a benchmark."""
    for folder in (place, place / REVIEW, _beside(place)):
        if is_review(folder):
            return ReviewProject.open(folder)
    if not place.exists():
        raise InputError(f"{place} does not exist")
    raise InputError(f"no review of {place} was begun yet; begin one with eyetest review {place}")


def reviewed_collection(project: ReviewProject) -> Collection:
    """The items of a review that was begun, with all that is known of them; a recipe's as it has made them so far."""
    places = [local_path(path) for path in project.plan.places]
    asking = recipe_place(project.folder)
    if asking is None:
        return Collection.open(places, observer().busy)
    return DraftedCollection(open_places(places, observer().busy), left_to_people(asking).drafts, observer().busy)


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


def _go_on(folder: Path, wishes: ReviewWishes) -> OpenReview:
    """A review that was begun: its plan stays, items may be added."""
    project = _begun(folder, wishes)
    plan, collection = project.plan, reviewed_collection(project)
    if wishes.items:
        ids = _chosen(collection, wishes.items, plan.seed)
        project.add_items(by_suspicion(collection.table, ids, plan.per, plan.seed))
    return _told(OpenReview(project, collection))


def _told(opened: OpenReview) -> OpenReview:
    """A review whose edits are checked against its items; whatever is odd is said."""
    opened.project.item_of = opened.collection.record
    for line in opened.collection.notes:
        observer().note(line)
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
        "agree": wishes.agree and wishes.agree != plan.agree,
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
        agree=cast("Agreed", wishes.agree or "all"),
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


def _of_recipe(left: LeftToPeople, places: Sequence[Path], wishes: ReviewWishes, to: Path | None) -> OpenReview:
    """The review of what a recipe left to people: rounds, forms and items are the recipe's."""
    folder = left.place / REVIEW
    if to is not None and to.resolve() != folder.resolve():
        raise InputError(f"{param('to')}: what people decide about {left.place} lies in {folder}")
    for name in ("form", "rounds", "items", "agree", "seed"):
        if getattr(wishes, name) not in ("", None):
            raise InputError(f"{param(name)}: the recipe of {left.place} says that; leave it out")
    begun = _begun(folder, wishes) if is_review(folder) else None
    sources = open_places(places, observer().busy)
    collection = DraftedCollection(sources, left.drafts, observer().busy)
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
        observer().note(f"{counted(new, 'decision')} more to make")
    return _told(OpenReview(project, collection))


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


def carry_out_review(
    place: AnyPath, to: AnyPath, *, complete: bool = False, overwrite: bool = False
) -> RevisedBenchmark:
    """Carry out what people decided, with a card; ``complete`` refuses while something is open."""
    with find_review(local_path(place)) as project:
        plan = project.plan
        reviewed = ReviewedItems(project.outcomes(), project.decisions(), [one.form for one in plan.rounds])
    benchmark, folder = _reviewed_benchmark(plan), local_path(to)
    revised = revise_benchmark(benchmark, reviewed, folder, complete=complete, overwrite=overwrite)
    if not (folder / SAID).exists() and (benchmark.path / SAID).is_file():
        write_said(folder / SAID, read_said(benchmark.path / SAID))
    write_card(card_of(revised.benchmark, read_said(folder / SAID)), revised.benchmark, folder)
    for line in _notes(revised):
        observer().note(line)
    return revised


def _reviewed_benchmark(plan: ReviewPlan) -> Benchmark:
    """The one benchmark that a review is about, as it was when the review began."""
    if not plan.together:
        raise InputError("what people decide about a refinement is carried out by eyetest refine, run again")
    if not plan.fingerprint:
        raise InputError("the review is about several benchmarks; a revision is of one")
    opened = open_places([local_path(path) for path in plan.places], observer().busy).benchmarks
    same = [one for one in opened if one.manifest.fingerprint == plan.fingerprint]
    if not same:
        raise InputError(f"{plan.benchmark} is not as it was when the review began; bring that version back")
    return same[0]


def _notes(revised: RevisedBenchmark) -> list[str]:
    notes = []
    if open_ := revised.counts["open"]:
        as_before = "it is as it was" if open_ == 1 else "they are as they were"
        notes.append(f"{counted(open_, 'item')} not decided yet: {as_before}, and listed in {CHANGES}")
    if ties := len(revised.ties):
        notes.append(f"{counted(ties, 'tag')} as before: as many reviewers say one thing as another; see {CHANGES}")
    return notes


_TYPES: dict[str, type[pl.DataType]] = {"round": pl.Int64, "seconds": pl.Float64, "adjudicates": pl.Boolean}


def review_decisions(place: AnyPath) -> pl.DataFrame:
    """Everything that people decided in a review, in order; edits and labels are JSON.

    ``place`` is the folder of the review, or the refinement or benchmark that it is about.

    >>> et.review_decisions("bench-review").select("item", "reviewer", "decision")  # doctest: +SKIP
    """
    with find_review(local_path(place)) as project:
        said = project.decisions()
    texts = [
        msgspec.structs.asdict(one) | {name: msgspec.json.encode(getattr(one, name)).decode() for name in OBJECTS}
        for one in said
    ]
    return pl.DataFrame(texts, schema={name: _TYPES.get(name, pl.String) for name in columns(Decision)})


def review_outcomes(place: AnyPath) -> pl.DataFrame:
    """What people came to, a row an item: ``review`` while it is open or in dispute.

    >>> et.review_outcomes("bench-review").filter(verdict="drop")  # doctest: +SKIP
    """
    with find_review(local_path(place)) as project:
        outcomes = project.outcomes()
    rows = [(item, one.verdict, one.reason, one.n, one.agree) for item, one in outcomes.items()]
    schema = {"item": pl.String, "verdict": pl.String, "reason": pl.String, "n": pl.Int64, "agree": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def revise(place: AnyPath, to: AnyPath, *, complete: bool = False, overwrite: bool = False) -> Benchmark:
    """The next version of a benchmark: what people decided in a review, carried out.

    ``changes.csv`` beside its items says what was changed, by whom and why. With ``complete`` nothing is written
    while an item is open. Measured with ``bench=`` this one, runs on the version before count by what people decided.

    >>> et.revise("bench-review", to="bench-2")  # doctest: +SKIP
    <Benchmark 'world-7': 58 items in bench-2>
    """
    return carry_out_review(place, to, complete=complete, overwrite=overwrite).benchmark
