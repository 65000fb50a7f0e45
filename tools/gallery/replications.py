"""Findings about a whole benchmark, tested again on items that the audit did not see, and precision by them."""

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from eyetest.measures.stats.intervals import IntervalEstimate, wilson

REPLICATED = "replicated.csv"
FINDING, CONTROL, FLAWLESS = "finding", "control", "flawless"
_NUMBERED = re.compile(r"(gold-position|frequent-answer)-\w+")


class Replication(NamedTuple):
    """A test of an audit of half a benchmark, and the same test of the other half."""

    benchmark: str
    kind: str
    seed: int
    drawn: str
    """``finding``; ``control``: tested and not found; ``flawless``: keys drawn at random, no other half."""
    n: int
    """Items tested on the other half."""
    effect_a: float
    effect_b: float | None
    p: float | None
    holds: str
    """``yes`` or ``no``; empty where the other half has too few items. Of flawless ones: whether it was a finding."""

    def written(self) -> tuple[object, ...]:
        """The values of a line."""
        a, b = (None if one is None else round(one, 4) for one in (self.effect_a, self.effect_b))
        return (*self[:5], a, b, self.p, self.holds)


class Replicated(NamedTuple):
    """How often the findings of a kind hold."""

    kind: str
    findings: IntervalEstimate
    """Benchmarks in which they hold in most halves that were tested."""
    halves: tuple[int, int]
    """Of all halves: how many hold, how many were tested."""
    effects: tuple[float, float]
    """Medians on the half that was audited, and on the other."""
    controls: IntervalEstimate
    flawless: IntervalEstimate
    """Of all audits of random keys: how many called it a finding."""


def read_replications(file: Path) -> list[Replication]:
    """Every stored test."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Replication(
                row["benchmark"],
                row["kind"],
                int(row["seed"]),
                row["drawn"],
                int(row["n"]),
                float(row["effect_a"]),
                float(row["effect_b"]) if row["effect_b"] else None,
                float(row["p"]) if row["p"] else None,
                row["holds"],
            )
            for row in csv.DictReader(lines)
        ]


def replicated(seen: Iterable[Replication]) -> list[Replicated]:
    """By kind how often findings and controls hold; kinds that were found, the most frequent first."""
    by_kind: dict[str, list[Replication]] = {"all": []}
    for one in seen:
        numbered = _NUMBERED.fullmatch(one.kind)
        by_kind.setdefault(numbered[1] if numbered else one.kind, []).append(one)
        by_kind["all"].append(one)
    rows = []
    for kind, tests in by_kind.items():
        found, controls, flawless = (
            [one for one in tests if one.drawn == drawn and one.holds] for drawn in (FINDING, CONTROL, FLAWLESS)
        )
        effects = [(one.effect_a, one.effect_b) for one in found if one.effect_b is not None]
        middles = (median(a for a, _ in effects), median(b for _, b in effects)) if effects else (0.0, 0.0)
        false = wilson(_holding(flawless), len(flawless))
        rows.append(Replicated(kind, _most(found), (_holding(found), len(found)), middles, _most(controls), false))
    return sorted(rows, key=lambda row: (row.kind == "all", -row.findings.n, row.kind))


def _holding(tests: Sequence[Replication]) -> int:
    return sum(one.holds == "yes" for one in tests)


def _most(tests: Sequence[Replication]) -> IntervalEstimate:
    """Of findings of one kind in one benchmark, how many hold in most of their halves, as seeds share items."""
    by_finding: dict[tuple[str, str], list[Replication]] = {}
    for one in tests:
        by_finding.setdefault((one.benchmark, one.kind), []).append(one)
    return wilson(sum(2 * _holding(group) > len(group) for group in by_finding.values()), len(by_finding))
