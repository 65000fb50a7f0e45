"""Harder and newer benchmarks, from Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eyetest.api.renamed import renamed
from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.harden.options import OptionSettings
from eyetest.jobs import harden_options as options_job
from eyetest.jobs import harden_page as page_job
from eyetest.jobs import harden_screenshot as screenshots
from eyetest.jobs.distractors import authors_of
from eyetest.jobs.harden_options import HardenedOptions
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, several
from eyetest.measures import Settings
from eyetest.store.urls import local_path


def harden_screenshot(
    bench: Bench,
    *,
    to: AnyPath,
    look: str = "screen",
    seed: int = 0,
    renderer: str = "typst",
    read_back: str | None = None,
    review: AnyPath | None = None,
    workers: int | None = None,
    overwrite: bool = False,
) -> Benchmark:
    """The benchmark whose items each show their whole question in one picture.

    >>> et.harden_screenshot("world/benchmark", to="world-screens", look="all")  # doctest: +SKIP
    <Benchmark 'world': 60 items in world-screens>
    """
    done = screenshots.harden_screenshot(
        bench,
        to,
        screenshots.checked(look, seed, renderer, read_back),
        workers=workers,
        review=review,
        overwrite=overwrite,
        observer=NOTEBOOK,
    )
    for line in screenshots.told(done):
        NOTEBOOK.note(line)
    return done.benchmark


@renamed(options="option_count", open="open_questions", rounds="writer_rounds")
def harden_options(
    bench: Bench,
    *,
    to: AnyPath,
    option_count: int = 10,
    open_questions: bool = False,
    seed: int = 0,
    writer: str | None = None,
    checker: str | None = None,
    writer_rounds: int = 2,
    models: AnyPath | None = None,
    probe: bool = True,
) -> HardenedOptions:
    """A benchmark whose items have more options: written by a model and checked by another, or made by rule.

    ``.benchmark`` is the result, ``.record`` what was written by whom and turned down why, with what can be guessed
    before and after; ``.waiting`` is for people (``to/review/queue.csv``).

    >>> et.harden_options("mmmu", to="mmmu-10", option_count=10).benchmark  # doctest: +SKIP
    <Benchmark 'mmmu-10-options': 900 items in mmmu-10/benchmark>
    """
    settings = OptionSettings(options=option_count, rounds=writer_rounds, open=open_questions, seed=seed)
    authors = authors_of(writer, checker, models)
    done = options_job.harden_options(bench, to, settings, authors=authors, probe=probe, observer=NOTEBOOK)
    for line in options_job.told(done):
        NOTEBOOK.note(line)
    return done


@renamed(to="page")
def harden_page(
    *runs: AnyRun,
    page: AnyPath,
    figures: AnyPath | None = None,
    settings: Mapping[str, str] | None = None,
    by: str | Sequence[str] = (),
    title: str = "",
    overwrite: bool = False,
) -> Path:
    """One page about runs over linked settings: few options, ten options, everything in one picture.

    ``settings`` says which benchmark is which (original, four, ten, vision), where it is not to be recognised.

    >>> et.harden_page("run4", "run10", "vision", page="settings.html")  # doctest: +SKIP
    PosixPath('settings.html')
    """
    how = Settings(by=tuple(several(by)))
    wanted = page_job.PageWishes(roles=dict(settings or {}), settings=how, title=title)
    folder = None if figures is None else local_path(figures)
    page_job.write_linked(runs, local_path(page), wanted, figures=folder, overwrite=overwrite, observer=NOTEBOOK)
    return local_path(page)
