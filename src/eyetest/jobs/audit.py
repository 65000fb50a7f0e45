"""Is a benchmark any good? With no model at all."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, ReadOptions
from eyetest.benchmarks.folder import refuse_gold_list, refuse_to_replace
from eyetest.benchmarks.opening import first_items
from eyetest.curate import Repair, repair_benchmark
from eyetest.errors import InputError
from eyetest.jobs.opening import AnyPath, Bench, observer, open_bench, several
from eyetest.jobs.views import card
from eyetest.pages.item_counts import ItemsAt
from eyetest.probes import PROBES, Probe, Subject
from eyetest.probes.audit import Audit, run_audit
from eyetest.probes.subject import load_thresholds
from eyetest.records import Finding, Severity
from eyetest.reports import write_audit_page
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.store.urls import local_path
from eyetest.tabular.record_files import write_records
from eyetest.wording import counted

_AS_IT_IS = ReadOptions(gold_required=False, pictures_required=False)
"""Also where golds are held back or pictures are not there; the audit says so."""


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
    read: ReadOptions = _AS_IT_IS,
) -> Audited:
    """Say what is sound in a benchmark and what is not, with no model at all.

    ``probes`` keeps to some, by name or file, and takes probes of your own; ``against`` also looks for what is in
    another benchmark, ``limit`` keeps to the first items. Tests are corrected for being many.

    >>> audited = et.audit("world/benchmark", probes=["malformed", "positions"])
    >>> {finding.probe for finding in audited.findings} <= {"malformed", "positions"}
    True
    """
    limits = load_thresholds(local_path(thresholds) if thresholds else None)
    chosen: list[str | Probe] = several(probes)
    named = [probe for probe in chosen if isinstance(probe, str)]
    names = [PROBES[word].name for word in named if not word.endswith(".py")]
    extra = [probe for probe in chosen if not isinstance(probe, str)]
    extra += [_load(Path(word)) for word in named if word.endswith(".py")]
    benchmark = open_bench(bench, msgspec.structs.replace(read, limit=limit))
    if limit is not None and isinstance(bench, Benchmark):
        benchmark = first_items(bench, limit)
    refuse_gold_list(benchmark, "audit")
    other = None if against is None else open_bench(against, _AS_IT_IS)
    with observer().steps("auditing") as step:
        subject = Subject(benchmark, limits, against=other, seed=seed, progress=step)
        return Audited(benchmark, run_audit(subject, names, extra))


def refuse_to_lose_outputs(page: Path | None, verdicts: Path | None, fix: Path | None, *, overwrite: bool) -> None:
    """Stop before anything is looked for where its results could not be written."""
    beside = [_findings_of(page) if page else None, _repair_list(fix) if fix else None]
    for path in (page, verdicts, *beside):
        if path:
            refuse_to_lose(path, overwrite=overwrite, ours=None)
    if fix:
        refuse_to_replace(fix, overwrite=overwrite)


def write_page(result: Audit, benchmark: Benchmark, to: Path, at: ItemsAt, *, overwrite: bool = False) -> None:
    """The page, and beside it the findings as JSON, by which its numbers lead to their items."""
    findings = _findings_of(to)
    for path in (to, findings):
        refuse_to_lose(path, overwrite=overwrite, ours=None)
    with replacing_file(findings, overwrite=overwrite) as file:
        file.write_bytes(msgspec.json.encode(result) + b"\n")
    write_audit_page(result, benchmark, to, at, overwrite=overwrite)


def page_places(bench: Path, page: Path) -> list[Path]:
    """What has to be opened to see the items behind a page's numbers."""
    return [bench, _findings_of(page)]


def _findings_of(page: Path) -> Path:
    return page.parent / f"{page.stem}-findings.json"


def write_repairs(benchmark: Benchmark, result: Audit, to: Path, *, overwrite: bool) -> tuple[int, Path]:
    """A mended copy, in which no gold is changed; how many repairs there were, and where they are listed."""
    uneven = [f.numbers["options"] for f in result.alarms if f.probe == "positions"]
    repairs = repair_benchmark(benchmark, to, rebalance=uneven, seed=result.seed, overwrite=overwrite)
    write_records(repairs, Repair, _repair_list(to), overwrite=overwrite)
    return len(repairs), _repair_list(to)


def _repair_list(to: Path) -> Path:
    return to.parent / f"{to.name}-repairs.csv"


def _load(path: Path) -> Probe:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError(f"{path} does not exist")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "PROBE"):
        raise InputError(f"{path} defines no PROBE")
    probe: Probe = module.PROBE
    return probe
