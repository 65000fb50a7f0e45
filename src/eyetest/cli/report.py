"""``eyetest report``: what runs and refinements came to, as one page and as figures for a paper."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from eyetest.cli import measure as measuring
from eyetest.cli.measure import which
from eyetest.cli.options import LinksOption, OverwriteOption, Words, argument, option
from eyetest.cli.terminal import note
from eyetest.errors import InputError, nearest, short
from eyetest.jobs import report as job
from eyetest.jobs.measure import settings, with_sights
from eyetest.measures.linked import ROLES
from eyetest.wording import counted, typed

written = partial(option, panel="What to write")


def report(
    paths: Annotated[
        list[Path], argument("RUN|REFINED|BENCH...", "Run folders, what refine wrote, benchmarks; together.")
    ],
    page: Annotated[Path, written("--page", "The page.", "FILE")],
    figures: Annotated[Path | None, written("--figures", "Each figure as SVG, PNG and CSV.", "DIR")] = None,
    tables: Annotated[Path | None, written("--tables", "Each table as LaTeX and Markdown.", "DIR")] = None,
    gallery: Annotated[int, written("--gallery", "Items that fell to show; 0 for none.", min=0)] = job.SHOWN,
    title: Annotated[str | None, written("--title", "Of the page.")] = None,
    links: LinksOption = None,
    overwrite: OverwriteOption = False,
    sight: measuring.SightOption = None,
    by: Annotated[Words, which("--by", "Tags that say what items ask for.", "TAG")] = None,
    external: measuring.ExternalOption = None,
    setting: Annotated[
        Words, which("--setting", f"Which benchmark is which: {', '.join(ROLES)}.", "SETTING=BENCHMARK")
    ] = None,
    verdicts: Annotated[Path | None, which("--verdicts", "Verdicts of an audit, for the gallery.", "FILE")] = None,
    models: measuring.ModelsOption = None,
    model: measuring.ModelOption = None,
    without: measuring.WithoutOption = None,
    *,
    scoring: measuring.ScoringOptions,
    level: measuring.LevelOption = 0.95,
    resamples: measuring.ResamplesOption = 2_000,
    seed: measuring.SeedOption = 0,
) -> None:
    """Tell what runs came to on one page that opens anywhere: scores, sight, items, capabilities, what fell and why.

    What these folders cannot tell is left out, and the page says what would bring it. Runs over few options, ten and
    screenshots of one benchmark (MMMU-Pro) have sections of their own. Nothing is asked.
    """
    wanted = job.Wanted(
        settings=settings(by or (), level, seed, resamples),
        external=external,
        verdicts=verdicts,
        gallery=gallery,
        title=title or "",
        command=typed("eyetest", *sys.argv[1:]),
        links=links,
        where=with_sights((), sight or ()),
        roles=_roles(setting or ()),
    )
    known = replace(scoring, models=models, model=model or (), without=without or ())
    counts = job.write_report(paths, page, wanted, known, figures=figures, tables=tables, overwrite=overwrite)
    note(f"page → {page}")
    for what, folder in (("figure", figures), ("table", tables)):
        if folder is not None:
            note(f"{counted(counts[what], what)} → {folder}")


def _roles(words: list[str] | tuple[str, ...]) -> dict[str, str]:
    """What the user's SETTING=BENCHMARK words say."""
    roles = {}
    for word in words:
        role, equals, name = word.partition("=")
        if role not in ROLES or not equals or not name:
            known = "" if role in ROLES else f"; {nearest(role, ROLES)}"
            raise InputError(f"--setting: found {short(word)}, expected SETTING=BENCHMARK{known}")
        roles[role] = name
    return roles
