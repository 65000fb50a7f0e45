"""Do scores of items tell flawed ones from the rest? The area under the ROC curve, by kind of flaw."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import special, stats

from eyetest.errors import InputError, short
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate
from eyetest.world.flaws import FLAWS
from eyetest.world.truth import Truth


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
    found = {}
    for flaw in FLAWS:
        flawed = [scores[truth.item] for truth in truths if flaw in truth.flaws and truth.item in scores]
        others = [scores[truth.item] for truth in truths if flaw not in truth.flaws and truth.item in scores]
        if flawed:
            found[flaw] = auroc(flawed, others)
    return found


def read_scores(path: Path) -> dict[str, float]:
    """A CSV with the columns item and score; the higher the score, the more suspicious. Empty scores are left out."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if rows and not {"item", "score"} <= rows[0].keys():
        raise InputError(f"{path}: found the columns {', '.join(map(str, rows[0]))}; item and score are needed")
    found = {}
    for number, row in enumerate(rows, 2):
        text = (row["score"] or "").strip()
        try:
            value = float(text) if text else None
        except ValueError:
            value = math.nan
        if value is not None:
            if math.isnan(value):
                raise InputError(f"{path}, line {number}: score: found {short(text)}, expected a number")
            found[row["item"]] = value
    if not found:
        raise InputError(f"{path}: no scores")
    return found
