"""Reviews by people: begun for benchmarks and for what recipes leave to people, resumed, found and carried out."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks.folder import CHANGES, FACTS
from eyetest.errors import InputError, counted, param, short, typed
from eyetest.pages.item_links import Query, parse_query
from eyetest.recipes.revision import ReviewedItems, RevisedBenchmark, revise_benchmark
from eyetest.records.recipe import ABOUT, REVIEW, VERDICTS
from eyetest.reports.dataset_card import card_of, read_facts, write_card, write_facts
from eyetest.reports.refinements import RefinementRecord
from eyetest.runs.stored import is_in
from eyetest.store import read_json
from eyetest.store.urls import local_path
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import ReviewPlan
from eyetest.studio.forms import Form, load_form
from eyetest.studio.project import ReviewProject, is_review
from eyetest.studio.sources import open_places, read_verdict_table

SUFFIX = "-review"
_WAITING = "review"
_MOST_REVIEWERS = 50
_SAMPLE = re.compile(r"\s*(\d+)(?:\s+of\s+(\S+(?:\s+\S+)*))?\s*", re.DOTALL)  # ``60 of answer=wrong``
_FINDING = 0.5  # how likely a finding of an audit is to change something
_WRONG_GOLDS = 0.1  # share taken as wrong: with one half, any item whose votes fit a wrong gold would seem flawed
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ReviewSettings:
    """How a review begins; it cannot be changed afterwards. Empty fields take the defaults."""

    items: str = ""  # ``review``, ``all``, a number drawn at random, or a query
    reviewers: int | None = None  # of each item
    form: str = ""
    solve: bool = False


class OpenReview(NamedTuple):
    """A review, and its items with notes for the user."""

    project: ReviewProject
    collection: Collection


def recipe_place(place: Path) -> Path | None:
    """The folder of a command that leaves items to people: the place itself, or the one whose review it is."""
    parent = place.resolve().parent
    if is_review(place) and (parent / ABOUT).is_file() and (parent / REVIEW).resolve() == place.resolve():
        return parent
    return place if (place / ABOUT).is_file() else None


def left_to_people(place: Path) -> tuple[RefinementRecord, list[str]]:
    """The record of such a folder, and the items that wait."""
    record = read_json(place / ABOUT, RefinementRecord, "run eyetest refine again")
    waiting = read_verdict_table(place / VERDICTS).filter(pl.col("verdict") == "review")
    return record, waiting.get_column("item").to_list()


def open_review(
    places: Sequence[Path], settings: ReviewSettings, to: Path | None = None, tell: Tell = lambda line: None
) -> OpenReview:
    """Begin a review, or resume it; ``tell`` reports work that takes a while."""
    if asking := next((path for place in places if (path := recipe_place(place))), None):
        others = [place for place in places if recipe_place(place) is None]
        return _of_recipe([asking, *others], settings, to, tell)
    folder = to or (places[0] if is_review(places[0]) else _beside(places[0]))
    if is_review(folder):  # its plan stays, items may be added
        project = _begun(folder, settings)
        plan, collection = project.plan, reviewed_collection(project, tell)
        if settings.items:
            ids, words = _queue(collection, settings.items, plan.seed)
            project.add_items(ids)
            project.extend(plan.places, words)
        return OpenReview(project, collection)
    collection = Collection(places, tell)
    benchmarks, form = list(collection.benchmarks.values()), _form(settings.form, settings.solve)
    reviewers = 1 if settings.reviewers is None else settings.reviewers
    if not 1 <= reviewers <= _MOST_REVIEWERS:
        raise InputError(f"{param('reviewers')}: found {reviewers}, expected 1 to {_MOST_REVIEWERS}")
    plan = ReviewPlan(
        name=collection.name,
        fingerprint=benchmarks[0].manifest.fingerprint if len(benchmarks) == 1 else "",
        places=tuple(str(place.resolve()) for place in places),
        reviewers=reviewers,
        form=form,
    )
    ids, words = _queue(collection, settings.items, plan.seed)
    if not ids:
        raise InputError(f"no item to review: {param('items', settings.items or _WAITING)} means none of them")
    project = ReviewProject.create(folder, msgspec.structs.replace(plan, items=(words,)), ids)
    return OpenReview(project, collection)


def find_review(place: Path) -> ReviewProject:
    """The review of a place: the folder itself, or that of a refinement or a benchmark."""
    for folder in (place, place / REVIEW, _beside(place)):
        if is_review(folder):
            return ReviewProject.open(folder)
    if not place.exists():
        raise InputError(f"{place} does not exist")
    raise InputError(f"there is no review of {place}; begin one with {typed('eyetest', 'review', place)}")


def reviewed_collection(project: ReviewProject, tell: Tell = lambda line: None) -> Collection:
    """The items of a review with all that is known of them."""
    return Collection([local_path(path) for path in project.plan.places], tell)


def _beside(place: Path) -> Path:
    """The default folder for the review of a place."""
    return place.resolve().with_name(f"{place.resolve().name}{SUFFIX}")


def _begun(folder: Path, settings: ReviewSettings) -> ReviewProject:
    """A review that exists; refused if its plan differs from the settings."""
    with ExitStack() as opened:
        project = opened.enter_context(ReviewProject.open(folder))
        plan = project.plan
        differs = {
            "form": settings.form and _form(settings.form, plan.form.solve) != plan.form,
            "reviewers": settings.reviewers and settings.reviewers != plan.reviewers,
            "solve": settings.solve and not plan.form.solve,
        }
        for name in (name for name, changed in differs.items() if changed):
            another = "leave it out (eyetest review PLACE --to DIR begins another)"
            raise InputError(f"{param(name)}: the review in {folder} was begun otherwise; {another}")
        opened.pop_all()
    return project


def _form(text: str, solve: bool) -> Form:
    form = load_form(text)
    return msgspec.structs.replace(form, solve=form.solve or solve)


def _queue(collection: Collection, which: str, seed: int) -> tuple[list[str], str]:
    """The items to review, and what they are; a sample stays in its order, so that its first ones are one, too."""
    sample = _SAMPLE.fullmatch(which)
    if sample is None:
        ids = _chosen(collection, which.strip())
        return by_suspicion(collection.table, ids, seed), which.strip() or _WAITING
    every = _chosen(collection, sample[2] or "all")
    ids = drawn(every, int(sample[1]), seed)
    return ids, f"{len(ids):,} of {len(every):,} at random, seed {seed}: {sample[2] or 'all'}"


def _chosen(collection: Collection, words: str) -> list[str]:
    """The items that a query means: by default those that wait for people, or all if none does."""
    every: list[str] = collection.items.filter(pl.col("question").is_not_null()).get_column("id").to_list()
    if words == "all":
        return every
    if words not in ("", _WAITING) and "=" not in words:
        expected = "expected review, all, a number, a query (tag.x=y), or N of a query"
        raise InputError(f"{param('items')}: found {short(words)}, {expected}")
    query = parse_query(words) if "=" in words else Query(verdict="review")
    _refuse_idle(collection, query)
    ids: list[str] = collection.items[collection.view(query).positions].get_column("id").to_list()
    return ids if ids or words else every


def _refuse_idle(collection: Collection, query: Query) -> None:
    """Refuse one of several values of a query that no item has: the others would hide it."""
    parts = {f"tag.{name}={value}": Query(tags=((name, value),)) for name, value in query.tags}
    parts |= {f"finding={name}": Query(findings=(name,)) for name in query.findings}
    parts |= {f"id={name}": Query(ids=(name,)) for name in query.ids}
    for words, part in parts.items():
        if not len(collection.view(part).positions):
            raise InputError(f"{param('items')}: no item has {short(words)}; leave it out, or correct it")


def _of_recipe(places: Sequence[Path], settings: ReviewSettings, to: Path | None, tell: Tell) -> OpenReview:
    """The review of what the recipe of the first place left to people, with its form, reviewers and items."""
    place, folder = places[0], places[0] / REVIEW
    record, waiting = left_to_people(place)
    if to is not None and to.resolve() != folder.resolve():
        raise InputError(f"{param('to')}: the review of {place} is in {folder}")
    for name in ("form", "reviewers", "items"):
        if getattr(settings, name):
            raise InputError(f"{param(name)}: the recipe of {place} sets it; leave it out")
    begun = _begun(folder, settings) if is_review(folder) else None
    known = [local_path(path) for path in begun.plan.places] if begun else []
    named = dict.fromkeys((*(path for path in known if path.exists()), *(path.resolve() for path in places)))
    collection = Collection(list(named), tell)
    review, stage = record.recipe.reviewing, next((one.title for one in record.recipe.stages if one.review), "")
    plan = ReviewPlan(
        name=record.benchmark.name,
        fingerprint=record.benchmark.fingerprint,
        places=tuple(map(str, named)),
        reviewers=review.reviewers,
        form=_form(review.form, begun.plan.form.solve if begun else settings.solve),
        stage=stage,
        seed=record.recipe.seed,
    )
    project = begun or ReviewProject.create(folder, plan)
    if any(getattr(project.plan, name) != getattr(plan, name) for name in ("reviewers", "form", "stage")):
        changed = "the recipe has another review stage than when the review began"
        raise InputError(f"{folder}: {changed}; restore it, or refine into another folder")
    project.extend(plan.places)
    there = set(collection.table.get_column("id"))
    if missing := [item for item in waiting if item not in there]:
        where = "is in no benchmark that the review knows; name the benchmark, too: eyetest review PLACE BENCH"
        raise InputError(f"item {short(missing[0])} {where}")
    ordered = by_suspicion(collection.table, waiting, project.plan.seed)
    if new := project.await_only(ordered):
        collection.notes.append(f"{counted(new, 'decision')} more to make")
    return OpenReview(project, collection)


def revise_reviewed(
    place: Path, to: Path, tell: Tell, *, overwrite: bool = False
) -> tuple[RevisedBenchmark, list[str]]:
    """Write the next version of a reviewed benchmark with its card; also gives notes for the user."""
    with find_review(place) as project:
        plan = project.plan
        reviewed = ReviewedItems(project.outcomes(), project.decisions(), plan.form)
    if recipe_place(project.folder):
        raise InputError("decisions about a refinement are carried out by running the same eyetest refine again")
    if not plan.fingerprint:
        raise InputError("the review is about several benchmarks; a revision is of one")
    opened = open_places([local_path(path) for path in plan.places], tell).benchmarks
    benchmark = next((found for found in opened if found.manifest.fingerprint == plan.fingerprint), None)
    if benchmark is None:
        raise InputError(f"{plan.name} is not as it was when the review began; restore that version")
    revised = revise_benchmark(benchmark, reviewed, to, overwrite=overwrite)
    if not (to / FACTS).exists() and (benchmark.path / FACTS).is_file():
        write_facts(to / FACTS, read_facts(benchmark.path / FACTS))
    write_card(card_of(revised.benchmark, read_facts(to / FACTS)), to, to)
    notes = []
    if undecided := revised.counts["open"]:
        notes.append(f"{counted(undecided, 'item')} not decided yet: unchanged, and listed in {CHANGES}")
    return revised, notes


def by_suspicion(items: pl.DataFrame, ids: Iterable[str], seed: int = 0) -> list[str]:
    """Items by need of review: sent by a stage, ``doubt`` (log ratio), findings, difficulty."""
    table = items.filter(is_in("id", list(ids))).sort("id")
    shuffled = np.random.default_rng(seed).permutation(len(table))
    findings = pl.col("findings").list.len().fill_null(0)
    prior_odds = _WRONG_GOLDS / (1 - _WRONG_GOLDS)
    sound = 1 / (1 + prior_odds * pl.col("doubt").exp()) if "doubt" in items.columns else pl.lit(1.0)
    keys = [
        (pl.col("verdict") == "review").fill_null(value=False),
        1 - sound.fill_null(1.0) * (1 - _FINDING) ** findings,
        *([pl.col("difficulty")] if "difficulty" in items.columns else []),
    ]
    ordered = table.with_columns(pl.Series("__random", shuffled)).sort(
        *keys, "__random", descending=[True] * len(keys) + [False], nulls_last=True
    )
    return ordered.get_column("id").to_list()


def drawn(ids: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """A random sample of items, fixed by the seed."""
    every = sorted(ids)
    return [every[number] for number in np.random.default_rng(seed).permutation(len(every))[:count]]
