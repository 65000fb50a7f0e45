"""``eyetest harden …``: items made harder, and what that comes to."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.cli import measure as measuring
from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import OverwriteOption, Words, argument, option
from eyetest.cli.terminal import advise, note, out, program, safe
from eyetest.errors import InputError, nearest, short
from eyetest.jobs import harden_page as page_job
from eyetest.jobs import harden_screenshot as screenshots
from eyetest.jobs.measure import settings
from eyetest.measures.three_settings import ROLES
from eyetest.wording import counted, typed

written = partial(option, panel="What to write")


def page(
    paths: Annotated[list[Path], argument("RUN...", "Runs over the linked settings, blind ones too.")],
    page: Annotated[Path, written("--page", "The page.", "FILE")],
    figures: Annotated[Path | None, written("--figures", "Each figure as SVG, PNG and CSV.", "DIR")] = None,
    gallery: Annotated[int, written("--gallery", "Items of each list to show.", min=0)] = page_job.SHOWN,
    title: Annotated[str | None, written("--title", "Of the page.")] = None,
    overwrite: OverwriteOption = False,
    setting: Annotated[
        Words,
        measuring.which("--setting", f"Which benchmark is which: {', '.join(ROLES)}.", "SETTING=BENCHMARK"),
    ] = None,
    by: Annotated[Words, measuring.which("--by", "The tag by which thinking aloud is told.", "TAG")] = None,
    models: measuring.ModelsOption = None,
    *,
    scoring: measuring.ScoringOptions,
    level: measuring.LevelOption = 0.95,
    resamples: measuring.ResamplesOption = 2_000,
    seed: measuring.SeedOption = 0,
) -> None:
    """Tell on one page how models do with few options, with ten, and with everything in one picture (MMMU-Pro).

    Scores, differences with intervals, ranks, blind accuracy after each step, and the items that were lost. Nothing
    is asked.
    """
    wanted = page_job.PageWishes(
        roles=_roles(setting or ()),
        settings=settings(by or (), level, seed, resamples),
        shown=gallery,
        title=title or "",
        command=typed("eyetest", *sys.argv[1:]),
    )
    known = replace(scoring, models=models)
    drawn = page_job.write_linked(paths, page, wanted, known, figures=figures, overwrite=overwrite, observer=TERMINAL)
    note(f"page → {page}")
    if figures is not None:
        note(f"{counted(drawn, 'figure')} → {figures}")


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


def screenshot(
    bench: options.BenchArgument,
    to: Annotated[Path, option("--to", "The folder of the new benchmark.", "DIR")],
    file: options.FileOptions,
    look: Annotated[
        str, option("--look", "screen, phone, photo or print; all gives each to a share of the items.", "NAME")
    ] = "screen",
    seed: Annotated[int, option("--seed", "Random seed; the same one gives the same pixels.", min=0)] = 0,
    renderer: Annotated[str, option("--renderer", "typst, or chromium where it is installed.", "NAME")] = "typst",
    read_back: Annotated[
        str | None,
        option(
            "--read-back", "Have an OCR engine read each page: tesseract, rapidocr, or best of those there.", "NAME"
        ),
    ] = None,
    review: Annotated[
        Path | None, option("--review", "A folder for the queue of what people have to look at.", "DIR")
    ] = None,
    workers: Annotated[int | None, option("--workers", "Processes that draw. (default: one a core)", min=1)] = None,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Put each item's whole question into one picture, in many looks.

    Items keep their ids, golds and texts. The factors of a look are tags, so that eyetest measure looks can say what
    each of them does to scores.
    """
    done = screenshots.harden_screenshot(
        bench,
        to,
        screenshots.checked(look, seed, renderer, read_back),
        read=file.read(),
        workers=workers,
        review=review,
        overwrite=overwrite,
        observer=TERMINAL,
    )
    made = f"{counted(len(done.benchmark), 'screenshot')} → {safe(str(done.benchmark.path))}"
    out.print(Text(made, "bold"), soft_wrap=True)
    for line in screenshots.told(done):
        note(line)
    advise("next", f"{typed(program(), 'run', done.benchmark.path)} --sight screenshot --model SPEC --to RUN")
