"""Run probes over a benchmark and decide, for all their tests together, which ones hold."""

from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from eyetest.measures.stats.paired import holm
from eyetest.probes import PROBES, Probe
from eyetest.probes.kinds import names_items
from eyetest.probes.subject import LEVEL, Subject
from eyetest.records import NO_IMAGES, Finding, Severity, Verdict, VerdictKind

ORDER = {severity: rank for rank, severity in enumerate(get_args(Severity))}  # the gravest first
GRAVITY: dict[VerdictKind, int] = {"drop": 0, "fix": 1, "review": 2, "keep": 3}


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """All findings, the worst first; those that give a rate of the benchmark name no item, whatever a file says."""

    benchmark: str
    fingerprint: str
    items: int
    level: float
    seed: int
    probes: tuple[str, ...]
    findings: tuple[Finding, ...]
    item_scores: dict[str, dict[str, float]] = {}
    """How far above chance learners score each key: for a look of one's own; controls do nearly as well."""
    left_out: tuple[str, ...] = ()  # probes that were not asked for, so that what they look for was not tested

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "findings", tuple(map(without_unshown_items, self.findings)))

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings that require action."""
        return tuple(finding for finding in self.findings if finding.severity in ("bad", "suspect"))

    @property
    def untested(self) -> tuple[Finding, ...]:
        """What could not be tested, and why."""
        return tuple(finding for finding in self.findings if finding.severity == "untested")

    @property
    def blindness(self) -> Finding | None:
        """The first statement, where no image is available."""
        return next((finding for finding in self.findings if finding.kind == NO_IMAGES), None)

    @property
    def suggested(self) -> dict[str, VerdictKind]:
        """The verdict that the gravest alarm suggests for each item in one; the others may stay."""
        gravest: dict[str, VerdictKind] = {}
        for finding in self.alarms:
            for item in finding.items if finding.verdict != "keep" else ():
                gravest[item] = min(finding.verdict, gravest.get(item, finding.verdict), key=GRAVITY.__getitem__)
        return gravest

    def verdicts(self, item_ids: Sequence[str]) -> list[Verdict]:
        """One row per item and finding, and one ``keep`` for every item without any."""
        rows = [
            Verdict(
                item=item,
                stage=f"audit:{finding.probe}",
                verdict=finding.verdict,
                reason=finding.kind,
                p=finding.adjusted_p,
                evidence=finding.evidence.get(item, finding.title),
                seed=self.seed,
            )
            for finding in self.alarms
            if finding.verdict != "keep"
            for item in finding.items
        ]
        flagged = {row.item for row in rows}
        clean = [item for item in item_ids if item not in flagged]
        rows += [Verdict(item=item, stage="audit", verdict="keep", seed=self.seed) for item in clean]
        position = {item: number for number, item in enumerate(item_ids)}
        return sorted(rows, key=lambda row: (position.get(row.item, -1), GRAVITY[row.verdict]))


def run_audit(subject: Subject, names: Sequence[str] = (), extra: Sequence[Probe] = ()) -> Audit:
    """Run every probe (or those named, in order), then correct their tests for multiplicity."""
    probes = [*(PROBES[name] for name in (names or PROBES)), *extra]
    findings: list[Finding] = []
    for number, probe in enumerate(probes):
        subject.progress(probe.summary, number / len(probes))
        findings.extend(probe.run(subject))
    subject.progress("done", 1.0)
    manifest = subject.benchmark.manifest
    return Audit(
        benchmark=manifest.name,
        fingerprint=manifest.fingerprint,
        items=len(subject.items),
        level=LEVEL,
        seed=subject.seed,
        probes=tuple(probe.name for probe in probes),
        findings=tuple(sorted(hold(findings, LEVEL), key=gravest_first)),
        item_scores=subject.item_scores,
        left_out=tuple(name for name in PROBES if PROBES[name] not in probes),
    )


def without_unshown_items(finding: Finding) -> Finding:
    """The finding without its items, groups and their evidence where its kind does not name items."""
    if names_items(finding):
        return finding
    return msgspec.structs.replace(finding, items=(), groups=(), evidence={})


def gravest_first(finding: Finding) -> tuple[bool, int, int]:
    """Sort key of findings. Missing images come first, as they limit all that follows."""
    return (finding.kind != NO_IMAGES or finding.severity != "bad", ORDER[finding.severity], -len(finding.items))


def hold(findings: Sequence[Finding], level: float) -> list[Finding]:
    """Holm's correction over all tests: a test that does not survive it counts as passed."""
    held = []
    for finding, p in zip(findings, holm([finding.p for finding in findings]), strict=True):
        passed: dict[str, Any] = {"severity": "sound", "items": ()} if p is not None and p > level else {}
        held.append(msgspec.structs.replace(finding, adjusted_p=p, **passed))
    return held
