"""Reviews by people: begun for benchmarks and for what recipes leave to people, resumed, found and carried out."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import CHANGES, FACTS
from eyetest.errors import InputError, counted, nearest, param, short, typed
from eyetest.measures.results import TAG
from eyetest.pages.item_links import Query, parse_query
from eyetest.recipes.hardening import DRAFTS
from eyetest.recipes.refining import Rounds
from eyetest.recipes.revision import ReviewedItems, RevisedBenchmark, revise_benchmark
from eyetest.records import Recipe
from eyetest.records.recipe import ABOUT, REVIEW, VERDICTS
from eyetest.reports.dataset_card import card_of, read_facts, write_card, write_facts
from eyetest.reports.refinements import RefinementRecord
from eyetest.store import read_json
from eyetest.store.urls import local_path
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import ReviewPlan, Round
from eyetest.studio.forms import load_form
from eyetest.studio.project import QUOTA, ReviewProject, is_review
from eyetest.studio.sources import open_places, read_verdict_table

SUFFIX = "-review"
_WAITING = "review"
_MOST_REVIEWERS = 50
_SAMPLE = re.compile(r"\s*(\d+)(?:\s+of\s+(.+?))?\s*", re.DOTALL)  # ``60 of answer=wrong``
_FINDING = 0.5  # how likely a finding of an audit is to change something
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ReviewSettings:
    """How a review begins; it cannot be changed afterwards. Empty fields take the defaults."""

    items: str = ""  # ``review``, ``all``, a number drawn at random, or a query
    rounds: str = ""  # reviewers of each round: ``1,2``
    form: str = ""
    solve: bool = False
    per: str = ""


class OpenReview(NamedTuple):
    """A review, and its items with notes for the user."""

    project: ReviewProject
    collection: Collection


class LeftToPeople(NamedTuple):
    """The items that wait in each round, and the recipe of these rounds."""

    place: Path
    drafts: Sequence[Benchmark]  # hold the items with what a recipe added to them
    recipe: Recipe
    name: str
    fingerprint: str
    waiting: Mapping[int, Sequence[str]]


def recipe_place(place: Path) -> Path | None:
    """The folder of a command that leaves items to people: the place itself, or the one whose review it is."""
    parent = place.resolve().parent
    if is_review(place) and (parent / ABOUT).is_file() and (parent / REVIEW).resolve() == place.resolve():
        return parent
    return place if (place / ABOUT).is_file() else None


def left_to_people(place: Path) -> LeftToPeople:
    """The items that wait in such a folder."""
    waiting: dict[int, list[str]] = {}
    record = read_json(place / ABOUT, RefinementRecord, "run eyetest refine again")
    recipe, about = record.recipe, record.benchmark
    asked = Rounds(recipe, {}).asked
    rows = read_verdict_table(place / VERDICTS).filter(pl.col("verdict") == "review").select("item", "stage")
    for item, stage in rows.iter_rows():
        waiting.setdefault(asked[stage][0], []).append(item)
    paths = [place / DRAFTS / stage.title for stage in recipe.stages if stage.harden is not None]
    drafts = [Benchmark(path) for path in paths if is_benchmark(path)]
    return LeftToPeople(place, drafts, recipe, about.name, about.fingerprint, waiting)


def open_review(
    places: Sequence[Path], settings: ReviewSettings, to: Path | None = None, tell: Tell = lambda line: None
) -> OpenReview:
    """Begin a review, or resume it; ``tell`` reports work that takes a while."""
    if asking := next((path for place in places if (path := recipe_place(place))), None):
        left = left_to_people(asking)
        others = [place for place in places if recipe_place(place) is None]
        return _of_recipe(left, [left.place, *others], settings, to, tell)
    folder = to or (places[0] if is_review(places[0]) else _beside(places[0]))
    if is_review(folder):  # its plan stays, items may be added
        project = _begun(folder, settings)
        plan, collection = project.plan, reviewed_collection(project, tell)
        if settings.items:
            ids, words = _queue(collection, settings.items, plan)
            project.add_items(ids)
            project.extend(plan.places, words)
        return _checking(project, collection)
    collection = Collection(places, tell)
    benchmarks, form = list(collection.benchmarks.values()), load_form(settings.form)
    reviewers = enumerate(_reviewers(settings.rounds or "1"), 1)
    plan = ReviewPlan(
        name=collection.name,
        benchmark=collection.name,
        fingerprint=benchmarks[0].manifest.fingerprint if len(benchmarks) == 1 else "",
        places=tuple(str(place.resolve()) for place in places),
        rounds=tuple(Round(number=number, reviewers=count, form=form) for number, count in reviewers),
        solve=settings.solve,
        per=settings.per,
    )
    ids, words = _queue(collection, settings.items, plan)
    if not ids:
        raise InputError(f"no item to review: {param('items', settings.items or _WAITING)} means none of them")
    project = ReviewProject.create(folder, msgspec.structs.replace(plan, items=(words,)), ids)
    return _checking(project, collection)


def find_review(place: Path) -> ReviewProject:
    """The review of a place: the folder itself, or that of a refinement or a benchmark."""
    for folder in (place, place / REVIEW, _beside(place)):
        if is_review(folder):
            return ReviewProject.open(folder)
    if not place.exists():
        raise InputError(f"{place} does not exist")
    raise InputError(f"there is no review of {place}; begin one with {typed('eyetest', 'review', place)}")


def reviewed_collection(project: ReviewProject, tell: Tell = lambda line: None) -> Collection:
    """The items of a review with all that is known of them; those of a recipe as it has changed them so far."""
    places = [local_path(path) for path in project.plan.places]
    asking = recipe_place(project.folder)
    return Collection(places, tell, left_to_people(asking).drafts if asking else ())


def _beside(place: Path) -> Path:
    """The default folder for the review of a place."""
    return place.resolve().with_name(f"{place.resolve().name}{SUFFIX}")


def _checking(project: ReviewProject, collection: Collection) -> OpenReview:
    """The review, with edits checked against its items."""
    project.item_of = collection.record
    return OpenReview(project, collection)


def _begun(folder: Path, settings: ReviewSettings) -> ReviewProject:
    """A review that exists; refused if its plan differs from the settings."""
    with ExitStack() as opened:
        project = opened.enter_context(ReviewProject.open(folder))
        plan = project.plan
        differs = {
            "form": settings.form and load_form(settings.form) != plan.rounds[0].form,
            "rounds": settings.rounds
            and _reviewers(settings.rounds) != [planned.reviewers for planned in plan.rounds],
            "solve": settings.solve and not plan.solve,
            "per": settings.per and settings.per != plan.per,
        }
        for name in (name for name, changed in differs.items() if changed):
            another = "leave it out (eyetest review PLACE --to DIR begins another)"
            raise InputError(f"{param(name)}: the review in {folder} was begun otherwise; {another}")
        opened.pop_all()
    return project


def _reviewers(text: str) -> list[int]:
    """The reviewers of each round, as they are written: ``1,2``."""
    counts = [int(word) if word.strip().isdecimal() else 0 for word in text.split(",")]
    if not all(1 <= count <= _MOST_REVIEWERS for count in counts):
        raise InputError(f"{param('rounds')}: found {short(text)}, expected reviewers of each round: 1,2")
    return counts


def _queue(collection: Collection, which: str, plan: ReviewPlan) -> tuple[list[str], str]:
    """The items to review, and what they are; a sample stays in its order, so that its first ones are one, too."""
    sample = _SAMPLE.fullmatch(which)
    if sample is None:
        ids = _chosen(collection, which.strip())
        return by_suspicion(collection.table, ids, plan.seed, plan.per), which.strip() or _WAITING
    every = _chosen(collection, sample[2] or "all")
    ids = drawn(every, int(sample[1]), plan.seed)
    words = f"{len(ids):,} of {len(every):,} at random, seed {plan.seed}: {sample[2] or 'all'}"
    return by_suspicion(collection.table, ids, plan.seed, plan.per) if plan.per else ids, words


def _chosen(collection: Collection, words: str) -> list[str]:
    """The items that a query means: by default those that wait for people, or all if none does."""
    every: list[str] = collection.items.filter(pl.col("question").is_not_null()).get_column("id").to_list()
    if words == "all":
        return every
    if words not in ("", _WAITING) and "=" not in words:
        expected = "expected review, all, a number, a query (tag.x=y), or N of a query"
        raise InputError(f"{param('items')}: found {short(words)}, {expected}")
    query = parse_query(words) if "=" in words else Query(verdict="review")
    ids: list[str] = collection.items[collection.view(query).positions].get_column("id").to_list()
    return ids if ids or words else every


def _of_recipe(
    left: LeftToPeople, places: Sequence[Path], settings: ReviewSettings, to: Path | None, tell: Tell
) -> OpenReview:
    """The review of what a recipe left to people, with the rounds, forms and items of the recipe."""
    folder = left.place / REVIEW
    if to is not None and to.resolve() != folder.resolve():
        raise InputError(f"{param('to')}: the review of {left.place} is in {folder}")
    for name in ("form", "rounds", "items"):
        if getattr(settings, name):
            raise InputError(f"{param(name)}: the recipe of {left.place} sets it; leave it out")
    if settings.per and (folder / QUOTA).is_file():
        fixed = "the review asks for items in the order of the recipe's selection until that is filled; leave it out"
        raise InputError(f"{param('per')}: {fixed}")
    begun = _begun(folder, settings) if is_review(folder) else None
    known = [local_path(path) for path in begun.plan.places] if begun else []
    named = (*(path for path in known if path.exists()), *(place.resolve() for place in places))
    places = list(dict.fromkeys(named))
    collection = Collection(places, tell, left.drafts)
    stages = [stage.title for stage in left.recipe.stages if stage.review] or [""]
    plan = ReviewPlan(
        name=left.name,
        benchmark=left.name,
        fingerprint=left.fingerprint,
        places=tuple(str(place.resolve()) for place in places),
        rounds=tuple(
            Round(number=number, reviewers=review.reviewers, form=load_form(review.form), stage=stage)
            for number, (review, stage) in enumerate(zip(left.recipe.rounds, stages, strict=True), 1)
        ),
        together=False,
        solve=settings.solve,
        seed=left.recipe.seed,
        per=settings.per,
    )
    table, order = collection.table, begun.plan if begun else plan
    waiting = {number: by_suspicion(table, ids, order.seed, order.per) for number, ids in left.waiting.items()}
    project = begun or ReviewProject.create(folder, plan)
    if (quota := project.quota()) and (state := project.quota_state()):
        ours = {item.id for item in quota.items}
        others = [item for item in waiting.get(quota.round, ()) if item not in ours]
        waiting[quota.round] = [*others, *state.needed]
    if project.plan.rounds != plan.rounds:
        changed = "the recipe has other review stages than when the review began"
        raise InputError(f"{folder}: {changed}; restore them, or refine into another folder")
    project.extend(plan.places)
    there = set(table.get_column("id"))
    if missing := [item for ids in left.waiting.values() for item in ids if item not in there]:
        where = "is in no benchmark that the review knows; name the benchmark, too: eyetest review PLACE BENCH"
        raise InputError(f"item {short(missing[0])} {where}")
    if new := project.await_only(waiting):
        collection.notes.append(f"{counted(new, 'decision')} more to make")
    return _checking(project, collection)


def revise_reviewed(
    place: Path, to: Path, tell: Tell, *, overwrite: bool = False
) -> tuple[RevisedBenchmark, list[str]]:
    """Write the next version of a reviewed benchmark with its card; also gives notes for the user."""
    with find_review(place) as project:
        plan = project.plan
        reviewed = ReviewedItems(project.outcomes(), project.decisions(), [planned.form for planned in plan.rounds])
    if not plan.together:
        raise InputError("decisions about a refinement are carried out by running the same eyetest refine again")
    if not plan.fingerprint:
        raise InputError("the review is about several benchmarks; a revision is of one")
    opened = open_places([local_path(path) for path in plan.places], tell).benchmarks
    benchmark = next((found for found in opened if found.manifest.fingerprint == plan.fingerprint), None)
    if benchmark is None:
        raise InputError(f"{plan.benchmark} is not as it was when the review began; restore that version")
    revised = revise_benchmark(benchmark, reviewed, to, overwrite=overwrite)
    if not (to / FACTS).exists() and (benchmark.path / FACTS).is_file():
        write_facts(to / FACTS, read_facts(benchmark.path / FACTS))
    write_card(card_of(revised.benchmark, read_facts(to / FACTS)), to, to)
    notes = []
    if undecided := revised.counts["open"]:
        notes.append(f"{counted(undecided, 'item')} not decided yet: unchanged, and listed in {CHANGES}")
    return revised, notes


def by_suspicion(items: pl.DataFrame, ids: Iterable[str], seed: int = 0, per: str = "") -> list[str]:
    """Items by need of review: sent by a stage, ``doubt`` (log ratio), findings, difficulty; ``per`` alternates."""
    table = items.filter(pl.col("id").is_in(pl.Series(list(ids), dtype=pl.String).implode())).sort("id")
    shuffled = np.random.default_rng(seed).permutation(len(table))
    findings = pl.col("findings").list.len().fill_null(0)
    doubted = 1 / (1 + pl.col("doubt").exp()) if "doubt" in items.columns else pl.lit(1.0)
    keys = [
        (pl.col("verdict") == "review").fill_null(value=False),
        1 - doubted.fill_null(1.0) * (1 - _FINDING) ** findings,
        *([pl.col("difficulty")] if "difficulty" in items.columns else []),
    ]
    ordered = table.with_columns(pl.Series("__random", shuffled)).sort(
        *keys, "__random", descending=[True] * len(keys) + [False], nulls_last=True
    )
    if per:
        tags = [name.removeprefix(TAG) for name in items.columns if name.startswith(TAG)]
        if per not in tags:
            hint = nearest(per, tags) if tags else "no item has a tag"
            raise InputError(f"{param('per')}: no tag {short(per)}; {hint}")
        turn = pl.int_range(pl.len()).over(TAG + per)
        ordered = ordered.with_columns(__turn=turn).sort("__turn", maintain_order=True)
    return ordered.get_column("id").to_list()


def drawn(ids: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """A random sample of items, fixed by the seed."""
    every = sorted(ids)
    return [every[number] for number in np.random.default_rng(seed).permutation(len(every))[:count]]
