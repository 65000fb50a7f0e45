"""How well verdicts found the flaws of a world: recall and precision by kind of flaw, with intervals.

A stage looks for some flaws and not for others: a blind screen cannot see that a gold is wrong, and is no worse for
it. So the precision for a kind of flaw is that of the stages that look for it: of all items that they flagged, the
share that has a flaw of those they look for. Its recall asks only whether the item was flagged, by such a stage or by
any. Taking part of the items for a quota (``select``) flags nothing.

Scores of items are graded by how well they tell flawed ones from the rest: the area under the ROC curve.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from scipy import special, stats

from eyetest.errors import InputError, short
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, wilson
from eyetest.records import Verdict
from eyetest.records.recipe import VERDICTS
from eyetest.tabular.record_files import read_parquet
from eyetest.world.flaws import FLAWS, Truth

FLAGGED = ("drop", "review", "fix")
_COPIES = frozenset({"exact-duplicate", "near-duplicate"})
_BLIND = frozenset({"answer-in-question", "answerable-from-facts", "leaked-to-llms", "gold-longest"})
_LOOKS_FOR: dict[str, frozenset[str]] = {
    "blind-hits": _BLIND,
    "blind-majority": _BLIND,
    "blind-count": _BLIND,
    "chance-aware": _BLIND,
    "leaks": frozenset({"leaked-to-lvlms"}),
    "wrong-gold": frozenset({"wrong-gold", "two-right-options", "impossible"}),
    "zero-pass": frozenset({"impossible", "wrong-gold"}),
    "difficulty": frozenset({"trivially-easy"}),
    "duplicate-items": _COPIES,
    "duplicate-images": _COPIES,
    "named-answer": frozenset({"answer-in-question"}),
    "shortcuts": frozenset({"gold-longest", "answer-in-question", "answerable-from-facts"}),
    "looks": frozenset({"gold-longest"}),
    "malformed": frozenset({"two-right-options"}),
    "picture-against-task": frozenset({"impossible"}),
    "odd-in-task": frozenset({"trivially-easy", "impossible"}),
    "written-answer": frozenset({"trivially-easy"}),
}
"""Which flaws a screen or probe looks for. A stage with a name of its own looks for all of them."""
_SELECTED = ("taken", "not needed for its quota")
"""What a selection says: it fills quotas, and finds nothing."""


class FlawGrade(NamedTuple):
    """One kind of flaw, and how much of it was found. ``stage`` is empty for all stages together."""

    flaw: str
    stage: str
    planted: int
    reached: int
    """How many of them the stage saw."""
    found: int
    recall: IntervalEstimate
    flagged: int
    """Items flagged by the stages that look for it."""
    right: int
    """How many of these have a flaw that was looked for."""
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
    items: Mapping[str, GradedItems]
    """By flaw, over all stages; with an empty name those of any."""


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
        stages.setdefault(_looker(row), []).append(row)
    flagged = {stage: {row.item for row in of if row.verdict in FLAGGED} for stage, of in stages.items()}
    seen = {stage: {row.item for row in of} for stage, of in stages.items()}
    there = [flaw for flaw in FLAWS if known.planted[flaw]]
    return Grade(
        known.overall(flagged),
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


def _looker(row: Verdict) -> str:
    """What spoke: a probe by its name, else the stage."""
    probe = row.stage.removeprefix("audit:") if row.stage.startswith("audit:") else row.reason.partition(":")[0]
    return probe if probe in _LOOKS_FOR else row.stage


class _Known:
    """The truth about all items. Of two equal items each is the other's copy: which one goes does not matter."""

    def __init__(self, truths: Sequence[Truth]) -> None:
        self.planted = {flaw: [truth.item for truth in truths if flaw in truth.flaws] for flaw in FLAWS}
        self.flawed = [truth.item for truth in truths if truth.flaws]
        self.twins = {truth.item: truth.twin for truth in truths if truth.twin}
        flaws = {truth.item: set(truth.flaws) for truth in truths}
        for item, twin in self.twins.items():
            flaws[twin] |= _COPIES & flaws[item]
        self.flaws = {item: frozenset(own) for item, own in flaws.items()}

    def items(self, flaw: str, flagged: Mapping[str, set[str]]) -> GradedItems:
        """Which items have a kind of flaw and were flagged, and what those flagged that look for it; or for any."""
        lookers = [stage for stage in flagged if not flaw or flaw in looks_for(stage)]
        raised = set().union(*(flagged[stage] for stage in lookers))

        def is_right(item: str) -> bool:
            if not flaw:
                return bool(self.flaws[item])
            return any(item in flagged[stage] and self.flaws[item] & looks_for(stage) for stage in lookers)

        right = set(filter(is_right, raised))
        return GradedItems(self._hits(self.planted[flaw] if flaw else self.flawed, flagged), raised, right)

    def found(self, flaw: str, flagged: Mapping[str, set[str]], seen: set[str] | None = None) -> FlawGrade:
        """One kind of flaw; ``seen`` are the items that stages got to see, if not all."""
        reached = [item for item in self.planted[flaw] if seen is None or item in seen]
        hits, own = self._hits(reached, flagged), self.items(flaw, flagged)
        return _told(flaw, len(self.planted[flaw]), (len(hits), len(reached)), (len(own.right), len(own.flagged)))

    def overall(self, flagged: Mapping[str, set[str]]) -> FlawGrade:
        """Any flaw, flagged by anybody."""
        own, total = self.items("", flagged), len(self.flawed)
        return _told("any flaw", total, (len(own.found), total), (len(own.right), len(own.flagged)))

    def _hits(self, items: Sequence[str], flagged: Mapping[str, set[str]]) -> list[str]:
        raised = set().union(*flagged.values())
        return [item for item in items if item in raised or self.twins.get(item) in raised]


def _told(flaw: str, planted: int, hits: tuple[int, int], right: tuple[int, int]) -> FlawGrade:
    return FlawGrade(flaw, "", planted, hits[1], hits[0], wilson(*hits), right[1], right[0], wilson(*right))


def read_verdicts(path: Path) -> list[Verdict]:
    """Verdicts of a refinement or an audit: a table, or the folder of a refinement."""
    file = path / VERDICTS if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{file} does not exist")
    if file.suffix != ".parquet":
        raise InputError(f"{file}: verdicts are read from a .parquet file, or from the folder of a refinement")
    rows = [{k: v for k, v in row.items() if v is not None} for row in read_parquet(file).to_pylist()]
    try:
        return msgspec.convert(rows, list[Verdict])
    except msgspec.ValidationError as error:
        raise InputError(f"{file} is not a table of verdicts: {error}") from None


def auroc(flawed: Sequence[float], others: Sequence[float], level: float = 0.95) -> IntervalEstimate:
    """How often a flawed item has a higher score than another one, ties counting half.

    The interval is DeLong's, on the scale of logits. Where all flawed items score higher it has no spread, and its
    inner end is what one misplaced item would give.
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
    estimates = {}
    for flaw in FLAWS:
        flawed = [scores[truth.item] for truth in truths if flaw in truth.flaws and truth.item in scores]
        others = [scores[truth.item] for truth in truths if flaw not in truth.flaws and truth.item in scores]
        if flawed:
            estimates[flaw] = auroc(flawed, others)
    return estimates


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
        text = (row["score"] or "").strip()
        try:
            value = float(text) if text else None
        except ValueError:
            value = math.nan
        if value is not None:
            if math.isnan(value):
                raise InputError(f"{path}, line {number}: score: found {short(text)}, expected a number")
            scores[row["item"]] = value
    if not scores:
        raise InputError(f"{path}: no scores")
    return scores
