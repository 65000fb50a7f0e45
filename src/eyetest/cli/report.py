"""``eyetest report``: what runs and refinements came to, as one page and as figures for a paper."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from eyetest.benchmarks import Benchmark
from eyetest.cli import options
from eyetest.cli.measuring import (
    WHICH,
    ClusterOption,
    ExternalOption,
    LevelOption,
    ModelsOption,
    ResamplesOption,
    RulesOption,
    SeedOption,
)
from eyetest.cli.score import BenchOption, MetricOption, RescoreOption
from eyetest.cli.terminal import note, step_bar
from eyetest.measures import Settings
from eyetest.measures.settings import read_external
from eyetest.models.specs import read_models
from eyetest.recipes.gathering import gather
from eyetest.reports.composing import SHOWN, Wanted, compose
from eyetest.reports.report import refuse_to_lose_files, write_figures, write_tables
from eyetest.reports.report_page import write_report_page
from eyetest.scoring import Scorer
from eyetest.store.replacing import refuse_to_lose
from eyetest.wording import counted, typed

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
    ] = SHOWN,
    title: Annotated[str | None, typer.Option("--title", help="Of the page.", rich_help_panel=_HOW)] = None,
    overwrite: options.OverwriteOption = False,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="TAG", help="Tags that say what items ask for.", rich_help_panel=WHICH),
    ] = None,
    external: ExternalOption = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", metavar="FILE", help="Verdicts of an audit, for the gallery.", rich_help_panel=WHICH
        ),
    ] = None,
    models: ModelsOption = None,
    bench: BenchOption = None,
    rules: RulesOption = "eyetest",
    metric: MetricOption = None,
    rescore_given: RescoreOption = False,
    cluster: ClusterOption = "auto",
    level: LevelOption = 0.95,
    resamples: ResamplesOption = 2_000,
    seed: SeedOption = 0,
) -> None:
    """Tell what runs came to on one page that opens anywhere: scores, sight, items, capabilities, what fell and why.

    What these folders cannot tell is left out, and the page says what would bring it. Nothing is asked.
    """
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    for folder in (figures, tables):
        if folder is not None:
            refuse_to_lose_files(folder, overwrite=overwrite)
    wanted = Wanted(
        settings=Settings(tuple(by or ()), level, seed, resamples),
        scorer=Scorer(rules, metric, rescore_given=rescore_given),
        cluster=cluster,
        golds=_open(bench) if bench else None,
        models=read_models(models) if models else {},
        external=read_external(external) if external else {},
        external_name=external.name if external else "",
        gallery=gallery,
        title=title or "",
        command=typed("eyetest", *sys.argv[1:]),
    )
    given = gather(paths, verdicts, _open)
    with step_bar("reading answers") as progress:
        told, about = compose(given, wanted, progress)
        write_report_page(told, about, to, overwrite=overwrite)
    note(f"page → {to}")
    if figures is not None:
        note(f"{counted(write_figures(told, figures, overwrite=overwrite), 'figure')} → {figures}")
    if tables is not None:
        note(f"{counted(write_tables(told, tables, overwrite=overwrite), 'table')} → {tables}")


def _open(bench: Path) -> Benchmark:
    return options.open_with_bar(bench, options.read_options(allow_missing_gold=True))
