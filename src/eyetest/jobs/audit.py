"""Is a benchmark any good? With no model at all."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, ReadOptions
from eyetest.benchmarks.folder import refuse_gold_list, refuse_to_replace
from eyetest.benchmarks.opening import first_items
from eyetest.curate import Repair, repair_benchmark
from eyetest.errors import InputError
from eyetest.jobs.opening import SILENT, AnyPath, Bench, Observer, open_bench
from eyetest.pages.item_counts import ItemsAt
from eyetest.probes import PROBES, Probe, Subject
from eyetest.probes.audit import Audit, run_audit
from eyetest.probes.subject import load_thresholds
from eyetest.reports import write_audit_page
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.store.urls import local_path
from eyetest.tabular.record_files import write_records

_AS_IT_IS = ReadOptions(gold_required=False, pictures_required=False)
"""Also where golds are held back or pictures are not there; the audit says so."""


def audit(
    bench: Bench,
    *,
    probes: Sequence[str | Probe] = (),
    against: Bench | None = None,
    thresholds: AnyPath | None = None,
    seed: int = 0,
    limit: int | None = None,
    read: ReadOptions = _AS_IT_IS,
    observer: Observer = SILENT,
) -> tuple[Benchmark, Audit]:
    """Put some probes to a benchmark, by name, from a file or as they are; without names, all that there are.

    ``limit`` keeps to the first items, to try things out.
    """
    limits = load_thresholds(local_path(thresholds) if thresholds else None)
    named = [probe for probe in probes if isinstance(probe, str)]
    names = [PROBES[word].name for word in named if not word.endswith(".py")]
    extra = [probe for probe in probes if not isinstance(probe, str)]
    extra += [_load(Path(word)) for word in named if word.endswith(".py")]
    benchmark = open_bench(bench, msgspec.structs.replace(read, limit=limit), observer)
    if limit is not None and isinstance(bench, Benchmark):
        benchmark = first_items(bench, limit)
    refuse_gold_list(benchmark, "audit")
    other = None if against is None else open_bench(against, _AS_IT_IS, observer)
    with observer.steps("auditing") as step:
        subject = Subject(benchmark, limits, against=other, seed=seed, progress=step)
        return benchmark, run_audit(subject, names, extra)


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
