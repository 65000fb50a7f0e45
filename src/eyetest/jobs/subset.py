"""A part of a benchmark: by what it is about, by whom it is to compare, small and telling; what it estimates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.curate.calibration import Missed, families, left_out
from eyetest.curate.curves import Curves, read_curves, write_curves
from eyetest.curate.drawing import Places, anchored, pps
from eyetest.curate.options import fewer_options
from eyetest.curate.selection import Candidate, candidate, model_oriented, user_oriented, write_part
from eyetest.curate.separation import FEWEST_MODELS, WHY_SO_MANY, separation, told
from eyetest.curate.subset import Estimator, cautions
from eyetest.curate.validation import SplitPlan, validate
from eyetest.errors import InputError, heading, param, short
from eyetest.jobs.measure import gather
from eyetest.jobs.opening import SILENT, AnyRun, Observer
from eyetest.measures import Measured, Results
from eyetest.measures.aligned import side_by_side
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import ItemFit, fit
from eyetest.models.specs import read_models
from eyetest.records import Item, ModelEntry
from eyetest.records.recipe import BENCHMARK
from eyetest.wording import counted, listed

_SPLITS = 12
_PLAIN_WIDTH = 1.96
"""How many stated errors an interval reaches where nobody tried how far estimates miss."""
_VALIDATED = ("draw", "score", "tau", "tau_gain", "tau_gain_low", "tau_gain_high", "mae", "tau_optimism")


class Small(NamedTuple):
    """A part that was drawn, what it was drawn by, and how well it served models that had no say."""

    drawn: set[str]
    curves: Curves
    validation: pl.DataFrame
    notes: tuple[str, ...]


class Selection(NamedTuple):
    """Which items: those with some values of tags, those that no model was trained on, or a share that tells.

    With ``option_count`` options each, where that is said.
    """

    only: Sequence[str] = ()
    unseen_by: Path | None = None
    dataset_tag: str = "source"
    answers: Sequence[AnyRun] = ()
    share: float = 0.1
    sight: str = "image"
    seed: int = 0
    option_count: int | None = None


def subset(
    benchmark: Benchmark, to: Path, part: Selection, *, overwrite: bool = False, observer: Observer = SILENT
) -> tuple[int, pl.DataFrame | None]:
    """Write a part of a benchmark; how many items it has, and how well a small one serves models that had no say."""
    if not part.only and part.unseen_by is None and not part.answers and part.option_count is None:
        ways = f"{param('only', 'TAG=A,B')}, {param('unseen_by', 'models.yaml')}, {param('option_count', 4)}"
        small_way = f"{param('answers', 'RUN')} {param('share', '0.1')}"
        raise InputError(f"which part? {ways}, or {small_way}")
    items, steps = [candidate(item) for item in benchmark], []
    if part.only:
        items = only_with(items, part.only)
        steps.append("only " + "; ".join(part.only))
    if part.unseen_by is not None:
        items = unseen(items, read_models(part.unseen_by), part.dataset_tag, observer)
        steps.append(f"unseen by the models of {part.unseen_by.name}")
    small = None
    if part.answers:
        results = gather(part.answers)
        for line in results.notes:
            observer.note(line)
        small = draw_small(results, [item.id for item in items], part)
        items = [item for item in items if item.id in small.drawn]
        apart = f"what tells {counted(len(small.curves.models), 'model')} apart, seed {part.seed}"
        steps.append(f"{part.share:.1%} drawn by {apart}")
    if not items:
        raise InputError("nothing is left")
    wanted = {item.id for item in items}
    whole: Iterable[Item] = (item for item in benchmark if item.id in wanted)
    name = f"{benchmark.manifest.name}-part"
    if part.option_count is not None:
        steps.append(f"{part.option_count} options each, seed {part.seed}")
        whole = _with_options(whole, len(wanted), part, observer)
        name = f"{benchmark.manifest.name}-{part.option_count}-options"
    written = write_part(benchmark, whole, to / BENCHMARK, (name, "; ".join(steps)), overwrite=overwrite)
    if small is None:
        return written, None
    write_curves(to, small.curves)
    for line in small.notes:
        observer.note(line)
    return written, small.validation


def estimate(part: Path, runs: Sequence[AnyRun], sight: str = "image") -> Measured:
    """What models that answered a part would score on the whole, with its error (p-IRT)."""
    drawn = read_curves(part)
    items = drawn.items
    results = gather(runs)
    table, names, models = answered(results, items, sight)
    positions = {item: position for position, item in enumerate(items)}
    asked = np.array([positions[name] for name in names], np.intp)
    if not len(asked):
        raise InputError(f"the runs hold no answer to an item of {part}")
    estimated = Estimator(drawn.fitted).estimate(asked, table)
    width = _PLAIN_WIDTH if drawn.missed is None else drawn.missed.half_width()
    rows = pl.DataFrame(
        {
            "model": models,
            "full_score": estimated.scores,
            "full_score_low": np.clip(estimated.scores - width * estimated.errors, 0, 1),
            "full_score_high": np.clip(estimated.scores + width * estimated.errors, 0, 1),
            "part_score": np.nanmean(table, axis=0),
            "n": (~np.isnan(table)).sum(axis=0),
            "of": [len(items)] * len(models),
        }
    ).sort("full_score", descending=True)
    return Measured(rows, (*cautions(models, estimated), *_told_width(drawn.missed), *results.notes))


def draw_small(results: Results, items: Sequence[str], part: Selection) -> Small:
    """Fit a panel's answers and draw a share of the items they are about."""
    table, names, models = answered(results, items, part.sight)
    if len(models) < FEWEST_MODELS:
        there = f"{counted(len(models), 'model')} with sight {part.sight}"
        raise InputError(f"{heading('answers')}: {there}; a part takes at least {FEWEST_MODELS} ({WHY_SO_MANY})")
    fitted = fit(table)
    size = max(1, round(part.share * len(names)))
    drawn = pps(fitted, size, part.seed, anchored(fitted, table, size))
    missed = left_out(table, size, families(models), part.seed)
    tried = validate(table, SplitPlan(size=size, held_out=len(models) // 3, splits=_SPLITS, seed=part.seed))
    chosen = {names[position] for position in drawn.items}
    curves = Curves(names, models, fitted, drawn.chances.tolist(), missed)
    return Small(chosen, curves, tried.select(_VALIDATED), (_told_coverage(missed), *_pairs_apart(table, part)))


def _told_coverage(missed: Missed) -> str:
    """What intervals of estimates are worth, from panel models that were left out of the fit."""
    held = f"{missed.covered():.0%} of the full scores of {counted(len(missed.errors), 'model')}"
    return (
        f"intervals of 95 % that others of the panel set the width of held {held}, each left out of the fit in turn"
    )


def _told_width(missed: Missed | None) -> list[str]:
    """How wide intervals are, and what they held."""
    if missed is None:
        why = "intervals take its curves for true and are too narrow"
        return [f"this part was drawn by an earlier version: {why}; draw it again"]
    wider = f"{missed.half_width() / _PLAIN_WIDTH:.2f} times as wide as curves alone make them"
    return [f"intervals are {wider}: as far as models of the panel were missed", _told_coverage(missed)]


def _pairs_apart(table: Floats, part: Selection) -> list[str]:
    """How many pairs of models parts drawn so tell apart, and how many rightly."""

    def choose(fitted: ItemFit, answers: Floats, size: int, rng: np.random.Generator) -> Places:
        return pps(fitted, size, int(rng.integers(2**32)), anchored(fitted, answers, size)).items

    return told(separation(table, part.share, choose, part.seed))


def answered(results: Results, items: Sequence[str], sight: str) -> tuple[Floats, list[str], list[str]]:
    """Scores of items × models under one protocol, the items that anybody answered, and the models."""
    scores = results.scores.filter((pl.col("sight") == sight) & pl.col("item").is_in(pl.Series(items).implode()))
    seen = Results(scores, results.items, results.models)
    if varied := seen.varied(PROTOCOL):
        ways = f"the models were asked in several ways ({', '.join(varied)} differ)"
        raise InputError(f"{heading('answers')}: {ways}; keep to one")
    parts = side_by_side(seen, [])
    if not parts:
        raise InputError(f"{heading('answers')}: nobody was asked with sight {sight}")
    part = parts[0]
    known = np.asarray(~np.isnan(part.scores).all(axis=1), bool)
    names = [name for name, there in zip(part.items, known, strict=True) if there]
    return part.scores[known], names, [str(column[0]) for column in part.columns]


def answered_by_others(
    answers: Sequence[AnyRun], items: Sequence[str], sight: str, asked: Collection[str], fewest: int
) -> tuple[Floats, list[str], list[str]]:
    """The same of recorded models, less those that are asked now, who have no say; refused where they are too few."""
    table, names, models = answered(gather(answers), items, sight)
    others = [column for column, model in enumerate(models) if model not in asked]
    if len(others) < fewest:
        there = f"{counted(len(others), 'other model')} with sight {sight}"
        raise InputError(f"{heading('answers')}: {there}; at least {fewest}")
    return table[:, others], names, [models[column] for column in others]


def only_with(items: Sequence[Candidate], words: Sequence[str]) -> list[Candidate]:
    """The items that have the values of tags that ``TAG=A,B`` names."""
    wanted: dict[str, list[str]] = {}
    for word in words:
        tag, equals, values = word.partition("=")
        if not equals or not values:
            raise InputError(f"{heading('only')}: found {short(word)}, expected TAG=VALUE,VALUE")
        wanted.setdefault(tag, []).extend(value.strip() for value in values.split(","))
    kept = set(user_oriented(items, wanted))
    return [item for item in items if item.id in kept]


def unseen(
    items: Sequence[Candidate], entries: Mapping[str, ModelEntry], tag: str, observer: Observer
) -> list[Candidate]:
    """The items whose dataset no model was trained on; the observer hears what went, and what is unknown."""
    held_out = model_oriented(items, entries, tag)
    for gone in held_out.left_out:
        trained = f"{listed(gone.models)} trained on it"
        observer.note(f"{counted(gone.items, 'item')} of {gone.dataset} left out: {trained}")
    for name in held_out.unmatched:
        near = f" (nearest: {name.near})" if name.near else ""
        observer.note(f"{listed(name.models)} trained on {name.name}, which is not in this benchmark{near}")
    if held_out.undeclared:
        observer.note(f"{listed(held_out.undeclared)}: nothing is known of what they were trained on (trained_on:)")
    if held_out.untagged:
        observer.note(f"{counted(held_out.untagged, 'item')} without the tag {tag} kept")
    kept = set(held_out.ids)
    return [item for item in items if item.id in kept]


def _with_options(items: Iterable[Item], total: int, part: Selection, observer: Observer) -> Iterator[Item]:
    """The items with so many options; those that cannot have as many are counted, and told of at the end."""
    assert part.option_count is not None
    left = total
    for item in items:
        if (fewer := fewer_options(item, part.option_count, part.seed)) is not None:
            left -= 1
            yield fewer
    if left == total:
        raise InputError(f"{heading('options')}: no item has {part.option_count} options that may change places")
    if left:
        why = f"fewer than {part.option_count} options, none or several right, or options that speak of each other"
        observer.note(f"{counted(left, 'item')} left out: {why}")
