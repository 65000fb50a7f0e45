"""How well verdicts found the flaws of a world, and whether refined items rank models as their true skill does.

A stage looks for some flaws only. So the precision for a kind of flaw is that of the stages that look for it: of all
items that they flagged, the share that has a flaw of those they look for. Its recall asks only whether the item was
flagged by any stage. Taking a subset for a quota (``select``) flags nothing. Skill is measured on fresh items without
flaws; random subsets of the same size show what fewer items cost.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special, stats

from eyetest.errors import InputError, short
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, percentiles, weights, wilson
from eyetest.records import Verdict
from eyetest_world.flaws import FLAWS, Truth

FLAGGED = ("drop", "review", "fix")
_COPIES = frozenset({"exact-duplicate", "near-duplicate"})
_BLIND = frozenset({"answer-in-question", "answerable-from-facts", "leaked-to-llms", "gold-longest"})
_LOOKS_FOR: dict[str, frozenset[str]] = {
    "blind-hits": _BLIND,
    "chance-aware": _BLIND,
    "leaks": frozenset({"leaked-to-lvlms"}),
    "wrong-gold": frozenset({"wrong-gold", "two-right-options", "impossible"}),
    "zero-pass": frozenset({"impossible", "wrong-gold"}),
    "difficulty": frozenset({"trivially-easy"}),
    "duplicate-items": _COPIES,
    "duplicate-images": _COPIES,
    "malformed": frozenset({"two-right-options"}),
}
"""Which flaws a screen or probe looks for. A stage with a name of its own looks for all of them."""
_BESIDE = {"wrong-gold": frozenset({"two-right-options", "impossible"}), "difficulty": frozenset({"trivially-easy"})}
"""Flaws that a stage comes across: it is right to flag them, and it is not made to find them."""
_SELECTED = ("taken", "not needed for its quota")  # what a selection says: it fills quotas, and finds nothing


class FlawGrade(NamedTuple):
    """One kind of flaw, and how much of it was found. ``stage`` is empty for all stages together."""

    flaw: str
    stage: str
    planted: int
    reached: int  # how many of them the stage saw
    found: int
    recall: IntervalEstimate
    flagged: int  # items flagged by the stages that look for it
    right: int  # how many of these have a flaw that was looked for
    precision: IntervalEstimate


class GradedItems(NamedTuple):
    """The items behind a grade: those that were found, those that were flagged, and which of these rightly."""

    found: list[str]
    flagged: set[str]
    right: set[str]


class Grade(NamedTuple):
    """All kinds of flaws over all stages, each stage by itself, and whether what was flagged is flawed at all."""

    overall: FlawGrade
    flaws: tuple[FlawGrade, ...]
    stages: tuple[FlawGrade, ...]
    items: Mapping[str, GradedItems]  # by flaw, over all stages; with an empty name those of any


def grade(truths: Sequence[Truth], verdicts: Iterable[Verdict]) -> Grade:
    """Compare verdicts with the truth."""
    known = _Known(truths)
    rows = [verdict for verdict in verdicts if not verdict.reason.startswith(_SELECTED)]
    if unknown := next((row.item for row in rows if row.item not in known.flaws), None):
        raise InputError(f"verdicts about {short(unknown)}, which is no item of this world")
    if not rows:
        raise InputError("no verdicts to grade")
    stages: dict[str, list[Verdict]] = {}
    for row in rows:
        probe = row.stage.removeprefix("audit:") if row.stage.startswith("audit:") else row.reason.partition(":")[0]
        stages.setdefault(probe if probe in _LOOKS_FOR else row.stage, []).append(row)
    flagged = {stage: {row.item for row in of if row.verdict in FLAGGED} for stage, of in stages.items()}
    seen = {stage: {row.item for row in of} for stage, of in stages.items()}
    there = [flaw for flaw in FLAWS if known.planted[flaw]]
    return Grade(
        known.found("", flagged),
        tuple(known.found(flaw, flagged) for flaw in there),
        tuple(
            known.found(flaw, {stage: flagged[stage]}, seen[stage])._replace(stage=stage)
            for stage in stages
            for flaw in there
            if flaw in looks_for(stage)
        ),
        {flaw: known.items(flaw, flagged) for flaw in ("", *there)},
    )


def looks_for(stage: str) -> frozenset[str]:
    """Which flaws a stage is there for."""
    return _LOOKS_FOR.get(stage, frozenset(FLAWS))


def made_for(stage: str) -> frozenset[str]:
    """Which flaws a stage is made to find: those that it looks for, without what it only comes across."""
    return looks_for(stage) - _BESIDE.get(stage, frozenset())


class _Known:
    """The truth about all items. Of two equal items each is the other's copy: which one goes does not matter."""

    def __init__(self, truths: Sequence[Truth]) -> None:
        self.planted = {flaw: [truth.item for truth in truths if flaw in truth.flaws] for flaw in FLAWS}
        self.planted[""] = [truth.item for truth in truths if truth.flaws]
        self.twins = {truth.item: truth.twin for truth in truths if truth.twin}
        self.flaws = {truth.item: set(truth.flaws) for truth in truths}
        for item, twin in self.twins.items():
            self.flaws[twin] |= _COPIES & self.flaws[item]

    def items(self, flaw: str, flagged: Mapping[str, set[str]]) -> GradedItems:
        """Which items have a kind of flaw and were flagged, and what those flagged that look for it; or for any."""
        lookers = [stage for stage in flagged if not flaw or flaw in looks_for(stage)]
        raised = set().union(*(flagged[stage] for stage in lookers))

        def is_right(item: str) -> bool:
            if not flaw:
                return bool(self.flaws[item])
            return any(item in flagged[stage] and self.flaws[item] & looks_for(stage) for stage in lookers)

        right = set(filter(is_right, raised))
        return GradedItems(self._hits(self.planted[flaw], flagged), raised, right)

    def found(self, flaw: str, flagged: Mapping[str, set[str]], seen: set[str] | None = None) -> FlawGrade:
        """One kind of flaw, or any; ``seen`` are the items that stages got to see, if not all."""
        planted, own = self.planted[flaw], self.items(flaw, flagged)
        reached = [item for item in planted if seen is None or item in seen]
        hits, right, raised = len(self._hits(reached, flagged)), len(own.right), len(own.flagged)
        recall, precision = wilson(hits, len(reached)), wilson(right, raised)
        return FlawGrade(flaw or "any flaw", "", len(planted), len(reached), hits, recall, raised, right, precision)

    def _hits(self, items: Sequence[str], flagged: Mapping[str, set[str]]) -> list[str]:
        raised = set().union(*flagged.values())
        return [item for item in items if item in raised or self.twins.get(item) in raised]


def auroc(flawed: Sequence[float], others: Sequence[float], level: float = 0.95) -> IntervalEstimate:
    """How often a flawed item has a higher score than another one, ties counting half.

    The interval is DeLong's, on the scale of logits; without spread its inner end is what one misplaced item gives.
    """
    m, n = len(flawed), len(others)
    if not m or not n:
        return NOTHING
    ranks = stats.rankdata(np.concatenate([flawed, others]))
    above = (ranks[:m] - stats.rankdata(flawed)) / n
    below = 1 - (ranks[m:] - stats.rankdata(others)) / m
    value = float(above.mean())
    spread = float(np.var(above, ddof=1) / m if m > 1 else 0.25) + float(np.var(below, ddof=1) / n if n > 1 else 0.25)
    inner = min(max(value, 0.5 / max(m, n)), 1 - 0.5 / max(m, n))
    error = max(math.sqrt(spread), 0.5 / max(m, n))
    half = float(stats.norm.ppf((1 + level) / 2)) * error / (inner * (1 - inner))
    low, high = (float(special.expit(special.logit(inner) + side * half)) for side in (-1, 1))
    return IntervalEstimate(value, min(low, value), max(high, value), m + n)


def calibrations(truths: Sequence[Truth], scores: Mapping[str, float]) -> dict[str, IntervalEstimate]:
    """By kind of flaw, how well the scores tell its items from all others; items without a score are left out."""
    known = {truth.item for truth in truths}
    if unknown := next((item for item in scores if item not in known), None):
        raise InputError(f"a score for {short(unknown)}, which is no item of this world")
    scored = [(truth.flaws, scores[truth.item]) for truth in truths if truth.item in scores]
    return {
        flaw: auroc(
            [score for flaws, score in scored if flaw in flaws], [s for flaws, s in scored if flaw not in flaws]
        )
        for flaw in FLAWS
        if any(flaw in flaws for flaws, _ in scored)
    }


def read_scores(path: Path) -> dict[str, float]:
    """A CSV with the columns item and score; the higher the score, the more suspicious. Empty scores are left out."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if rows and not {"item", "score"} <= rows[0].keys():
        raise InputError(f"{path}: found the columns {', '.join(map(str, rows[0]))}; item and score are needed")
    scores = {}
    for number, row in enumerate(rows, 2):
        if text := (row["score"] or "").strip():
            try:
                scores[row["item"]] = float(text)
            except ValueError:
                scores[row["item"]] = math.nan
            if math.isnan(scores[row["item"]]):
                raise InputError(f"{path}, line {number}: score: found {short(text)}, expected a number")
    if not scores:
        raise InputError(f"{path}: no scores")
    return scores


Floats = NDArray[np.float64]
_FEWEST_MODELS = 3


class Rankings(NamedTuple):
    """Kendall's τ with true skill: of the corrupted benchmark, the refined one, and random subsets as small."""

    models: int
    corrupted: IntervalEstimate
    refined: IntervalEstimate
    random: IntervalEstimate  # the mean over random subsets, and the interval that holds the middle of them
    above_random: float
    """The share of random subsets that rank worse than the refined benchmark; those that rank as well count half."""


def rankings(
    scores: pl.DataFrame,
    fresh: Mapping[str, float] | pl.DataFrame,
    refined: Sequence[str],
    *,
    subsets: int = 200,
    resamples: int = 1_000,
    seed: int = 0,
) -> Rankings:
    """Compare rankings of models.

    ``scores`` has a row per item and model of the flawed benchmark (columns item, model, score), ``refined`` names
    the items that were kept, and ``fresh`` is a table like ``scores`` on fresh items, or each model's skill.
    """
    if isinstance(fresh, pl.DataFrame):
        fresh = dict(fresh.group_by("model").agg(pl.col("score").mean()).drop_nulls().iter_rows())
    wide = (
        scores.filter(pl.col("model").is_in(list(fresh)))
        .group_by("item", "model")
        .agg(pl.col("score").mean())
        .pivot("model", index="item", values="score")
        .sort("item")
    )
    models = sorted(column for column in wide.columns if column != "item")
    if len(models) < _FEWEST_MODELS:
        raise InputError(
            f"found {len(models)} models that answered both benchmarks, expected {_FEWEST_MODELS} or more"
        )
    table = wide.select(models).to_numpy().astype(float)
    true = np.array([fresh[model] for model in models])
    kept = wide.get_column("item").is_in(list(refined)).to_numpy()
    if not kept.any():
        raise InputError("none of the refined items was answered")
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(len(table), int(kept.sum()), replace=False) for _ in range(subsets)]
    random = taus(np.array([np.nanmean(table[rows], axis=0) for rows in drawn]), true)
    best = _with_interval(table[kept], true, resamples, seed)
    beaten = float(np.mean((random < (best.value or 0.0)) + 0.5 * (random == best.value)))
    low, high = percentiles(random)
    middle = IntervalEstimate(float(random.mean()), low, high, int(kept.sum()))
    return Rankings(len(models), _with_interval(table, true, resamples, seed), best, middle, beaten)


def taus(scores: Floats, skill: Floats) -> Floats:
    """Kendall's τ-b of each row of scores with skill, all pairs of models at once; 0 where a row ranks no model."""
    one, other = np.triu_indices(len(skill), 1)
    rounded = (np.round(values, 12) for values in (scores, skill))
    apart, order = (np.sign(values[..., one] - values[..., other]) for values in rounded)
    ranked = np.sqrt((apart != 0).sum(axis=-1) * (order != 0).sum())
    with np.errstate(invalid="ignore"):
        return np.asarray(np.round(np.nan_to_num((apart @ order) / ranked), 12))


def _with_interval(table: Floats, true: Floats, resamples: int, seed: int) -> IntervalEstimate:
    known, scores = (~np.isnan(table)).astype(float), np.nan_to_num(table)
    drawn = (times @ scores / (times @ known) for times in weights(len(table), resamples, seed))
    replicates, value = np.concatenate(list(drawn)), float(taus(np.nanmean(table, axis=0), true))
    low, high = (value if bound is None else bound for bound in percentiles(taus(replicates, true)))
    return IntervalEstimate(value, min(low, value), max(high, value), len(table))
