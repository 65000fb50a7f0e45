"""Pages that stand alone: an audit with the items it speaks of, or what runs and a refinement came to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eyetest.api.audit import Audited
from eyetest.api.refine import RefinedFolder
from eyetest.api.renamed import renamed
from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import README
from eyetest.jobs import audit as auditing
from eyetest.jobs import open as looking
from eyetest.jobs import report as job
from eyetest.jobs.card import make_card
from eyetest.jobs.measure import Measurable, Scoring, gather, settings
from eyetest.jobs.opening import AnyPath, Bench, Models, path_of, several
from eyetest.measures import Results
from eyetest.pages.item_counts import items_at
from eyetest.reports import FIGURES
from eyetest.reports import chart as draw
from eyetest.runs import Run
from eyetest.store.urls import local_path

if TYPE_CHECKING:
    from altair.typing import ChartType

Told = Run | RefinedFolder | Benchmark | AnyPath
"""What a page can tell of: a run, a refinement, a benchmark, or where one of them lies."""


@renamed(to="page", items="links")
def report(
    what: Audited | Results | Told | Sequence[Told],
    *,
    page: AnyPath,
    figures: AnyPath | None = None,
    tables: AnyPath | None = None,
    gallery: int = job.SHOWN,
    by: str | Sequence[str] = (),
    external: AnyPath | Mapping[str, float] | None = None,
    verdicts: AnyPath | None = None,
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
    links: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a page that opens anywhere, without a network, and give its place.

    Of an audit; or of runs, a refinement and benchmarks together, with ``gallery`` of the items that fell.
    ``figures`` and ``tables`` are folders for those of a paper. ``by`` names the tags that say what items ask for,
    ``external`` is a score of each model from elsewhere, ``verdicts`` a file of those that an audit gave, ``models``
    says what is known of models (language bases, sizes). What cannot be told is left out, and the page says what
    would bring it. ``links`` is where its numbers lead: what ``eyetest open`` serves (this machine, if not said), or
    the folder of a bundle.

    >>> et.report("run", page="report.html").name
    'report.html'
    >>> et.report(et.audit("world/benchmark", probes=["malformed"]), page="audit.html").exists()
    True
    """
    file = local_path(page)
    if isinstance(what, Audited):
        places = auditing.page_places(what.benchmark.path, file)
        at = items_at(links, file, places)
        auditing.write_page(what.audit, what.benchmark, file, at, overwrite=overwrite)
        return file
    for_paper, for_text = (None if folder is None else local_path(folder) for folder in (figures, tables))
    wanted = job.Wanted(settings(by, level, seed, resamples), external, verdicts, gallery, title, links=links)
    scoring = Scoring(rules, bench, metric, rescore_given, cluster, models)
    job.report(_things(what), file, wanted, scoring, figures=for_paper, tables=for_text, overwrite=overwrite)
    return file


def _things(what: Results | Told | Sequence[Told]) -> Results | list[Path | Run | Benchmark]:
    if isinstance(what, Results):
        return what
    named: list[Told] = several(what)
    things = [one.path if isinstance(one, RefinedFolder) else one for one in named]
    expected = "runs, refinements and benchmarks, or their paths"
    return [one if isinstance(one, Run | Benchmark) else path_of(one, "what", expected) for one in things]


def bundle_items(what: Told | Sequence[Told], *, to: AnyPath, golds: bool = True, overwrite: bool = False) -> Path:
    """Write the items of runs, refinements and benchmarks as a folder of pages to look at them; gives its first page.

    It opens from disk and from any web host. Without ``golds`` nothing is written that they follow from. On the
    command line, ``eyetest open`` also serves them.

    >>> et.bundle_items("run", to="browse").name
    'index.html'
    """
    named: list[Told] = several(what)
    places = [one.path if isinstance(one, Run | Benchmark | RefinedFolder) else local_path(one) for one in named]
    _, page = looking.bundle_items(places, local_path(to), golds=golds, overwrite=overwrite)
    return page


def card(
    bench: Bench | RefinedFolder,
    *,
    said: Mapping[str, str] | None = None,
    to: AnyPath | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a benchmark's card, README.md and croissant.json, into its folder or into ``to``; gives its place.

    ``said`` is what only you know (licence, contact, ``sources.NAME``, ``practices.NAME``), kept in card.yaml. A
    refinement has a card already; its folder is where to say more.

    >>> bench, _ = et.import_benchmark(Path("mine.tsv"), Path("mine"))
    >>> et.card(bench, said={"licence": "CC-BY-4.0"}).name
    'README.md'
    """
    path = bench.path if isinstance(bench, RefinedFolder | Benchmark) else local_path(bench)
    words = [f"{key}={value}" for key, value in (said or {}).items()]
    *_, folder = make_card(path, None if to is None else local_path(to), words, overwrite=overwrite)
    return folder / README


def chart(name: str, runs: Measurable) -> "ChartType":
    """Draw a figure of some runs, or of what `et.results` gave: an Altair chart. `et.charts` names them.

    >>> drawn = et.chart("accuracy", "run")
    >>> "mark" in str(drawn.to_dict())
    True
    """
    return draw(name, gather(runs))


def charts() -> dict[str, str]:
    """The figures that there are, and how to read each.

    >>> "accuracy" in et.charts()
    True
    """
    return {name: FIGURES[name].reading for name in FIGURES}
