"""What refinements and audits said of items: by position all of it, and as columns what was said last."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from eyetest.measures.stats.intervals import Bools
from eyetest.records import Finding, Severity, Verdict
from eyetest.review.collection.sources import Judged

_AUDIT = "audit"


class ItemFinding(NamedTuple):
    """What an audit says of one item."""

    kind: str
    title: str
    evidence: str
    severity: Severity | None = None


@dataclass
class Judgements:
    """By position of the item."""

    size: int
    verdicts: dict[int, list[Verdict]] = field(default_factory=dict)
    findings: dict[int, list[ItemFinding]] = field(default_factory=dict)

    def columns(self) -> list[pl.Series]:
        """As columns of the items."""
        last = [self.verdicts[position][-1] if position in self.verdicts else None for position in range(self.size)]
        kinds = [sorted({one.kind for one in self.findings.get(position, ())}) for position in range(self.size)]
        return [
            pl.Series("verdict", [one.verdict if one else None for one in last], pl.String),
            pl.Series("stage", [one.stage if one else None for one in last], pl.String),
            pl.Series("findings", kinds, pl.List(pl.String)),
        ]

    def judged(self, verdict: str, stage: str) -> Bools:
        """Items that a stage said something of; without a stage, those of which it was said last."""
        mask = np.zeros(self.size, bool)
        for position, rows in self.verdicts.items():
            said = [row for row in rows if row.stage == stage] if stage else rows[-1:]
            mask[position] = any(not verdict or row.verdict == verdict for row in said)
        return mask

    def with_finding(self, kinds: Sequence[str]) -> Bools:
        """Items that are in one of some findings."""
        mask = np.zeros(self.size, bool)
        wanted = set(kinds)
        for position, rows in self.findings.items():
            mask[position] = any(one.kind in wanted for one in rows)
        return mask

    @property
    def stages(self) -> dict[str, int]:
        """Stages in their order, and of how many items each said something."""
        every = [dict.fromkeys(row.stage for row in rows) for rows in self.verdicts.values()]
        order = dict.fromkeys(stage for stages in sorted(every, key=len, reverse=True) for stage in stages)
        counts = Counter(stage for stages in every for stage in stages)
        return {stage: counts[stage] for stage in order}


def judgements(judged: Sequence[Judged], positions: Mapping[str, Mapping[str, int]], size: int) -> Judgements:
    """``positions``: by the fingerprint of a benchmark (or the name of what has none), where its items stand."""
    result = Judgements(size)
    for one in judged:
        tables = [positions[one.fingerprint]] if one.fingerprint in positions else list(positions.values())
        for verdict in one.verdicts:
            for position in {table[verdict.item] for table in tables if verdict.item in table}:
                if verdict.stage.partition(":")[0] == _AUDIT:
                    _add_audited(result, position, verdict)
                else:
                    result.verdicts.setdefault(position, []).append(verdict)
        for finding in one.findings:
            for item in finding.items:
                for position in {table[item] for table in tables if item in table}:
                    result.findings.setdefault(position, []).append(_of_item(finding, item))
    return result


def _add_audited(result: Judgements, position: int, verdict: Verdict) -> None:
    """A verdict of an audit is a finding; ``keep`` says that there is none."""
    if verdict.verdict != "keep":
        finding = ItemFinding(verdict.reason, verdict.evidence, verdict.evidence)
        result.findings.setdefault(position, []).append(finding)


def _of_item(finding: Finding, item: str) -> ItemFinding:
    return ItemFinding(finding.kind, finding.title, finding.evidence.get(item, ""), finding.severity)
