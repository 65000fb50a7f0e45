"""Pages that stand alone: an audit with the items it speaks of, or what runs and a refinement came to."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eyetest.api.audit import Audited
from eyetest.api.open_ import Bench, Place, opened, several
from eyetest.api.refine import Refined
from eyetest.api.results import Models, entries, settings
from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.measures import Results
from eyetest.measures.settings import read_external
from eyetest.recipes.gathering import gather
from eyetest.reports import write_audit_page
from eyetest.reports.composing import SHOWN, Given, Wanted, compose
from eyetest.reports.report import refuse_to_lose_files, write_figures, write_tables
from eyetest.reports.report_page import write_report_page
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.store.replacing import refuse_to_lose

Told = Run | Refined | Benchmark | Place
"""What a page can tell of: a run, a refinement, a benchmark, or where one of them lies."""


def report(
    what: Audited | Results | Told | Sequence[Told],
    *,
    to: Place,
    figures: Place | None = None,
    tables: Place | None = None,
    gallery: int = SHOWN,
    by: str | Sequence[str] = (),
    external: Place | Mapping[str, float] | None = None,
    verdicts: Place | None = None,
    models: Models | None = None,
    bench: Bench | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
    rescore_given: bool = False,
    cluster: str = "auto",
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
    title: str = "",
    overwrite: bool = False,
) -> Path:
    """Write a page that opens anywhere, without a network, and give its place.

    Of an audit; or of runs, a refinement and benchmarks together, with ``gallery`` of the items that fell.
    ``figures`` and ``tables`` are folders for those of a paper. ``by`` names the tags that say what items ask for,
    ``external`` is a score of each model from elsewhere, ``verdicts`` a file of those that an audit gave, ``models``
    says what is known of models (language bases, sizes). What cannot be told is left out, and the page says what
    would bring it.

    >>> et.report("run", to="report.html").name
    'report.html'
    >>> et.report(et.audit("world/benchmark", probes=["malformed"]), to="audit.html").exists()
    True
    """
    place = Path(to)
    if gallery < 0:
        raise InputError(f"gallery: found {gallery}, expected 0 or more")
    if isinstance(what, Audited):
        write_audit_page(what.audit, what.benchmark, place, overwrite=overwrite)
        return place
    refuse_to_lose(place, overwrite=overwrite, ours=None)
    papers = [(Path(folder), write) for folder, write in ((figures, write_figures), (tables, write_tables)) if folder]
    for folder, _ in papers:
        refuse_to_lose_files(folder, overwrite=overwrite)
    wanted = Wanted(
        settings=settings(by, level, seed, resamples),
        scorer=Scorer(rules, metric, rescore_given=rescore_given),
        cluster=cluster,
        golds=None if bench is None else opened(bench),
        models={} if models is None else entries(models),
        external=_scores(external),
        external_name="" if external is None or isinstance(external, Mapping) else Path(external).name,
        gallery=gallery,
        title=title,
    )
    told, about = compose(_given(what, verdicts), wanted)
    write_report_page(told, about, place, overwrite=overwrite)
    for folder, write in papers:
        write(told, folder, overwrite=overwrite)
    return place


def _given(what: Results | Told | Sequence[Told], verdicts: Place | None) -> Given:
    if isinstance(what, Results):
        return Given(results=what)
    named: list[Told] = several(what)
    things = [one.path if isinstance(one, Refined) else one for one in named]
    opened_or_not = [one if isinstance(one, Run | Benchmark) else Path(one) for one in things]
    return gather(opened_or_not, None if verdicts is None else Path(verdicts), opened)


def _scores(external: Place | Mapping[str, float] | None) -> Mapping[str, float]:
    if external is None or isinstance(external, Mapping):
        return external or {}
    return read_external(Path(external))
