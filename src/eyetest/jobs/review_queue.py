"""What a command left to people: a refinement that waits, or options that somebody has to look at."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.errors import InputError, damaged
from eyetest.jobs.harden_options import RECORD, ROUNDS
from eyetest.recipes.hardening import DRAFTS
from eyetest.records import Recipe
from eyetest.records.recipe import ABOUT, BENCHMARK, REVIEW, VERDICTS
from eyetest.reports.refinements import RefinementRecord
from eyetest.review import QUEUE, Rounds
from eyetest.review.collection.sources import read_verdict_table
from eyetest.review.project import is_review
from eyetest.store.files import read_regular
from eyetest.tabular.sheets import restored


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
