"""Is this benchmark any good? What an audit found, as a table, as verdicts, and as a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import polars as pl

from eyetest.api.views import card
from eyetest.benchmarks import Benchmark
from eyetest.jobs import audit as job
from eyetest.jobs.opening import AnyPath, Bench, several
from eyetest.probes import Probe
from eyetest.probes.audit import Audit
from eyetest.records import Finding, Severity
from eyetest.wording import counted

_MARKS: dict[Severity, str] = {
    "bad": "✘ broken",
    "suspect": "! suspicious",
    "untested": "? not tested",
    "note": "· note",
    "sound": "✔ sound",
}


@dataclass(frozen=True, repr=False)
class Audited:
    """What an audit found, the worst first.

    >>> audited = et.audit("world/benchmark", probes=["malformed", "positions"])
    >>> audited.frame.columns
    ['severity', 'probe', 'kind', 'title', 'items', 'p']
    """

    benchmark: Benchmark
    audit: Audit

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that the probes had to say."""
        return self.audit.findings

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """The findings that call for something."""
        return self.audit.alarms

    @property
    def untested(self) -> tuple[Finding, ...]:
        """What could not be tested, and why: too few items, no options, no pictures."""
        return self.audit.untested

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a finding; ``p`` is corrected for the number of tests."""
        types = {"severity": pl.String, "probe": pl.String, "kind": pl.String, "title": pl.String}
        rows = [(f.severity, f.probe, f.kind, f.title, len(f.items), f.adjusted_p) for f in self.findings]
        return pl.DataFrame(rows, schema=types | {"items": pl.Int64, "p": pl.Float64}, orient="row")

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """One row an item and finding, and one ``keep`` for every item that no finding speaks of.

        >>> verdicts = et.audit("world/benchmark", probes=["malformed"]).verdicts
        >>> verdicts["item"].n_unique()
        60
        """
        rows = self.audit.verdicts([item.id for item in self.benchmark])
        return pl.DataFrame([msgspec.to_builtins(row) for row in rows], infer_schema_length=None)

    def __repr__(self) -> str:
        lines = [f"{_MARKS[finding.severity]}: {finding.title}" for finding in self.findings]
        if self.audit.left_out:
            lines.append(f"not run, so not tested: {', '.join(self.audit.left_out)}")
        return "\n".join([self._title, *lines])

    def _repr_html_(self) -> str:
        rows = [(_MARKS[f.severity], f.title, f"{len(f.items):,}" if f.items else "") for f in self.findings]
        columns = [
            {"name": name, "cells": [row[index] for row in rows], "kind": kind}
            for index, (name, kind) in enumerate((("", "text"), ("finding", "text"), ("items", "number")))
        ]
        return card(self._title, columns)

    @property
    def _title(self) -> str:
        return f"{self.audit.benchmark}: {counted(self.audit.items, 'item')}, {counted(len(self.alarms), 'alarm')}"


def audit(
    bench: Bench,
    *,
    probes: str | Probe | Sequence[str | Probe] = (),
    against: Bench | None = None,
    thresholds: AnyPath | None = None,
    seed: int = 0,
    limit: int | None = None,
) -> Audited:
    """Say what is sound in a benchmark and what is not, with no model at all.

    ``probes`` keeps to some, by name, and takes probes of your own; ``against`` also looks for what is in another
    benchmark, ``limit`` keeps to the first items. Tests are corrected for being many.

    >>> audited = et.audit("world/benchmark", probes=["malformed", "positions"])
    >>> {finding.probe for finding in audited.findings} <= {"malformed", "positions"}
    True
    """
    chosen: list[str | Probe] = several(probes)
    return Audited(*job.audit(bench, probes=chosen, against=against, thresholds=thresholds, seed=seed, limit=limit))
