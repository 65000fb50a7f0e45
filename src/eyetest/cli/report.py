"""``eyetest report``: what runs and refinements came to, as one page and as figures for a paper."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from eyetest.cli import options
from eyetest.cli.report_inputs import open_inputs
from eyetest.cli.score import BenchOption, MetricOption
from eyetest.cli.terminal import note, step_bar
from eyetest.measures import Settings
from eyetest.measures.own import read_external
from eyetest.models.specs import read_models
from eyetest.probes import Subject
from eyetest.replacing import refuse_to_lose
from eyetest.reports.duplicates import cheap_duplicates
from eyetest.reports.exports import refuse_to_lose_files, write_figures, write_tables
from eyetest.reports.gallery import fallen_items
from eyetest.reports.material import Material
from eyetest.reports.method import command, settings, steps
from eyetest.reports.report_page import About, write_report_page
from eyetest.reports.telling import tell
from eyetest.running.measured import CLUSTERS
from eyetest.scoring import Scorer
from eyetest.wording import counted, listed

_WHICH = "What is told"
_HOW = "What to write"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN|REFINED|BENCH...", help="Run folders, what refine wrote, benchmarks; together."),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The page.", rich_help_panel=_HOW)],
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Each figure as SVG, PNG and CSV.", rich_help_panel=_HOW),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option("--tables", metavar="DIR", help="Each table as LaTeX and Markdown.", rich_help_panel=_HOW),
    ] = None,
    gallery: Annotated[
        int,
        typer.Option("--gallery", min=0, help="Items that fell to show; 0 for none.", rich_help_panel=_HOW),
    ] = 24,
    title: Annotated[str | None, typer.Option("--title", help="Of the page.", rich_help_panel=_HOW)] = None,
    overwrite: options.OverwriteOption = False,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="TAG", help="Tags that say what items ask for.", rich_help_panel=_WHICH),
    ] = None,
    external: Annotated[
        Path | None,
        typer.Option("--with", metavar="CSV", help="A score from outside: model,score.", rich_help_panel=_WHICH),
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", metavar="FILE", help="Verdicts of an audit, for the gallery.", rich_help_panel=_WHICH
        ),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option("--models", metavar="FILE", help="models.yaml: language bases, sizes.", rich_help_panel=_WHICH),
    ] = None,
    bench: BenchOption = None,
    rules: Annotated[
        str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.", rich_help_panel=_WHICH)
    ] = "eyetest",
    metric: MetricOption = None,
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help=f"What makes items depend on each other: {', '.join(CLUSTERS)}, or a tag.",
            rich_help_panel=_WHICH,
        ),
    ] = "auto",
    level: Annotated[
        float, typer.Option("--level", min=0.5, max=0.999, help="Of the intervals.", rich_help_panel=_WHICH)
    ] = 0.95,
    resamples: Annotated[
        int, typer.Option("--resamples", min=100, help="For bootstrapped intervals.", rich_help_panel=_WHICH)
    ] = 2_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all drawing.", rich_help_panel=_WHICH)] = 0,
) -> None:
    """Tell what runs came to on one page that opens anywhere: scores, sight, items, capabilities, what fell and why.

    What these folders cannot tell is left out, and the page says what would bring it. Nothing is asked.
    """
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    for folder in (figures, tables):
        if folder is not None:
            refuse_to_lose_files(folder, overwrite=overwrite)
    scorer = Scorer(rules, metric)
    given = open_inputs(paths, verdicts)
    elsewhere = read_external(external) if external else {}
    golds = options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None
    known = read_models(models) if models else {}
    with step_bar("reading answers") as progress:
        results = given.results(scorer, cluster, golds, known, lambda line: progress(line, 0.05))
        progress("measuring", 0.3)
        duplicates = [found for one in given.benchmarks for found in cheap_duplicates(Subject(one, seed=seed))]
        material = Material(
            results,
            Settings(tuple(by or ()), level, seed, resamples),
            elsewhere,
            given.funnel,
            duplicates if given.benchmarks else None,
        )
        told = tell(material)
        progress("drawing", 0.6)
        verdicts_ = given.verdicts if gallery else ()
        fallen, album = fallen_items(verdicts_, given.benchmarks, given.runs, results.scores, gallery)
        about = About(
            title or listed(dict.fromkeys(one.manifest.name for one in given.benchmarks)) or paths[0].resolve().name,
            given.benchmarks,
            steps(given.runs),
            settings(material, scorer, cluster, given.benchmarks, external),
            command(["eyetest", *sys.argv[1:]]),
            fallen=fallen,
            album=album,
        )
        write_report_page(told, about, to, overwrite=overwrite)
    note(f"page → {to}")
    if figures is not None:
        note(f"{counted(write_figures(told, figures, overwrite=overwrite), 'figure')} → {figures}")
    if tables is not None:
        note(f"{counted(write_tables(told, tables, overwrite=overwrite), 'table')} → {tables}")
