"""The command ``report``: what runs, refinements and benchmarks show, as one page and as figures for a paper."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eyetest.commands import gathering
from eyetest.commands.base import NOTEBOOK, new_path, observer, open_bench, path_of, place_of, several
from eyetest.commands.gathering import Scoring, gather
from eyetest.commands.lazy import layout, pl
from eyetest.commands.options import (
    HOW,
    WHICH,
    AnyPath,
    Measurable,
    Models,
    Overwrite,
    ShortModel,
    Where,
    Words,
    panel,
)
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, listed, naming_benchmark, param, typed

if TYPE_CHECKING:
    from altair.typing import ChartType

    from eyetest.benchmarks import Benchmark
    from eyetest.measures import Results
    from eyetest.records import Verdict

    Reported = Any
    """What a page can show: runs, refinements and benchmarks or their paths, and lists of these."""
else:
    Reported = Path

_REPORTED = "runs, refinements and benchmarks, or their paths"
_REMOVED_SHOWN = 24
_ISSUE_IDS = 20
_WRITTEN = panel("What to write", 0)


def report(
    *paths: Reported,
    page: Annotated[AnyPath, _WRITTEN],
    figures: Annotated[AnyPath | None, _WRITTEN] = None,
    gallery: Annotated[int, _WRITTEN] = _REMOVED_SHOWN,
    links: Annotated[str | None, _WRITTEN] = None,
    issue: Annotated[bool, _WRITTEN] = False,
    by: Annotated[Words, WHICH] = (),
    where: Annotated[Where, WHICH] = (),
    models: Annotated[Models | None, WHICH] = None,
    model: ShortModel = (),
    cluster: Annotated[str, HOW] = "auto",
    level: Annotated[float, HOW] = 0.95,
    seed: Annotated[int, HOW] = 0,
    overwrite: Overwrite = False,
) -> Written:
    """Write one page about runs: scores, use of the image, items, capabilities, removed items.

    The page opens anywhere and needs no network; what these folders cannot show is left out, and the page says what
    it takes. Runs count as they were last scored (eyetest score). No model is asked.

    Args:
        paths: Run folders, folders that refine wrote, benchmarks; together.
        page: The page.
        figures: Folder for each figure as SVG, PNG and CSV.
        gallery: Removed items to show; 0 for none.
        links: Where numbers lead: the address that eyetest open serves, or its bundle.
        issue: Write a report for the benchmark's maintainers instead, as Markdown: findings, ids, commands.
        by: Tags that say what items ask for, or model.PROPERTY as a column of the leaderboard; repeatable.
        where: Only scores with these values of a column: modality=image,no-image.
        models: models.yaml that says what is known of models: language bases, sizes.
        model: Only these models: A,B, or repeated.
        cluster: What makes items dependent: auto, found, image, group, passage, template, none, or a tag.
        level: Confidence level of intervals and tests.
        seed: Random seed.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest report run refined --page report.html --figures paper

        >>> et.report("run", page="report.html").facts
        {'page': 'report.html'}

    """
    from eyetest.pages.item_links import items_at
    from eyetest.pages.item_view import Album
    from eyetest.reports import report as drawing
    from eyetest.reports import report_page
    from eyetest.results.scores import chosen_scorer
    from eyetest.scoring import Scorer
    from eyetest.store import refuse_to_lose

    given = locals()
    things, file = gathering.flat(paths), new_path(page, "page")
    if not things:
        raise InputError("name a run, a refinement or a benchmark to report")
    if issue:
        return _write_issue(things, file, given, overwrite=overwrite)
    folder = None if figures is None else new_path(figures, "figures")
    refuse_to_lose(file, overwrite=overwrite, ours=None)
    if folder is not None:
        drawing.refuse_to_lose_files(folder, overwrite=overwrite)
    scoring = Scoring(cluster=cluster, models=models, model=model, where=where or None)
    sources = _Sources(things)
    at = items_at(links, file, sources.places)
    with observer().steps("reading answers") as step:
        results = sources.gathered(scoring, step)
        benchmarks = sources.every_benchmark()
        step("measuring", 0.3)
        measuring = gathering.settings(gathering.tags_named(results, by), level, seed)
        material = drawing.Material(results, measuring, sources.funnel)
        drawn = drawing.tell(material)
        step("drawing", 0.6)
        scorer = chosen_scorer(sources.runs[0]) if sources.runs else Scorer()
        method = report_page.report_settings(material, scorer, cluster, benchmarks)
        names = [about.manifest.name for about in benchmarks] or [run.path.resolve().name for run in sources.runs]
        about = report_page.ReportDetails(
            listed(dict.fromkeys(names)) or "Results",
            benchmarks,
            report_page.run_steps(sources.runs),
            [*method, ("only", _words(where))] if where else method,
            "" if observer() is NOTEBOOK else typed("eyetest", *sys.argv[1:]),
            album=Album(*benchmarks),
            at=at,
            left=sources.left if len(benchmarks) > 1 else None,
            ranking=report_page.ranking_sections(material, sources.verdicts),
        )
        removed = report_page.removed_items(sources.verdicts, about, sources.runs, results.scores, gallery)
        about = replace(about, removed=removed if gallery > 0 else [])
        report_page.write_report_page(drawn, about, file, overwrite=overwrite)
    line, facts = f"page → {file}", dict[str, Any](page=str(file))
    if folder is None:
        return Written(line, facts)
    count = drawing.write_figures(drawn, folder, overwrite=overwrite)
    facts |= {"figures": count, "figures_to": str(folder)}
    return Written(f"{line}\n{counted(count, 'figure')} → {folder}", facts)


_OF_THE_WHOLE = "This is about the benchmark as a whole and names no items."


def _write_issue(things: Sequence[Any], file: Path, given: Mapping[str, Any], *, overwrite: bool) -> Written:
    """Write what an audit finds in a form that can be posted: ids and commands, and no text of the benchmark.

    ``given``: the parameters of the report, of which only a seed is for it.
    """
    from eyetest.commands.audit import audit
    from eyetest.pages.page import escape_markdown
    from eyetest.store import write_file
    from eyetest.version import __version__

    usual = {name: known.default for name, known in signature(report).parameters.items()}
    others = [name for name in usual if name not in ("paths", "page", "issue", "seed", "overwrite")]
    if wrong := [name for name in others if given[name] not in (usual[name], [])]:
        raise InputError(f"{param('issue', True)} is about a benchmark alone; leave out {param(wrong[0])}")
    if len(things) > 1:
        raise InputError(f"{param('issue', True)} is about one benchmark, found {len(things)}")
    benchmark = open_bench(things[0])
    manifest, words = benchmark.manifest, {"bad": "broken", "suspect": "suspicious"}
    audited = audit(benchmark, seed=given["seed"])
    findings = [found for found in audited.findings if found.severity in words and (found.items or found.is_test)]
    items = len({item for found in findings for item in found.items})
    if not findings:
        raise InputError(
            f"{manifest.name}: the audit finds no broken or suspicious item or habit, so there is nothing to report"
        )
    subject = f"{counted(items, 'item')} of {manifest.name}" if items else f"Habits of {manifest.name}"
    lines = [
        f"# {subject} that may need attention",
        f"Thank you for publishing {manifest.name}. An automatic audit of its {manifest.counts.items:,} items found "
        "the points below. Each can be checked by opening the items; some may be intended.",
    ]
    for found in findings:
        if not found.items:
            lines += [f"## {found.title}", f"Severity: {words[found.severity]}. {_OF_THE_WHOLE}"]
            continue
        ids = ", ".join(
            f"`{item}`" if item.isprintable() and "`" not in item else escape_markdown(item)
            for item in found.items[:_ISSUE_IDS]
        )
        more = f" and {len(found.items) - _ISSUE_IDS:,} more" if len(found.items) > _ISSUE_IDS else ""
        lines += [f"## {found.title}", f"Severity: {words[found.severity]}. Items: {ids}{more}."]
    probes = ",".join(dict.fromkeys(found.probe for found in findings))
    again = ("audit", place_of(things[0], benchmark), "--probe", probes, "--seed", given["seed"])
    version = f"eyetest {__version__}, fingerprint of the items {manifest.fingerprint[:16]}"
    lines += ["## To reproduce", f"```console\n$ {typed('eyetest', *again)}\n```", f"({version})"]
    write_file(file, "\n\n".join(lines) + "\n", overwrite=overwrite)
    return Written(f"page → {file}", {"page": str(file)})


class _Sources:
    """What a report is made from: runs, benchmarks and a refinement."""

    def __init__(self, things: Sequence[Any]) -> None:
        """Open each thing as what it is."""
        from eyetest.benchmarks import Benchmark, is_benchmark
        from eyetest.benchmarks.opening import is_readable, refuse_one_above
        from eyetest.recipes.loading import read_verdicts
        from eyetest.results.scores import chosen_scoring
        from eyetest.runs import Run, is_run
        from eyetest.store.urls import known_path

        self.runs: list[Run] = []
        self.benchmarks: list[Benchmark] = []
        self.verdicts: list[Verdict] = []
        self.funnel: pl.DataFrame | None = None
        self.left: Benchmark | None = None  # by a refinement
        self.places: list[Path] = []  # what has to be opened to see the items
        for thing in things:
            path = path_of(getattr(thing, "path", thing), "paths", _REPORTED)
            self.places.append(path)
            if isinstance(thing, Benchmark):
                self.benchmarks.append(thing)
            elif is_run(path):
                self.runs.append(thing if isinstance(thing, Run) else Run(path))
            elif (path / layout.ABOUT).is_file():
                if self.funnel is not None:
                    raise InputError(f"{path}: a report shows one refinement; make another for this one")
                if not (path / layout.FUNNEL).is_file():
                    raise InputError(f"{path} is a refinement without its {layout.FUNNEL}; run eyetest refine again")
                self.funnel = _funnel(path / layout.FUNNEL)
                self.verdicts += read_verdicts(path)
                if is_run(path / layout.RUN):
                    self.runs.append(Run(path / layout.RUN))
                elif is_benchmark(path / layout.BENCHMARK):
                    self.left = Benchmark(path / layout.BENCHMARK)
                    self.benchmarks.append(self.left)
            else:
                refuse_one_above(path)
                if not is_benchmark(path) and not is_readable(path):
                    raise InputError(f"{path} is no run, no refinement, and no benchmark that eyetest recognises")
                self.benchmarks.append(open_bench(path))
        keys = dict.fromkeys(key for run in self.runs if (key := chosen_scoring(run).bench))
        self.places += map(known_path, keys)

    def every_benchmark(self) -> "list[Benchmark]":
        """Those that were named and those that the runs are about, each once."""
        from eyetest.results.scores import benchmark_of, chosen_benchmark

        keys = [(run, chosen_benchmark(run)) for run in self.runs]
        asked = [
            benchmark_of(run, key, naming_benchmark(run.path))
            for run, key in keys
            if run.manifest.benchmark is not None or key is not None
        ]
        known: dict[str, Benchmark] = {}
        for benchmark in (*self.benchmarks, *asked):
            known.setdefault(benchmark.manifest.fingerprint, benchmark)
        return list(known.values())

    def gathered(self, scoring: Scoring, step: Callable[[str, float], None]) -> "Results":
        """The scores of all runs; without runs, items and no scores."""
        from eyetest.measures.results import ITEM_TYPES
        from eyetest.reports.report import unanswered
        from eyetest.results.gather import items_table

        if self.runs:
            return gather(self.runs, scoring, tell=lambda line: step(line, 0.05))
        tables = [items_table(benchmark.manifest.name, benchmark, scoring.cluster) for benchmark in self.benchmarks]
        found = unanswered(pl.concat(tables, how="diagonal") if tables else pl.DataFrame(schema=ITEM_TYPES))
        return gather(found, Scoring(where=scoring.where))


def _funnel(path: Path) -> "pl.DataFrame":
    """The counts of a refinement's stages over all items."""
    from eyetest.recipes.refining import KINDS
    from eyetest.runs.stored import one_line_if_damaged
    from eyetest.tabular.table import restored

    with one_line_if_damaged(path):
        counts = pl.read_csv(path, schema_overrides={"stage": pl.String}).select("stage", "into", *KINDS)
        return counts.with_columns(stage=pl.Series(map(restored, counts["stage"]), dtype=pl.String))


def _words(where: Where) -> str:
    """Conditions on scores as they are typed."""
    if isinstance(where, Mapping):
        return "; ".join(f"{column}={','.join(map(str, several(value)))}" for column, value in where.items())
    return where if isinstance(where, str) else "; ".join(where)


def chart(name: str, *runs: Measurable) -> "ChartType":
    """Draw a figure of some runs, or of what `results` gave: an Altair chart; docs/reports.md lists them.

    >>> drawn = et.chart("accuracy", "run")
    >>> "mark" in str(drawn.to_dict())
    True
    """
    from eyetest.reports.report import chart as draw

    return draw(name, gather(runs))
