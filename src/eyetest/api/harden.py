"""Harder and newer benchmarks, from Python."""

from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.jobs import harden_screenshot as screenshots
from eyetest.jobs.opening import AnyPath, Bench


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
