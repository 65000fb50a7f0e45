"""A part of a benchmark: by what it is about, by whom it is to compare, small and telling; what it estimates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.curate.drawing import Places, anchored, pps
from eyetest.curate.estimating import (
    Curves,
    Estimator,
    Missed,
    cautions,
    families,
    left_out,
    read_curves,
    write_curves,
)
from eyetest.curate.repair import fewer_options
from eyetest.curate.selection import Candidate, candidate, model_oriented, user_oriented, write_part
from eyetest.curate.separation import FEWEST_MODELS, WHY_SO_MANY, separation, told
from eyetest.errors import InputError, heading, param, short
from eyetest.jobs.measure import gather
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, open_bench, several
from eyetest.jobs.views import MeasureTable, benchmark_card, card
from eyetest.measures import Results, Settings
from eyetest.measures.aligned import side_by_side
from eyetest.measures.printed import plain
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import ItemFit, fit
from eyetest.models.specs import read_models
from eyetest.records import Item, ModelEntry
from eyetest.records.recipe import BENCHMARK
from eyetest.store.urls import local_path
from eyetest.wording import counted

_PLAIN_WIDTH = 1.96  # how many stated errors an interval of 95 % reaches if the curves are true


@dataclass(frozen=True, repr=False)
class Part:
    """A part of a benchmark, and notes on how it was chosen."""

    path: Path
    benchmark: Benchmark
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        there = f"{counted(len(self.benchmark), 'item')} in {self.path}"
        return "\n".join([there, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        return benchmark_card(self.benchmark) + card("how it was chosen", [], self.notes)


def subset(
    bench: Bench,
    *,
    to: AnyPath,
    only: str | Sequence[str] = (),
    unseen_by: AnyPath | None = None,
    dataset_tag: str = "source",
    answers: AnyRun | Sequence[AnyRun] = (),
    share: float = 0.1,
    sight: str = "image",
    seed: int = 0,
    option_count: int | None = None,
    overwrite: bool = False,
) -> Part:
    """Take a part of a benchmark: the tasks you care about, what no compared model was trained on, or a small part.

    ``only`` keeps values of tags (``"core=math,logic"``), ``unseen_by`` is a models.yaml that says what models were
    trained on, by ``dataset_tag``; with ``answers`` of nine models or more, ``share`` of the items is drawn that
    tells them apart, and `et.estimate` says what a model would score on the whole. ``option_count`` options of each
    item are kept.

    >>> part = et.subset("world/benchmark", only="core=math", to="mathematics")
    >>> {item.tags["core"] for item in part.benchmark}
    {'math'}
    """
    words: list[str] = several(only)
    runs: list[AnyRun] = several(answers)
    if not words and unseen_by is None and not runs and option_count is None:
        ways = f"{param('only', 'TAG=A,B')}, {param('unseen_by', 'models.yaml')}, {param('option_count', 4)}"
        small_way = f"{param('answers', 'RUN')} {param('share', '0.1')}"
        raise InputError(f"which part? {ways}, or {small_way}")
    benchmark, folder = open_bench(bench), local_path(to)
    items, steps, notes = [candidate(item) for item in benchmark], list[str](), list[str]()
    if words:
        items = only_with(items, words)
        steps.append("only " + "; ".join(words))
    if unseen_by is not None:
        items, told_of = unseen(items, read_models(local_path(unseen_by)), dataset_tag)
        notes += told_of
        steps.append(f"unseen by the models of {local_path(unseen_by).name}")
    curves = None
    if runs:
        results = gather(runs)
        chosen, curves, coverage = draw_small(results, [item.id for item in items], share, sight, seed)
        notes += results.notes
        items = [item for item in items if item.id in chosen]
        steps.append(f"{share:.1%} drawn by what tells {counted(len(curves.models), 'model')} apart, seed {seed}")
    if not items:
        raise InputError("nothing is left")
    wanted = {item.id for item in items}
    whole: Iterable[Item] = (item for item in benchmark if item.id in wanted)
    name = f"{benchmark.manifest.name}-part"
    if option_count is not None:
        steps.append(f"{option_count} options each, seed {seed}")
        whole = _with_options(whole, len(wanted), option_count, seed, notes)
        name = f"{benchmark.manifest.name}-{option_count}-options"
    write_part(benchmark, whole, folder / BENCHMARK, (name, "; ".join(steps)), overwrite=overwrite)
    if curves is not None:
        write_curves(folder, curves)
        notes += coverage
    return Part(folder, Benchmark(folder / BENCHMARK), tuple(notes))


def estimate(part: Part | AnyPath, runs: AnyRun | Sequence[AnyRun], *, sight: str = "image") -> MeasureTable:
    """Estimate scores on the whole benchmark from answers to a part that `et.subset` drew with ``answers`` (p-IRT).

    Intervals are as wide as models of the panel were missed by when they were left out.

    >>> panel = {f"m{n}": f"scripted:right={0.3 + n / 20},seed={n}" for n in range(10)}
    >>> recorded = et.run("world/benchmark", panel, to="panel")
    >>> part = et.subset("world/benchmark", answers=recorded, share=0.5, to="half")
    >>> new = et.run(part.benchmark, {"new": "scripted:right=0.6,seed=99"}, to="new")
    >>> et.estimate(part, new).frame.columns[:4]
    ['model', 'full_score', 'full_score_low', 'full_score_high']
    """
    folder = part.path if isinstance(part, Part) else local_path(part)
    drawn = read_curves(folder)
    items = drawn.items
    results = gather(runs)
    table, names, models = answered(results, items, sight)
    positions = {item: position for position, item in enumerate(items)}
    asked = np.array([positions[name] for name in names], np.intp)
    if not len(asked):
        raise InputError(f"the runs hold no answer to an item of {folder}")
    estimated = Estimator(drawn.fitted).estimate(asked, table)
    width = drawn.missed.half_width()
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
    wider = f"{width / _PLAIN_WIDTH:.2f} times as wide as curves alone make them"
    notes = [f"intervals are {wider}: as far as models of the panel were missed", _told_coverage(drawn.missed)]
    return MeasureTable("estimate", plain(rows), (*cautions(models, estimated), *notes, *results.notes), Settings())


def draw_small(
    results: Results, items: Sequence[str], share: float, sight: str, seed: int
) -> tuple[set[str], Curves, tuple[str, ...]]:
    """Fit a panel's answers and draw a share of the items they are about: the items, the curves, and notes."""
    table, names, models = answered(results, items, sight)
    if len(models) < FEWEST_MODELS:
        there = f"{counted(len(models), 'model')} with sight {sight}"
        raise InputError(f"{heading('answers')}: {there}; a part takes at least {FEWEST_MODELS} ({WHY_SO_MANY})")
    fitted = fit(table)
    size = max(1, round(share * len(names)))
    drawn = pps(fitted, size, seed, anchored(fitted, table, size))
    missed = left_out(table, size, families(models), seed)
    chosen = {names[position] for position in drawn.items}
    curves = Curves(names, models, fitted, drawn.chances.tolist(), missed)

    def choose(fitted: ItemFit, answers: Floats, size: int, rng: np.random.Generator) -> Places:
        return pps(fitted, size, int(rng.integers(2**32)), anchored(fitted, answers, size)).items

    return chosen, curves, (_told_coverage(missed), *told(separation(table, share, choose, seed)))


def _told_coverage(missed: Missed) -> str:
    """What intervals of estimates are worth, from panel models that were left out of the fit."""
    held = f"{missed.covered():.0%} of the full scores of {counted(len(missed.errors), 'model')}"
    return (
        f"intervals of 95 % that others of the panel set the width of held {held}, each left out of the fit in turn"
    )


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
    items: Sequence[Candidate], entries: Mapping[str, ModelEntry], tag: str
) -> tuple[list[Candidate], list[str]]:
    """The items whose dataset no model was trained on, and notes on what that rests on."""
    ids, notes = model_oriented(items, entries, tag)
    kept = set(ids)
    return [item for item in items if item.id in kept], notes


def _with_options(items: Iterable[Item], total: int, count: int, seed: int, notes: list[str]) -> Iterator[Item]:
    """The items with so many options; a note counts those that cannot have as many."""
    left = total
    for item in items:
        if (fewer := fewer_options(item, count, seed)) is not None:
            left -= 1
            yield fewer
    if left == total:
        raise InputError(f"{heading('options')}: no item has {count} options that may change places")
    if left:
        why = f"fewer than {count} options, none or several right, or options that speak of each other"
        notes.append(f"{counted(left, 'item')} left out: {why}")
