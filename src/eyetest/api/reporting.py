"""Pages that stand alone: an audit with the items it speaks of, or what runs came to, with its figures."""

from collections.abc import Sequence
from pathlib import Path

from eyetest.api.auditing import Audited
from eyetest.api.gathering import Measurable, as_results, runs_of
from eyetest.api.opening import Place, several
from eyetest.benchmarks import Benchmark
from eyetest.measures import Results, Settings
from eyetest.reports import Material, write_audit_page
from eyetest.reports.method import steps
from eyetest.reports.report_page import About, write_report_page
from eyetest.reports.telling import tell
from eyetest.running.scored import benchmark_of
from eyetest.runs import Run
from eyetest.wording import listed


def report(
    what: Audited | Measurable,
    *,
    to: Place,
    by: str | Sequence[str] = (),
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
    title: str = "",
    overwrite: bool = False,
) -> Path:
    """Write a page that opens anywhere, without a network: of an audit, of a run, or of several; gives its place.

    ``by`` names the tags that say what items ask for. What the runs cannot tell is left out, and the page says what
    would bring it. A refinement has a page already: `Refined.page`.

    >>> et.report("run", to="report.html").name
    'report.html'
    >>> et.report(et.audit("world/benchmark", probes=["malformed"]), to="audit.html").exists()
    True
    """
    place = Path(to)
    if isinstance(what, Audited):
        write_audit_page(what.audit, what.benchmark, place, overwrite=overwrite)
        return place
    runs = [] if isinstance(what, Results) else runs_of(what)
    benchmarks = _benchmarks(runs)
    named = title or listed(dict.fromkeys(one.manifest.name for one in benchmarks)) or place.stem
    told = tell(Material(as_results(what), Settings(tuple(several(by)), level, seed, resamples)))
    write_report_page(told, About(named, benchmarks, steps(runs)), place, overwrite=overwrite)
    return place


def _benchmarks(runs: Sequence[Run]) -> list[Benchmark]:
    """What the runs are about, each once."""
    found = [benchmark_of(run) for run in runs if run.manifest.benchmark is not None]
    return list({one.manifest.fingerprint: one for one in found}.values())
